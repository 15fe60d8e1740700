"""Keeping up with a source that can't wait: what has become too late is passed over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vidpipe.interfaces import Reader
from vidpipe.sources.backlog import Backlog
from vidpipe.sources.vitals import CanLeap, Vitals

if TYPE_CHECKING:
    from loguru import Logger


class Punctuality:
    """One stream's; one thread."""

    def __init__(self, max_late_s: float, log: Logger) -> None:
        """Begin punctual; ``log`` is told once that the machine can't decode all of it."""
        self._max_late_s = max_late_s
        self._log = log
        self._backlog = Backlog(max_late_s)
        self._has_told = False

    def begin(self) -> None:
        """Begin with another connection, or another time line."""
        self._backlog = Backlog(self._max_late_s)

    def keep_up(self, reader: Reader, vitals: Vitals, media_s: float, now_s: float) -> bool:
        """Let a reader pass over what comes too late, seeing when a picture was there.

        Returns:
            False: it is too late, and there is nothing to leap to.
        """
        late_s = self._backlog.note(media_s, now_s, vitals.waited_s)
        if not isinstance(reader, CanLeap):
            return not late_s
        reader.note_lag(self._backlog.lag_s)
        if not late_s:
            return True
        if not self._has_told:
            self._has_told = True
            self._log.warning(
                "this machine can't decode all of it ({:.1f} s late): what is late is passed over, "
                "from key frame to key frame (said once)",
                late_s,
            )
        return reader.leap(late_s)
