"""How many of all streams decode at once where there is no time for all: what the model can answer.

The fewer decode, the more time the model finds; where all that is decoded is answered, it is the
model that goes without. Pure policy.
"""

from __future__ import annotations

_LESS_IF_HOPELESS = 0.7
"""So much is left of it after a stream was late beyond hope; it is never less at one time."""

_MORE = 1.1
_LEAST = 0.1

_SPELL_S = 2.0
"""Lateness tells nothing of a change before that."""

_MEMORY_S = 60.0
"""So long after the last picture that was late more is tried again, up to all."""

_WASTE = 2.0
"""Pictures decoded for each that is answered: more is less than the model could answer."""

_STARVED = 1.5
"""Fewer: the model has little to choose from, and gets more unless pictures have to wait."""


class DecodeLevel:
    """A part of the streams; guarded by whoever owns it.

    Attributes:
        part: Up to 1: all of them.
    """

    def __init__(self, now_s: float) -> None:
        """Begin with everything."""
        self.part = 1.0
        self._spell_at = now_s
        self._strained_at = float("-inf")

    def note_late(self, now_s: float, count: int) -> None:
        """One of so many streams is late beyond hope, since it can't be decoded in time."""
        self._strained_at = now_s
        if now_s - self._spell_at >= _SPELL_S:
            self._set(self.part * _LESS_IF_HOPELESS, now_s, count)

    def note_strain(self, now_s: float) -> None:
        """A picture had to wait for a time that is felt."""
        self._strained_at = now_s

    def is_due(self, now_s: float) -> bool:
        """Tell whether there is something to ``adjust``."""
        return self.part < 1.0 and now_s - self._spell_at >= _SPELL_S

    def adjust(self, now_s: float, count: int, decoded: int, answered: int) -> None:
        """Take more or less, by what became of the pictures since the last time.

        Args:
            now_s: Monotonic seconds.
            count: Of the streams.
            decoded: Their pictures that were decoded.
            answered: Those of them that came to a good end.
        """
        waste = decoded / max(1, answered)
        is_strained = self._strained_at >= self._spell_at
        factor = 1.0
        if now_s - self._strained_at > _MEMORY_S or (waste < _STARVED and not is_strained):
            factor = _MORE
        elif waste > _WASTE:
            factor = max(_LESS_IF_HOPELESS, _WASTE / waste)
        self._set(self.part * factor, now_s, count)

    def _set(self, part: float, now_s: float, count: int) -> None:
        # One alone is late whatever its part, and leaps by itself.
        self.part = min(1.0, max(part, _LEAST, 1.0 / max(1, count)))
        self._spell_at = now_s
