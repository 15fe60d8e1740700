"""The shape of a model's streams: each is opened once before the start, all at the same time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from loguru import logger

from vidpipe.inference.aspect import scale_beside_square
from vidpipe.interfaces import OpenReader
from vidpipe.runtime.supervisor import ThreadGroup
from vidpipe.sources.probe import probe

_CLOSE = 0.03
"""Aspects that differ by less are one: 1920x1080 and 1920x1088."""


def common_aspect(model: str, sources: Mapping[str, OpenReader], limit_s: float) -> float | None:
    """Return width by height of most of a model's streams; None if none shows a picture in time.

    Args:
        model: The model's name, for the log.
        sources: What opens each stream, by its id.
        limit_s: How long the slowest may take.
    """
    sizes: dict[str, tuple[int, int]] = {}
    threads = ThreadGroup()
    for stream, open_reader in sources.items():
        looker = partial(_look, stream, open_reader, limit_s, sizes.__setitem__)
        threads.spawn(f"vp-look-{stream}", looker, may_hang=True)
    threads.join(limit_s + 1.0)
    known = dict(sizes)
    chosen = most_common([known[stream] for stream in sources if stream in known])
    if chosen is None:
        logger.warning(
            "model {}: no stream showed a picture within {:g} s, so its input keeps its own shape"
            " (input.fit: streams)",
            model,
            limit_s,
        )
        return None
    others = {
        stream: (width, height)
        for stream, (width, height) in known.items()
        if not _is_close(width / height, chosen)
    }
    logger.info(
        "model {}: its input takes the shape of {} of {} streams, {:.2f} to 1 (input.fit: streams)",
        model,
        len(known) - len(others),
        len(sources),
        chosen,
    )
    for stream, size_wh in others.items():
        _tell_misfit(model, stream, size_wh, chosen)
    return chosen


def _tell_misfit(model: str, stream: str, size_wh: tuple[int, int], chosen: float) -> None:
    """Log what it costs a stream that the input has the shape of others."""
    width, height = size_wh
    bound = logger.bind(stream=stream)
    scale = scale_beside_square(width / height, chosen)
    start = f"stream {stream}: {width}x{height} is not the shape of most streams of model {model}"
    if scale > 1 - _CLOSE:
        bound.info("{}: it is letterboxed into theirs, at its usual scale", start)
        return
    bound.warning(
        "{}: letterboxed into theirs, it is seen at about {:.0f} percent of the scale that the"
        " model's own square gives, and small objects in it are lost first; remedy: a second"
        " section under models for the streams of this shape",
        start,
        100 * scale,
    )


def most_common(sizes_wh: Sequence[tuple[int, int]]) -> float | None:
    """Return the aspect of most of some sizes, of equals the first; None if there are none."""
    counts: Counter[float] = Counter()
    for width, height in sizes_wh:
        aspect = width / height
        counts[next((known for known in counts if _is_close(known, aspect)), aspect)] += 1
    return max(counts, key=counts.__getitem__, default=None)


def _look(
    stream: str,
    open_reader: OpenReader,
    limit_s: float,
    found: Callable[[str, tuple[int, int]], None],
) -> None:
    report = probe(open_reader, measure_s=0.0, limit_s=limit_s)
    if report.size_wh is not None:
        found(stream, report.size_wh)


def _is_close(aspect: float, other: float) -> bool:
    return abs(aspect / other - 1) < _CLOSE
