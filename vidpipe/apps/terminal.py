"""What every command does with its words: errors and their exit codes, data, and the last breath.

Messages for people go to standard error, data to standard output.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import typer

from vidpipe.errors import UsageError, VidpipeError


@contextmanager
def reporting() -> Iterator[None]:
    """Turn errors into a message for people and an exit code, and warnings into plain lines."""
    from vidpipe.runtime.logs import redact, warn_plainly

    warn_plainly(lambda line: print(line, end="", file=sys.stderr, flush=True))
    try:
        yield
    except VidpipeError as exc:
        print(f"vidpipe: {redact(str(exc))}", file=sys.stderr)
        leave(exc.exit_code)


@contextmanager
def writing() -> Iterator[None]:
    """Turn what can befall standard output into an exit code, and a message where one is due.

    Raises:
        UsageError: It can't be written: a full disk, say.
    """
    try:
        yield
        sys.stdout.flush()
    except OSError as exc:
        # The interpreter must not try to flush what is left.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(exc, BrokenPipeError):
            raise typer.Exit(1) from None  # whoever read it has gone, and knows
        raise UsageError(f"standard output can't be written: {exc.strerror}") from exc


def print_line(text: object) -> None:
    """Print a line of data."""
    print(text)


def print_json(document: object) -> None:
    """Print data for programs."""
    print(json.dumps(document, ensure_ascii=False, indent=2))


def leave(code: int) -> None:
    """End at once.

    Native code may hold a thread that would be waited for; and no signal changes the code any more.
    """
    with suppress(OSError):  # a terminal that has been closed
        sys.stderr.flush()
    os._exit(code)
