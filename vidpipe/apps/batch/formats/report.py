"""The run as one HTML page for people: ``report.html``. It loads nothing and runs no script.

Figures of the whole, failures first, then each file with its objects over time and small pictures
of its busiest moments; what was passed over, what was asked for, and the machine. It follows the
reader's light or dark, and prints. Its size is bounded: hundreds of files have fewer pictures each,
thousands are listed without.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC
from itertools import islice
from pathlib import Path

from vidpipe.apps.batch.formats.digest import Digest
from vidpipe.apps.batch.formats.fileblock import Palette, file_block, page_text, picture_tile
from vidpipe.apps.batch.formats.finishing import finished_file
from vidpipe.apps.batch.formats.reportstyle import REPORT_STYLE
from vidpipe.apps.batch.formats.results import FileOutcome, FileState, ResultFile, RunSummary
from vidpipe.apps.batch.formats.summary import digests_of, relative_place, totals_of
from vidpipe.apps.batch.formats.thumbs import MOST_THUMBS, Thumb, kept_thumbs
from vidpipe.apps.batch.formats.wording import clock_text, counts_text, number_text
from vidpipe.apps.batch.kinds import is_picture
from vidpipe.apps.bench.pagestyle import PAGE_STYLE
from vidpipe.runtime.machine import package_versions, this_machine
from vidpipe.version import __version__

NAME = "report.html"

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""Should a text ever get past the escaping, the browser still loads and runs nothing."""

_THUMBS_A_FILE = ((40, MOST_THUMBS), (150, 3), (500, 2))
"""Of up to so many files, so many pictures each; of more, one."""

_PICTURE_BYTES = 16_000_000
_MOST_BLOCKS = 600
_MOST_TILES = 240
_MOST_ROWS = 5000
_MOST_LABELS = 30
_MOST_SKIPPED = 300


def write_thumbs(result: ResultFile) -> list[Path]:
    """Make what the report needs of a file; nothing of it is an output yet.

    Raises:
        SinkError: As ``kept_thumbs``.
    """
    kept_thumbs(result)
    return []


def write_report(summary: RunSummary) -> list[Path]:
    """Write ``report.html``; return its path.

    Raises:
        SinkError: Results can't be read, or the page can't be written.
    """
    target = summary.output / NAME
    digests = digests_of(summary)
    with finished_file(target) as file:
        for piece in _page(summary, digests):
            file.write(piece.encode("utf-8", "backslashreplace"))
    return [target]


def _page(summary: RunSummary, digests: Mapping[str, Digest]) -> Iterator[str]:
    title = page_text(f"vidpipe batch: {summary.output.name}")
    yield (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{PAGE_STYLE}{REPORT_STYLE}</style>\n</head>\n<body>\n"
        f'<main>\n<header class="head"><h1>{title}</h1>\n{_when(summary)}</header>\n'
    )
    if not summary.is_complete:
        yield (
            '<p class="warning">Stopped early: these are the results until then. The same command '
            "goes on from here.</p>\n"
        )
    totals = totals_of(digests)
    yield _cards(summary, totals)
    yield from _failures(summary)
    yield from _labels(totals)
    yield from _files(summary, digests, Palette(list(totals)))
    yield from _skipped(summary)
    yield from _facts(summary)
    yield "</main>\n</body>\n</html>\n"


def _when(summary: RunSummary) -> str:
    start = summary.started_at.astimezone(UTC)
    took = clock_text(summary.took_s)
    return (
        f'<p class="soft">Started {start:%Y-%m-%d %H:%M} UTC, took {took}; '
        f"vidpipe {page_text(__version__)}</p>"
    )


def _cards(summary: RunSummary, totals: Mapping[str, int]) -> str:
    done = [file for file in summary.files if file.state is FileState.DONE]
    video_s = sum(file.duration_s or 0.0 for file in done)
    cards = [
        (f"{len(done)} of {len(summary.files)}", "files done"),
        (number_text(sum(file.frames for file in done)), "frames analysed"),
    ]
    if video_s:
        cards.append((clock_text(video_s), "of video"))
    if summary.took_s > 0 and summary.frames_inferred:
        cards.append((number_text(summary.frames_inferred / summary.took_s), "frames a second"))
    fresh_s = sum(file.duration_s or 0.0 for file in done if not file.is_reused)
    if summary.took_s > 0 and fresh_s and summary.frames_inferred:
        cards.append((f"{number_text(fresh_s / summary.took_s)}×", "as fast as real time"))
    cards.append((number_text(sum(totals.values())), "objects, counted in each frame"))
    failed = sum(file.state is FileState.FAILED for file in summary.files)
    if failed:
        cards.append((str(failed), "files failed"))
    inner = "".join(
        f'<div class="card"><b>{page_text(figure)}</b><span>{page_text(words)}</span></div>'
        for figure, words in cards
    )
    return f'<div class="cards">{inner}</div>\n'


def _failures(summary: RunSummary) -> Iterator[str]:
    failed = [file for file in summary.files if file.state is FileState.FAILED]
    if not failed:
        return
    yield "<section><h2>Failed</h2>\n" + _table_start("file", "frames", "why")
    for file in failed[:_MOST_ROWS]:
        partial = relative_place(file.partial, summary)
        kept = f"; partial results: {partial}" if partial else ""
        yield (
            f"<tr><td>{page_text(file.name)}</td><td>{number_text(file.frames)}</td>"
            f'<td class="error">{page_text(file.reason + kept)}</td></tr>\n'
        )
    yield "</tbody></table></div>" + _more(len(failed), _MOST_ROWS) + "</section>\n"


def _labels(totals: Mapping[str, int]) -> Iterator[str]:
    if not totals:
        return
    highest = max(totals.values())
    yield "<section><h2>Objects</h2>\n" + _table_start("class", "", "in all frames")
    for label, count in islice(totals.items(), _MOST_LABELS):
        share = 100 * count / highest
        bar = f'<span class="bar"><b style="width:{share:.1f}%"></b></span>'
        yield (
            f'<tr><td>{page_text(label)}</td><td class="bar-cell">{bar}</td>'
            f"<td>{number_text(count)}</td></tr>\n"
        )
    yield "</tbody></table></div>" + _more(len(totals), _MOST_LABELS) + "</section>\n"


def _files(summary: RunSummary, digests: Mapping[str, Digest], palette: Palette) -> Iterator[str]:
    files = summary.files
    blocks = [
        number
        for number, file in enumerate(files)
        if file.name in digests and not is_picture(file.name)
    ]
    shown = set(blocks[:_MOST_BLOCKS])
    yield "<section><h2>Files</h2>\n"
    if len(files) > 1:
        yield _table_start(
            "file", "state", "length", "frames", "frames/s", "objects", "at most", kind="files"
        )
        for number, file in enumerate(files[:_MOST_ROWS]):
            place = number if number in shown else None
            yield _row(place, file, digests.get(file.name))
        yield "</tbody></table></div>" + _more(len(files), _MOST_ROWS)
    most = next((count for limit, count in _THUMBS_A_FILE if len(blocks) <= limit), 1)
    purse = _Purse(_PICTURE_BYTES)
    for number in sorted(shown):
        file = files[number]
        thumbs = purse.afford(file, most)
        yield file_block(number, file, digests[file.name], thumbs, palette)
    yield _more(len(blocks), _MOST_BLOCKS, "plots and pictures")
    yield from _gallery([file for file in files if is_picture(file.name)], digests, purse)
    yield "</section>\n"


def _gallery(
    files: Sequence[FileOutcome], digests: Mapping[str, Digest], purse: _Purse
) -> Iterator[str]:
    """Yield those inputs that are pictures: the ones with the most objects, in their order."""
    done = [file for file in files if file.name in digests]
    busiest = sorted(done, key=lambda file: -digests[file.name].most)[:_MOST_TILES]
    names = {file.name for file in busiest}
    tiles = []
    for file in done:
        if file.name in names:
            words = counts_text(digests[file.name].detections) or "nothing found"
            tiles += [
                picture_tile(thumb, f"{file.name}: {words}") for thumb in purse.afford(file, 1)
            ]
    if tiles:
        yield f'<article><div class="thumbs">{"".join(tiles)}</div></article>\n'
        yield _more(len(done), _MOST_TILES, "pictures")


class _Purse:
    """How many bytes of pictures the page may still take."""

    def __init__(self, size_bytes: int) -> None:
        self._left_bytes = size_bytes

    def afford(self, file: FileOutcome, most: int) -> list[Thumb]:
        """Return a file's busiest pictures, as far as there is room."""
        thumbs = []
        for thumb in kept_thumbs(file.result)[:most] if file.result is not None else ():
            self._left_bytes -= len(thumb.jpeg)
            if self._left_bytes >= 0:
                thumbs.append(thumb)
        return thumbs


def _row(place: int | None, file: FileOutcome, digest: Digest | None) -> str:
    name = page_text(file.name)
    linked = name if place is None else f'<a href="#file-{place}">{name}</a>'
    rate = number_text(file.frames / file.took_s) if file.took_s and file.frames else ""
    cells = [
        clock_text(file.duration_s) if file.duration_s is not None else "",
        number_text(file.frames),
        rate,
        number_text(sum(digest.detections.values())) if digest is not None else "",
        number_text(digest.most) if digest is not None else "",
    ]
    state = f'<span class="badge {file.state.value}">{file.state.value}</span>'
    return (
        f'<tr><td>{linked}</td><td class="left">{state}</td>'
        f"{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>\n"
    )


def _skipped(summary: RunSummary) -> Iterator[str]:
    if not summary.skipped:
        return
    yield "<section><h2>Passed over</h2>\n" + _table_start("file", "why")
    for one in summary.skipped[:_MOST_SKIPPED]:
        why = page_text(one.reason)
        yield f'<tr><td>{page_text(one.name)}</td><td class="left">{why}</td></tr>\n'
    yield "</tbody></table></div>" + _more(len(summary.skipped), _MOST_SKIPPED) + "</section>\n"


def _facts(summary: RunSummary) -> Iterator[str]:
    machine = this_machine()
    plural = "s" * (machine.cores != 1)
    groups: Sequence[tuple[str, Mapping[str, object]]] = (
        ("Settings", summary.settings),
        ("Model", summary.model),
        (
            "Machine",
            {
                "processor": f"{machine.cpu}, {machine.cores} core{plural} for this process",
                "memory": f"{machine.memory_mb / 1024:.1f} GiB",
                "system": machine.system,
                "versions": ", ".join(f"{name} {v}" for name, v in package_versions().items()),
            },
        ),
    )
    for title, facts in groups:
        inner = "".join(
            f"<dt>{page_text(name)}</dt><dd>{page_text(_shown(value))}</dd>"
            for name, value in facts.items()
            if value is not None
        )
        if inner:
            yield f'<section class="fact"><h2>{title}</h2><dl>{inner}</dl></section>\n'


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(_shown, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_shown(item)}" for key, item in value.items())
    return str(value)


def _table_start(*heads: str, kind: str = "") -> str:
    opening = f'<table class="{kind}">' if kind else "<table>"
    cells = "".join(
        f'<th scope="col"{" class=left" * (head in ("why", "state"))}>{page_text(head)}</th>'
        for head in heads
    )
    return f'<div class="wide">{opening}<thead><tr>{cells}</tr></thead><tbody>\n'


def _more(count: int, limit: int, what: str = "") -> str:
    if count <= limit:
        return ""
    words = f"{what} of {number_text(count - limit)} more" if what else f"{count - limit} more"
    return f'<p class="soft">Without {words}: see summary.json.</p>\n'
