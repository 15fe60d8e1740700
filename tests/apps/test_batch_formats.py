"""`vidpipe batch --save ...`: every format says what the JSON Lines say, without a second look."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import cv2
import pytest

from tests.command import Finished, vidpipe
from tests.recordings import Mixed, lines, mixed_recordings, tiny_model
from tests.web_page import Page

pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow, an extra, is not installed")

ALL = "jsonl,csv,parquet,coco,contact,html"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Mixed:
    return mixed_recordings(tmp_path_factory.mktemp("mixed") / "recordings")


def batch(mixed: Mixed, out: Path, model: Path, save: str) -> Finished:
    command = ("batch", mixed.folder, "-o", out, "--model", model, "--save", save)
    return vidpipe(*command, cwd=out.parent, timeout_s=110)


@pytest.fixture(scope="module")
def analysed(mixed: Mixed, model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the results of the mixed folder in all formats."""
    out = tmp_path_factory.mktemp("results") / "out"
    done = batch(mixed, out, model, ALL)
    assert "can't be" not in done.err
    return out


def found_in(out: Path, mixed: Mixed) -> list[tuple[str, int, Any]]:
    """Return all objects as (stream, frame, object), in the order of the files and lines."""
    return [
        (name, line["frame"], found)
        for name in sorted(mixed.sound)
        for line in lines(out / f"{name}.jsonl")
        for found in line["detections"]
    ]


def test_csv_and_parquet_hold_the_objects_of_the_json_lines(mixed: Mixed, analysed: Path) -> None:
    expected = found_in(analysed, mixed)
    assert expected
    rows: list[dict[str, str]] = []
    for name in sorted(mixed.sound):
        with (analysed / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            rows += csv.DictReader(file, strict=True)
    table = pq.read_table(analysed / "detections.parquet").to_pylist()
    table.sort(key=lambda row: row["stream"])  # stable: the frames of a file stay in their order
    assert len(rows) == len(table) == len(expected)
    for (name, frame, found), row, typed in zip(expected, rows, table, strict=True):
        assert (row["stream"], int(row["frame"])) == (name, frame)
        assert (typed["stream"], typed["frame"], typed["label"]) == (name, frame, found["label"])
        assert [typed[edge] for edge in ("x1", "y1", "x2", "y2")] == found["box"]
        assert [float(row[edge]) for edge in ("x1", "y1", "x2", "y2")] == found["box"]
        assert typed["score"] == float(row["score"]) == found["score"]


def test_coco_holds_every_frame_and_object(mixed: Mixed, analysed: Path) -> None:
    document = json.loads((analysed / "coco.json").read_text("utf-8"))
    frames = sum(len(lines(analysed / f"{name}.jsonl")) for name in mixed.sound)
    assert len(document["images"]) == frames
    assert len(document["annotations"]) == len(found_in(analysed, mixed))
    assert {one["name"] for one in document["videos"]} == set(mixed.sound)


def test_every_file_has_a_sheet_that_people_can_look_at(mixed: Mixed, analysed: Path) -> None:
    for name in mixed.sound:
        sheet = cv2.imread(str(analysed / f"{name}.contact.jpg"))
        assert sheet is not None, name
        assert sheet.shape[1] == 1840


def test_the_report_and_the_summary_tell_of_all_files(mixed: Mixed, analysed: Path) -> None:
    page = Page((analysed / "report.html").read_text("utf-8"))
    assert page.tags.count("article") == len(mixed.sound)
    assert page.tags.count("img") >= len(mixed.sound)
    for name in [*mixed.sound, *mixed.broken]:
        assert name in page.text
    document = json.loads((analysed / "summary.json").read_text("utf-8"))
    assert document["files"]["done"] == len(mixed.sound)
    assert {one["file"] for one in document["failures"]} == set(mixed.broken)
    assert sum(document["detections"].values()) == len(found_in(analysed, mixed))
    assert document["model"]["hash"]


def test_a_format_that_is_asked_for_later_costs_no_analysis(
    mixed: Mixed, analysed: Path, model: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    batch(mixed, out, model, "jsonl")
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*.jsonl")}
    done = batch(mixed, out, model, ALL)
    assert "; 0 frames in" in done.err
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*.jsonl")} == before
    for name in ("detections.parquet", "coco.json", *(f"{one}.csv" for one in mixed.sound)):
        assert (out / name).read_bytes() == (analysed / name).read_bytes(), name
