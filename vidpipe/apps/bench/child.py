"""A process that measures, from within: one order, one answer, and no orphan."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable

from loguru import logger

from vidpipe.errors import VidpipeError
from vidpipe.runtime.logs import redact
from vidpipe.runtime.supervisor import ThreadGroup


def answer_order(work: Callable[[str], object]) -> None:
    """Read the order, a line on standard input; print what the work makes of it; end.

    The answer is one line of JSON: ``{"result": ...}``, or ``{"error": "...", "exit_code": N}`` for
    an error of vidpipe's. The process ends at once when whoever started it is gone, which ends its
    input. Ends without ado: nothing that it holds is worth keeping.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to everybody
    logger.remove()
    order = sys.stdin.readline()
    ThreadGroup().spawn("vp-parent", _end_with_parent, may_hang=True)
    try:
        answer: dict[str, object] = {"result": work(order)}
    except VidpipeError as exc:
        answer = {"error": redact(str(exc)), "exit_code": exc.exit_code}
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
    os._exit(0)


def _end_with_parent() -> None:
    while sys.stdin.read(1024):
        pass
    os._exit(1)
