"""A connection through which coded pictures are pushed, and which is made again when it is lost.

It lives on a thread of its own, which a native call may hold: a server that answers nothing keeps
neither the sink nor the stop. Without a connection ``has_room`` is False, and nothing waits.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import av
from av.error import FFmpegError
from loguru import logger

from vidpipe.interfaces import Clock
from vidpipe.runtime.channel import Channel, ChannelClosedError
from vidpipe.runtime.logs import redact
from vidpipe.runtime.supervisor import ThreadGroup

_WAITING = 128
"""Packets that wait for a slow server: some seconds."""
_FIRST_S, _LONGEST_S = 0.5, 30.0
_REMIND_AFTER_S = 60.0
_SILENCE_US = "5000000"
_STOP_S = 2.0
"""For the last packets and the goodbye; then the thread is left behind."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where to push to.

    Attributes:
        url: With its credentials; secret.
    """

    url: str

    @property
    def is_rtsp(self) -> bool:
        """True of RTSP, False of RTMP."""
        return self.url.partition(":")[0].lower() in ("rtsp", "rtsps")

    def __str__(self) -> str:
        """Show it without secrets; the last part of an RTMP address is a key."""
        shown = redact(self.url)
        if self.is_rtsp:
            return shown.partition("?")[0]
        head, slash, _ = shown.rpartition("/")
        return f"{head}{slash}..."

    def __repr__(self) -> str:
        """Show the same."""
        return str(self)


class Link:
    """One stream's connection. ``put`` and ``stop`` are for the sink's thread."""

    def __init__(
        self,
        address: Address,
        template: Any,
        *,
        stream: str,
        clock: Clock = time.monotonic,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """Start to connect; ``template`` is the encoder's stream."""
        self._address = address
        self._template = template
        self._clock = clock
        self._jitter = jitter
        self._log = logger.bind(stream=stream)
        self._stopping = threading.Event()
        self._channel: Channel[Any] | None = None
        self._failures = 0
        self._reminded_at = float("-inf")
        self.connections = 0
        """How many there have been so far."""
        self.last_error = ""
        self._threads = ThreadGroup()
        self._threads.spawn(f"vp-push-{stream}", self._run, may_hang=True)

    @property
    def has_room(self) -> bool:
        """True if a packet would be sent: there is a connection, and it keeps up."""
        channel = self._channel
        return channel is not None and channel.has_room

    def put(self, packet: Any) -> bool:
        """Send a packet, soon; False if the connection has just been lost."""
        channel = self._channel
        if channel is None:
            return False
        try:
            return channel.put(packet, timeout_s=0.0)
        except ChannelClosedError:
            return False

    def stop(self) -> bool:
        """Send what waits, and part; False if the thread had to be left behind."""
        self._stopping.set()
        channel = self._channel
        if channel is not None:
            channel.close()
        return not self._threads.join(_STOP_S)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                container, target = self._connect()
            except (FFmpegError, OSError, ValueError) as exc:
                self._note_failure(exc, "can't be reached")
                continue
            try:
                self._push(container, target)
            except (FFmpegError, OSError, ValueError) as exc:
                self._channel = None
                self._note_failure(exc, "was lost")
            finally:
                self._channel = None
                with suppress(FFmpegError, OSError, ValueError):
                    container.close()

    def _connect(self) -> tuple[Any, Any]:
        is_rtsp = self._address.is_rtsp
        options = (
            {"rtsp_transport": "tcp", "timeout": _SILENCE_US}
            if is_rtsp
            else {"flvflags": "no_duration_filesize"}
        )
        container: Any = av.open(
            self._address.url, "w", format="rtsp" if is_rtsp else "flv", options=options
        )
        target = container.add_stream_from_template(self._template, opaque=True)
        try:
            container.start_encoding()
        except BaseException:
            with suppress(FFmpegError, OSError, ValueError):
                container.close()
            raise
        return container, target

    def _push(self, container: Any, target: Any) -> None:
        channel: Channel[Any] = Channel(_WAITING)
        self.connections += 1
        self._failures = 0
        self._log.info("pushing to {}", self._address)
        self._channel = channel
        if self._stopping.is_set():
            channel.close()
        for packet in channel:
            packet.stream = target
            container.mux(packet)

    def _note_failure(self, exc: Exception, what: str) -> None:
        """Say why, now and then, and wait before the next try."""
        delay_s = min(_LONGEST_S, _FIRST_S * 2 ** min(self._failures, 20))
        delay_s *= 0.5 + 0.5 * self._jitter()
        is_first = self._failures == 0
        self._failures += 1
        # The text itself would hold the address.
        self.last_error = redact(str(getattr(exc, "strerror", None) or type(exc).__name__))
        now_s = self._clock()
        if is_first or now_s - self._reminded_at >= _REMIND_AFTER_S:
            self._reminded_at = now_s
            self._log.warning(
                "{} {} ({}); trying again, next in {:.1f} s",
                self._address,
                what,
                self.last_error,
                delay_s,
            )
        self._stopping.wait(delay_s)
