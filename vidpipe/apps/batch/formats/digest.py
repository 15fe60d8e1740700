"""A file's results in brief: read once, kept, and told by the report, the sheet and the summary.

It is kept below the hidden folder with the time of the JSON Lines that it was made from, so that a
report of hundreds of files reads those anew only where they are new.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from vidpipe.apps.batch.formats.finishing import finished_file, is_current
from vidpipe.apps.batch.formats.lines import Found, ResultLine, read_lines
from vidpipe.apps.batch.formats.results import ResultFile
from vidpipe.apps.batch.formats.spans import Course, Moment, Span, moment_of

_KIND = "digest"
_SUFFIX = ".json"
_FORMAT = 2
"""Of the kept file: another number, and it is made anew."""

_MOST_FIRSTS = 16


@dataclass(frozen=True, slots=True)
class Digest:
    """What the results of one file say, in bounded memory.

    Attributes:
        frames: Lines, that is frames that were analysed.
        failed: Of those, how many the model didn't answer.
        detections: Objects of each class, over all frames.
        most: How many there were in one frame at most.
        has_times: The clock is in seconds; else it counts frames.
        start: The first frame's place on the clock.
        end: The last frame's.
        size_wh: The last frame's size in pixels, or None where no line says it.
        width: The length of each span, on the clock.
        spans: Its course in time.
        firsts: The first frame of each class, of the first 16 of them.
    """

    frames: int = 0
    failed: int = 0
    detections: Mapping[str, int] = field(default_factory=dict)
    most: int = 0
    has_times: bool = True
    start: float = 0.0
    end: float = 0.0
    size_wh: tuple[int, int] | None = None
    width: float = 1.0
    spans: tuple[Span, ...] = ()
    firsts: Mapping[str, Moment] = field(default_factory=dict)

    @property
    def moments(self) -> list[Moment]:
        """The busiest frame of each span, in their order."""
        return [span.busiest for span in self.spans if span.busiest is not None]

    def without_moments(self) -> Digest:
        """Return the figures alone: a run has many files, and a moment has many boxes."""
        spans = tuple(replace(span, busiest=None) for span in self.spans)
        return replace(self, spans=spans, firsts={})


def digest_of(lines: Iterable[ResultLine]) -> Digest:
    """Read results to their end, and return them in brief.

    Raises:
        SinkError: As ``read_lines``.
    """
    course, totals = Course(), Counter[str]()
    firsts: dict[str, Moment] = {}
    has_times = True
    frames = failed = 0
    last: Moment | None = None
    size_wh: tuple[int, int] | None = None
    for line in lines:
        if not frames:
            has_times = line.pts_s is not None
        frames += 1
        failed += line.error is not None
        last = moment_of(line, _place(line, last, has_times=has_times))
        size_wh = last.size_wh or size_wh
        course.add(last)
        totals.update(last.counts)
        if len(firsts) < _MOST_FIRSTS:
            for label in last.counts:
                firsts.setdefault(label, last)
    return Digest(
        frames,
        failed,
        dict(sorted(totals.items(), key=lambda item: (-item[1], item[0]))),
        max((span.most for span in course.spans), default=0),
        has_times,
        course.start,
        last.at if last is not None else 0.0,
        size_wh,
        course.width,
        tuple(course.spans),
        dict(list(firsts.items())[:_MOST_FIRSTS]),
    )


def kept_digest(result: ResultFile) -> Digest:
    """Return a file's digest: the kept one, or a new one, which is kept then.

    Raises:
        SinkError: The results can't be read, or the digest can't be written.
    """
    path = result.hidden(_KIND, _SUFFIX)
    if is_current(path, result.jsonl):
        kept = _read(path)
        if kept is not None:
            return kept
    digest = digest_of(read_lines(result.jsonl))
    with finished_file(path, made_from=result.jsonl, is_synced=False) as file:
        file.write(json.dumps({"format": _FORMAT, **asdict(digest)}).encode())
    return digest


def _place(line: ResultLine, last: Moment | None, *, has_times: bool) -> float:
    """Return a frame's place on the clock; without a time of its own, the place of the last one."""
    if not has_times:
        return float(line.frame)
    if line.pts_s is not None:
        return line.pts_s
    return last.at if last is not None else 0.0


def _read(path: Path) -> Digest | None:
    """Return what was kept; None where it is of another version, or damaged."""
    try:
        entry = json.loads(path.read_bytes())
        if entry.pop("format") != _FORMAT:
            return None
        size_wh = entry.pop("size_wh")
        spans = tuple(_span(span) for span in entry.pop("spans"))
        firsts = {label: _moment(moment) for label, moment in entry.pop("firsts").items()}
        return Digest(
            **entry, size_wh=tuple(size_wh) if size_wh else None, spans=spans, firsts=firsts
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _span(entry: dict[str, Any]) -> Span:
    busiest = entry.pop("busiest")
    return Span(**entry, busiest=None if busiest is None else _moment(busiest))


def _moment(entry: dict[str, Any]) -> Moment:
    found = tuple(
        Found(label, class_id, score, tuple(box), track_id)
        for label, class_id, score, box, track_id in entry.pop("found")
    )
    size_wh = entry.pop("size_wh")
    return Moment(**entry, found=found, size_wh=tuple(size_wh) if size_wh else None)
