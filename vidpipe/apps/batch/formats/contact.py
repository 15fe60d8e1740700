"""A sheet of a file's key moments, for people who look rather than read: ``<stem>.contact.jpg``.

The moments stand in a grid in their order, each with its time, what is in it and why it was chosen;
above them the file's name, its duration and what was found in all. Pictures have no moments: each
folder of them has one sheet, ``pictures.contact.jpg``, of those in which most is to be seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from loguru import logger

from vidpipe.apps.batch.formats.digest import Digest, digest_of, kept_digest
from vidpipe.apps.batch.formats.finishing import finished_file, is_current
from vidpipe.apps.batch.formats.lines import ResultLine, read_lines
from vidpipe.apps.batch.formats.moments import KeyMoment, key_moments
from vidpipe.apps.batch.formats.pictures import drawn_moments, jpeg_from_bgr
from vidpipe.apps.batch.formats.results import ResultFile, RunSummary
from vidpipe.apps.batch.formats.sheet import Cell, compose, grid_of
from vidpipe.apps.batch.formats.wording import clock_text, counts_text, number_text, totals_text
from vidpipe.apps.batch.kinds import is_picture
from vidpipe.errors import SinkError, SourceError
from vidpipe.types import Pixels

SUFFIX = ".contact.jpg"
PICTURES = f"pictures{SUFFIX}"
_MOMENTS = 12
_PICTURES = 24
_QUALITY = 88


def write_contact(result: ResultFile) -> list[Path]:
    """Write ``<stem>.contact.jpg``; nothing for a picture, or a file without frames.

    A moment whose picture can't be decoded any more has an empty cell, and the log says so.

    Raises:
        SinkError: The input is gone, the results can't be read, or the sheet can't be written.
    """
    target = result.target(SUFFIX)
    if is_picture(result.stem):
        return []
    if is_current(target, result.jsonl):
        return [target]
    if result.source is None:
        raise SinkError(f"{result.stem}: a contact sheet needs the input, which is gone")
    digest = kept_digest(result)
    moments = key_moments(digest, _MOMENTS)
    if not moments:
        return []
    grid = grid_of(digest.size_wh, len(moments))
    drawn = _drawn(result, moments, grid.cell_wh)
    heads = {
        key.moment.frame: clock_text(key.moment.at, is_fine=True)
        if digest.has_times
        else f"frame {key.moment.frame}"
        for key in moments
    }
    sheet = compose(result.stem, _about(digest, "frame"), grid, _cells(moments, heads, drawn))
    with finished_file(target, made_from=result.jsonl) as file:
        file.write(jpeg_from_bgr(sheet, _QUALITY))
    return [target]


def write_picture_sheets(summary: RunSummary) -> list[Path]:
    """Write one ``pictures.contact.jpg`` for each folder of pictures; return their paths.

    Raises:
        SinkError: Results can't be read, or a sheet can't be written.
    """
    folders: dict[PurePosixPath, list[ResultFile]] = {}
    for result in summary.results:
        if is_picture(result.stem):
            folders.setdefault(PurePosixPath(result.stem).parent, []).append(result)
    return [_write_folder(summary.output, folder, folders[folder]) for folder in sorted(folders)]


def _write_folder(output: Path, folder: PurePosixPath, results: Sequence[ResultFile]) -> Path:
    """Write the sheet of a folder; on its digest's clock, pictures are numbered from 0."""
    digest = digest_of(_numbered(results))
    moments = key_moments(digest, _PICTURES)
    grid = grid_of(digest.size_wh, len(moments))
    drawn: dict[int, Pixels] = {}
    for key in moments:
        one = _drawn(results[key.moment.frame], [_as_first_frame(key)], grid.cell_wh)
        if one:
            drawn[key.moment.frame] = one[0]
    heads = {
        key.moment.frame: PurePosixPath(results[key.moment.frame].stem).name for key in moments
    }
    title = output.name if folder == PurePosixPath() else folder.as_posix()
    cells = _cells(moments, heads, drawn)
    sheet = compose(title, _about(digest, "picture"), grid, cells)
    target = output / folder / PICTURES
    with finished_file(target) as file:
        file.write(jpeg_from_bgr(sheet, _QUALITY))
    return target


def _numbered(results: Sequence[ResultFile]) -> Iterator[ResultLine]:
    for number, result in enumerate(results):
        for line in read_lines(result.jsonl):
            yield line._replace(frame=number, pts_s=None)


def _as_first_frame(key: KeyMoment) -> KeyMoment:
    return replace(key, moment=replace(key.moment, frame=0))


def _drawn(
    result: ResultFile, moments: Sequence[KeyMoment], cell_wh: tuple[int, int]
) -> dict[int, Pixels]:
    if result.source is None:
        return {}
    try:
        return drawn_moments(result.source, moments, cell_wh)
    except SourceError as exc:
        logger.bind(stream=result.stem).warning("its contact sheet lacks pictures: {}", exc)
        return {}


def _cells(
    moments: Sequence[KeyMoment], heads: Mapping[int, str], drawn: Mapping[int, Pixels]
) -> list[Cell]:
    return [
        Cell(
            drawn.get(key.moment.frame),
            f"{heads[key.moment.frame]}   {key.why}",
            counts_text(key.moment.counts) or "nothing found",
        )
        for key in moments
    ]


def _about(digest: Digest, what: str) -> str:
    parts = []
    if digest.has_times and digest.end > digest.start:
        parts.append(clock_text(digest.end - digest.start))
    parts.append(f"{number_text(digest.frames)} {what}{'s' * (digest.frames != 1)}")
    if digest.size_wh is not None and what == "frame":
        parts.append(f"{digest.size_wh[0]}x{digest.size_wh[1]}")
    parts.append(totals_text(digest.detections, most=5) or "nothing found")
    if digest.failed:
        parts.append(f"{number_text(digest.failed)} without an answer")
    return "  ·  ".join(parts)
