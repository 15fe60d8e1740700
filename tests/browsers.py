"""A browser, as far as a server sees one: it keeps cookies, says where it comes from, and shows."""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Mapping
from urllib.parse import urlencode, urlsplit

from tests.web import Reply, lower

_PATIENCE_S = 10.0
_ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


class Browser:
    """One profile at one server; follows no redirection by itself."""

    def __init__(self, url: str, context: ssl.SSLContext | None = None) -> None:
        """Begin without cookies."""
        parts = urlsplit(url)
        assert parts.hostname is not None
        self._host, self._port = parts.hostname, parts.port
        self._context = context
        self.origin = url
        self.source = "127.0.0.1"
        """The address that it comes from."""
        self.cookies: dict[str, str] = {}
        self.set_cookies: list[str] = []
        """All ``Set-Cookie`` headers so far."""

    def get(self, path: str, **headers: str) -> Reply:
        """Go to a page."""
        return self._ask("GET", path, None, {"accept": _ACCEPT, **headers})

    def post(self, path: str, form: Mapping[str, str] | None = None, **headers: str) -> Reply:
        """Send a form from a page of the server's own, unless ``origin`` says another."""
        body = urlencode(form or {}).encode()
        fields = {"content-type": "application/x-www-form-urlencoded", "origin": self.origin}
        return self._ask("POST", path, body, {**fields, **headers})

    def log_in(self, token: str, **headers: str) -> Reply:
        """Type a token into the form."""
        return self.post("/login", {"token": token, "next": "/api/me"}, **headers)

    def _ask(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Reply:
        fields = {name.replace("_", "-"): value for name, value in headers.items() if value}
        if self.cookies:
            fields["cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        if self._context is None:
            client = http.client.HTTPConnection(
                self._host, self._port, timeout=_PATIENCE_S, source_address=(self.source, 0)
            )
        else:
            client = http.client.HTTPSConnection(
                self._host, self._port, timeout=_PATIENCE_S, context=self._context
            )
        try:
            client.request(method, path, body, fields)
            answer = client.getresponse()
            content = answer.read()
        finally:
            client.close()
        for cookie in answer.headers.get_all("set-cookie") or ():
            self._keep(cookie)
        return Reply(answer.status, lower(answer.headers), content)

    def _keep(self, cookie: str) -> None:
        self.set_cookies.append(cookie)
        pair, *attributes = cookie.split("; ")
        name, _, value = pair.partition("=")
        if "Max-Age=0" in attributes:
            self.cookies.pop(name, None)
        else:
            self.cookies[name] = value
