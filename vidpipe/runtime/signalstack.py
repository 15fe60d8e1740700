"""The stack on which a thread's signals are handled, kept as it is while a library changes it.

OpenVINO's CPU plugin gives the thread that loads it a stack of the plugin's own for signals (the
registers of AMX are too large for what there may be), and takes it away once the plugin is let go:
but only the memory, if that happens on another thread. From then on the first signal that Python
handles, be it SIGTERM or the one of a reload, ends the process with a segmentation fault. Python
handles its signals on any stack; so the one that was there, commonly none, is put back at once.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

_DISABLE = 2
"""SS_DISABLE: the ordinary stack is used."""


class SignalStack(ctypes.Structure):
    """``stack_t`` of Linux: sigaltstack(2)."""

    _fields_ = (
        ("address", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("size_bytes", ctypes.c_size_t),
    )


@contextmanager
def keeping_signal_stack() -> Iterator[None]:
    """Put this thread's stack for signals back at the end of the ``with``."""
    if sys.platform != "linux":
        yield
        return
    before = signal_stack()
    try:
        yield
    finally:
        if signal_stack().address != before.address and not _set(before):
            # It is too small for what the processor has to save by now.
            _set(SignalStack(None, _DISABLE, 0))


def signal_stack() -> SignalStack:
    """Return the stack on which this thread's signals are handled; no address: the ordinary one."""
    found = SignalStack()
    _libc().sigaltstack(None, ctypes.byref(found))
    return found


def _set(stack: SignalStack) -> bool:
    return bool(_libc().sigaltstack(ctypes.byref(stack), None) == 0)


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None)
