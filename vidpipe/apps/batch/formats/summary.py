"""``summary.json``: the run in figures, for programs. Its keys are stable; more may be added.

``format``, ``vidpipe`` (the version), ``started_at`` (UTC), ``seconds``, ``complete``; ``files``:
``total``, ``done``, ``failed``, ``unfinished``, ``reused``, ``skipped``; ``frames`` (analysed, of
all files that are done), ``frames_this_run``, ``frames_failed`` (which the model didn't answer),
``video_seconds``, ``fps`` (frames of this run a second); ``detections`` (a number a class);
``failures``: ``file``, ``reason``, ``partial``; ``skipped``: ``file``, ``reason``; ``results``: for
each input ``file``, ``state``, ``reason``, ``reused``, ``frames``, ``expected_frames``,
``duration_s``, ``seconds``, ``fps``, ``jsonl``, ``detections``; ``settings``, ``model`` (with its
``hash``), ``machine``, ``versions``. Paths are relative to the output folder.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC
from pathlib import Path

from vidpipe.apps.batch.formats.digest import Digest, kept_digest
from vidpipe.apps.batch.formats.finishing import finished_file
from vidpipe.apps.batch.formats.results import FileOutcome, FileState, RunSummary
from vidpipe.runtime.logs import redact
from vidpipe.runtime.machine import package_versions, this_machine
from vidpipe.version import __version__

NAME = "summary.json"
FORMAT = 1


def write_summary(summary: RunSummary) -> list[Path]:
    """Write ``summary.json``; return its path.

    Raises:
        SinkError: Results can't be read, or the file can't be written.
    """
    target = summary.output / NAME
    document = document_of(summary, digests_of(summary))
    with finished_file(target) as file:
        text = json.dumps(_plain(document), indent=1, ensure_ascii=False, allow_nan=False)
        file.write(text.encode("utf-8", "backslashreplace") + b"\n")
    return [target]


def digests_of(summary: RunSummary) -> dict[str, Digest]:
    """Return the digests of all files that are done, by their names, without their moments.

    Raises:
        SinkError: Results can't be read.
    """
    return {
        file.name: kept_digest(file.result).without_moments()
        for file in summary.files
        if file.state is FileState.DONE and file.result is not None
    }


def totals_of(digests: Mapping[str, Digest]) -> dict[str, int]:
    """Return how many objects of each class were found in all, the most frequent first."""
    totals: Counter[str] = Counter()
    for digest in digests.values():
        totals.update(digest.detections)
    return dict(sorted(totals.items(), key=lambda item: (-item[1], item[0])))


def document_of(summary: RunSummary, digests: Mapping[str, Digest]) -> dict[str, object]:
    """Return the run's figures under their stable keys."""
    states = Counter(file.state for file in summary.files)
    done = [file for file in summary.files if file.state is FileState.DONE]
    return {
        "format": FORMAT,
        "vidpipe": __version__,
        "started_at": summary.started_at.astimezone(UTC).isoformat(timespec="seconds"),
        "seconds": round(summary.took_s, 3),
        "complete": summary.is_complete,
        "files": {
            "total": len(summary.files),
            "done": states[FileState.DONE],
            "failed": states[FileState.FAILED],
            "unfinished": states[FileState.UNFINISHED],
            "reused": sum(file.is_reused for file in done),
            "skipped": len(summary.skipped),
        },
        "frames": sum(file.frames for file in done),
        "frames_this_run": summary.frames_inferred,
        "frames_failed": sum(digest.failed for digest in digests.values()),
        "video_seconds": round(sum(file.duration_s or 0.0 for file in done), 3),
        "fps": _rate(summary.frames_inferred, summary.took_s),
        "detections": totals_of(digests),
        "failures": [
            {
                "file": file.name,
                "reason": file.reason,
                "partial": relative_place(file.partial, summary),
            }
            for file in summary.files
            if file.state is FileState.FAILED
        ],
        "skipped": [{"file": one.name, "reason": one.reason} for one in summary.skipped],
        "results": [_result(file, digests.get(file.name), summary) for file in summary.files],
        "settings": dict(summary.settings),
        "model": dict(summary.model),
        "machine": asdict(this_machine()),
        "versions": package_versions(),
    }


def _result(file: FileOutcome, digest: Digest | None, summary: RunSummary) -> dict[str, object]:
    return {
        "file": file.name,
        "state": file.state.value,
        "reason": file.reason,
        "reused": file.is_reused,
        "frames": file.frames,
        "expected_frames": file.expected_frames,
        "duration_s": file.duration_s,
        "seconds": file.took_s,
        "fps": _rate(file.frames, file.took_s),
        "jsonl": None if file.result is None else relative_place(file.result.jsonl, summary),
        "detections": {} if digest is None else dict(digest.detections),
    }


def _rate(frames: int, seconds: float | None) -> float | None:
    return round(frames / seconds, 2) if seconds and frames else None


def relative_place(path: Path | None, summary: RunSummary) -> str | None:
    """Return a path as seen from the output folder: nothing of the machine's folders is told."""
    if path is None:
        return None
    if path.is_relative_to(summary.output):
        return path.relative_to(summary.output).as_posix()
    return path.name


def _plain(value: object) -> object:
    """Return what JSON can hold, without secrets."""
    if isinstance(value, Mapping):
        return {redact(str(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return redact(str(value))
