"""What is recorded of an input is the same, wherever a run was killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clips import write_clip
from vidpipe.apps.batch.discover import InputFile
from vidpipe.apps.batch.folder import OutputFolder
from vidpipe.apps.batch.formats.results import FileOutcome, FileState
from vidpipe.apps.batch.join import join
from vidpipe.apps.batch.kinds import Kind
from vidpipe.apps.batch.ledger import Ledger, State, UnitRow
from vidpipe.apps.batch.outcomes import Outcomes
from vidpipe.apps.batch.plan import Unit
from vidpipe.apps.batch.prepare import Preparing
from vidpipe.apps.batch.sampling import Sampling
from vidpipe.apps.batch.work import FileWork

PARTS = [
    b'{"frame": 0, "error": null}\n{"frame": 1, "error": "no"}\n',
    b'{"frame": 2, "error": "no"}\n',
]


@pytest.mark.parametrize("parts", [PARTS[:1], PARTS])
@pytest.mark.parametrize("is_joined", [False, True])
def test_unanswered_frames_of_an_earlier_run_are_told(
    tmp_path: Path, parts: list[bytes], *, is_joined: bool
) -> None:
    folder = OutputFolder(tmp_path / "out")
    folder.ledger.parent.mkdir(parents=True)
    clip = write_clip(tmp_path / "a.mp4")
    file = InputFile(clip, clip.name, Kind.VIDEO, clip.parent)
    ledger = Ledger(folder.ledger)
    number = Preparing(folder, ledger, {}, Sampling(), cores=2).prepare(file).id
    units = [Unit(place) for place in range(len(parts))]
    ledger.plan(number, units)
    folder.parts(number).mkdir(parents=True)
    for unit, content in zip(units, parts, strict=True):
        folder.part(number, unit.number).write_bytes(content)
        lines, failed = content.count(b"\n"), content.count(b'"no"')
        ledger.finish_unit(number, UnitRow(unit, State.DONE, lines, len(content), failed))
    if is_joined:  # killed before the ledger was told
        join(folder, number, file.stem, ledger.units(number))
        folder.remove_parts(number)
    ledger.close()

    ledger = Ledger(folder.ledger)
    told: list[FileOutcome] = []
    outcomes = Outcomes(folder, ledger, (), True, lambda result: None, told.append)  # noqa: FBT003
    work = FileWork(Preparing(folder, ledger, {}, Sampling(), cores=2).prepare(file))
    assert work.is_done
    outcomes.finish(work, 1.0)
    failed = b"".join(parts).count(b'"no"')
    row = ledger.find(file.stem)
    assert row is not None
    assert row.outcome["failed_frames"] == failed
    (outcome,) = told
    assert outcome.state is FileState.DONE
    assert outcome.reason == f"the model didn't answer {failed} of its frames"
    assert folder.result(file.stem).read_bytes() == b"".join(parts)
    ledger.close()
