"""The command line as a user runs it: a process of its own, with its exit code and its words."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Finished:
    """What a command left behind."""

    code: int
    out: str
    err: str


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return this process's environment with the project on Python's path."""
    return {**os.environ, "PYTHONPATH": str(ROOT), **(more or {})}


@contextmanager
def started(
    *arguments: str | Path,
    cwd: Path,
    environ: Mapping[str, str] | None = None,
    is_own_group: bool = False,
) -> Iterator[subprocess.Popen[str]]:
    """Start `vidpipe ARGUMENTS`; it is gone at the end, whatever happens."""
    process = subprocess.Popen(
        [sys.executable, "-m", "vidpipe", *map(str, arguments)],
        cwd=cwd,
        env=environment(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=is_own_group,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def ended(process: subprocess.Popen[str], timeout_s: float = 60.0) -> Finished:
    """Wait for a command to end by itself."""
    out, err = process.communicate(timeout=timeout_s)
    return Finished(process.returncode, out, err)


def address_said(process: subprocess.Popen[str]) -> str:
    """Wait for the log to say where the server listens, and return that."""
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.search(r"the server listens on (\S+)$", line.rstrip()):
            return found[1]
    raise AssertionError("no address is said")


def vidpipe(
    *arguments: str | Path,
    cwd: Path,
    environ: Mapping[str, str] | None = None,
    timeout_s: float = 60.0,
) -> Finished:
    """Run `vidpipe ARGUMENTS` to its end."""
    with started(*arguments, cwd=cwd, environ=environ) as process:
        return ended(process, timeout_s)


def write_config(folder: Path, document: Mapping[str, Any]) -> Path:
    """Write a configuration and return its path; `version` is put in."""
    path = folder / "config.yml"
    text = yaml.safe_dump({"version": 1, **document}, allow_unicode=True, sort_keys=False)
    path.write_text(text, encoding="utf-8")
    return path
