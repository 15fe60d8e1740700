"""One file in the report: its figures, its objects over time, its busiest moments."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence

from vidpipe.apps.batch.formats.digest import Digest
from vidpipe.apps.batch.formats.plot import MOST_SERIES, OTHER, objects_plot
from vidpipe.apps.batch.formats.results import FileOutcome
from vidpipe.apps.batch.formats.thumbs import Thumb
from vidpipe.apps.batch.formats.wording import clock_text, number_text
from vidpipe.apps.markup import escaped
from vidpipe.runtime.logs import redact


def page_text(text: str) -> str:
    """Return a text from outside as the page may have it: escaped, and without secrets."""
    return escaped(redact(text))


class Palette:
    """Which classes have a colour of their own in all plots of a report."""

    def __init__(self, labels: Sequence[str]) -> None:
        """Take the classes, the most frequent ones first."""
        self.series = list(labels[:MOST_SERIES])

    def keys(self, digest: Digest) -> list[tuple[int, str, int]]:
        """Return a file's classes for its legend: the colour's number, the name, the count."""
        own = [
            (number, label, digest.detections[label])
            for number, label in enumerate(self.series)
            if label in digest.detections
        ]
        rest = {
            label: count for label, count in digest.detections.items() if label not in self.series
        }
        if not rest:
            return own
        name = next(iter(rest)) if len(rest) == 1 else f"{OTHER} ({len(rest)} classes)"
        return [*own, (MOST_SERIES, name, sum(rest.values()))]


def file_block(
    number: int,
    file: FileOutcome,
    digest: Digest,
    thumbs: Sequence[Thumb],
    palette: Palette,
) -> str:
    """Return a file's block.

    Args:
        number: Its place in the run, which its address on the page is made of.
        file: What became of it.
        digest: What was found in it.
        thumbs: Its small pictures, in any order.
        palette: The plots' colours.
    """
    state = file.state.value
    note = f'<p class="warning">{page_text(file.reason)}</p>' if file.reason else ""
    return (
        f'<article id="file-{number}"><div class="title"><h3>{page_text(file.name)}</h3>'
        f'<span class="badge {state}">{state}{" earlier" * file.is_reused}</span></div>'
        f'<p class="soft">{_figures(file, digest)}</p>{note}'
        f"{_course(file, digest, palette)}{_pictures(thumbs)}</article>\n"
    )


def _figures(file: FileOutcome, digest: Digest) -> str:
    parts = []
    length_s = file.duration_s
    if length_s is None and digest.has_times and digest.end > digest.start:
        length_s = digest.end - digest.start
    if length_s is not None:
        parts.append(clock_text(length_s, is_fine=length_s < 10))
    if digest.size_wh is not None:
        parts.append(f"{digest.size_wh[0]}×{digest.size_wh[1]}")
    # Of a sample, or of a file that is cut: what is missing without being left out has a note.
    whole = file.expected_frames
    of = "" if whole in (None, digest.frames) else f"of {number_text(whole or 0)} "
    parts.append(f"{number_text(digest.frames)} {of}frame{'s' * (digest.frames != 1 or bool(of))}")
    if file.took_s and file.frames:
        parts.append(f"{number_text(file.frames / file.took_s)} frames/s")
    if digest.failed:
        parts.append(f"{number_text(digest.failed)} without an answer")
    return page_text(" · ".join(parts))


def _course(file: FileOutcome, digest: Digest, palette: Palette) -> str:
    if not digest.detections:
        return '<p class="soft">Nothing was found in it.</p>'
    keys = "".join(
        f'<span><i class="k{number}"></i>{page_text(label)} {number_text(count)}</span>'
        for number, label, count in palette.keys(digest)
    )
    if digest.frames == 1:
        return f'<div class="keys">{keys}</div>'
    plot = objects_plot(digest, palette.series, f"objects over time in {redact(file.name)}")
    return (
        f'<figure>{plot}</figure><div class="keys">{keys}'
        '<span><i class="most"></i>most in one frame (lines: mean a frame)</span></div>'
    )


def _pictures(thumbs: Sequence[Thumb]) -> str:
    if not thumbs:
        return ""
    ordered = sorted(thumbs, key=lambda thumb: thumb.frame)
    return f'<div class="thumbs">{"".join(picture_tile(one, one.words) for one in ordered)}</div>'


def picture_tile(thumb: Thumb, words: str) -> str:
    """Return a small picture with its caption."""
    width, height = thumb.size_wh
    return (
        f'<figure><img width="{width}" height="{height}" alt="{page_text(words)}" '
        f'src="data:image/jpeg;base64,{b64encode(thumb.jpeg).decode()}">'
        f"<figcaption>{page_text(words)}</figcaption></figure>"
    )
