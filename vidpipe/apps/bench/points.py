"""Which points a bench measures: the values of each sweep, and those of a comparison. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from vidpipe.apps.bench.job import STREAMS, Pace
from vidpipe.apps.bench.rows import Value
from vidpipe.config.suggest import did_you_mean
from vidpipe.errors import UsageError

SWEEPS = ("requests", "streams", "batch", "hint", "mode", "call")
ALL = "all"
CONFIGURED = "configured"

MODES = ("shared", "independent", "batched")
CALLS = ("async", "sync")
HINTS = ("latency", "throughput", "adaptive")
CUMULATIVE = "cumulative_throughput"
"""Means something for AUTO alone."""

_BATCHES = (1, 2, 4, 8, 16)
_MOST_REQUESTS = 7
_MOST_STREAMS = 64

_KEY_OF_WORD = {
    **dict.fromkeys(MODES, "mode"),
    **dict.fromkeys(CALLS, "call"),
    **dict.fromkeys((*HINTS, CUMULATIVE), "hint"),
    **dict.fromkeys(("f32", "f16", "bf16"), "precision"),
}
_DEVICES = ("CPU", "GPU", "NPU", "AUTO", "MULTI", "HETERO", "BATCH")
_WHOLE_KEYS = ("requests", "batch", STREAMS)
_KEYS = ("mode", "call", "hint", "device", "precision", *_WHOLE_KEYS)


@dataclass(frozen=True, slots=True)
class Point:
    """One setting to be measured; the fields are those of its row."""

    name: str
    group: str
    settings: Mapping[str, Value] = field(default_factory=dict)
    axis: str = ""
    pace: Pace = "full"


def configured_point(pace: Pace = "full") -> Point:
    """Return the configuration as it is."""
    return Point("as configured", CONFIGURED, pace=pace)


def sweeps_of(given: Sequence[str]) -> list[str]:
    """Return the sweeps that were asked for, each once.

    Raises:
        UsageError: One is not known.
    """
    words = [word for text in given for word in text.replace(",", " ").split()]
    for word in words:
        if word not in (*SWEEPS, ALL):
            raise UsageError(
                f"--sweep {word}: expected one of {', '.join((*SWEEPS, ALL))}"
                f"{did_you_mean(word, (*SWEEPS, ALL))}"
            )
    return list(SWEEPS) if ALL in words else list(dict.fromkeys(words))


def sweep_points(axis: str, *, requests: int, streams: int, device: str, pace: Pace) -> list[Point]:
    """Return the points of a sweep, in the order in which they are measured first.

    Args:
        axis: One of ``SWEEPS``.
        requests: How many requests ``auto`` means here.
        streams: How many are configured.
        device: The model's, for the hints that it knows.
        pace: Of the sweep over streams.
    """
    group = f"sweep {axis}"
    match axis:
        case "requests":
            return [_point(axis, n, group) for n in request_counts(requests)]
        case "streams":
            return [_point(axis, n, group, pace) for n in stream_counts(streams)]
        case "batch":
            return [_point(axis, n, group) for n in _BATCHES]
        case "hint":
            more = (CUMULATIVE,) if device.startswith("AUTO") else ()
            return [_point(axis, hint, group) for hint in (*HINTS, *more)]
        case "mode":
            return [_point(axis, mode, group) for mode in MODES]
        case _:
            return [_point(axis, call, group) for call in CALLS]


def request_counts(auto: int) -> list[int]:
    """Return the counts around what ``auto`` means: powers of two, itself, and twice as many."""
    powers = [1 << step for step in range(12) if 1 << step < 2 * auto]
    counts = sorted({*powers, auto, 2 * auto})
    # Of many the middle matters less than the ends.
    while len(counts) > _MOST_REQUESTS:
        counts.pop(len(counts) // 2 - 1)
    return counts


def stream_counts(configured: int) -> list[int]:
    """Return counts from one on, doubling, with the configured one among them."""
    most = max(16, min(_MOST_STREAMS, 4 * configured))
    powers = [1 << step for step in range(12) if 1 << step <= most]
    return sorted({*powers, configured})


def compared_points(text: str) -> list[Point]:
    """Return the points of ``--compare sync,async``, or of ``--compare KEY=VALUE,VALUE``.

    Raises:
        UsageError: The values are not those of one key, or fewer than two.
    """
    key, equals, rest = text.partition("=")
    words = [word.strip() for word in (rest if equals else text).split(",") if word.strip()]
    if equals and key.strip() not in _KEYS:
        known = ", ".join(_KEYS)
        raise UsageError(f"--compare {text}: {key.strip()!r} is none of the keys {known}")
    keys = {key.strip()} if equals else {_key_of(word, text) for word in words}
    if len(keys) != 1:
        raise UsageError(f"--compare {text}: give the values of one key, not of {_listed(keys)}")
    words = list(dict.fromkeys(words))
    if len(words) < 2:
        raise UsageError(f"--compare {text}: give two or more values, such as sync,async")
    axis = keys.pop()
    return [_point(axis, _value(axis, word, text), f"compare {axis}") for word in words]


def _point(axis: str, value: Value, group: str, pace: Pace = "full") -> Point:
    return Point(f"{axis} {value}", group, settings_for(axis, value), axis, pace)


def settings_for(axis: str, value: Value) -> dict[str, Value]:
    """Return the settings that a value on an axis stands for."""
    if axis == "batch":
        return {"mode": "batched", "batch.size": value}
    return {axis: value}


def _key_of(word: str, text: str) -> str:
    if word in _KEY_OF_WORD:
        return _KEY_OF_WORD[word]
    if word.upper().partition(":")[0].partition(".")[0] in _DEVICES:
        return "device"
    known = [*_KEY_OF_WORD, *_DEVICES]
    raise UsageError(
        f"--compare {text}: {word!r} is no value that is known{did_you_mean(word, known)}; name "
        "the key for others, as in requests=2,4,8"
    )


def _value(axis: str, word: str, text: str) -> Value:
    if axis not in _WHOLE_KEYS or word == "auto":
        return word
    if not (word.isascii() and word.isdigit() and 1 <= int(word) <= 1024):
        raise UsageError(f"--compare {text}: {axis} takes whole numbers from 1, not {word!r}")
    return int(word)


def _listed(keys: set[str]) -> str:
    return " and ".join(sorted(keys))
