"""Who looks on, and what all of them together want: the same for one process and for several."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping

from vidpipe.shots import Shot, ShotSize, TakeShot, Wants


class Visits:
    """The visits of one gallery; every method is for any thread."""

    def __init__(self, on_change: Callable[[Wants], None]) -> None:
        """Begin without any.

        Args:
            on_change: Is told what is wanted altogether, each time that this changes; must not
                call back.
        """
        self._on_change = on_change
        self._lock = threading.Lock()
        self._visits: tuple[OneVisit, ...] = ()
        self._wants: Wants = {}

    @property
    def wants(self) -> Wants:
        """What is wanted altogether."""
        return self._wants

    def begin(self, take: TakeShot) -> OneVisit:
        """Begin a visit, which wants nothing yet."""
        visit = OneVisit(self, take)
        with self._lock:
            self._visits = (*self._visits, visit)
        return visit

    def change(self, visit: OneVisit, wants: Wants) -> None:
        """Take in what one visit wants."""
        with self._lock:
            visit.wants = {stream: dict(sizes) for stream, sizes in wants.items() if sizes}
            self._add_up()

    def end(self, visit: OneVisit) -> None:
        """Forget a visit."""
        with self._lock:
            self._visits = tuple(one for one in self._visits if one is not visit)
            self._add_up()

    def deliver(self, shot: Shot, sizes: Collection[ShotSize]) -> None:
        """Give a picture to all who asked for it."""
        for visit in self._visits:
            wanted = visit.wants.get(shot.stream)
            if wanted and (mine := [size for size in sizes if size in wanted]):
                visit.take(shot, mine)

    def _add_up(self) -> None:
        total: dict[str, dict[ShotSize, float]] = {}
        for visit in self._visits:
            for stream, sizes in visit.wants.items():
                known = total.setdefault(stream, {})
                for size, fps in sizes.items():
                    known[size] = max(fps, known.get(size, 0.0))
        if total != self._wants:
            self._wants = total
            self._on_change(total)


class OneVisit:
    """Implements ``Visit``.

    Attributes:
        take: Gets the pictures.
        wants: What was asked for last; replaced as a whole.
    """

    def __init__(self, visits: Visits, take: TakeShot) -> None:
        """Want nothing yet."""
        self.take = take
        self.wants: Mapping[str, Mapping[ShotSize, float]] = {}
        self._visits = visits

    def ask(self, wants: Wants) -> None:
        """Say what is wanted from now on, in place of all that was."""
        self._visits.change(self, wants)

    def close(self) -> None:
        """Want nothing more; may be called twice."""
        self._visits.end(self)
