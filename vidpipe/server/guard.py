"""What every request passes: who it is, how large it is, and what happens when it fails."""

from __future__ import annotations

import asyncio
import json
from contextlib import AbstractContextManager, nullcontext

from loguru import logger
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vidpipe.runtime.logs import trace_of
from vidpipe.server.admission import Admission, Refusal
from vidpipe.server.policy import forbid
from vidpipe.server.sessions import Session, Sessions

BODY_S = 30.0
"""How long a request's body may take to come."""
_MOST_KINDS = 100


class Guard:
    """The outermost application; a failure inside of it is answered 500, and logged once a kind."""

    def __init__(self, app: ASGIApp, admission: Admission, sessions: Sessions) -> None:
        """Let in whom ``admission`` lets in."""
        self._app = app
        self._admission = admission
        self._sessions = sessions
        self._logged: set[tuple[str, str]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or carry one WebSocket from its handshake to its end."""
        if scope["type"] not in ("http", "websocket"):
            raise RuntimeError(f"no such protocol here: {scope['type']}")
        answer = _Answer(send, is_socket=scope["type"] == "websocket")
        admitted = self._admission.admit(scope)
        if isinstance(admitted, Refusal):
            await answer.refuse(admitted)
            return
        scope.setdefault("state", {}).update(role=admitted.role, session=admitted.session)
        if scope["type"] == "http":
            most = self._admission.most_body_bytes(scope["path"])
            receive = _Body(receive, most).receive
        with self._use(admitted.session):
            await self._answer(scope, receive, answer)

    def _use(self, session: Session | None) -> AbstractContextManager[None]:
        return nullcontext() if session is None else self._sessions.using(session)

    async def _answer(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        try:
            await self._app(scope, receive, answer.send)
        except _BodyError as exc:
            if answer.has_begun:
                raise
            await answer.refuse(exc.refusal)
        except Exception as exc:  # the boundary of a stage: one request fails
            if answer.is_broken:
                raise  # the client's doing: uvicorn ends the connection
            self._log(scope, exc)
            if answer.has_begun:
                raise
            await answer.refuse(Refusal(500, "this request failed: see the log"))

    def _log(self, scope: Scope, exc: Exception) -> None:
        kind = (str(scope["path"]), type(exc).__name__)
        level = "DEBUG"
        if kind not in self._logged and len(self._logged) < _MOST_KINDS:
            self._logged.add(kind)
            level = "ERROR"
        what = f"{scope.get('method', 'WebSocket')} {scope['path']!r}"
        logger.log(level, "the request {} failed (said once): {}", what, trace_of(exc))


class _BodyError(Exception):
    """A request's body doesn't come as it should."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.reason)
        self.refusal = refusal


class _Body:
    """The way of a request's body, whose size and time are bounded, whatever its head says."""

    def __init__(self, receive: Receive, most_bytes: int) -> None:
        self._receive = receive
        self._left_bytes = most_bytes
        self._most_bytes = most_bytes
        self._until_s = asyncio.get_running_loop().time() + BODY_S
        self._is_whole = False

    async def receive(self) -> Message:
        if self._is_whole:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._until_s):
                message = await self._receive()
        except TimeoutError:
            why = f"the body didn't come within {BODY_S:g} s"
            raise _BodyError(Refusal(408, why, {"connection": "close"})) from None
        self._is_whole = message["type"] != "http.request" or not message.get("more_body")
        self._left_bytes -= len(message.get("body", b""))
        if self._left_bytes < 0:
            why = f"larger than {self._most_bytes} bytes"
            raise _BodyError(Refusal(413, why, {"connection": "close"}))
        return message


class _Answer:
    """The way back of one request, which gets the headers that all have."""

    def __init__(self, send: Send, *, is_socket: bool) -> None:
        self._send = send
        self._prefix = "websocket." if is_socket else ""
        self.has_begun = False
        self.is_broken = False

    async def send(self, message: Message) -> None:
        kind: str = message["type"]
        if kind.endswith("http.response.start"):
            forbid(MutableHeaders(scope=message))
        if kind.endswith("http.response.start") or kind == "websocket.accept":
            self.has_begun = True
        try:
            await self._send(message)
        except Exception:
            self.is_broken = True  # as after garbage where the request's body should be
            raise

    async def refuse(self, refusal: Refusal) -> None:
        body = json.dumps({"error": refusal.reason}).encode()
        fields = {
            "content-type": "application/json",
            "content-length": str(len(body)),
            **refusal.headers,
        }
        raw = [(name.encode(), value.encode()) for name, value in fields.items()]
        start = {"type": f"{self._prefix}http.response.start", "headers": raw}
        await self.send({**start, "status": refusal.status})
        await self.send({"type": f"{self._prefix}http.response.body", "body": body})
