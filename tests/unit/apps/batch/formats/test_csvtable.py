from __future__ import annotations

import csv
import errno
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.batch_results import make_entry, make_found, make_result_file
from vidpipe.apps.batch.formats.csvtable import write_csv
from vidpipe.apps.batch.formats.lines import read_lines
from vidpipe.errors import SinkError

HEADER = [
    *("stream", "frame", "pts", "time", "width", "height", "label", "class_id", "score"),
    *("x1", "y1", "x2", "y2", "track_id", "error"),
]


def table_of(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, strict=True))


def test_each_object_is_a_row_below_the_header(tmp_path: Path) -> None:
    entries = [
        make_entry(0, make_found(box=(1.5, 2.0, 3.25, 4.0)), make_found("car", class_id=2)),
        make_entry(1),
        make_entry(2, make_found(track_id=7), time="2026-11-30T05:00:00.080Z"),
    ]
    result = make_result_file(tmp_path, entries)
    (path,) = write_csv(result)
    assert path == tmp_path / "gate/a.mp4.csv"
    header, first, second, third = table_of(path)
    assert header == HEADER
    assert first == [
        *("gate/a.mp4", "0", "0.0", "", "64", "48", "person", "0", "0.9"),
        *("1.5", "2.0", "3.25", "4.0", "", ""),
    ]
    assert second[6:9] == ["car", "2", "0.9"]
    assert third[1:4] == ["2", "0.08", "2026-11-30T05:00:00.080Z"]
    assert third[13] == "7"


def test_lines_end_as_rfc_4180_has_it(tmp_path: Path) -> None:
    (path,) = write_csv(make_result_file(tmp_path, [make_entry(0, make_found())]))
    content = path.read_bytes()
    assert content.count(b"\r\n") == content.count(b"\n") == 2
    assert not content.startswith(b"\xef\xbb\xbf")


def test_a_frame_without_an_answer_has_a_row_that_says_why(tmp_path: Path) -> None:
    entries = [make_entry(0, make_found()), make_entry(1, error="the device, it failed")]
    (path,) = write_csv(make_result_file(tmp_path, entries))
    row = table_of(path)[2]
    assert row[1] == "1"
    assert row[6:14] == [""] * 8
    assert row[14] == "the device, it failed"


def test_a_file_without_frames_or_objects_has_the_header_alone(tmp_path: Path) -> None:
    for stem, entries in (("empty.mp4", []), ("quiet.mp4", [make_entry(0), make_entry(1)])):
        (path,) = write_csv(make_result_file(tmp_path, entries, stem=stem))
        assert table_of(path) == [HEADER]


@pytest.mark.parametrize("label", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1"])
def test_a_text_that_a_spreadsheet_would_carry_out_is_disarmed(tmp_path: Path, label: str) -> None:
    result = make_result_file(tmp_path, [make_entry(0, make_found(label))], stem="=cmd.mp4")
    (path,) = write_csv(result)
    assert table_of(path)[1][6] == f"'{label}"


def test_a_negative_number_is_left_a_number(tmp_path: Path) -> None:
    (path,) = write_csv(make_result_file(tmp_path, [make_entry(0, make_found(), pts=-0.04)]))
    assert table_of(path)[1][2] == "-0.04"


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ENTRIES = st.lists(
    st.builds(
        lambda frame, label, stream, pts, error, width: make_entry(
            frame, make_found(label), stream=stream, pts=pts, error=error, width=width
        ),
        st.integers(0, 10**9),
        TEXTS,
        TEXTS,
        st.none() | st.floats(-1e6, 1e9, allow_nan=False),
        st.none() | TEXTS,
        st.none() | st.integers(1, 10_000),
    ),
    max_size=6,
)


def disarmed(text: str) -> str:
    return f"'{text}" if text[:1] in {"=", "+", "-", "@", "\t", "\r", "\n"} else text


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(entries=ENTRIES)
def test_any_text_and_number_comes_back(tmp_path: Path, entries: list[dict[str, Any]]) -> None:
    result = make_result_file(tmp_path, entries)
    (tmp_path / "gate/a.mp4.csv").unlink(missing_ok=True)
    (path,) = write_csv(result)
    rows = iter(table_of(path)[1:])
    for entry in entries:
        found = next(rows)
        assert found[0] == disarmed(entry["stream"])
        assert int(found[1]) == entry["frame"]
        assert found[6] == disarmed(entry["detections"][0]["label"])
        assert (found[4] or None) == (None if entry["width"] is None else str(entry["width"]))
        assert (float(found[2]) if found[2] else None) == entry["pts"]
        if entry["error"] is not None:
            assert next(rows)[14] == disarmed(entry["error"])
    assert next(rows, None) is None


def test_bytes_that_are_no_text_are_written_as_their_escapes(tmp_path: Path) -> None:
    (path,) = write_csv(make_result_file(tmp_path, [make_entry(0, make_found("\udcff"))]))
    assert table_of(path)[1][6] == "\\udcff"


def test_what_is_up_to_date_is_left_alone_and_new_results_are_converted_anew(
    tmp_path: Path,
) -> None:
    result = make_result_file(tmp_path, [make_entry(0, make_found())])
    (path,) = write_csv(result)
    inode = path.stat().st_ino
    assert write_csv(result) == [path]
    assert path.stat().st_ino == inode
    result = make_result_file(tmp_path, [make_entry(0, make_found()), make_entry(1, make_found())])
    write_csv(result)
    assert len(table_of(path)) == 3


def test_a_line_that_is_no_result_is_named_and_leaves_no_file(tmp_path: Path) -> None:
    result = make_result_file(tmp_path, [make_entry(0, make_found())])
    with result.jsonl.open("ab") as file:
        file.write(b'{"stream": "x", "fra')
    with pytest.raises(SinkError, match=r"a\.mp4\.jsonl, line 2: no result"):
        write_csv(result)
    assert [path.name for path in result.jsonl.parent.iterdir()] == ["a.mp4.jsonl"]


def test_a_full_disk_leaves_no_file_and_is_the_errors_cause(tmp_path: Path) -> None:
    result = make_result_file(tmp_path, [make_entry(0, make_found())])
    result.target(".csv").mkdir()  # nothing can be renamed to this
    with pytest.raises(SinkError, match="can't be written") as caught:
        write_csv(result)
    assert isinstance(caught.value.__cause__, OSError)
    assert caught.value.__cause__.errno in {errno.EISDIR, errno.ENOTEMPTY, errno.EEXIST}
    assert sorted(path.name for path in result.jsonl.parent.iterdir()) == [
        *("a.mp4.csv", "a.mp4.jsonl")
    ]


def test_numbers_that_json_has_not_are_unknown(tmp_path: Path) -> None:
    result = make_result_file(tmp_path, [make_entry(0, pts=float("nan"))])
    assert "NaN" in result.jsonl.read_text("utf-8")
    (line,) = read_lines(result.jsonl)
    assert line.pts_s is None


def test_a_line_without_a_size_is_read(tmp_path: Path) -> None:
    entry = {key: value for key, value in make_entry(3).items() if key not in {"width", "height"}}
    result = make_result_file(tmp_path)
    result.jsonl.write_text("\n" + json.dumps(entry) + "\n", "utf-8")
    (line,) = read_lines(result.jsonl)
    assert (line.frame, line.width, line.height) == (3, None, None)
