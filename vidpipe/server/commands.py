"""``POST /api/reload`` and ``/api/streams/ID/...``: a run that is changed while it goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from loguru import logger
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from vidpipe.errors import ConfigError, UsageError, VidpipeError
from vidpipe.runtime.executor import Executor, ExecutorFullError
from vidpipe.runtime.logs import redact
from vidpipe.server.access import Role
from vidpipe.server.control import Control, UnknownStreamError
from vidpipe.server.pages import Endpoint, Page
from vidpipe.server.shown import Shown

_PATIENCE_S = 120.0
"""A reload may compile a model; what takes longer goes on, and its end is in the log."""
_RETRY_S = 5

_VERBS: Mapping[str, Callable[[Control, str], None]] = {
    "enable": lambda control, stream: control.enable(stream),
    "disable": lambda control, stream: control.disable(stream),
    "restart": lambda control, stream: control.restart(stream),
}

Change: TypeAlias = Callable[[Control, Request], dict[str, Any]]
"""Changes the run, on a thread that may wait, and returns what is to be said of it."""


def command_pages(shown: Shown, executor: Executor) -> Iterable[Page]:
    """Return the pages for operators; ``executor`` has a single thread: one change at a time."""

    def page(path: str, change: Change) -> Page:
        endpoint = _endpoint(shown, executor, change)
        return Page(path, endpoint, methods=("POST",), role=Role.OPERATOR)

    return (
        page("/api/reload", _reload),
        *(
            page(f"/api/streams/{{stream}}/{verb}", _stream_change(verb, command))
            for verb, command in _VERBS.items()
        ),
    )


def _reload(control: Control, _: Request) -> dict[str, Any]:
    changes: Mapping[str, Any] = control.reload()
    return {kind: list(streams) for kind, streams in changes.items()}


def _stream_change(verb: str, command: Callable[[Control, str], None]) -> Change:
    def change(control: Control, request: Request) -> dict[str, Any]:
        stream = request.path_params["stream"]
        command(control, stream)
        return {"stream": stream, "done": verb}

    return change


def _endpoint(shown: Shown, executor: Executor, change: Change) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        control = shown.control
        if control is None:
            return _said("there is nothing here that can be changed while it runs", 503)
        who = request.client.host if request.client else "somebody"
        logger.info("asked for by HTTP, from {}: {!a}", who, request.url.path)
        try:
            future = executor.submit(lambda: change(control, request))
            answer = await asyncio.wait_for(asyncio.wrap_future(future), _PATIENCE_S)
        except ExecutorFullError:
            return _said("other changes are under way", 503, {"retry-after": str(_RETRY_S)})
        except TimeoutError:
            return _said("it takes long: see the log for its end", 504)
        except VidpipeError as exc:
            return _refused(exc)
        return JSONResponse(answer)

    return endpoint


def _refused(error: VidpipeError) -> Response:
    """Return what was wrong: 404 for the stream, 422 for the file, 409 for the time."""
    if isinstance(error, ConfigError):
        faults = [
            {"place": fault.place, "key": fault.key, "message": redact(fault.message)}
            for fault in error.faults
        ]
        said = {"error": "the configuration has faults; the former one goes on", "faults": faults}
        return JSONResponse(said, 422)
    if isinstance(error, UnknownStreamError):
        return _said(redact(str(error)), 404)
    return _said(redact(str(error)), 409 if isinstance(error, UsageError) else 422)


def _said(text: str, status: int, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"error": text}, status, headers)
