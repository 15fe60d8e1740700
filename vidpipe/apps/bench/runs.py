"""Processes that measure: started for one run each, and gone with whoever started them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from vidpipe.apps.bench.job import RunJob, RunResult
from vidpipe.errors import UsageError, VidpipeError
from vidpipe.runtime.logs import redact

_LONGEST_START_S = 300.0
"""Reading and compiling a large model on a slow machine."""


@dataclass(frozen=True, slots=True)
class Child:
    """A process that prints its result as its last line."""

    process: subprocess.Popen[str]
    errors: IO[str]

    def result(self, timeout_s: float) -> dict[str, Any]:
        """Wait for its end and return what it printed last.

        Raises:
            VidpipeError: It died, answered nothing, or took too long.
        """
        assert self.process.stdout is not None
        try:
            # Not ``communicate``, which would close the input: the process would end with it.
            self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise VidpipeError(f"the run didn't end within {timeout_s:.0f} s") from None
        lines = self.process.stdout.read().strip().splitlines()
        if self.process.returncode or not lines:
            raise VidpipeError(self._why_it_died())
        answer: dict[str, Any] = json.loads(lines[-1])
        return answer

    def _why_it_died(self) -> str:
        code = self.process.returncode
        self.errors.seek(0)
        said = self.errors.read().strip().splitlines()
        how = f"of {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        return redact(f"the run's process died {how}" + (f": {said[-1]}" if said else ""))


@contextmanager
def started_child(module: str, *arguments: str, order: str = "") -> Iterator[Child]:
    """Start ``python -m MODULE``; it is gone at the end of the ``with``, whatever happens.

    Args:
        module: The program; it should end when its standard input does.
        arguments: Its arguments.
        order: A line for its standard input, which stays open.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        try:
            assert process.stdin is not None
            process.stdin.write(order + "\n")
            process.stdin.flush()
            yield Child(process, errors)
        finally:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()


def run_job(job: RunJob) -> RunResult:
    """Run a job in a fresh process.

    Raises:
        UsageError: The configuration, a setting or the model isn't right.
        VidpipeError: It can't be measured; the text says why, as a row shows it.
    """
    with tempfile.TemporaryDirectory(prefix="vidpipe-bench-") as folder:
        order = replace(job, folder=str(Path(folder))).to_json()
        with started_child("vidpipe.apps.bench.run_one", order=order) as child:
            answer = child.result(_LONGEST_START_S + job.warmup_s + job.seconds)
    if "error" in answer:
        is_usage = answer.get("exit_code") == UsageError.exit_code
        raise (UsageError if is_usage else VidpipeError)(answer["error"])
    return RunResult(**answer["result"])
