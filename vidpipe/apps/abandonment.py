"""What becomes of a pipeline that is started and never closed: it ends all the same.

When its last reference goes, or when the program ends: Python then waits for all threads, so that
one that is forgotten would hold the program for ever.
"""

from __future__ import annotations

import threading
from typing import Any, TypeAlias
from weakref import finalize

from vidpipe.apps.delivery import Delivery
from vidpipe.apps.engine import Engine

Abandonment: TypeAlias = "finalize[Any, Any]"
"""Its ``detach`` is for whoever closes in order."""


def end_with(owner: object, delivery: Delivery, engine: Engine, timeout_s: float) -> Abandonment:
    """Let an engine be stopped when its owner is let go, or when the program ends.

    Args:
        owner: Whom nothing of the rest refers to.
        delivery: Closed first: nobody takes its results any more.
        engine: Running, or about to.
        timeout_s: How long its stop may take.
    """
    abandonment = finalize(owner, _end, delivery, engine, timeout_s)
    # `atexit` comes after the wait for the threads; this before (concurrent.futures uses it, too).
    threading._register_atexit(abandonment)  # type: ignore[attr-defined] # noqa: SLF001 - no other way
    return abandonment


def _end(delivery: Delivery, engine: Engine, timeout_s: float) -> None:
    delivery.close()
    engine.stop(timeout_s)
