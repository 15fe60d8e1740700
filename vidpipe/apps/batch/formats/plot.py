"""A file's objects over time as a small SVG that stands inside a page.

Drawn by hand rather than by a charting library: a report has one a file, hundreds of them, and each
may take two kilobytes and no tenth of a second. Colours come from the page's style: ``k0`` to
``k4`` for the classes, so that a class looks the same in every file, by day, by night and on paper.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vidpipe.apps.batch.formats.digest import Digest
from vidpipe.apps.batch.formats.spans import Span
from vidpipe.apps.batch.formats.wording import clock_text, number_text
from vidpipe.apps.markup import escaped

OTHER = "other"
MOST_SERIES = 4
"""Classes with a colour of their own; all others share one."""

_WIDTH, _HEIGHT = 900, 140
_LEFT, _RIGHT, _TOP, _BOTTOM = 36, 892, 10, 116
_TICKS = 5


def objects_plot(digest: Digest, series: Sequence[str], title: str) -> str:
    """Return an ``svg`` element: how many objects a frame has on average, and at most.

    Args:
        digest: The file's.
        series: The classes that have a colour of their own, in the colours' order.
        title: What a screen reader says of it.
    """
    shown = [(index, span) for index, span in enumerate(digest.spans) if span.frames]
    scale = _Scale(digest)
    body = "".join(
        [
            *_axes(digest, scale),
            _area([(scale.x(index), scale.y(span.most)) for index, span in shown]),
            *(
                _line([(scale.x(index), scale.y(value)) for (index, _), value in points], number)
                for number, points in _series(shown, series)
            ),
        ]
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{escaped(title)}">{body}</svg>'
    )


class _Scale:
    """From spans and counts to the picture's coordinates."""

    def __init__(self, digest: Digest) -> None:
        self._width = digest.width
        self.length = max(digest.end - digest.start, 1e-9)
        self.highest = _rounded_up(max(digest.most, 1))

    def x(self, index: int) -> float:
        """Return the middle of a span; the last one may be cut."""
        start = index * self._width
        end = min(start + self._width, self.length)
        middle = (start + max(start, end)) / 2
        return _LEFT + (_RIGHT - _LEFT) * min(1.0, middle / self.length)

    def y(self, value: float) -> float:
        """Return the height of a count."""
        return _BOTTOM - (_BOTTOM - _TOP) * value / self.highest


def _series(
    shown: Sequence[tuple[int, Span]], series: Sequence[str]
) -> Iterator[tuple[int, list[tuple[tuple[int, Span], float]]]]:
    """Yield the mean count of each class that occurs, with its colour's number."""
    known = list(series[:MOST_SERIES])
    for number in range(len(known) + 1):
        points = []
        for index, span in shown:
            if number < len(known):
                total = span.sums.get(known[number], 0)
            else:
                total = sum(count for label, count in span.sums.items() if label not in known)
            points.append(((index, span), total / span.frames))
        if any(value for _, value in points):
            yield number if number < len(known) else MOST_SERIES, points


def _axes(digest: Digest, scale: _Scale) -> Iterator[str]:
    for value in (0.0, scale.highest / 2, scale.highest):
        y = scale.y(value)
        yield f'<path class="grid" d="M{_LEFT} {y:.1f}H{_RIGHT}"/>'
        label = number_text(value) if value == int(value) else f"{value:.1f}"
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>'
    for tick in range(_TICKS):
        share = tick / (_TICKS - 1)
        at = digest.start + share * (digest.end - digest.start)
        is_short = digest.end - digest.start < 2 * _TICKS
        label = clock_text(at, is_fine=is_short) if digest.has_times else f"{at:.0f}"
        anchor = "start" if not tick else "end" if tick == _TICKS - 1 else "middle"
        x = _LEFT + share * (_RIGHT - _LEFT)
        yield f'<text x="{x:.0f}" y="{_HEIGHT - 6}" text-anchor="{anchor}">{label}</text>'


def _area(points: Sequence[tuple[float, float]]) -> str:
    if not points:
        return ""
    path = _path(_widened(points))
    first, last = _widened(points)[0][0], _widened(points)[-1][0]
    return f'<path class="most" d="{path}L{last:.1f} {_BOTTOM}L{first:.1f} {_BOTTOM}Z"/>'


def _line(points: Sequence[tuple[float, float]], number: int) -> str:
    return f'<path class="line k{number}" d="{_path(_widened(points))}"/>'


def _widened(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the points from edge to edge: what is known of the first span holds from its start."""
    return [(_LEFT, points[0][1]), *points, (_RIGHT, points[-1][1])]


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _rounded_up(value: int) -> float:
    """Return the next of 1, 2, 4, 6, 8, 10, 20, 40 and so on."""
    size = 1
    while True:
        for factor in (1, 2, 4, 6, 8):
            if value <= factor * size:
                return float(factor * size)
        size *= 10
