"""Pictures, analysed in groups: one stream to the model for many, and a result for each.

A group's result is written picture by picture; the ledger is told of all of them at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from vidpipe.apps.batch.discover import InputFile
from vidpipe.apps.batch.formats.finishing import replaced
from vidpipe.apps.batch.kinds import Kind
from vidpipe.errors import SinkError
from vidpipe.outputs.lines import line_from_result
from vidpipe.outputs.storage import is_full
from vidpipe.types import FrameResult, Verdict

PICTURES_A_GROUP = 64


def grouped(files: Sequence[InputFile]) -> Iterator[list[InputFile]]:
    """Yield inputs in their order: each video alone, the pictures of a folder in groups."""
    for (kind, _), together in groupby(files, key=lambda file: (file.kind, file.path.parent)):
        members = list(together)
        size = PICTURES_A_GROUP if kind is Kind.PICTURE else 1
        for start in range(0, len(members), size):
            yield members[start : start + size]


@dataclass(frozen=True, slots=True)
class PictureTarget:
    """One picture's stream name, and where its result goes."""

    stem: str
    path: Path


class PictureSink:
    """Implements ``Sink`` for a group: a file of one line for each picture.

    Attributes:
        failed: By the picture's place, whether the model has not answered; of all that are written.
        is_full: The disk was.
        error: Why nothing more was written; None if all was.
    """

    needs_picture = False

    def __init__(self, targets: Sequence[PictureTarget]) -> None:
        """Open nothing yet; a result's frame number is its picture's place."""
        self._targets = targets
        self.failed: dict[int, bool] = {}
        self.is_full = False
        self.error: str | None = None

    @property
    def lines(self) -> int:
        """How many results are written."""
        return len(self.failed)

    def write(self, result: FrameResult) -> None:
        """Write one picture's result, whole and on the disk.

        Raises:
            SinkError: It can't be written.
        """
        number = result.frame.number
        target = self._targets[number]
        frame = replace(result.frame, stream=target.stem, number=0)
        try:
            line = line_from_result(replace(result, frame=frame))
            temporary = target.path.with_name(f"{target.path.name}.partial")
            with replaced(target.path, temporary) as file:
                file.write(line)
        except OSError as exc:
            self.is_full = is_full(exc)
            self.error = f"{target.path} can't be written: {exc.strerror or exc}"
            raise SinkError(self.error) from exc
        self.failed[number] = result.verdict is Verdict.FAILED

    def close(self) -> list[str]:
        """Nothing is open between two pictures."""
        return []
