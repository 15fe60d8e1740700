"""What the hint alone would have chosen in place of each override, found out by asking."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from vidpipe.inference.answers import runtime_answers
from vidpipe.inference.cores import new_core
from vidpipe.inference.devices import compile_graph
from vidpipe.inference.graph import files_of
from vidpipe.inference.model import CompiledDetector
from vidpipe.inference.overrides import overrides_in, without_overrides

_TRUTHS = {"yes": "true", "1": "true", "no": "false", "0": "false"}
"""What plugins write for the same thing: PERF_COUNT answers YES where True was asked for."""


def override_records(model: CompiledDetector) -> dict[str, dict[str, Any]]:
    """Return each override of a model with what the hint alone would choose, and what came of it.

    Where there is an override, the model is compiled once more, without it: there is no other way
    to know.

    Returns:
        By key: ``value`` (asked for), ``hint`` (overridden), ``chosen`` (by the hint alone; None
        where the runtime doesn't say), ``runtime`` (what came of it; None likewise).

    Raises:
        ModelError: It can't be compiled without them.
    """
    detector = model.detector
    settings = detector.settings
    overrides = overrides_in(settings)
    if not overrides:
        return {}
    properties = tuple(one.property for one in overrides)
    alone = compile_graph(
        new_core(),
        detector.graph,
        without_overrides(settings),
        files_of(detector.path),
        detector.variant_of(detector.graph),
    )
    chosen, got = runtime_answers(alone, properties), model.answers(*properties)
    return {
        one.key: {
            "value": one.value,
            "hint": settings.hint.value,
            "chosen": chosen.get(one.property.lower()),
            "runtime": got.get(one.property.lower()),
        }
        for one in overrides
    }


def override_lines(model: str, records: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return what to tell a person of overrides, one line each: see `override_records`."""
    return [_line(model, key, record) for key, record in records.items()]


def _line(model: str, key: str, record: Mapping[str, Any]) -> str:
    value, chosen, got = (_word(record[name]) for name in ("value", "chosen", "runtime"))
    hint = f"hint {record['hint']}"
    start = f"model {model}: {key}: "
    if chosen is None:
        line = f"{start}{value} is kept, in place of what {hint} would choose"
    elif _is_same(chosen, value):
        line = f"{start}{value} is what {hint} would choose anyway"
    else:
        line = f"{start}{hint} would choose {chosen}; {value} is kept"
    is_kept = got is None or _is_same(got, value)
    return line if is_kept else f"{line}, but the device made {got} of it"


def _word(value: object) -> str | None:
    return None if value is None else str(value)


def _is_same(text: str | None, other: str | None) -> bool:
    """Return True for texts of one value: True, YES and 1; 2 and 2.0; LATENCY and latency."""
    return _plain(text) == _plain(other)


def _plain(text: str | None) -> str | None:
    if text is None:
        return None
    folded = text.strip().casefold()
    with suppress(ValueError):
        folded = f"{float(folded):.17g}"
    return _TRUTHS.get(folded, folded)
