"""What is to be done with an input follows from the ledger, the input and the settings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.clips import ClipSpec, write_clip
from vidpipe.apps.batch.discover import InputFile
from vidpipe.apps.batch.folder import OutputFolder
from vidpipe.apps.batch.kinds import kind_of
from vidpipe.apps.batch.ledger import Ledger, State, UnitRow
from vidpipe.apps.batch.prepare import Preparing, Verdict
from vidpipe.apps.batch.sampling import Sampling


@pytest.fixture
def preparing(tmp_path: Path) -> Preparing:
    folder = OutputFolder(tmp_path / "out")
    folder.ledger.parent.mkdir(parents=True)
    return Preparing(folder, Ledger(folder.ledger), {"confidence": 0.4}, Sampling(), cores=2)


def given(path: Path) -> InputFile:
    kind = kind_of(path)
    assert kind is not None
    return InputFile(path, path.name, kind, path.parent)


def finished(preparing: Preparing, file: InputFile) -> None:
    """Leave an input as a run leaves it that has done all of it."""
    prepared = preparing.prepare(file)
    preparing.folder.result(file.stem).write_bytes(b"{}\n")
    preparing.ledger.end_file(prepared.id, State.DONE, "", {"frames": 1})


def test_a_new_file_is_planned(preparing: Preparing, tmp_path: Path) -> None:
    every_second = {"g": "25", "keyint_min": "25", "sc_threshold": "0"}
    clip = write_clip(tmp_path / "a.mp4", ClipSpec(frames=1000, encoder=every_second))
    prepared = preparing.prepare(given(clip))
    assert (prepared.verdict, prepared.reason) == (Verdict.TO_DO, "")
    assert len(prepared.units) > 1
    assert sum(row.unit.frames or 0 for row in prepared.units) == 1000
    preparing.ledger.close()


def test_units_that_are_done_are_kept(preparing: Preparing, tmp_path: Path) -> None:
    file = given(write_clip(tmp_path / "a.mp4"))
    prepared = preparing.prepare(file)
    (row,) = prepared.units
    preparing.ledger.finish_unit(prepared.id, UnitRow(row.unit, State.DONE, 10, 99))
    again = preparing.prepare(file)
    assert (again.id, [row.state for row in again.units]) == (prepared.id, [State.DONE])
    preparing.ledger.close()


def test_a_done_file_is_done_until_something_changes(preparing: Preparing, tmp_path: Path) -> None:
    file = given(write_clip(tmp_path / "a.mp4"))
    finished(preparing, file)
    assert preparing.prepare(file).verdict is Verdict.DONE

    other = replace(preparing, settings={"confidence": 0.5})
    assert other.prepare(file).reason == "confidence is 0.5, no longer 0.4"
    assert not preparing.folder.result(file.stem).exists()

    finished(preparing, file)
    write_clip(file.path, ClipSpec(frames=3))
    assert "the input has" in preparing.prepare(file).reason

    finished(preparing, file)
    preparing.folder.result(file.stem).unlink()
    assert preparing.prepare(file).reason == "its results are gone"

    finished(preparing, file)
    assert replace(preparing, is_fresh=True).prepare(file).reason == "--fresh"
    preparing.ledger.close()


def test_a_failed_file_stays_so_unless_it_is_asked_for(
    preparing: Preparing, tmp_path: Path
) -> None:
    file = given(write_clip(tmp_path / "a.mp4"))
    prepared = preparing.prepare(file)
    preparing.ledger.end_file(prepared.id, State.FAILED, "it is odd", {"frames": 7})
    again = preparing.prepare(file)
    assert (again.verdict, again.reason) == (Verdict.SET_ASIDE, "it is odd")
    retried = replace(preparing, retries_failed=True).prepare(file)
    assert (retried.verdict, retried.reason) == (Verdict.TO_DO, "--retry-failed")
    preparing.ledger.close()


def test_what_isnt_there_is_an_error(preparing: Preparing, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        preparing.prepare(given(tmp_path / "gone.mp4"))
    preparing.ledger.close()
