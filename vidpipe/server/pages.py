"""What the server answers, put together: each module of pages returns its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route, Router, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from vidpipe.server.access import Access, Role
from vidpipe.server.admission import Admission, Failures, Paths
from vidpipe.server.guard import Guard
from vidpipe.server.sessions import Sessions

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]
"""Runs on the server's loop: it must not block."""

SocketEndpoint: TypeAlias = Callable[[WebSocket], Awaitable[None]]
"""Likewise; it accepts the WebSocket, and carries it to its end."""

_USUAL_BODY_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class Page:
    """One address of the server.

    Attributes:
        path: As starlette's routes take it.
        endpoint: What answers.
        methods: GET includes HEAD.
        role: Who may ask, at least.
        is_public: True if nobody is asked who they are; ``path`` holds no parameter then.
        most_body_bytes: The largest body that it takes; likewise, where it isn't the usual one.
    """

    path: str
    endpoint: Endpoint
    methods: tuple[str, ...] = ("GET",)
    role: Role = Role.VIEWER
    is_public: bool = False
    most_body_bytes: int = _USUAL_BODY_BYTES


@dataclass(frozen=True, slots=True)
class SocketPage:
    """One address for WebSockets.

    Attributes:
        path: As starlette's routes take it.
        endpoint: What carries one.
        role: Who may ask, at least; ``websocket.state.role`` is who it is.
    """

    path: str
    endpoint: SocketEndpoint
    role: Role = Role.VIEWER


def application(
    pages: Iterable[Page | SocketPage],
    access: Access,
    sessions: Sessions | None = None,
    failures: Failures | None = None,
) -> ASGIApp:
    """Return the application that answers these pages."""
    known = list(pages)
    routes = [_route(page) for page in known]
    # A bare router: starlette's whole application would answer failures itself, in plain text.
    router = Router(routes, redirect_slashes=False, default=_not_found)
    plain = [page for page in known if isinstance(page, Page)]
    paths = Paths(
        public={page.path for page in plain if page.is_public},
        most_body_bytes={page.path: page.most_body_bytes for page in plain},
        usual_body_bytes=_USUAL_BODY_BYTES,
    )
    sessions = sessions or Sessions("vidpipe")
    admission = Admission(access, sessions, paths, failures or Failures())
    return Guard(router, admission, sessions)


def _route(page: Page | SocketPage) -> BaseRoute:
    if isinstance(page, SocketPage):
        return WebSocketRoute(page.path, _checked_socket(page))
    return Route(page.path, _checked(page), methods=list(page.methods))


def _checked(page: Page) -> Endpoint:
    """Return the page's endpoint behind a look at the role, which the guard has found out."""

    async def endpoint(request: Request) -> Response:
        if not page.is_public and request.state.role < page.role:
            return _forbidden(page.role)
        return await page.endpoint(request)

    return endpoint


def _checked_socket(page: SocketPage) -> SocketEndpoint:
    async def endpoint(websocket: WebSocket) -> None:
        if websocket.state.role < page.role:
            await websocket.send_denial_response(_forbidden(page.role))
        else:
            await page.endpoint(websocket)

    return endpoint


def _forbidden(role: Role) -> Response:
    return JSONResponse({"error": f"needs a token with the role {role.name.lower()}"}, 403)


async def _not_found(scope: Scope, receive: Receive, send: Send) -> None:
    await JSONResponse({"error": "there is no such page"}, 404)(scope, receive, send)
