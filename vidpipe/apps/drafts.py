"""A stream's section looked through: what of it can be refused, is, before anything is changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vidpipe.apps.sinks import record_lanes, sink_lanes
from vidpipe.apps.sourcing import is_endless
from vidpipe.config.stream import StreamConfig
from vidpipe.outputs.fanout import SinkLane
from vidpipe.outputs.glyphs import Typesetter
from vidpipe.outputs.packetlane import RecordLane


@dataclass(frozen=True, slots=True)
class Draft:
    """A stream whose outputs have been looked through.

    Attributes:
        config: Its section.
        is_recorded: Whether its source has an end, which only a plugin may know.
        lanes: What its results go to; nothing is open yet.
        records: What its packets go to.
    """

    config: StreamConfig
    is_recorded: bool
    lanes: Sequence[SinkLane]
    records: Sequence[RecordLane]

    @property
    def is_live(self) -> bool:
        """True if it can't wait: a camera, or a file that is played like one."""
        return self.config.realtime or not self.is_recorded


def drafted(stream: StreamConfig, typesetter: Typesetter) -> Draft:
    """Return a stream that could begin; ``typesetter`` sets labels, and is shared by all.

    Raises:
        ConfigError: A plugin refuses the keys of its output.
    """
    is_recorded = not is_endless(stream)
    is_live = stream.realtime or not is_recorded
    lanes = list(sink_lanes(stream, typesetter, is_live=is_live))
    return Draft(stream, is_recorded, lanes, list(record_lanes(stream, is_live=is_live)))
