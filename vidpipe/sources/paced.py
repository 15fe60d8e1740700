"""A live source that comes in pieces of seconds (HLS), read at the pace of its own timestamps.

A piece is fetched at once; read as fast as it comes, a lane would keep its last pictures alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from vidpipe.interfaces import Clock
from vidpipe.sources.pacing import Pacer
from vidpipe.sources.video import VideoReader
from vidpipe.sources.vitals import Vitals
from vidpipe.types import Decoded, SourceInfo

IN_PIECES = frozenset({"hls", "dash"})
"""Demuxers of such sources."""


class PacedReader:
    """A reader whose pictures are returned when they are due; one thread reads and closes it."""

    def __init__(
        self,
        reader: VideoReader,
        longest_wait_s: float,
        *,
        clock: Clock = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Take over a reader; no picture waits longer than ``longest_wait_s``."""
        self._reader = reader
        self._longest_wait_s = longest_wait_s
        self._clock = clock
        self._sleep = sleep
        self._pacer = Pacer()

    @property
    def info(self) -> SourceInfo:
        """What the source says of itself."""
        return self._reader.info

    @property
    def vitals(self) -> Vitals:
        """Its signs of life."""
        return self._reader.vitals

    def read(self) -> Decoded | None:
        """Return the next picture, once it is due.

        Raises:
            SourceError: As the reader's own.
        """
        decoded = self._reader.read()
        if decoded is not None and decoded.pts_s is not None:
            wait_s = self._pacer.wait_s(decoded.pts_s, self._clock())
            if wait_s > 0:
                self._sleep(min(wait_s, self._longest_wait_s))
        return decoded

    def close(self) -> None:
        """Close the reader."""
        self._reader.close()
