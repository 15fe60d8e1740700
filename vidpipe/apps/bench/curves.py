"""Charts of a bench as SVG that stands inside a page: by Matplotlib, which is an extra.

A chart loads nothing, needs no script, and takes its colours from the page's own style, so that it
reads in the dark, in the light and on paper. Text stays text.
"""

from __future__ import annotations

import io
import logging
import re
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from vidpipe.apps.bench.rows import Row, StageCost
from vidpipe.errors import UsageError

try:
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator
except ImportError:
    mpl = None  # type: ignore[assignment] # an extra that may not be there

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Stand-ins for what the page's style says: colours that nobody would choose.
_INK = "#010203"
_FAINT = "#010204"
SERIES = {"fps": "#010205", "p50": "#010206", "p95": "#010207", "p99": "#010208", "knee": "#010209"}
"""The curves, and the colours that stand for ``var(--fps)`` and so on until the SVG is done."""

_VARIABLES = {_INK: "currentColor", _FAINT: "var(--faint)"} | {
    color: f"var(--{name})" for name, color in SERIES.items()
}
_STYLE: dict[Any, object] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "vidpipe",
    "text.parse_math": False,
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": _INK,
    "axes.edgecolor": _FAINT,
    "axes.labelcolor": _INK,
    "axes.titlecolor": _INK,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": _FAINT,
    "grid.linewidth": 0.5,
    "xtick.color": _FAINT,
    "ytick.color": _FAINT,
    "xtick.labelcolor": _INK,
    "ytick.labelcolor": _INK,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
}
_NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))

_MOST_TICKS = 12
_FIXED_SCALE_FROM = 20.0
"""Latencies that differ by more than this factor stand on a logarithmic scale."""


def require_charts() -> None:
    """Check that charts can be drawn: to be called before hours are spent on measuring.

    Raises:
        UsageError: Matplotlib is not installed.
    """
    if mpl is None:
        raise UsageError(
            "a page with charts needs Matplotlib, an extra: pip install '.[bench]';"
            " --json needs nothing more"
        )


def sweep_chart(axis: str, rows: Sequence[Row], knee: str | None = None) -> str:
    """Return the curves of a sweep: throughput with its spread, and latency, against the axis.

    Args:
        axis: The swept key.
        rows: Its points; those without figures are left out.
        knee: The name of the row beyond which more doesn't pay; it is marked.

    Raises:
        UsageError: Matplotlib is not installed.
    """
    points = [row for row in rows if row.is_measured]
    values = [row.axis_value for row in points]
    is_scale = all(isinstance(value, int | float) for value in values)
    if is_scale:
        points.sort(key=lambda row: float(row.axis_value or 0))
    places = [float(row.axis_value or 0) if is_scale else n for n, row in enumerate(points)]
    knee_at = next((x for x, row in zip(places, points, strict=True) if row.name == knee), None)

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        _draw_throughput(left, places, points, is_line=is_scale)
        _draw_latency(right, places, points, is_line=is_scale)
        for axes in (left, right):
            _set_places(axes, axis, places, points, is_scale=is_scale)
            if knee_at is not None:
                axes.axvline(knee_at, color=SERIES["knee"], linestyle="--", linewidth=1.4)
        if knee_at is not None:
            left.annotate(
                "knee",
                (knee_at, 0.02),
                xycoords=("data", "axes fraction"),
                xytext=(4, 0),
                textcoords="offset points",
                color=SERIES["knee"],
            )

    return _svg(draw, (9.0, 3.2), f"throughput and latency against {axis}", f"sweep-{axis}")


def comparison_chart(key: str, rows: Sequence[Row]) -> str:
    """Return the throughput of what was compared as bars, each with its spread.

    Raises:
        UsageError: Matplotlib is not installed.
    """
    points = [row for row in rows if row.is_measured][::-1]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        bars = axes.barh(
            [_plain(row.name) for row in points],
            [row.fps for row in points],
            xerr=_spread(points),
            color=SERIES["fps"],
            ecolor=_INK,
            capsize=3,
            height=0.6,
        )
        axes.bar_label(bars, [f"{row.fps:.4g}" for row in points], padding=6)
        _finish_bars(axes, "frames a second (bar: median of the rounds; line: their spread)")

    height = 0.9 + 0.38 * len(points)
    return _svg(draw, (9.0, height), f"throughput by {key}", f"compare-{key}")


def stage_chart(stages: Sequence[StageCost]) -> str:
    """Return what each stage costs as bars; the slowest stands out.

    Raises:
        UsageError: Matplotlib is not installed.
    """
    shown = list(stages)[::-1]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        bars = axes.barh(
            [stage.name for stage in shown],
            [stage.cpu_ms for stage in shown],
            color=[SERIES["knee" if stage.is_floor else "fps"] for stage in shown],
            height=0.6,
        )
        axes.bar_label(bars, [f"{stage.cpu_ms:.3g} ms" for stage in shown], padding=4)
        _finish_bars(axes, "CPU milliseconds a frame, each stage alone")

    return _svg(draw, (9.0, 0.9 + 0.34 * len(shown)), "CPU cost of each stage", "stages")


def _draw_throughput(
    axes: Axes, places: Sequence[float], points: Sequence[Row], *, is_line: bool
) -> None:
    speeds, color = [row.fps for row in points], SERIES["fps"]
    if is_line:
        axes.errorbar(places, speeds, yerr=_spread(points), color=color, fmt="o-", capsize=3)
    else:
        spread = _spread(points)
        axes.bar(places, speeds, 0.5, yerr=spread, color=color, ecolor=_INK, capsize=3)
    axes.set_title("frames a second")
    axes.set_ylim(bottom=0)


def _draw_latency(
    axes: Axes, places: Sequence[float], points: Sequence[Row], *, is_line: bool
) -> None:
    for name, marker in (("p99", "^"), ("p95", "s"), ("p50", "o")):
        ages_ms = [getattr(row, f"{name}_ms") for row in points]
        style = f"{marker}-" if is_line else marker
        axes.plot(places, ages_ms, style, color=SERIES[name], label=name)
    lowest = min((row.p50_ms for row in points), default=0.0)
    if lowest > 0 and max(row.p99_ms for row in points) > _FIXED_SCALE_FROM * lowest:
        axes.set_yscale("log")
        axes.set_title("latency, ms (logarithmic)")
    else:
        axes.set_title("latency, ms")
        axes.set_ylim(0, 1.1 * max((row.p99_ms for row in points), default=1.0) or 1.0)
    if points:
        axes.legend(loc="best")


def _set_places(
    axes: Axes, axis: str, places: Sequence[float], points: Sequence[Row], *, is_scale: bool
) -> None:
    """Name the points of the horizontal axis: values measured, not round numbers between them."""
    axes.set_xlabel(_plain(axis))
    if is_scale and len(places) > _MOST_TICKS:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    else:
        labels = [_plain(str(row.axis_value or row.name)) for row in points]
        axes.set_xticks(list(places), labels)
        if not is_scale:
            axes.set_xlim(-0.6, len(places) - 0.4)


def _spread(points: Sequence[Row]) -> list[list[float]]:
    """Return how far the slowest and the fastest round lie from the median."""
    return [
        [max(0.0, row.fps - row.fps_low) for row in points],
        [max(0.0, row.fps_high - row.fps) for row in points],
    ]


def _finish_bars(axes: Axes, label: str) -> None:
    axes.set_xlabel(label)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.margins(x=0.12)
    axes.set_xlim(left=0)


def _svg(draw: Callable[[Figure], None], size_in: tuple[float, float], title: str, key: str) -> str:
    """Draw a figure and return it as an ``svg`` element for a page; ``key`` keeps its ids apart."""
    require_charts()
    # What Matplotlib says of fonts and of where it keeps its list of them concerns nobody here.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    out = io.StringIO()
    with mpl.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        mpl.rcdefaults()  # a user's own style must not decide whether a report can be read
        mpl.rcParams.update(_STYLE)
        figure = Figure(figsize=size_in, layout="constrained")
        figure.patch.set_visible(False)
        draw(figure)
        for axes in figure.axes:
            axes.patch.set_visible(False)
        figure.savefig(out, format="svg", metadata=_NO_METADATA)
    return _for_a_page(out.getvalue(), title, key)


def _for_a_page(svg: str, title: str, key: str) -> str:
    """Turn a file's SVG into an element that meets the page in no size, style or id of its own."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"\s*<style.*?</style>", "", svg, flags=re.DOTALL)
    head, _, body = svg.partition(">")
    box = re.search(r'viewBox="[^"]*"', head)
    assert box is not None, "an SVG of Matplotlib has a viewBox"
    name = re.sub(r"[^a-z0-9]+", "-", key.lower())
    body = re.sub(r'\bid="', f'id="{name}-', body)
    body = body.replace("url(#", f"url(#{name}-").replace('xlink:href="#', f'href="#{name}-')
    for color, variable in _VARIABLES.items():
        body = body.replace(color, variable)
    label = _attribute(title)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {box[0]} role="img" aria-label="{label}">{body}'
    )


def _attribute(text: str) -> str:
    return _plain(text).replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")


def _plain(text: Any) -> str:
    """Return a text without what XML can't hold."""
    return "".join(char if char.isprintable() else "?" for char in str(text))
