from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.batch_results import make_entry, make_found, make_result_file, make_summary
from vidpipe.apps.batch.formats import parquet
from vidpipe.apps.batch.formats.lines import read_lines
from vidpipe.apps.batch.formats.parquet import join_parts, write_part
from vidpipe.apps.batch.formats.tables import rows_of
from vidpipe.errors import SinkError, UsageError

pa = pytest.importorskip("pyarrow", reason="pyarrow, an extra, is not installed")
pq = pytest.importorskip("pyarrow.parquet")

EVIL = 'a "b", c\n=d é 人'


def entries(count: int = 3) -> list[dict[str, Any]]:
    return [
        *(make_entry(n, make_found(), make_found(EVIL, class_id=n)) for n in range(count)),
        make_entry(count, pts=None, width=None, height=None, error="failed"),
        make_entry(count + 1, make_found(track_id=9), time="2026-11-30T05:00:00.080Z"),
    ]


def table_of(path: Path) -> Any:
    return pq.read_table(path)


def test_the_columns_have_their_types(tmp_path: Path) -> None:
    (path,) = join_parts(make_summary(tmp_path, make_result_file(tmp_path, entries())))
    assert path == tmp_path / "detections.parquet"
    types = {field.name: str(field.type) for field in table_of(path).schema}
    assert types == {
        "stream": "dictionary<values=string, indices=int32, ordered=0>",
        "frame": "int64",
        "pts": "double",
        "time": "timestamp[ms, tz=UTC]",
        "width": "int32",
        "height": "int32",
        "label": "dictionary<values=string, indices=int32, ordered=0>",
        "class_id": "int32",
        "score": "double",
        "x1": "double",
        "y1": "double",
        "x2": "double",
        "y2": "double",
        "track_id": "int64",
        "error": "string",
    }


def test_the_rows_are_those_of_the_results_exactly(tmp_path: Path) -> None:
    result = make_result_file(tmp_path, entries())
    (path,) = join_parts(make_summary(tmp_path, result))
    rows = [row._asdict() for row in rows_of(read_lines(result.jsonl))]
    rows[-1]["time"] = datetime(2026, 11, 30, 5, 0, 0, 80_000, tzinfo=UTC)
    assert table_of(path).to_pylist() == rows


def test_all_files_are_one_table_in_even_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "_ROWS_A_GROUP", 10)
    monkeypatch.setattr(parquet, "_ROWS_A_BATCH", 4)
    results = [
        make_result_file(tmp_path, entries(number), stem=f"{number}.mp4") for number in range(6)
    ]
    (path,) = join_parts(make_summary(tmp_path, *results))
    expected = [row for result in results for row in rows_of(read_lines(result.jsonl))]
    assert table_of(path).num_rows == len(expected)
    assert table_of(path)["label"].to_pylist() == [row.label for row in expected]
    about = pq.ParquetFile(path).metadata
    sizes = [about.row_group(n).num_rows for n in range(about.num_row_groups)]
    assert sizes[:-1] == [10] * (len(sizes) - 1)
    assert sum(sizes) == len(expected)


def test_a_name_that_is_no_text_is_a_name(tmp_path: Path) -> None:
    result = make_result_file(tmp_path, entries(), stem=os.fsdecode(b"gate/\xff.mp4"))
    (path,) = join_parts(make_summary(tmp_path, result))
    assert len(table_of(path)) == len(list(rows_of(read_lines(result.jsonl))))


def test_only_missing_parts_are_made_when_a_run_goes_on(tmp_path: Path) -> None:
    results = [make_result_file(tmp_path, entries(), stem=f"{n}.mp4") for n in range(2)]
    assert write_part(results[0]) == []
    part = results[0].hidden("parquet", ".parquet")
    inode = part.stat().st_ino
    join_parts(make_summary(tmp_path, *results))
    assert part.stat().st_ino == inode
    visible = sorted(path.name for path in tmp_path.iterdir() if not path.name.startswith("."))
    assert visible == ["0.mp4.jsonl", "1.mp4.jsonl", "detections.parquet"]


def test_a_run_without_objects_has_an_empty_table_with_all_columns(tmp_path: Path) -> None:
    (path,) = join_parts(make_summary(tmp_path, make_result_file(tmp_path, [make_entry(0)])))
    assert table_of(path).num_rows == 0
    assert table_of(path).num_columns == 15


def test_equal_results_give_equal_bytes(tmp_path: Path) -> None:
    contents = []
    for name in ("one", "two"):
        result = make_result_file(tmp_path / name, entries())
        (path,) = join_parts(make_summary(tmp_path / name, result))
        contents.append(path.read_bytes())
    assert contents[0] == contents[1]


def test_a_value_that_fits_into_no_column_is_said(tmp_path: Path) -> None:
    result = make_result_file(tmp_path, [make_entry(0, make_found(class_id=2**40))])
    with pytest.raises(SinkError, match="fits into no column"):
        write_part(result)


def test_a_damaged_part_is_named(tmp_path: Path) -> None:
    result = make_result_file(tmp_path, entries())
    write_part(result)
    part = result.hidden("parquet", ".parquet")
    times = part.stat().st_atime_ns, part.stat().st_mtime_ns
    part.write_bytes(b"no parquet at all")
    os.utime(part, ns=times)
    with pytest.raises(SinkError, match="delete it, and it is made anew"):
        join_parts(make_summary(tmp_path, result))
    assert not (tmp_path / "detections.parquet").exists()


def test_without_pyarrow_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "pa", None)
    with pytest.raises(UsageError, match=r"pip install 'vidpipe\[parquet\]'"):
        parquet.require_parquet()
