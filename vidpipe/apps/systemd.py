"""What systemd is told of a run (``Type=notify``): ready, reloading, stopping, how it stands.

Plain datagrams to the socket that it names in the environment: sd_notify(3). Where nobody listens,
nothing is sent; nothing here waits or raises.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress

from vidpipe.runtime.logs import redact

_STATUS_CHARS = 400


class ServiceNotice:
    """Tells the service manager; one thread at a time."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        """Take the socket's address and the watchdog's patience from the environment."""
        environ = os.environ if environ is None else environ
        address = environ.get("NOTIFY_SOCKET", "")
        # @ stands for the NUL of an abstract address; anything else than a path is none of ours.
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        self._is_heard = address.startswith(("/", "@"))
        self.watchdog_s = _watchdog_s(environ) if self._is_heard else None
        """After how long without ``alive`` it takes the process for hung; None: it doesn't look."""

    def ready(self) -> None:
        """The streams have been started, or a reload is over."""
        self._send("READY=1")

    def reloading(self) -> None:
        """The configuration is being read again; ``ready`` follows."""
        now_us = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self._send(f"RELOADING=1\nMONOTONIC_USEC={now_us}")

    def stopping(self) -> None:
        """It is on its way to the end."""
        self._send("STOPPING=1")

    def status(self, text: str) -> None:
        """How it stands, in a line for people."""
        self._send(f"STATUS={' '.join(redact(text).split())[:_STATUS_CHARS]}")

    def alive(self) -> None:
        """It does what it should."""
        self._send("WATCHDOG=1")

    def _send(self, text: str) -> None:
        if not self._is_heard:
            return
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.sendto(text.encode("utf-8", "replace"), socket.MSG_DONTWAIT, self._address)


def _watchdog_s(environ: Mapping[str, str]) -> float | None:
    """Return the watchdog's patience, if it is meant for this process: sd_watchdog_enabled(3)."""
    pid = environ.get("WATCHDOG_PID", "")
    if pid and pid != str(os.getpid()):
        return None
    try:
        return int(environ.get("WATCHDOG_USEC", "")) / 1_000_000 or None
    except ValueError:
        return None
