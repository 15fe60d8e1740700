"""Sinks that other packages or the user's program bring, each kept to the harm of one output.

What such a sink does wrong is the failure of that output alone: it never reaches the chain that
feeds it, nor the record of finished files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from loguru import logger

from vidpipe.errors import ConfigError, Fault, PluginError, SinkError
from vidpipe.interfaces import Sink, SinkPlugin
from vidpipe.outputs.finished import FinishedFiles
from vidpipe.runtime.logs import redact, trace_of
from vidpipe.runtime.plugins import SINKS, lacking, load_plugin
from vidpipe.types import FrameResult, SinkRequest


def plugin_sink(kind: str, request: SinkRequest) -> Sink:
    """Return a sink of the type that a package offers; one that only fails if it can't be had.

    Raises:
        ConfigError: The plugin doesn't take the output's keys.
    """
    try:
        make = cast("SinkPlugin", load_plugin(SINKS, kind, SinkPlugin))
    except PluginError as exc:
        return FailedSink(str(exc))
    return foreign_sink(kind, make, request)


def foreign_sink(kind: str, make: SinkPlugin, request: SinkRequest) -> Sink:
    """Return a sink that somebody else's code makes; one that only fails if it can't be had.

    Raises:
        ConfigError: It was refused with a ValueError: a key of the output is wrong.
    """
    try:
        sink = make(request)
        missing = lacking(sink, Sink)
        if missing:
            words = f"made a {type(sink).__name__}, which has no {', no '.join(missing)}"
            return FailedSink(f"the output {kind} {words}")
        return ForeignSink(sink, FinishedFiles(kind, request.stream))
    except ConfigError:
        raise
    except ValueError as exc:
        place = f"stream {request.stream}"
        raise ConfigError([Fault(place, f"outputs: {kind}", redact(str(exc)))]) from exc
    except Exception as exc:  # noqa: BLE001 - the border to somebody else's code
        return FailedSink(redact(f"the output {kind} can't be made: {type(exc).__name__}: {exc}"))


class ForeignSink:
    """Implements ``Sink`` by somebody else's, taking from it only what can be used."""

    def __init__(self, sink: Sink, finished: FinishedFiles) -> None:
        """Ask once whether pictures are wanted: the answer decides on another thread's way."""
        self._sink = sink
        self._finished = finished
        self.needs_picture = bool(sink.needs_picture)

    def write(self, result: FrameResult) -> None:
        """Pass a result on.

        Raises:
            SinkError: Whatever it raised.
        """
        with _translated():
            self._sink.write(result)

    def close(self) -> list[str]:
        """Close it, and return the paths that it says it has finished.

        Raises:
            SinkError: Whatever it raised; or it returned something else.
        """
        with _translated():
            for path in [os.fspath(path) for path in self._sink.close() or ()]:
                self._finished.add(path)
            return self._finished.take()


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except SinkError:
        raise
    except Exception as exc:
        logger.debug("{}", trace_of(exc))
        raise SinkError(redact(f"{type(exc).__name__}: {exc}")) from exc


class FailedSink:
    """Stands where no sink could be made: the output fails, and nothing else does."""

    needs_picture = False

    def __init__(self, reason: str) -> None:
        """Keep why."""
        self.reason = reason

    def write(self, result: FrameResult) -> None:
        """Fail.

        Raises:
            SinkError: Always.
        """
        raise SinkError(self.reason)

    def close(self) -> list[str]:
        """Fail, where no frame ever came to be written.

        Raises:
            SinkError: Always.
        """
        raise SinkError(self.reason)
