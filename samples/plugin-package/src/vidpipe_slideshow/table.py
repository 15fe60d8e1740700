"""CSV, one row an object: ``{type: csv, path: "out/{stream}.csv", delimiter: ";"}``."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TextIO

from vidpipe import FrameResult, SinkError, SinkRequest, claim_path

_KEYS = {"path", "delimiter"}
_HEADER = ["stream", "frame", "pts", "label", "score", "x1", "y1", "x2", "y2"]


class CsvSink:
    """What the entry point names: vidpipe calls it once for each output of this type."""

    needs_picture = False

    def __init__(self, request: SinkRequest) -> None:
        """Check the output's keys; open nothing yet.

        Raises:
            ValueError: A key is missing, unknown or wrong; vidpipe refuses to start, and says so.
        """
        options = request.options
        unknown = sorted(options.keys() - _KEYS)
        if unknown:
            raise ValueError(f"unknown key {unknown[0]}; allowed: {', '.join(sorted(_KEYS))}")
        path = str(options.get("path", ""))
        if not path:
            raise ValueError("needs a path, such as out/{stream}.csv")
        self._delimiter = str(options.get("delimiter", ","))
        if len(self._delimiter) != 1:
            raise ValueError("delimiter must be one character")
        self._path = Path(path.replace("{stream}", request.stream))
        self._file: TextIO | None = None

    def write(self, result: FrameResult) -> None:
        """Write a frame's rows; no frame, no file.

        Raises:
            SinkError: The file can't be written.
        """
        try:
            if self._file is None:
                # No file of an earlier run is ever replaced: the next free name is taken.
                self._path = claim_path(self._path)
                self._file = self._path.open("w", encoding="utf-8", newline="")
                csv.writer(self._file, delimiter=self._delimiter).writerow(_HEADER)
            csv.writer(self._file, delimiter=self._delimiter).writerows(_rows(result))
        except OSError as exc:
            raise SinkError(f"{self._path} can't be written: {exc.strerror}") from exc

    def close(self) -> list[str]:
        """Finish the file."""
        if self._file is None:
            return []
        self._file.close()
        return [str(self._path)]


def _rows(result: FrameResult) -> list[list[object]]:
    frame, found = result.frame, result.detections
    return [
        [frame.stream, frame.number, frame.pts_s, label, round(score, 4), *map(round, box)]
        for label, score, box in zip(
            found.labels, found.scores.tolist(), found.boxes_xyxy.tolist(), strict=True
        )
    ]
