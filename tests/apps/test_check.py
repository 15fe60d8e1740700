"""``vidpipe check`` as an operator has it: what is wrong, before anything runs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.command import vidpipe, write_config
from tests.graphs import saved, ssd_rows

MISSPELT = {
    "models": {"person": {"zoo": "person-ssdlit"}},
    "streams": [{"id": "a", "source": "synthetic:blank?size=64x64&frames=5"}],
}


@pytest.mark.parametrize("options", [(), ("--no-probe",)])
def test_a_name_that_the_zoo_does_not_know_is_a_fault(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    done = vidpipe("check", write_config(tmp_path, MISSPELT), *options, cwd=tmp_path)
    assert done.code in (1, 2), done.err
    assert "did you mean person-ssdlite?" in " ".join((done.out + done.err).split())


def test_a_program_is_told_of_a_model_that_the_zoo_does_not_know(tmp_path: Path) -> None:
    done = vidpipe("check", write_config(tmp_path, MISSPELT), "--json", cwd=tmp_path)
    assert done.code == 1, done.err
    (model,) = json.loads(done.out)["models"]
    assert "did you mean person-ssdlite?" in model["error"]


@pytest.mark.parametrize("columns", [80, 120])
def test_the_table_says_in_plain_words_what_answered(tmp_path: Path, columns: int) -> None:
    model = saved(ssd_rows([[0, 1, 0.9, 0, 0, 1, 1]]), tmp_path)
    config = {
        "models": {"tiny": {"path": model.name}},
        "streams": [
            {"id": "good", "source": "synthetic:blank?size=64x64&frames=5"},
            {"id": "bad", "source": "rtsp://no-such-host.invalid/cam"},
        ],
    }
    done = vidpipe(
        "check",
        write_config(tmp_path, config),
        cwd=tmp_path,
        environ={"COLUMNS": str(columns)},
    )
    assert done.code == 1, done.err
    assert re.search(r"good\W.*\Wok\W", done.out)
    assert re.search(r"tiny\W.*\Wok\W", done.out)
    assert re.search(r"bad\W.*\Wname\W", done.out)
    assert "bad: rtsp://no-such-host.invalid/cam: its host name can't be resolved" in done.out
    assert "[green]" not in done.out
    assert max(map(len, done.out.split("models")[0].splitlines())) <= columns
