from __future__ import annotations

from pathlib import Path

import pytest

from tests.batch_results import make_entry, make_found, make_result_file, make_summary
from tests.clips import ClipSpec, write_clip
from vidpipe.apps.batch.formats.registry import (
    FORMATS,
    Format,
    chosen_formats,
    convert_file,
    convert_run,
)
from vidpipe.errors import SinkError, UsageError


def test_an_unknown_format_is_refused_with_the_likely_one() -> None:
    with pytest.raises(UsageError, match=r"no format cvs: .*did you mean csv"):
        chosen_formats(["cvs"])


def test_what_is_made_elsewhere_is_known() -> None:
    with pytest.raises(UsageError, match=r"choose from jsonl, video, csv.*did you mean video"):
        chosen_formats(["vidoe"])


def test_what_is_made_elsewhere_is_no_format_here() -> None:
    assert [one.name for one in chosen_formats(["jsonl", "Video ", "csv"])] == ["csv"]


def test_names_may_be_written_carelessly_and_twice() -> None:
    names = [one.name for one in chosen_formats([" COCO", "csv", "csv ", ""])]
    assert names == ["csv", "coco"]


def test_what_will_be_missing_is_told_before_hours_are_spent(log_lines: list[str]) -> None:
    chosen_formats(["csv", "mot"])
    assert [line for line in log_lines if "mot needs tracks" in line]


def test_all_formats_of_a_run(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow, an extra, is not installed")
    source = write_clip(tmp_path / "a.mp4", ClipSpec(5))
    entries = [make_entry(n, make_found(track_id=1)) for n in range(5)]
    result = make_result_file(tmp_path / "out", entries, source=source)
    formats = chosen_formats(FORMATS)
    summary = make_summary(result.output, result)
    made = [*convert_file(result, formats), *convert_run(summary, formats)]
    assert [path.relative_to(result.output).as_posix() for path in made] == [
        *("gate/a.mp4.csv", "gate/a.mp4.mot.txt", "gate/a.mp4.contact.jpg"),
        *("detections.parquet", "coco.json", "report.html", "summary.json"),
    ]
    assert all(path.stat().st_size for path in made)
    jsonl = [path.name for path in result.output.rglob("*.jsonl")]
    assert jsonl == ["a.mp4.jsonl"]
    assert not list(result.output.rglob("*.partial"))


def test_one_that_fails_keeps_no_other_from_being_made(tmp_path: Path) -> None:
    result = make_result_file(tmp_path, [make_entry(0, make_found())])
    with pytest.raises(SinkError, match=r"^mot: .*no tracker ran.*; contact: .*needs the input"):
        convert_file(result, chosen_formats(["mot", "csv", "contact"]))
    assert result.target(".csv").exists()


def test_one_that_dies_keeps_no_other_from_being_made(tmp_path: Path, log_lines: list[str]) -> None:
    def die(_: object) -> list[Path]:
        raise ZeroDivisionError("of all things")

    result = make_result_file(tmp_path, [make_entry(0, make_found())])
    formats = [Format("odd", of_file=die), *chosen_formats(["csv"])]
    with pytest.raises(SinkError, match=r"^odd: ZeroDivisionError: of all things$"):
        convert_file(result, formats)
    assert result.target(".csv").exists()
    assert "ZeroDivisionError" in "".join(log_lines)


def test_what_the_hidden_folder_kept_may_be_deleted(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow, an extra, is not installed")
    result = make_result_file(tmp_path, [make_entry(n, make_found()) for n in range(3)])
    formats = chosen_formats(["parquet", "summary"])
    convert_file(result, formats)
    summary = make_summary(tmp_path, result)
    first = {path: path.read_bytes() for path in convert_run(summary, formats)}
    for path in sorted((tmp_path / ".vidpipe").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    again = {path: path.read_bytes() for path in convert_run(summary, formats)}
    assert again == first
