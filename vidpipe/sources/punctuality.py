"""Keeping up with a source that can't wait: what has become too late is passed over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vidpipe.interfaces import Reader
from vidpipe.sources.backlog import Backlog
from vidpipe.sources.pacing import Pacer
from vidpipe.sources.vitals import CanLeap, Vitals

if TYPE_CHECKING:
    from loguru import Logger


class Punctuality:
    """One stream's; one thread.

    Attributes:
        pacer: When the pictures of a file that is played like a camera are due.
    """

    def __init__(self, max_late_s: float, log: Logger) -> None:
        """Begin punctual; ``log`` is told once that the machine can't decode all of it."""
        self.pacer = Pacer()
        self._max_late_s = max_late_s
        self._log = log
        self._backlog = Backlog(max_late_s)
        self._has_told = False
        self._is_apart = False

    def begin(self) -> None:
        """Begin with another connection, or another time line."""
        self._backlog = Backlog(self._max_late_s)

    def keep_up(self, reader: Reader, vitals: Vitals, media_s: float, now_s: float) -> None:
        """Let a reader pass over what comes too late, seeing when a picture was there."""
        late_s = self._backlog.note(media_s, now_s, vitals.waited_s)
        leap = reader.leap if isinstance(reader, CanLeap) else None
        if leap is not None:
            leap.note_lag(self._backlog.lag_s)
        if not late_s:
            return
        if leap is not None and not self._has_told:
            self._has_told = True
            self._log.warning(
                "this machine can't decode all of it ({:.1f} s late): what is late is passed over, "
                "from key frame to key frame (said once)",
                late_s,
            )
        if leap is not None and leap.begin(late_s):
            if not self._is_apart and not reader.info.is_live:
                self._is_apart = True
                self.pacer.put_off(leap.apart_s)
                self.begin()
        elif not reader.info.is_live:
            # There is nothing to leap to: it is played slower.
            self.pacer = Pacer()
            self.begin()
