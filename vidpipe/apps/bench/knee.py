"""Where a sweep stops to pay, in words with the figures. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from vidpipe.apps.bench.rows import Knee, Row

STILL_GROWS = 1.03
"""Three percent: less is within what the same point varies from round to round."""

_DOUBLE = 2.0


def find_knee(axis: str, rows: Sequence[Row], latency_limit_ms: float) -> Knee | None:
    """Return the knee of a sweep over numbers; None for other sweeps, and where nothing is known.

    Args:
        axis: ``requests``, ``streams`` or ``batch``.
        rows: The sweep's points, by rising number.
        latency_limit_ms: Of the sweep over streams.
    """
    measured = [row for row in rows if row.is_measured]
    if not measured:
        return None
    match axis:
        case "requests":
            return _where_growth_ends(measured)
        case "streams":
            return _where_limit_is_kept(measured, latency_limit_ms)
        case "batch":
            return _before_latency_doubles(measured)
        case _:
            return None


def _where_growth_ends(rows: Sequence[Row]) -> Knee:
    """Return the least number whose speed no greater number beats by more than three percent."""
    best = max(rows, key=lambda row: row.fps)
    knee = next(row for row in rows if row.fps * STILL_GROWS >= best.fps)
    if knee is rows[-1]:
        why = f"throughput grows to the end of the sweep: {_speed(knee)} at {knee.name}"
    else:
        after = rows[rows.index(knee) + 1 :]
        most = max(after, key=lambda row: row.fps)
        why = (
            f"throughput stops growing at {knee.name}: {_speed(knee)}, and no more than "
            f"{_speed(most)} with more, while p95 goes from {knee.p95_ms:.0f} to "
            f"{after[-1].p95_ms:.0f} ms at {after[-1].name}"
        )
    return Knee("requests", knee.name, why)


def _where_limit_is_kept(rows: Sequence[Row], limit_ms: float) -> Knee:
    """Return the last of the points that keep the limit, from the first on without a gap."""
    kept: list[Row] = []
    for row in rows:
        if row.p95_ms > limit_ms:
            break
        kept.append(row)
    if not kept:
        first = rows[0]
        why = f"even {first.name} has a p95 of {first.p95_ms:.0f} ms, above {limit_ms:g} ms"
        return Knee("streams", "", why)
    knee = kept[-1]
    if len(kept) == len(rows):
        why = (
            f"the limit of {limit_ms:g} ms is kept to the end of the sweep: p95 is "
            f"{knee.p95_ms:.0f} ms at {knee.name}, {_speed(knee)}"
        )
    else:
        over = rows[len(kept)]
        why = (
            f"{knee.name} is the last with p95 within {limit_ms:g} ms: {knee.p95_ms:.0f} ms, "
            f"{_speed(knee)}; at {over.name} it is {over.p95_ms:.0f} ms, {_speed(over)}"
        )
    return Knee("streams", knee.name, why)


def _before_latency_doubles(rows: Sequence[Row]) -> Knee:
    """Return the last size, from the first on, with less than twice the first one's latency."""
    first = rows[0]
    kept = [first]
    for row in rows[1:]:
        if row.p95_ms >= _DOUBLE * first.p95_ms:
            break
        kept.append(row)
    knee = kept[-1]
    gain = 100 * (knee.fps / first.fps - 1)
    against = "" if knee is first else f" against {first.p95_ms:.0f} ms at {first.name}"
    why = f"p95 is {knee.p95_ms:.0f} ms at {knee.name}{against}, {_speed(knee)}"
    if knee is not first:
        why += f" ({gain:+.0f} %)"
    if len(kept) < len(rows):
        over = rows[len(kept)]
        why += f"; at {over.name} it has doubled: {over.p95_ms:.0f} ms, {_speed(over)}"
    else:
        why += "; it doesn't double within the sweep"
    return Knee("batch", knee.name, why)


def _speed(row: Row) -> str:
    return f"{row.fps:.1f} frames/s"
