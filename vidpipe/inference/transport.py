"""How the web is asked: through proxies, with certificates checked, and never waiting for ever.

Guarantees:
    * proxies come from the environment (``HTTPS_PROXY``, ``NO_PROXY`` and so on), and additional
      certificates from ``SSL_CERT_FILE``, as for any program;
    * at most five redirects are followed, and none from ``https`` to anything less;
    * a server that is silent, or gives less than a trickle, is an error, in its headers too;
    * no error's text holds a user name or password.
"""

from __future__ import annotations

import base64
import http.client
import io
import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import IO, Any
from urllib.parse import unquote, urlsplit, urlunsplit

from vidpipe.runtime.logs import redact

_MOST_REDIRECTS = 5
_TRY_LATER = frozenset({408, 425, 429, 500, 502, 503, 504})
_MISSING = frozenset({404, 410})
_ADVICE = {
    401: "it wants a name and password: write NAME:PASSWORD@ before the host in the address",
    403: "it refuses access: check the address, and whether a proxy is in between",
    404: "it has no such file",
    407: "the proxy wants a name and password: put them into HTTPS_PROXY",
    410: "it has no such file any more",
    429: "it is asked too often: try again later",
}

_FAILURES: tuple[tuple[type[Exception], str], ...] = (
    (ssl.SSLError, "speaks no TLS that is understood"),
    (socket.gaierror, "is a name that can't be resolved"),
    (TimeoutError, "doesn't answer in time"),
    (ConnectionRefusedError, "refuses the connection"),
    (ConnectionError, "has broken the connection"),
)


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a server is waited for.

    Attributes:
        silence_s: The longest silence, and the longest time to connect.
        window_s: In each window of this length ...
        window_bytes: ... at least so much must come.
        tries: How many times in a row a download may fail.
        pause_s: How long to wait before the second try; each further pause is twice as long.
        longest_pause_s: But never longer than this, whatever the server asks for.
    """

    silence_s: float = 20.0
    window_s: float = 30.0
    window_bytes: int = 30_000
    tries: int = 4
    pause_s: float = 0.5
    longest_pause_s: float = 30.0


class WebError(Exception):
    """An answer that is none, or is of no use; the text says why.

    Attributes:
        status: The HTTP status, or 0.
        is_final: True if asking again won't help.
        is_missing: True if the server works, but has no such file.
        wait_s: How long the server asks to be left alone.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        is_final: bool = False,
        is_missing: bool = False,
        wait_s: float = 0.0,
    ) -> None:
        super().__init__(redact(message))
        self.status = status
        self.is_final = is_final
        self.is_missing = is_missing
        self.wait_s = wait_s


class SlowError(TimeoutError):
    """Less came than a trickle."""


def open_url(url: str, headers: Mapping[str, str], patience: Patience) -> http.client.HTTPResponse:
    """Return the answer to a GET, of status 200 or 206; the caller closes it.

    What is raised while it is read must go through `web_error`.

    Raises:
        WebError: There is none.
    """
    address, secret = _without_secret(url)
    try:
        request = urllib.request.Request(address, headers={"User-Agent": "vidpipe", **headers})
        if secret:
            # Not for the servers that it may redirect to.
            request.add_unredirected_header("Authorization", secret)
        answer = _opener(patience).open(request, timeout=patience.silence_s)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise web_error(error, url) from None
    if not isinstance(answer, http.client.HTTPResponse):
        raise WebError(f"{url} is no address of the web", is_final=True)
    return answer


def _without_secret(url: str) -> tuple[str, str]:
    """Return an address without the name and password in it, and the header that says them."""
    parts = urlsplit(url)
    userinfo, at, host = parts.netloc.rpartition("@")
    if not at:
        return url, ""
    token = base64.b64encode(unquote(userinfo).encode()).decode()
    return urlunsplit(parts._replace(netloc=host)), f"Basic {token}"


def web_error(error: Exception, url: str) -> WebError:
    """Return what a failure means, in words."""
    host = urlsplit(url).hostname or url
    if isinstance(error, urllib.error.HTTPError):
        with error:
            return _refusal(error, host)
    if isinstance(error, urllib.error.URLError):
        if not isinstance(error.reason, Exception):
            return WebError(f"{host}: {error.reason}{_way(url)}", is_final=True)
        error = error.reason
    if isinstance(error, ssl.SSLCertVerificationError):
        return WebError(
            f"the certificate of {host} is not trusted ({error.verify_message}): check this"
            " machine's clock and its package ca-certificates; where a proxy inspects the traffic,"
            " name its certificate with SSL_CERT_FILE",
            is_final=True,
        )
    if isinstance(error, SlowError):
        return WebError(f"{host} is too slow: {error}")
    for kind, words in _FAILURES:
        if isinstance(error, kind):
            return WebError(f"{host} {words}{_way(url)}; check the network and the address")
    is_nonsense = isinstance(error, ValueError) and not isinstance(error, http.client.HTTPException)
    reason = str(error) or type(error).__name__
    return WebError(f"{host}: {reason}{_way(url)}", is_final=is_nonsense)


def _refusal(error: urllib.error.HTTPError, host: str) -> WebError:
    later = error.headers.get("Retry-After", "") if error.headers else ""
    advice = _ADVICE.get(error.code, str(error.reason))
    return WebError(
        f"{host} answers {error.code}: {advice}",
        status=error.code,
        is_final=error.code not in _TRY_LATER,
        is_missing=error.code in _MISSING,
        wait_s=float(later) if later.isdecimal() else 0.0,
    )


def _way(url: str) -> str:
    """Say which proxy is in between, if there is one."""
    parts = urlsplit(url)
    proxy = urllib.request.getproxies().get(parts.scheme)
    if proxy is None or urllib.request.proxy_bypass(parts.hostname or ""):
        return ""
    return f" (through the proxy {redact(proxy)})"


def _opener(patience: Patience) -> urllib.request.OpenerDirector:
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.UnknownHandler(),
        _PatientHandler(patience),
        urllib.request.HTTPDefaultErrorHandler(),
        _CarefulRedirects(),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    return opener


class _CarefulRedirects(urllib.request.HTTPRedirectHandler):
    max_redirections = _MOST_REDIRECTS

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        scheme = urlsplit(newurl).scheme
        if scheme != "https" and (scheme != "http" or req.type == "https"):
            fp.close()
            raise urllib.error.URLError(f"it redirects to {redact(newurl)}, which is not safe")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class _PatientHandler(urllib.request.AbstractHTTPHandler):
    """Opens http and https by connections whose every read is watched."""

    def __init__(self, patience: Patience) -> None:
        super().__init__()
        self._patience = patience

    http_request = urllib.request.AbstractHTTPHandler.do_request_
    https_request = urllib.request.AbstractHTTPHandler.do_request_

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(self._watched(http.client.HTTPConnection), req)

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        context = ssl.create_default_context()
        return self.do_open(self._watched(http.client.HTTPSConnection), req, context=context)

    def _watched(self, kind: type[http.client.HTTPConnection]) -> Any:
        def connect(host: str, **options: Any) -> http.client.HTTPConnection:
            connection = kind(host, **options)
            watched = partial(_WatchedResponse, patience=self._patience)
            connection.response_class = watched  # type: ignore[assignment] # is called, no more
            return connection

        return connect


class _WatchedResponse(http.client.HTTPResponse):
    def __init__(self, sock: socket.socket, *args: Any, patience: Patience, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self.fp = io.BufferedReader(_WatchedStream(self.fp.detach(), patience))


class _WatchedStream(io.RawIOBase):
    """A socket's stream that gives up on a server that only trickles."""

    def __init__(self, raw: io.RawIOBase, patience: Patience) -> None:
        super().__init__()
        self._raw = raw
        self._patience = patience
        self._window_from = time.monotonic()
        self._window_bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        count = self._raw.readinto(buffer)
        self._window_bytes += count or 0
        now = time.monotonic()
        if count and now - self._window_from >= self._patience.window_s:
            if self._window_bytes < self._patience.window_bytes:
                raise SlowError(
                    f"{self._window_bytes} bytes in {now - self._window_from:.0f} seconds"
                )
            self._window_from, self._window_bytes = now, 0
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()
