"""The table that CSV and Parquet share: a row an object, and a row a frame without an answer.

The columns are the keys of the JSON Lines, with the box in four of them. A frame in which nothing
was found has no row: how many frames there were is told by ``summary.json``. A frame that the model
didn't answer has one row, in which everything about an object is empty and ``error`` says why.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from vidpipe.apps.batch.formats.lines import ResultLine


class Row(NamedTuple):
    """One row; the fields are the columns, in their order."""

    stream: str
    frame: int
    pts: float | None
    time: str | None
    width: int | None
    height: int | None
    label: str | None = None
    class_id: int | None = None
    score: float | None = None
    x1: float | None = None
    y1: float | None = None
    x2: float | None = None
    y2: float | None = None
    track_id: int | None = None
    error: str | None = None


def rows_of(lines: Iterable[ResultLine]) -> Iterator[Row]:
    """Yield the rows of some lines, in their order."""
    for line in lines:
        head = line[:6]
        for found in line.found:
            yield Row(
                *head,
                found.label,
                found.class_id,
                found.score,
                *found.box_xyxy,
                found.track_id,
            )
        if line.error is not None:
            yield Row(*head, error=line.error)
