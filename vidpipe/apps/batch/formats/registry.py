"""The formats by their names: which of them has a part a file, and which one for the whole run.

``convert_file`` is called once a file is done, ``convert_run`` once at the end; both may be called
again at any time, and do only what is missing.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, TypeVar

from loguru import logger

from vidpipe.apps.batch.formats.coco import write_coco
from vidpipe.apps.batch.formats.contact import write_contact, write_picture_sheets
from vidpipe.apps.batch.formats.csvtable import write_csv
from vidpipe.apps.batch.formats.mot import write_mot
from vidpipe.apps.batch.formats.parquet import join_parts, require_parquet, write_part
from vidpipe.apps.batch.formats.report import write_report, write_thumbs
from vidpipe.apps.batch.formats.results import ResultFile, RunSummary
from vidpipe.apps.batch.formats.summary import write_summary
from vidpipe.errors import SinkError, UsageError
from vidpipe.runtime.logs import trace_of

FileConversion: TypeAlias = Callable[[ResultFile], list[Path]]
RunConversion: TypeAlias = Callable[[RunSummary], list[Path]]
_Given = TypeVar("_Given")


@dataclass(frozen=True, slots=True)
class Format:
    """One format.

    Attributes:
        name: As ``--save`` has it.
        of_file: Converts one file's results, or makes its part of the whole; or None.
        of_run: Converts the whole run; or None.
        require: Raises UsageError where something that it needs is not installed.
        caution: What to know before hours are spent; empty for nothing.
    """

    name: str
    of_file: FileConversion | None = None
    of_run: RunConversion | None = None
    require: Callable[[], None] | None = None
    caution: str = ""


FORMATS: Mapping[str, Format] = {
    one.name: one
    for one in (
        Format("csv", of_file=write_csv),
        Format("parquet", of_file=write_part, of_run=join_parts, require=require_parquet),
        Format("coco", of_run=write_coco),
        Format("mot", of_file=write_mot, caution="mot needs tracks, and no tracker runs here"),
        Format("contact", of_file=write_contact, of_run=write_picture_sheets),
        Format("html", of_file=write_thumbs, of_run=write_report),
        Format("summary", of_run=write_summary),
    )
}


VIDEO = "video"
_MADE_ELSEWHERE = ("jsonl", VIDEO)
"""What ``--save`` takes, too: the results themselves, and what is drawn of them."""


def chosen_formats(names: Iterable[str]) -> tuple[Format, ...]:
    """Return the formats of some names, each once, in the order in which they are listed here.

    What is made elsewhere is passed over.
    What a format can't do without is told now, before hours are spent.

    Raises:
        UsageError: There is no such format, or what it needs is not installed.
    """
    wanted = {name.strip().lower() for name in names if name.strip()}
    known = (*_MADE_ELSEWHERE, *FORMATS)
    for name in sorted(wanted.difference(known)):
        alike = difflib.get_close_matches(name, known, 1)
        hint = f"; did you mean {alike[0]}?" if alike else ""
        raise UsageError(f"there is no format {name}: choose from {', '.join(known)}{hint}")
    chosen = tuple(one for name, one in FORMATS.items() if name in wanted)
    for one in chosen:
        if one.require is not None:
            one.require()
        if one.caution:
            logger.warning("{}", one.caution)
    return chosen


def convert_file(result: ResultFile, formats: Iterable[Format]) -> list[Path]:
    """Make each format's part of one file; return the files that are outputs of their own.

    A format that fails doesn't keep the others from being made.

    Raises:
        SinkError: One or more of them failed; the text says which, and its cause is the first.
    """
    return _all((one.name, one.of_file, result) for one in formats if one.of_file is not None)


def convert_run(summary: RunSummary, formats: Iterable[Format]) -> list[Path]:
    """Make each format's files of the whole run; return them.

    Raises:
        SinkError: As ``convert_file``.
    """
    return _all((one.name, one.of_run, summary) for one in formats if one.of_run is not None)


def _all(steps: Iterable[tuple[str, Callable[[_Given], list[Path]], _Given]]) -> list[Path]:
    made: list[Path] = []
    failures: list[tuple[str, SinkError]] = []
    for name, convert, given in steps:
        try:
            made += convert(given)
        except SinkError as exc:
            failures.append((name, exc))
        except Exception as exc:  # noqa: BLE001 - the boundary of a stage: one format fails
            logger.error("{}: {}", name, trace_of(exc))
            failures.append((name, SinkError(f"{type(exc).__name__}: {exc}")))
    if failures:
        text = "; ".join(f"{name}: {exc}" for name, exc in failures)
        first = failures[0][1]
        raise SinkError(text) from (first.__cause__ or first)
    return made
