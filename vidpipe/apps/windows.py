"""How a stream shares its model's pool: its lane, its weight, how many of its frames are out."""

from __future__ import annotations

from vidpipe.apps.drafts import Draft
from vidpipe.apps.sinks import overflow_of
from vidpipe.apps.sourcing import LIVE_MAX_AGE_S
from vidpipe.apps.units import StreamPools
from vidpipe.scheduling.intake import DispatchPolicy
from vidpipe.scheduling.lanes import LanePolicy
from vidpipe.types import Overflow

_LIVE_LANE = 2
_FILE_LANE = 4

_IN_SINKS = 4
"""How many frames of a stream may be with its sinks while as many as it may have are at the model.
"""

_BESIDE_FRAMES = 2
"""Work of a stream beside its frames: one resumption, and its end."""


def room_for(pools: StreamPools, stream: str) -> int:
    """Return how many pieces of work of a stream there can be at once, whatever its window."""
    return pools.capacity_for(stream) + _IN_SINKS + _BESIDE_FRAMES


def window_of(pools: StreamPools, stream: str) -> int:
    """Return how many frames of a stream may be between dispatch and their last blocking sink."""
    requests, sharers = pools.capacity_for(stream), pools.sharers_of(stream)
    # A lone stream may fill the pool; of many each needs its share and a little more.
    return min(requests, -(-2 * requests // sharers)) + _IN_SINKS


def dispatch_policy(draft: Draft, window: int) -> DispatchPolicy:
    """Translate how a stream shares its pool."""
    lane = draft.config.lane
    overflow = Overflow(lane.overflow) if lane.overflow else overflow_of(is_live=draft.is_live)
    default_age_s = LIVE_MAX_AGE_S if overflow is Overflow.DROP_OLDEST else None
    return DispatchPolicy(
        lane=LanePolicy(
            size=lane.size or (_LIVE_LANE if draft.is_live else _FILE_LANE),
            overflow=overflow,
            max_age_s=lane.max_age_ms / 1000 if lane.max_age_ms else default_age_s,
        ),
        window=window,
        weight=draft.config.weight,
        detect_fps=draft.config.detect_fps,
    )
