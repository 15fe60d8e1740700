"""The process's first and last breath: what the script ``vidpipe`` and ``python -m vidpipe`` run.

Guarantees:
    * an interrupt while the program loads ends it at once with exit code 130: nothing has begun,
      and an exception would be swallowed, or break the loading half-way;
    * the three standard streams are open. Else the first file to be opened would take the number
      of the missing one, and with it whatever native libraries have to say.
"""

from __future__ import annotations

import os
import signal
import sys

_INTERRUPTED = 130
_STANDARD_STREAMS = 3


def main() -> None:
    """Load the command line and run it."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os._exit(_INTERRUPTED))
    open_standard_streams()

    from vidpipe.apps.cli import main as run_command_line  # noqa: PLC0415 - see above

    run_command_line()


def open_standard_streams() -> None:
    """Connect what the caller has closed to nothing."""
    for descriptor in range(_STANDARD_STREAMS):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the least free number: this one
    # Python has none of those that were closed when it started.
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", encoding="utf-8", closefd=False)
