"""Real pictures of a configuration's own sources, to measure stages with."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from vidpipe.apps.sourcing import source_spec
from vidpipe.config.schema import Config
from vidpipe.config.stream import StreamConfig
from vidpipe.errors import UsageError
from vidpipe.interfaces import Reader
from vidpipe.sources.opening import open_reader
from vidpipe.types import Frame, Picture, SourceInfo

_MOST_SOURCES = 16
"""Distinct sources beyond these are taken to be like them."""

_MOST_PICTURES = 24
_STRIDE = 5
"""Neighbouring pictures are too alike to be worth their memory."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A source and the model that watches it: one of those that a configuration has.

    Attributes:
        stream: The first of the streams that are alike.
        weight: How many are.
        info: What the source says of itself.
        frames: Some of its frames; at least one.
    """

    stream: StreamConfig
    weight: int
    info: SourceInfo
    frames: Sequence[Frame]


def subjects_of(config: Config) -> list[Subject]:
    """Read some pictures of every distinct source.

    Raises:
        SourceError: One can't be opened or read.
        UsageError: One has no picture.
    """
    alike = Counter((stream.url(), stream.model) for stream in config.streams)
    firsts: dict[tuple[str, str], StreamConfig] = {}
    for stream in config.streams:
        firsts.setdefault((stream.url(), stream.model), stream)
    chosen = list(firsts.items())[:_MOST_SOURCES]
    each = max(2, _MOST_PICTURES // len(chosen) // 2)
    return [_subject(stream, alike[key], each) for key, stream in chosen]


def neighbours_of(stream: StreamConfig, count: int) -> tuple[list[Picture], SourceInfo]:
    """Return so many pictures that follow one another, or fewer of a short source; at least one.

    And what the source says of itself.

    Raises:
        SourceError: The source can't be opened or read.
        UsageError: It has no picture.
    """
    reader = open_reader(source_spec(stream))
    try:
        pictures, info = list(islice(_pictures(reader), count)), reader.info
    finally:
        reader.close()
    if not pictures:
        raise UsageError(f"stream {stream.id}: its source has no picture")
    return pictures, info


def endless_reading(stream: StreamConfig, thread_count: int = 1) -> Generator[None]:
    """Read a source over and over: each turn is one frame, read as a run reads it.

    Raises:
        SourceError: It can't be opened or read.
        UsageError: It has no picture.
    """
    while True:
        reader = open_reader(source_spec(stream, thread_count))
        count = 0
        try:
            while reader.read() is not None:
                count += 1
                yield
        finally:
            reader.close()
        if not count:
            raise UsageError(f"stream {stream.id}: its source has no picture")


def _subject(stream: StreamConfig, weight: int, most: int) -> Subject:
    reader = open_reader(source_spec(stream))
    try:
        frames = list(_frames(stream, reader, most))
        info = reader.info
    finally:
        reader.close()
    if not frames:
        raise UsageError(f"stream {stream.id}: its source has no picture")
    return Subject(stream, weight, info, frames)


def _pictures(reader: Reader) -> Iterator[Picture]:
    while (decoded := reader.read()) is not None:
        yield decoded.picture


def _frames(stream: StreamConfig, reader: Reader, most: int) -> Iterator[Frame]:
    for number in range(most * _STRIDE):
        decoded = reader.read()
        if decoded is None:
            return
        if number % _STRIDE == 0:
            yield Frame(
                stream=stream.id,
                epoch=0,
                number=number,
                pts_s=decoded.pts_s,
                captured_at=time.monotonic(),
                time=None,
                size_wh=decoded.picture.size_wh,
                picture=decoded.picture,
                source=reader.info,
            )
