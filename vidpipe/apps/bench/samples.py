"""Recorded samples of what can't be read as fast as it goes: cameras, and files behind a network.

A network source's packets are copied; a webcam's or a plugin's pictures, which come decoded, are
encoded as H.264, so that such a stream's cost of decoding is not its own.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from vidpipe.apps.sourcing import source_spec
from vidpipe.config.schema import Config
from vidpipe.config.stream import StreamConfig
from vidpipe.errors import SourceCause, SourceError, UsageError, VidpipeError
from vidpipe.outputs.canvas import format_for, paint_picture
from vidpipe.outputs.mp4 import Mp4File
from vidpipe.runtime.supervisor import ThreadGroup
from vidpipe.sources.declared import VideoLimits
from vidpipe.sources.opening import SourceSpec, open_reader
from vidpipe.sources.plugin import is_plugin_live
from vidpipe.sources.recording import SUFFIX, record_sample
from vidpipe.types import SourceKind

_GRACE_S = 5.0
_TIME_BASE = Fraction(1, 1000)
_ASSUMED_RATE_FPS = 25.0


@dataclass(frozen=True, slots=True)
class Samples:
    """What has been recorded.

    Attributes:
        files: By the stream's id.
        failures: Why a stream that needs one has none, by its id.
        encoded: The streams whose sample is not their own packets.
    """

    files: dict[str, str]
    failures: dict[str, str]
    encoded: tuple[str, ...] = ()


def needs_sample(stream: StreamConfig) -> bool:
    """Return True if a stream's source can't be read again and again as fast as it goes."""
    if stream.kind == "plugin":
        return is_plugin_live(stream.source)
    return stream.kind in ("network", "device")


def record_samples(
    config: Config, folder: Path, seconds: float, tell: Callable[[str], None]
) -> Samples:
    """Record all streams that need it, at the same time.

    Raises:
        UsageError: Not one stream of the configuration is left to be measured.
    """
    streams = [stream for stream in config.streams if needs_sample(stream)]
    if not streams:
        return Samples({}, {})
    tell(f"recording {seconds:g} s of {len(streams)} cameras")
    files: dict[str, str] = {}
    failures: dict[str, str] = {}
    is_over = threading.Event()

    def record(stream: StreamConfig, number: int) -> Callable[[], None]:
        def run() -> None:
            try:
                path = _record(stream, folder / str(number), seconds, is_over)
            except VidpipeError as exc:
                failures[stream.id] = str(exc)
            else:
                files[stream.id] = str(path)

        return run

    threads = ThreadGroup()
    for number, stream in enumerate(streams):
        threads.spawn(f"vp-sample-{stream.id}", record(stream, number), may_hang=True)
    longest_s = max(s.connect.open_timeout_s + 2 * s.connect.read_timeout_s for s in streams)
    try:
        threads.join(seconds + longest_s + _GRACE_S)
    finally:
        is_over.set()
    for stream in streams:
        if stream.id not in files and stream.id not in failures:
            failures[stream.id] = "no sample came within the time"
    if len(failures) == len(config.streams):
        told = "; ".join(f"{name}: {why}" for name, why in failures.items())
        raise UsageError(f"no stream can be measured: {told}")
    encoded = tuple(s.id for s in streams if s.id in files and s.kind != "network")
    return Samples(dict(files), dict(failures), encoded)


def _record(stream: StreamConfig, base: Path, seconds: float, is_over: threading.Event) -> Path:
    if stream.kind != "network":
        return _encode(stream, base.with_suffix(".mp4"), seconds, is_over)
    target = base.with_suffix(SUFFIX)
    limits = VideoLimits(
        stream.connect.open_timeout_s, stream.connect.read_timeout_s, stream.connect.transport
    )
    record_sample(stream.url(), target, seconds, limits=limits)
    _require_whole(target)
    return target


def _require_whole(path: Path) -> None:
    """Read a sample once: a stream that has lost packets would fail at each end of the loop.

    Raises:
        SourceError: It is damaged.
    """
    reader = open_reader(SourceSpec(str(path), SourceKind.FILE, thread_count=0))
    try:
        while reader.read() is not None:
            pass
    except SourceError as exc:
        raise SourceError(
            f"what came of it is damaged: {exc}; transport: tcp loses nothing", exc.cause
        ) from None
    finally:
        reader.close()


def _encode(stream: StreamConfig, target: Path, seconds: float, is_over: threading.Event) -> Path:
    """Write what a source shows for so long.

    Raises:
        SourceError: It shows nothing.
        SinkError: The file can't be written.
    """
    reader = open_reader(source_spec(stream))
    file: Mp4File | None = None
    began_at = time.monotonic()
    ticks = -1
    try:
        while not is_over.is_set() and (decoded := reader.read()) is not None:
            at_s = time.monotonic() - began_at
            if at_s > seconds:
                break
            if file is None:
                wanted = format_for(decoded.picture, scale=None, fit_wh=None)
                rate_fps = reader.info.rate_fps or _ASSUMED_RATE_FPS
                file = Mp4File(
                    target, wanted, stream=stream.id, time_base=_TIME_BASE, rate_fps=rate_fps
                )
            ticks = max(ticks + 1, round(at_s * 1000))
            paint_picture(file.canvas, decoded.picture)
            file.write(ticks, 1)
    except SourceError:
        if file is None:
            raise
    finally:
        reader.close()
    if file is None:
        raise SourceError("no picture came", SourceCause.TIMEOUT)
    return file.finish(40)
