"""``/login`` and ``/logout``: a token, typed once into a form, becomes a browser's cookie.

The form works without any script.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from loguru import logger
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from vidpipe.server.access import Access
from vidpipe.server.admission import LOGIN, Failures
from vidpipe.server.pages import Page
from vidpipe.server.rates import address_of
from vidpipe.server.sessions import Sessions
from vidpipe.version import __version__

_FORM = "application/x-www-form-urlencoded"
_MOST_FIELDS = 10
_HOME = "/"
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Log in · vidpipe</title>
<link rel="stylesheet" href="/static/login.css">
</head>
<body>
<main>
<h1>vidpipe</h1>
<form class="login" method="post" action="/login">
{error}<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<input name="next" type="hidden" value="{target}">
<button type="submit">Log in</button>
</form>
</main>
</body>
</html>
"""


@dataclass(frozen=True, slots=True)
class Entrance:
    """What the login needs.

    Attributes:
        access: The tokens.
        sessions: Where logins are kept.
        failures: Wrong tokens so far.
        is_secure: Whether browsers reach it by TLS.
    """

    access: Access
    sessions: Sessions
    failures: Failures
    is_secure: bool


def login_pages(entrance: Entrance) -> Iterable[Page]:
    """Return the pages by which a browser is let in, and who it is then."""

    async def show(request: Request) -> Response:
        target = inner_target(request.query_params.get("next"))
        if request.state.role is not None:
            return _redirect(target)
        return _form(target)

    async def log_in(request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
            return JSONResponse({"error": f"a login is a form ({_FORM})"}, 415)
        fields = parse_qs(
            (await request.body()).decode("utf-8", "surrogateescape"),
            encoding="utf-8",
            errors="surrogateescape",
            max_num_fields=_MOST_FIELDS,
        )
        target = inner_target(_first(fields, "next"))
        if not entrance.access.tokens:
            return _redirect(target)
        return _answer(entrance, request, _first(fields, "token"), target)

    async def login(request: Request) -> Response:
        try:
            return await (log_in(request) if request.method == "POST" else show(request))
        except ValueError:  # too many fields
            return JSONResponse({"error": "no such form here"}, 400)

    async def logout(request: Request) -> Response:
        entrance.sessions.end(_cookies(request))
        response = _redirect(LOGIN)
        forget = entrance.sessions.no_cookie(is_secure=entrance.is_secure)
        response.headers.append("set-cookie", forget)
        return response

    async def me(request: Request) -> Response:
        role = request.state.role.name.lower()
        has_login = bool(entrance.access.tokens)
        return JSONResponse({"role": role, "login": has_login, "version": __version__})

    return (
        Page(LOGIN, login, methods=("GET", "POST"), is_public=True),
        Page("/logout", logout, methods=("POST",), is_public=True),
        Page("/api/me", me),
    )


def inner_target(text: str | None) -> str:
    """Return the page of this server to go to after the login: never one of another server."""
    if not text or not text.startswith("/") or not text.isprintable() or "\\" in text:
        return _HOME
    parts = urlsplit(text)
    is_inner = not parts.scheme and not parts.netloc and not text.startswith("//")
    is_loop = parts.path in (LOGIN, "/logout")
    return text if is_inner and not is_loop else _HOME


def _answer(entrance: Entrance, request: Request, token: str, target: str) -> Response:
    address = address_of(request.scope)
    refusal = entrance.failures.refusal(address)
    if refusal is not None:
        return _form(target, f"T{refusal.reason[1:]}.", 429, dict(refusal.headers))
    role = entrance.access.role_of_token(token.encode("utf-8", "surrogateescape"))
    if role is None:
        entrance.failures.add(address)
        return _form(target, "This is none of the tokens.", 401, {"www-authenticate": "Bearer"})
    logger.info("somebody at {} has logged in as {}", address, role.name.lower())
    entrance.sessions.end(_cookies(request))  # a former login of the same browser
    number = entrance.sessions.begin(role)
    response = _redirect(target)
    cookie = entrance.sessions.cookie(number, is_secure=entrance.is_secure)
    response.headers.append("set-cookie", cookie)
    return response


def _form(
    target: str, error: str = "", status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    said = f'<p class="error" role="alert">{html.escape(error)}</p>\n' if error else ""
    text = _PAGE.format(error=said, target=html.escape(target, quote=True))
    return HTMLResponse(text.encode("utf-8", "replace"), status, headers)


def _redirect(target: str) -> Response:
    return RedirectResponse(target, 303)


def _cookies(request: Request) -> bytes:
    return request.headers.get("cookie", "").encode("latin-1")


def _first(fields: dict[str, list[str]], name: str) -> str:
    return fields.get(name, [""])[0]
