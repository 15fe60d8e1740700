"""One typed table for the whole run: ``detections.parquet``, by pyarrow, which is an extra.

Columns and rows are those of ``tables``; the types are those of ``schema``: texts that repeat are
dictionaries, ``time`` is a timestamp in UTC. Each file's part is written when that file is done and
kept below the hidden folder; at the end the parts are joined, file by file in the run's order, in
row groups of an even size. A run that was killed makes only the missing parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vidpipe.apps.batch.formats.finishing import finished_file, is_current
from vidpipe.apps.batch.formats.lines import read_lines
from vidpipe.apps.batch.formats.results import ResultFile, RunSummary
from vidpipe.apps.batch.formats.tables import Row, rows_of
from vidpipe.errors import SinkError, UsageError
from vidpipe.sources.files import shown

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:
    pa = None

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Schema

TABLE = "detections.parquet"
SUFFIX = ".parquet"
_KIND = "parquet"
_ROWS_A_GROUP = 1 << 17
_ROWS_A_BATCH = 1 << 14


def require_parquet() -> None:
    """Check that Parquet can be written: to be called before hours are spent on analysing.

    Raises:
        UsageError: pyarrow is not installed.
    """
    if pa is None:
        raise UsageError(
            "parquet needs pyarrow, an extra: pip install 'vidpipe[parquet]'; csv holds the same "
            "columns and needs nothing more"
        )


def schema() -> Schema:
    """Return the table's columns and their types."""
    text = pa.dictionary(pa.int32(), pa.string())
    coordinate = pa.float64()  # as exact as the JSON Lines
    return pa.schema(
        [
            pa.field("stream", text, nullable=False),
            pa.field("frame", pa.int64(), nullable=False),
            pa.field("pts", pa.float64()),
            pa.field("time", pa.timestamp("ms", tz="UTC")),
            pa.field("width", pa.int32()),
            pa.field("height", pa.int32()),
            pa.field("label", text),
            pa.field("class_id", pa.int32()),
            pa.field("score", pa.float64()),
            *(pa.field(name, coordinate) for name in ("x1", "y1", "x2", "y2")),
            pa.field("track_id", pa.int64()),
            pa.field("error", pa.string()),
        ]
    )


def write_part(result: ResultFile) -> list[Path]:
    """Write one file's rows below the hidden folder; nothing of it is an output yet.

    Raises:
        UsageError: pyarrow is not installed.
        SinkError: The results can't be read, or the part can't be written.
    """
    require_parquet()
    target = result.hidden(_KIND, SUFFIX)
    if not is_current(target, result.jsonl):
        _write(target, _batches(rows_of(read_lines(result.jsonl))), made_from=result.jsonl)
    return []


def join_parts(summary: RunSummary) -> list[Path]:
    """Write ``detections.parquet`` from the parts of all files that are done; return its path.

    Raises:
        UsageError: pyarrow is not installed.
        SinkError: A part is missing and can't be made, or the table can't be written.
    """
    require_parquet()
    target = summary.output / TABLE
    for result in summary.results:
        write_part(result)
    parts = [result.hidden(_KIND, SUFFIX) for result in summary.results]
    _write(target, _read(parts))
    return [target]


def _write(target: Path, batches: Iterable[RecordBatch], made_from: Path | None = None) -> None:
    """Write batches in row groups of an even size, holding one group at a time."""
    with finished_file(target, made_from=made_from) as file:
        try:
            with pq.ParquetWriter(file, schema(), compression="zstd") as writer:
                for group in _grouped(batches):
                    writer.write_table(group, row_group_size=_ROWS_A_GROUP)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as exc:
            raise SinkError(f"{shown(target)}: a value fits into no column: {exc}") from exc


def _grouped(batches: Iterable[RecordBatch]) -> Iterator[Any]:
    held: list[RecordBatch] = []
    count = 0
    for batch in batches:
        held.append(batch)
        count += batch.num_rows
        while count >= _ROWS_A_GROUP:
            table = pa.Table.from_batches(held)
            yield table.slice(0, _ROWS_A_GROUP)
            held = table.slice(_ROWS_A_GROUP).to_batches()
            count -= _ROWS_A_GROUP
    if count:
        yield pa.Table.from_batches(held)


def _batches(rows: Iterator[Row]) -> Iterator[RecordBatch]:
    columns = schema()
    while chunk := list(islice(rows, _ROWS_A_BATCH)):
        values = dict(zip(Row._fields, map(list, zip(*chunk, strict=True)), strict=True))
        values["time"] = [None if text is None else _moment(text) for text in values["time"]]
        for name in ("stream", "label", "error"):
            values[name] = [None if text is None else _encodable(text) for text in values[name]]
        yield pa.RecordBatch.from_pydict(values, columns)


def _read(parts: Iterable[Path]) -> Iterator[RecordBatch]:
    for part in parts:
        try:
            # Opened here: pyarrow takes no name that is no text.
            with part.open("rb") as content, pq.ParquetFile(content) as file:
                for batch in file.iter_batches(_ROWS_A_BATCH):
                    yield batch.cast(schema())
        except (pa.ArrowInvalid, OSError) as exc:
            raise SinkError(
                f"{shown(part)} can't be read ({exc}); delete it, and it is made anew"
            ) from exc


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise SinkError(f"the time {text} has no zone: no result of vidpipe's")
    return moment


def _encodable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
