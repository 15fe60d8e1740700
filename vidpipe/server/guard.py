"""What every request passes: whose it is, how large it is, and what happens when it fails."""

from __future__ import annotations

import json
from collections.abc import Set

from loguru import logger
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vidpipe.runtime.logs import trace_of
from vidpipe.server.access import Access

MOST_BODY_BYTES = 1_000_000
_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""A page with needs of its own sets its own value."""
_MOST_KINDS = 100


class Guard:
    """The outermost application; a failure inside of it is answered 500, and logged once a kind."""

    def __init__(self, app: ASGIApp, access: Access, public: Set[str]) -> None:
        """Let everybody see the paths in ``public``, and who is allowed to the rest."""
        self._app = app
        self._access = access
        self._public = public
        self._logged: set[tuple[str, str]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            raise RuntimeError(f"no such protocol here: {scope['type']}")
        answer = _Answer(send)
        refusal = self._refusal(scope)
        if refusal is not None:
            await answer.refuse(*refusal)
            return
        try:
            await self._app(scope, receive, answer.send)
        except Exception as exc:  # the boundary of a stage: one request fails
            if answer.is_broken:
                raise  # the client's doing: uvicorn ends the connection
            self._log(scope, exc)
            if answer.has_begun:
                raise
            await answer.refuse(500, "this request failed: see the log", {})

    def _refusal(self, scope: Scope) -> tuple[int, str, dict[str, str]] | None:
        """Return status, reason and headers of a refusal; sets the role where there is none."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > MOST_BODY_BYTES:
            return 413, f"larger than {MOST_BODY_BYTES} bytes", {"connection": "close"}
        if scope["path"] in self._public:
            return None
        if not self._access.takes_host(headers.get(b"host")):
            why = "the Host header names no address of this machine: configure server.tokens"
            return 421, why, {}
        role = self._access.role_of(headers.get(b"authorization"))
        if role is None:
            return 401, "needs Authorization: Bearer TOKEN", {"www-authenticate": "Bearer"}
        scope.setdefault("state", {})["role"] = role
        return None

    def _log(self, scope: Scope, exc: Exception) -> None:
        kind = (str(scope["path"]), type(exc).__name__)
        level = "DEBUG"
        if kind not in self._logged and len(self._logged) < _MOST_KINDS:
            self._logged.add(kind)
            level = "ERROR"
        what = f"{scope['method']} {scope['path']!r}"
        logger.log(level, "the request {} failed (said once): {}", what, trace_of(exc))


class _Answer:
    """The way back of one request, which gets the headers that all have."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.has_begun = False
        self.is_broken = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.has_begun = True
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        try:
            await self._send(message)
        except Exception:
            self.is_broken = True  # as after garbage where the request's body should be
            raise

    async def refuse(self, status: int, reason: str, headers: dict[str, str]) -> None:
        body = json.dumps({"error": reason}).encode()
        fields = {
            "content-type": "application/json",
            "content-length": str(len(body)),
            **headers,
        }
        raw = [(name.encode(), value.encode()) for name, value in fields.items()]
        await self.send({"type": "http.response.start", "status": status, "headers": raw})
        await self.send({"type": "http.response.body", "body": body})
