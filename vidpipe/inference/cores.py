"""Where OpenVINO's cores come from."""

from __future__ import annotations

from contextlib import suppress

import openvino as ov

from vidpipe.runtime.signalstack import keeping_signal_stack


def new_core() -> ov.Core:
    """Return a core whose CPU plugin is loaded, with this thread's signals as they were.

    The plugin would be loaded at its first use, on whichever thread, and leave that thread with a
    stack for signals that goes with the core: see ``vidpipe.runtime.signalstack``.
    """
    core = ov.Core()
    with keeping_signal_stack(), suppress(RuntimeError):  # there may be no such plugin
        core.get_versions("CPU")
    return core
