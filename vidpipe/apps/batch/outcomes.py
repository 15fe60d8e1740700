"""What becomes of the inputs: results joined and published, failures set aside, all of it recorded.

For one thread; conversions are handed on to others.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vidpipe.apps.batch.discover import InputFile
from vidpipe.apps.batch.failures import write_failure
from vidpipe.apps.batch.folder import OutputFolder, is_there
from vidpipe.apps.batch.formats.results import FileOutcome, FileState, ResultFile
from vidpipe.apps.batch.join import join, keep_partial
from vidpipe.apps.batch.ledger import Ledger, State
from vidpipe.apps.batch.parts import recover
from vidpipe.apps.batch.prepare import Prepared, Verdict
from vidpipe.apps.batch.work import FileWork
from vidpipe.runtime.logs import redact


@dataclass(slots=True)
class Outcomes:
    """The record of a run's inputs.

    Attributes:
        folder: The output folder.
        ledger: Its ledger.
        labels: The model's classes.
        is_of_all: Every frame is wanted, so that their number can be compared.
        convert: Takes finished results.
        tell: Is told of each input that came to its end: its outcome.
    """

    folder: OutputFolder
    ledger: Ledger
    labels: tuple[str, ...]
    is_of_all: bool
    convert: Callable[[ResultFile], None]
    tell: Callable[[FileOutcome], None]
    files: dict[str, FileOutcome] = field(default_factory=dict)
    _counts: Counter[FileState] = field(default_factory=Counter)

    @property
    def done(self) -> int:
        """How many inputs are done."""
        return self._counts[FileState.DONE]

    @property
    def failed(self) -> int:
        """How many inputs are set aside."""
        return self._counts[FileState.FAILED]

    def reuse(self, prepared: Prepared) -> None:
        """An input was done, or set aside, by an earlier run."""
        file, known = prepared.input, prepared.outcome or {}
        is_done = prepared.verdict is Verdict.DONE
        self._note(
            file,
            FileState.DONE if is_done else FileState.FAILED,
            prepared.reason,
            known,
            is_reused=True,
        )

    def finish(self, work: FileWork, took_s: float) -> None:
        """Publish the results of a file whose units are all done.

        Raises:
            OSError: They can't be written.
            JoinError: A part isn't what the ledger says.
            LedgerError: The ledger can't be written.
        """
        prepared = work.prepared
        rows = [work.rows[number] for number in sorted(work.rows)]
        join(self.folder, prepared.id, work.stem, rows)
        about = {
            "frames": work.lines,
            "decoded": work.frames_decoded,
            "expected": work.expected,
            "duration_s": work.duration_s,
            "took_s": round(took_s, 3),
            "failed_frames": work.failed,
            "parts": len(rows),
        }
        reason = self._remark(work)
        self.ledger.end_file(prepared.id, State.DONE, reason, about)
        self.folder.remove_parts(prepared.id)
        self._note(prepared.input, FileState.DONE, reason, about)

    def finish_pictures(self, pictures: list[Prepared], failed: list[bool], took_s: float) -> None:
        """Record pictures whose results are written.

        Raises:
            LedgerError: The ledger can't be written.
        """
        share_s = round(took_s / max(1, len(pictures)), 4)
        with self.ledger.together():
            for picture, has_failed in zip(pictures, failed, strict=True):
                about = {
                    "frames": 1,
                    "decoded": 1,
                    "expected": 1,
                    "took_s": share_s,
                    "failed_frames": int(has_failed),
                }
                reason = _unanswered(int(has_failed))
                self.ledger.end_file(picture.id, State.DONE, reason, about)
                self._note(picture.input, FileState.DONE, reason, about)

    def fail(self, file: InputFile, reason: str, work: FileWork | None = None) -> None:
        """Set an input aside, with what there is of its results.

        Raises:
            OSError: The output folder can't be written.
            LedgerError: The ledger can't be written.
        """
        reason = redact(reason)
        about: dict[str, Any] = {"frames": 0}
        partial: Path | None = None
        if work is not None:
            rows = [work.rows[number] for number in sorted(work.rows)]
            partial = keep_partial(self.folder, work.prepared.id, work.stem, rows)
            about["expected"], about["duration_s"] = work.expected, work.duration_s
        if partial is not None:
            about["frames"] = recover(partial).lines
        document = {
            "stream": file.stem,
            "source": os.fspath(file.path),
            "reason": reason,
            "frames": about["frames"],
            "expected_frames": about.get("expected"),
            "partial": None if partial is None else partial.name,
        }
        write_failure(self.folder.failure(file.stem), document)
        row = self.ledger.find(file.stem)
        if row is not None:
            self.ledger.end_file(row.id, State.FAILED, reason, about)
            self.folder.remove_parts(row.id)
        self._note(file, FileState.FAILED, reason, about)

    def leave(self, file: InputFile, reason: str, work: FileWork | None) -> None:
        """Record that an input isn't finished."""
        about: dict[str, Any] = {}
        if work is not None:
            about = {"frames": work.lines, "duration_s": work.duration_s}
        self._note(file, FileState.UNFINISHED, reason, about)

    def _note(
        self,
        file: InputFile,
        state: FileState,
        reason: str,
        about: Mapping[str, Any],
        *,
        is_reused: bool = False,
    ) -> None:
        result = partial = None
        if state is FileState.DONE:
            result = ResultFile(
                self.folder.result(file.stem), file.path, file.stem, self.folder.root, self.labels
            )
        elif state is FileState.FAILED and is_there(self.folder.partial(file.stem)):
            partial = self.folder.partial(file.stem)
        outcome = FileOutcome(
            file.stem,
            state,
            reason,
            result,
            partial,
            frames=about.get("frames") or 0,
            failed_frames=about.get("failed_frames") or 0,
            expected_frames=about.get("expected"),
            duration_s=about.get("duration_s"),
            took_s=about.get("took_s"),
            is_reused=is_reused,
        )
        if (before := self.files.get(file.stem)) is not None:
            self._counts[before.state] -= 1
        self._counts[state] += 1
        self.files[file.stem] = outcome
        if state is not FileState.UNFINISHED:
            self.tell(outcome)
        if result is not None:
            self.convert(result)

    def _remark(self, work: FileWork) -> str:
        """Return what is to be said of a file that is done."""
        remarks = []
        decoded = work.frames_decoded
        if (
            self.is_of_all
            and work.expected is not None
            and decoded is not None
            and decoded != work.expected
        ):
            remarks.append(f"its container says {work.expected} frames, {decoded} were decoded")
        if not work.lines and not self.is_of_all:
            remarks.append("none of its frames was asked for")
        if work.failed:
            remarks.append(_unanswered(work.failed))
        return "; ".join(remarks)


def _unanswered(count: int) -> str:
    return f"the model didn't answer {count} of its frames" if count else ""
