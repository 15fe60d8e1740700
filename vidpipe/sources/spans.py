"""A part of a recorded file, decoded from a key frame on and ended before another one.

Guarantees, for the parts that ``keyframes`` finds: each picture of the file belongs to exactly one
of them, and comes out of it as it would out of the whole file. Pictures that are shown before a
part's key frame but coded behind it (open groups of pictures) belong to the part before, which
reads on until it has them.

Containers, streams and packets are PyAV's, as ``Any``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import av

from vidpipe.errors import SourceCause, SourceError
from vidpipe.sources.completeness import Tally
from vidpipe.sources.container import reason_of

_STEPS_BACK_S = (0.0, 5.0, 60.0)
"""How far before its key frame a part is looked for: an index may name fewer than there are."""


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a video.

    Attributes:
        start_ticks: The timestamp of the key frame that it begins with, in the stream's units; None
            for the file's beginning.
        end_ticks: The timestamp that its pictures come before; None for the file's end.
        packets: How many packets have to be decoded for that; None for all that follow.
    """

    start_ticks: int | None = None
    end_ticks: int | None = None
    packets: int | None = None

    def holds(self, ticks: int | None) -> bool:
        """Tell whether a picture of this timestamp belongs to the part."""
        if ticks is None:
            return False
        is_behind = self.start_ticks is None or ticks >= self.start_ticks
        return is_behind and (self.end_ticks is None or ticks < self.end_ticks)


class SpanGate:
    """Lets through the pictures of a part, in the order in which they leave the decoder.

    What comes before the first of them belongs to the part before, and so does its damage: it was
    decoded without what it refers to.
    """

    def __init__(self, span: Span | None) -> None:
        """Begin a part; None: of a whole file, all is let through."""
        self._span = span
        self._has_begun = span is None or span.start_ticks is None

    def admit(self, frames: list[Any], tally: Tally) -> list[Any]:
        """Return the frames that belong to the part; ``tally`` forgets what it is to forget."""
        if self._span is None:
            return frames
        span = self._span
        frames = [frame for frame in frames if span.holds(frame.pts)]
        if frames and not self._has_begun:
            self._has_begun = True
            # Else the container has called a key frame what is none.
            tally.damaged_packets = int(not frames[0].key_frame)
        return frames


def packets_of(container: Any, stream: Any, span: Span, name: str) -> Iterator[Any]:
    """Yield the packets that a part is decoded from, in their order.

    Raises:
        SourceError: Its key frame isn't found again (cause INCOMPLETE).
    """
    if span.start_ticks is None:
        packets = container.demux(stream)
    else:
        packets = _from_key_frame(container, stream, span.start_ticks, name)
    left = span.packets
    for packet in packets:
        if left is not None:
            if left == 0:
                return
            left -= 1
        yield packet


def _from_key_frame(container: Any, stream: Any, ticks: int, name: str) -> Iterator[Any]:
    for back_s in _STEPS_BACK_S:
        try:
            container.seek(ticks - int(back_s / stream.time_base), stream=stream)
        except (av.FFmpegError, OSError) as exc:
            raise SourceError(
                f"{name}: seeking failed ({reason_of(exc) or 'invalid data'})",
                SourceCause.INCOMPLETE,
            ) from None
        packets = container.demux(stream)
        for packet in packets:
            if packet.pts == ticks:
                yield packet
                yield from packets
                return
            # What is coded before this key frame is shown before it: here it was passed.
            if packet.pts is None or packet.pts > ticks:
                break
    raise SourceError(f"{name}: a key frame isn't found again", SourceCause.INCOMPLETE)
