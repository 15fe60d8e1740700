"""What the conversions are given: a file's finished results, and the run that they came from.

Whoever ran the analysis makes these records; whoever converts adds nothing to them. All are plain
data: a run can be told from a ledger, long after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from vidpipe.apps.batch.discover import STATE_FOLDER, PassedOver


class FileState(StrEnum):
    """What became of an input."""

    DONE = "done"
    """Every frame of it is in its results."""
    FAILED = "failed"
    """It can't be read, or not to its end; what there is of it is set aside."""
    UNFINISHED = "unfinished"
    """The run was stopped before or in it: the next one goes on there."""


@dataclass(frozen=True, slots=True)
class ResultFile:
    """The finished results of one input.

    Attributes:
        jsonl: The JSON Lines: a line a processed frame, as DESIGN has them. They are only read.
        source: The input itself, for pictures of its moments; None where it is gone.
        stem: The path relative to the input, with its extension and ``/`` between its parts: the
            ``stream`` of its lines, and the beginning of the names of all that is made of it.
        output: The run's output folder.
        labels: The model's classes, the index being ``class_id``; empty where they are not known.
    """

    jsonl: Path
    source: Path | None
    stem: str
    output: Path
    labels: tuple[str, ...] = ()

    def target(self, suffix: str) -> Path:
        """Return where a conversion goes: beside the JSON Lines, as ``<stem><suffix>``."""
        return self.output / f"{self.stem}{suffix}"

    def hidden(self, kind: str, suffix: str) -> Path:
        """Return where a conversion keeps what it needs of this file for the whole run.

        It may be deleted at any time but during a run: it is made anew from the JSON Lines.
        """
        return self.output / STATE_FOLDER / kind / f"{self.stem}{suffix}"


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """One input, and what became of it.

    Attributes:
        name: The stem: its path relative to the input.
        state: What became of it.
        reason: Why it failed or is unfinished; a warning of one that is done; empty for nothing.
        result: Its finished results; None where there are none. Partial results are not among them.
        partial: Where partial results are kept, or None.
        frames: The frames that were analysed.
        failed_frames: How many of them the model didn't answer.
        expected_frames: The frames that its container promises, or None.
        duration_s: The video's length in seconds, or None.
        took_s: How long the analysis took, or None; of a file that was done before, how long then.
        is_reused: It was done by an earlier run.
    """

    name: str
    state: FileState
    reason: str = ""
    result: ResultFile | None = None
    partial: Path | None = None
    frames: int = 0
    failed_frames: int = 0
    expected_frames: int | None = None
    duration_s: float | None = None
    took_s: float | None = None
    is_reused: bool = False


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run, as its report tells it.

    Attributes:
        output: The output folder.
        files: All inputs, in a fixed order (by name).
        skipped: What was passed over.
        started_at: Aware.
        took_s: How long the run took so far, in seconds.
        frames_inferred: Frames that this run itself analysed: without those of earlier runs.
        is_complete: False where the run was stopped: it can go on.
        settings: What was asked for (``save``, ``every``, ``jobs`` ...), in words or numbers;
            no secret among them.
        model: What is known of the model (``name``, ``path``, ``hash``, ``device``,
            ``precision``, ``input`` ...), likewise.
    """

    output: Path
    files: Sequence[FileOutcome]
    started_at: datetime
    took_s: float
    skipped: Sequence[PassedOver] = ()
    frames_inferred: int = 0
    is_complete: bool = True
    settings: Mapping[str, object] = field(default_factory=dict)
    model: Mapping[str, object] = field(default_factory=dict)

    @property
    def results(self) -> list[ResultFile]:
        """The results of all files that are done, in their order."""
        return [
            file.result
            for file in self.files
            if file.state is FileState.DONE and file.result is not None
        ]
