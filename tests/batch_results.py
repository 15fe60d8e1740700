"""Finished results of a batch, for tests: valid by default, name only what the test is about."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from vidpipe.apps.batch.formats.results import FileOutcome, FileState, ResultFile, RunSummary

Entry = Mapping[str, Any]


def make_found(
    label: str = "person",
    box: Sequence[float] = (10.0, 8.0, 30.0, 40.0),
    *,
    class_id: int = 0,
    score: float = 0.9,
    track_id: int | None = None,
) -> dict[str, Any]:
    """Return one object of a line."""
    return {
        "label": label,
        "class_id": class_id,
        "score": score,
        "box": list(box),
        "track_id": track_id,
    }


def make_entry(frame: int = 0, *found: Entry, **changes: Any) -> dict[str, Any]:
    """Return one line, 25 a second, with some objects; other keys by name."""
    entry = {
        "stream": "gate/a.mp4",
        "frame": frame,
        "pts": frame / 25,
        "time": None,
        "width": 64,
        "height": 48,
        "detections": list(found),
        "error": None,
    }
    return entry | changes


def make_result_file(
    output: Path,
    entries: Iterable[Entry] = (),
    *,
    stem: str = "gate/a.mp4",
    source: Path | None = None,
    labels: tuple[str, ...] = (),
) -> ResultFile:
    """Write results below an output folder, under their stem."""
    path = output / f"{stem}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", errors="backslashreplace") as file:
        for entry in entries:
            file.write(json.dumps(entry) + "\n")
    return ResultFile(path, source, stem, output, labels)


def make_outcome(result: ResultFile, **changes: Any) -> FileOutcome:
    """Return what became of a file that is done."""
    frames = result.jsonl.read_bytes().count(b"\n")
    outcome = FileOutcome(
        result.stem,
        FileState.DONE,
        result=result,
        frames=frames,
        expected_frames=frames,
        duration_s=frames / 25,
        took_s=frames / 100,
    )
    return replace(outcome, **changes)


def make_summary(output: Path, *results: ResultFile, **changes: Any) -> RunSummary:
    """Return a run in which some files are done."""
    files = [make_outcome(result) for result in results]
    summary = RunSummary(
        output,
        files,
        datetime(2026, 11, 30, 5, tzinfo=UTC),
        took_s=2.0,
        frames_inferred=sum(file.frames for file in files),
        settings={"save": ["jsonl", "html"], "jobs": 2},
        model={"name": "person", "hash": "sha256:0123", "device": "CPU"},
    )
    return replace(summary, **changes)
