"""What is to be done with an input: nothing, as it is done; go on where it was left; or all of it.

The answer follows from the ledger, the input as it is now, and the settings; and it says why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from vidpipe.apps.batch.discover import InputFile
from vidpipe.apps.batch.folder import OutputFolder, is_there
from vidpipe.apps.batch.identity import difference, identify
from vidpipe.apps.batch.kinds import Kind
from vidpipe.apps.batch.ledger import FileRow, Ledger, State, UnitRow
from vidpipe.apps.batch.plan import SHORTEST_UNIT_S, Unit, plan_units
from vidpipe.apps.batch.sampling import Sampling
from vidpipe.apps.batch.setup import changed_settings
from vidpipe.errors import SourceError
from vidpipe.sources.keyframes import find_key_frames


class Verdict(Enum):
    """What is to be done with an input."""

    DONE = "done"
    """Nothing: its results are there."""
    SET_ASIDE = "set aside"
    """Nothing: it failed before, and is as it was."""
    TO_DO = "to do"
    """Some or all of its units."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """An input, ready to be worked at.

    Attributes:
        input: The input.
        verdict: What is to be done.
        id: The ledger's number for it.
        units: All its units, with those that are done; of a picture none.
        reason: Why it is done again, or failed before; empty for what is new.
        outcome: What the ledger says of it, where it is done.
    """

    input: InputFile
    verdict: Verdict
    id: int
    units: Sequence[UnitRow] = ()
    reason: str = ""
    outcome: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Preparing:
    """How inputs are prepared.

    Attributes:
        folder: The output folder.
        ledger: Its ledger.
        settings: What results depend on.
        sampling: Which frames are wanted.
        cores: How many there are to work at a file.
        is_fresh: Everything is done again.
        retries_failed: What failed before is done again.
        is_full_hash: All of an input is hashed.
    """

    folder: OutputFolder
    ledger: Ledger
    settings: Mapping[str, Any]
    sampling: Sampling
    cores: int
    is_fresh: bool = False
    retries_failed: bool = False
    is_full_hash: bool = False

    def prepare(self, file: InputFile) -> Prepared:
        """Decide, and plan its units where there are none.

        Raises:
            OSError: It can't be looked at, or what is left of earlier results can't be removed.
            LedgerError: The ledger can't be read or written.
        """
        identity = identify(file.path, is_full=self.is_full_hash)
        row = self.ledger.find(file.stem)
        reason = ""
        if row is not None:
            reason = difference(row.identity, identity) or changed_settings(
                row.settings, self.settings
            )
            if self.is_fresh:
                reason = "--fresh"
            elif not reason and (known := self._known(file, row)) is not None:
                return known
            elif not reason:
                reason = "--retry-failed" if row.state is State.FAILED else "its results are gone"
            self.folder.remove_parts(row.id)
        self.folder.forget_results(file.stem)
        number = self.ledger.begin_file(file.stem, file.path, identity, self.settings)
        if file.kind is Kind.PICTURE:
            return Prepared(file, Verdict.TO_DO, number, reason=reason)
        units = self._planned(file)
        self.ledger.plan(number, units)
        rows = [UnitRow(unit, State.PENDING) for unit in units]
        return Prepared(file, Verdict.TO_DO, number, rows, reason)

    def _known(self, file: InputFile, row: FileRow) -> Prepared | None:
        """Return what an earlier run has left of the same work, if it can be built on."""
        if row.state is State.FAILED:
            if self.retries_failed:
                return None
            return Prepared(file, Verdict.SET_ASIDE, row.id, reason=row.reason, outcome=row.outcome)
        if row.state is State.DONE:
            if not is_there(self.folder.result(file.stem)):
                return None
            return Prepared(file, Verdict.DONE, row.id, reason=row.reason, outcome=row.outcome)
        units = self.ledger.units(row.id)
        if file.kind is Kind.PICTURE or units:
            return Prepared(file, Verdict.TO_DO, row.id, units)
        return None  # it was stopped before it was planned

    def _planned(self, file: InputFile) -> Sequence[Unit]:
        try:
            found = find_key_frames(file.path, least_s=2 * SHORTEST_UNIT_S)
        except SourceError:
            return (Unit(),)  # whoever decodes it will say what is wrong
        return plan_units(found, self.sampling, cores=self.cores)


def replanned(ledger: Ledger, prepared: Prepared) -> Prepared:
    """Return a file that turned out not to be what was planned, to be done in one piece.

    Raises:
        LedgerError: The ledger can't be written.
    """
    whole = Unit()
    ledger.plan(prepared.id, [whole])
    rows = [UnitRow(whole, State.PENDING)]
    return Prepared(prepared.input, Verdict.TO_DO, prepared.id, rows, prepared.reason)
