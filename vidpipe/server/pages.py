"""What the server answers, put together: each module of pages returns its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from vidpipe.server.access import Access, Role
from vidpipe.server.guard import Guard

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]
"""Runs on the server's loop: it must not block."""


@dataclass(frozen=True, slots=True)
class Page:
    """One address of the server.

    Attributes:
        path: As starlette's routes take it.
        endpoint: What answers.
        methods: GET includes HEAD.
        role: Who may ask, at least.
        is_public: True if nobody is asked who they are.
    """

    path: str
    endpoint: Endpoint
    methods: tuple[str, ...] = ("GET",)
    role: Role = Role.VIEWER
    is_public: bool = False


def application(pages: Iterable[Page], access: Access) -> ASGIApp:
    """Return the application that answers these pages."""
    known = list(pages)
    routes = [Route(page.path, _checked(page), methods=list(page.methods)) for page in known]
    # A bare router: starlette's whole application would answer failures itself, in plain text.
    router = Router(routes, redirect_slashes=False, default=_not_found)
    return Guard(router, access, {page.path for page in known if page.is_public})


def _checked(page: Page) -> Endpoint:
    """Return the page's endpoint behind a look at the role, which the guard has found out."""

    async def endpoint(request: Request) -> Response:
        if not page.is_public and request.state.role < page.role:
            return JSONResponse(
                {"error": f"needs a token with the role {page.role.name.lower()}"}, 403
            )
        return await page.endpoint(request)

    return endpoint


async def _not_found(scope: Scope, receive: Receive, send: Send) -> None:
    await JSONResponse({"error": "there is no such page"}, 404)(scope, receive, send)
