"""The work of one run: files with their units, groups of pictures, and what is at work now.

Records and their moves; no thread, no clock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from vidpipe.apps.batch.groups import PictureSink
from vidpipe.apps.batch.ledger import State, UnitRow
from vidpipe.apps.batch.parts import PartSink
from vidpipe.apps.batch.plan import Unit
from vidpipe.apps.batch.prepare import Prepared
from vidpipe.apps.batch.reading import Reading


@dataclass(slots=True, eq=False)
class FileWork:
    """A video that is being worked at.

    Attributes:
        prepared: The file and its plan.
        began_at: When its first unit began, monotonic; None before.
        rows: Its units, as they stand.
        pending: Those that nobody is at.
        decoded: Frames decoded in this run, of units that are finished.
        expected: How many frames its container promises; None where that isn't known.
        duration_s: Its length as the container says it, likewise.
    """

    prepared: Prepared
    began_at: float | None = None
    rows: dict[int, UnitRow] = field(init=False)
    pending: deque[Unit] = field(init=False)
    decoded: dict[int, int] = field(default_factory=dict)
    expected: int | None = None
    duration_s: float | None = None

    def __post_init__(self) -> None:
        """Take the units from the plan."""
        self.take(self.prepared)

    def take(self, prepared: Prepared) -> None:
        """Begin with a plan, in place of the one before."""
        self.prepared = prepared
        self.rows = {row.unit.number: row for row in prepared.units}
        self.pending = deque(row.unit for row in prepared.units if row.state is not State.DONE)
        self.decoded = {}

    @property
    def stem(self) -> str:
        """The file's name."""
        return self.prepared.input.stem

    @property
    def is_done(self) -> bool:
        """True once every unit is."""
        return all(row.state is State.DONE for row in self.rows.values())

    def finish(self, unit: Unit, row: UnitRow, decoded: int) -> None:
        """Note that a unit is done."""
        self.rows[unit.number] = row
        self.decoded[unit.number] = decoded

    @property
    def frames_decoded(self) -> int | None:
        """How many frames the file turned out to have; None where not all were seen in this run."""
        counts = [self.decoded.get(row.unit.number, row.unit.frames) for row in self.rows.values()]
        return None if None in counts else sum(count or 0 for count in counts)

    @property
    def lines(self) -> int:
        """The lines of the units that are done."""
        return sum(row.lines for row in self.rows.values())

    @property
    def failed(self) -> int:
        """How many of them tell of a frame that the model didn't answer."""
        return sum(row.failed for row in self.rows.values())


@dataclass(slots=True, eq=False)
class UnitFlight:
    """A unit of a video at work."""

    work: FileWork
    unit: Unit
    reading: Reading
    sink: PartSink
    lines_before: int
    """Lines that were there already."""

    @property
    def news(self) -> int:
        """Results that this run has made."""
        return self.sink.lines - self.lines_before


@dataclass(slots=True, eq=False)
class GroupFlight:
    """A group of pictures at work."""

    pictures: Sequence[Prepared]
    reading: Reading
    sink: PictureSink
    began_at: float

    @property
    def news(self) -> int:
        """Results that this run has made."""
        return self.sink.lines


Flight = UnitFlight | GroupFlight
