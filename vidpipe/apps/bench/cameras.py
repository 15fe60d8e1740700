"""How many cameras of a kind fit, and what gives out first: searched with paced runs.

Every trial plays so many streams by their timestamps, as cameras send them. A number *holds* if
hardly a frame is lost, the model keeps up with the rate that is wanted, and results are not late.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from vidpipe.apps.bench.job import RunResult
from vidpipe.apps.bench.rows import Cameras
from vidpipe.errors import UsageError

MOST_CAMERAS = 1024
_LOST = 0.01
_SLOW = 0.97
_BUSY = 0.85
"""Of all cores, or of one by a thread: above that there is no room for bursts."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a camera's results must be like.

    Attributes:
        rate_fps: Results a second of each camera.
        source_fps: Frames a second that each one sends.
        limit_ms: The most that p95 of a result's age may be.
        cores: Of the machine.
    """

    rate_fps: float
    source_fps: float
    limit_ms: float
    cores: int


def search_cameras(
    wanted: Wanted, guess: int, run: Callable[[int], RunResult], kind: str = ""
) -> Cameras:
    """Find the greatest number that holds: from a guess, by halving, with a second run to confirm.

    Args:
        wanted: What holding means.
        guess: Where to begin.
        run: Plays so many cameras.
        kind: What is measured, for people.

    Raises:
        UsageError: A run can't be measured.
    """
    tried: dict[int, RunResult] = {}

    def holds(count: int) -> bool:
        if count not in tried:
            tried[count] = run(count)
        return why_not(wanted, count, tried[count]) is None

    low, high = 0, 0
    count = max(1, min(guess, MOST_CAMERAS))
    while not high:
        if holds(count):
            low = count
            if count == MOST_CAMERAS:
                break
            count = min(MOST_CAMERAS, max(count + 1, count + count // 4))
        else:
            high = count
    while not low and high > 1:
        count = max(1, high * 3 // 4) if high > 2 else 1
        if holds(count):
            low = count
        else:
            high = count
    while high - low > 1 and low:
        count = (low + high) // 2
        if holds(count):
            low = count
        else:
            high = count
    low = _confirmed(wanted, low, run, tried)
    return _conclusion(wanted, low, tried, kind)


def why_not(wanted: Wanted, count: int, result: RunResult) -> str | None:
    """Return why so many cameras don't hold, or None if they do."""
    asked_fps = wanted.source_fps * count
    lost = result.dropped / max(1, result.captured)
    if lost > _LOST:
        return f"{100 * lost:.0f} % of the frames are lost"
    if result.captured / result.seconds < _SLOW * asked_fps:
        return f"{result.captured / result.seconds:.0f} of {asked_fps:.0f} frames/s are decoded"
    if result.fps < _SLOW * wanted.rate_fps * count:
        return f"{result.fps:.0f} of {wanted.rate_fps * count:.0f} results a second come"
    if result.p95_ms > wanted.limit_ms:
        return f"p95 is {result.p95_ms:.0f} ms, above {wanted.limit_ms:g} ms"
    return None


def what_gives_out(wanted: Wanted, result: RunResult) -> tuple[str, str]:
    """Return which part is short of what, and the figures that say so."""
    available_s = result.seconds * wanted.cores
    share, others = result.cpu_s / available_s, result.others_cpu_s / available_s
    beside = f", {100 * others:.0f} % by other programs" if others > _LOST else ""
    busy = f"the {wanted.cores} cores are {100 * min(1.0, share + others):.0f} % busy{beside}"
    if share + others < _BUSY:
        if result.busiest_s / result.seconds > _BUSY:
            return "decode", "one decoding thread has a whole core to itself and wants more"
        # The cores are not all busy, so it waits for something that is none: the device.
        return "inference", busy
    total = max(sum(result.cpu_of.values()), 1e-9)
    parts = {part: spent for part, spent in result.cpu_of.items() if part != "other"}
    shares = sorted(((spent / total, part) for part, spent in parts.items()), reverse=True)
    told = ", ".join(f"{part} {100 * part_share:.0f} %" for part_share, part in shares[:4])
    return shares[0][1], f"{busy}; of vidpipe's own {told}"


def _confirmed(
    wanted: Wanted, count: int, run: Callable[[int], RunResult], tried: dict[int, RunResult]
) -> int:
    """Return the number, or the next below that holds twice."""
    while count:
        again = run(count)
        if why_not(wanted, count, again) is None:
            return count
        tried[count] = again
        count -= 1
        if count and count not in tried:
            tried[count] = run(count)
    return 0


def _conclusion(wanted: Wanted, count: int, tried: dict[int, RunResult], kind: str) -> Cameras:
    over = min((number for number in tried if number > count), default=None)
    rates = f"{wanted.rate_fps:g} results a second each"
    if over is None:
        why = f"{count} cameras hold, and the search ended there"
        limit = "nothing"
    else:
        limit, figures = what_gives_out(wanted, tried[over])
        reason = why_not(wanted, over, tried[over]) or "it doesn't hold twice"
        why = f"{_cameras(count)} with {rates}; with {over}, {reason}: {figures}"
    if count and count in tried:
        why += f"; p95 with {count}: {tried[count].p95_ms:.0f} ms"
    return Cameras(
        count=count,
        rate_fps=wanted.rate_fps,
        source_fps=wanted.source_fps,
        limit=limit,
        why=why,
        kind=kind,
        is_bounded=over is not None,
    )


def _cameras(count: int) -> str:
    return "1 camera holds" if count == 1 else f"{count or 'no'} cameras hold"


def guess_from(capacity_fps: float, rate_fps: float) -> int:
    """Return where to begin: a paced machine does less than one that runs back to back.

    Raises:
        UsageError: There is no rate to reckon with.
    """
    if rate_fps <= 0:
        raise UsageError("--cameras: the sources say no rate; set detect_fps")
    return max(1, int(0.8 * capacity_fps / rate_fps))
