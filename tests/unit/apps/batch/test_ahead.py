"""Inputs are prepared in their turn; whatever goes wrong with one ends in an answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from vidpipe.apps.batch.ahead import Ahead, Answer, Unprepared
from vidpipe.apps.batch.discover import InputFile
from vidpipe.apps.batch.kinds import Kind
from vidpipe.apps.batch.ledger import Ledger, LedgerError
from vidpipe.apps.batch.prepare import Prepared, Verdict


def input_file(name: str) -> InputFile:
    return InputFile(Path("/in") / name, name, Kind.VIDEO, Path("/in"))


def prepare(file: InputFile) -> Prepared:
    """Fail as the file is called."""
    match file.stem:
        case "gone":
            raise FileNotFoundError(2, "No such file", "gone")
        case "odd":
            raise ZeroDivisionError("division by zero")
        case "ledger":
            raise LedgerError("it is broken")
    return Prepared(file, Verdict.TO_DO, 1)


@pytest.mark.timeout(20)
def test_whatever_goes_wrong_is_an_answer(tmp_path: Path, log_lines: list[str]) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ahead = Ahead(prepare, ledger)
    ahead.start()
    answers: list[Answer] = []
    try:
        for name in ("gone", "odd", "sound", "ledger"):
            ahead.want([input_file(name)])
        while len(answers) < 4:
            if (answer := ahead.take()) is not None:
                answers.append(answer)
    finally:
        ahead.close()
        ledger.close()
    gone, odd, sound, broken = answers
    assert isinstance(gone, list)
    assert isinstance(odd, list)
    assert isinstance(sound, list)
    assert isinstance(gone[0], Unprepared)
    assert isinstance(odd[0], Unprepared)
    assert "ZeroDivisionError" in odd[0].error
    assert "ZeroDivisionError" in "".join(log_lines)
    assert isinstance(sound[0], Prepared)
    assert isinstance(broken, LedgerError)
