"""The first breath of a worker process: what the parent runs as a program of its own.

Heavy libraries come only once it is settled to whom the process belongs and where it may run.

Guarantees:
    * Ctrl+C and a closing terminal, which reach every process, are the parent's to answer;
    * it doesn't outlive its parent, however that dies;
    * it is bound to its processors before anything counts them, but for a spare one, which gets
      them with its task;
    * it imports what its parent would: no module that happens to lie in the working directory.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from multiprocessing.connection import Connection

_PR_SET_PDEATHSIG = 1
_ORPHANED = 3


def main() -> None:
    """Take the pipe's number and the parent's process id from the command line, and work."""
    descriptor, parent = map(int, sys.argv[1:])
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGHUP))
    _die_with(parent)
    pipe: Connection = Connection(descriptor)
    try:
        sys.path[:], processors = pipe.recv()
        if processors:
            os.sched_setaffinity(0, processors)
    except EOFError:
        os._exit(_ORPHANED)
    except OSError:
        pass  # a processor was taken away: all that are left will do

    from vidpipe.apps.task import work  # noqa: PLC0415 - see above

    work(pipe)


def _die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent is gone; where it can't, the pipe ends."""
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    except (OSError, AttributeError):
        return
    if os.getppid() != parent:  # it was too late to be told
        os._exit(_ORPHANED)


if __name__ == "__main__":
    main()
