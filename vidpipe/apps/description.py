"""What is known of the models of a run, once they are compiled: for the manifest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from vidpipe.apps.units import PoolUnit, RouteLoop
from vidpipe.config.model import ModelConfig
from vidpipe.inference.batching import BatchPool
from vidpipe.inference.choices import override_records
from vidpipe.inference.pool import Pool

_OF_A_POOL = ("hint", "requests", "batch", "optimal_requests", "runtime", "runtime_by_device")
"""What may differ between the pools of one model."""


def describe_pool(pool: Pool | BatchPool, *, compares: bool) -> dict[str, Any]:
    """Return what is known of a pool and its model.

    Args:
        pool: The pool.
        compares: True: its overrides, too, and what the hint alone would choose instead, which
            takes one more compilation where there are any.

    Raises:
        ModelError: The model can't be compiled without the overrides.
    """
    about = pool.detector.describe()
    overrides = override_records(pool.detector) if compares else None
    return about | {"requests": pool.size, "overrides": overrides}


def describe_models(
    pools: Iterable[PoolUnit],
    models: Mapping[str, ModelConfig],
    routes: Sequence[RouteLoop] = (),
    *,
    compares: bool = True,
) -> dict[str, dict[str, Any]]:
    """Return what is known of each model in use, by name.

    A model with one pool has that one's own keys (``requests``, ``runtime`` and so on) beside its
    own; one with several has them below ``pools``, each under the pool's name, and an adaptive one
    says which of them is in use.

    Args:
        pools: The pools of all of them.
        models: Their sections.
        routes: What moves the streams of an adaptive model.
        compares: False: without the overrides, which don't change while it runs.

    Raises:
        ModelError: A model can't be compiled without its overrides.
    """
    of_model: dict[str, dict[str, dict[str, Any]]] = {}
    for pool in pools:
        known = of_model.setdefault(pool.model, {})
        title = pool.name.removeprefix(f"{pool.model}/")
        known[title] = pool.describe(compares=compares and not known)
    # A change of the configuration may be under way.
    found = {n: _merged(known, models[n]) for n, known in of_model.items() if n in models}
    for route in routes:
        if route.model in found:
            found[route.model]["active_pool"] = route.route.name.lower()
    return found


def _merged(pools: Mapping[str, dict[str, Any]], model: ModelConfig) -> dict[str, Any]:
    first = next(iter(pools.values()))
    about = {key: value for key, value in first.items() if key not in ("model", *_OF_A_POOL)}
    about |= {
        "hint": model.hint,
        "call": model.call,
        "mode": model.mode,
        "timeout_s": model.timeout_s,
    }
    parts = {title: {key: pool[key] for key in _OF_A_POOL} for title, pool in pools.items()}
    if len(parts) > 1:
        return about | {"pools": parts}
    return {**next(iter(parts.values())), **about}
