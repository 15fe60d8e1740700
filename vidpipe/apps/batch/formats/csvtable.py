"""CSV as RFC 4180 has it: UTF-8, a header, quotes where they are needed, lines that end in CRLF.

A name or a label may begin like a formula (``=``, ``+``, ``-``, ``@``), which a spreadsheet would
carry out: such a text gets an apostrophe in front, as OWASP advises. Numbers are left as they are.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from io import TextIOWrapper
from pathlib import Path

from vidpipe.apps.batch.formats.finishing import finished_file, is_current
from vidpipe.apps.batch.formats.lines import read_lines
from vidpipe.apps.batch.formats.results import ResultFile
from vidpipe.apps.batch.formats.tables import Row, rows_of

SUFFIX = ".csv"
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


def write_csv(result: ResultFile) -> list[Path]:
    """Write ``<stem>.csv``; see ``tables`` for its columns and rows.

    Raises:
        SinkError: The results can't be read, or the file can't be written.
    """
    target = result.target(SUFFIX)
    if is_current(target, result.jsonl):
        return [target]
    with finished_file(target, made_from=result.jsonl) as file:
        text = TextIOWrapper(file, "utf-8", "backslashreplace", newline="")
        try:
            table = csv.writer(text)
            table.writerow(Row._fields)
            table.writerows(_cells(rows_of(read_lines(result.jsonl))))
        finally:
            text.detach()  # flushes, and leaves the file open, to be synced
    return [target]


def _cells(rows: Iterable[Row]) -> Iterator[tuple[object, ...]]:
    for row in rows:
        yield tuple(_harmless(cell) if isinstance(cell, str) else cell for cell in row)


def _harmless(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text
