"""Which picture a viewer is sent next: credit by acknowledgement, and newest wins. Pure.

Guarantees:
    * of each tile at most ``WINDOW`` pictures are sent and not acknowledged;
    * of each tile at most one picture waits, the newest that was due at the tile's rate;
    * no picture of a tile is sent after a newer one;
    * tiles take turns: one that has waited since before another was served comes before it.

So what a viewer holds is bounded, however slow it is; and a slow one gets fewer pictures, never
older ones.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from vidpipe.runtime.pace import Pace

T = TypeVar("T")

WINDOW = 2
"""Enough for full rate where a picture and its acknowledgement take no longer than two periods."""


@dataclass(slots=True)
class _TileState(Generic[T]):
    """One tile of one viewer."""

    pace: Pace
    served: int
    """Its turn: tiles with smaller ones come first."""
    waiting: T | None = None
    waiting_seq: int = 0
    unsettled: deque[int] = field(default_factory=deque)
    """Sequence numbers that were sent and not acknowledged, in the order of their sending."""


class Credit(Generic[T]):
    """One viewer's tiles; for one thread."""

    def __init__(self, window: int = WINDOW) -> None:
        """Begin without tiles; ``window``: pictures of a tile on their way at once."""
        self._window = window
        self._tiles: dict[str, _TileState[T]] = {}
        self._ready: dict[str, _TileState[T]] = {}
        """Those that could be served now: with something that waits, and credit for it."""
        self._turn = 0
        self._quiet_since_s: float | None = None

    def watch(self, rates: Mapping[str, float]) -> None:
        """Show these tiles from now on, each so many times a second; what waits of others goes."""
        kept = {}
        for stream, rate in rates.items():
            tile = self._tiles.get(stream)
            if tile is None:
                tile = _TileState(Pace(rate), self._turn)
            else:
                tile.pace.set_rate(rate)
            kept[stream] = tile
        self._tiles = kept
        self._ready = {stream: tile for stream, tile in self._ready.items() if stream in kept}
        self._rest()

    @property
    def is_ready(self) -> bool:
        """True if there is something to be sent now."""
        return bool(self._ready)

    def offer(self, stream: str, seq: int, at_s: float, picture: T) -> bool:
        """Take a picture that was captured at a moment; return False if it has no use."""
        tile = self._tiles.get(stream)
        if tile is None or not tile.pace.take(at_s):
            return False
        tile.waiting, tile.waiting_seq = picture, seq
        self._note(stream, tile)
        return True

    def take(self, now_s: float) -> T | None:
        """Return the picture to be sent now, or None where there is none or no credit for it."""
        if not self._ready:
            return None
        stream = min(self._ready, key=lambda one: self._ready[one].served)
        tile = self._ready.pop(stream)
        picture, tile.waiting = tile.waiting, None
        tile.unsettled.append(tile.waiting_seq)
        self._turn += 1
        tile.served = self._turn
        if self._quiet_since_s is None:
            self._quiet_since_s = now_s
        return picture

    def settle(self, stream: str, seq: int, now_s: float) -> bool:
        """A picture was acknowledged, and with it those sent before it.

        Returns False if no such picture is on its way: of a tile that is gone, or settled already.
        """
        tile = self._tiles.get(stream)
        if tile is None or seq not in tile.unsettled:
            return False
        while tile.unsettled.popleft() != seq:
            pass
        self._note(stream, tile)
        self._quiet_since_s = now_s
        self._rest()
        return True

    def quiet_s(self, now_s: float) -> float:
        """Return for how long nothing was acknowledged while something should have been."""
        return 0.0 if self._quiet_since_s is None else now_s - self._quiet_since_s

    @property
    def unsettled(self) -> int:
        """How many pictures are on their way."""
        return sum(len(tile.unsettled) for tile in self._tiles.values())

    def _note(self, stream: str, tile: _TileState[T]) -> None:
        if tile.waiting is not None and len(tile.unsettled) < self._window:
            self._ready[stream] = tile

    def _rest(self) -> None:
        if not any(tile.unsettled for tile in self._tiles.values()):
            self._quiet_since_s = None
