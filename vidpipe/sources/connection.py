"""Connections that fail: how long to wait before the next, and why the last one failed.

The libraries tell too little (a name that doesn't resolve is "Input/output error", a silent camera
"Invalid data"), so the cause is found by one's own clock and by a probe of the address: resolve the
name, then connect. Everything here is bounded in time.
"""

from __future__ import annotations

import errno
import socket
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from vidpipe.errors import SourceCause, SourceError
from vidpipe.runtime.logs import redact
from vidpipe.runtime.supervisor import call_with_deadline

_DEFAULT_PORTS = {"rtsp": 554, "rtsps": 322, "http": 80, "https": 443, "rtmp": 1935, "rtmps": 443}
"""Schemes that begin with a TCP connection; the others (udp, srt, ...) can't be probed."""

_UNREACHABLE = frozenset({errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EHOSTDOWN, errno.ENETDOWN})
_SILENCE_SHARE = 0.8
"""A failure after this share of its timeout is a timeout, whatever the library calls it."""

_CAUSES_BY_NAME = {
    "HTTPUnauthorizedError": SourceCause.AUTHENTICATION,
    "HTTPForbiddenError": SourceCause.AUTHENTICATION,
    "HTTPClientError": SourceCause.NOT_FOUND,
    "HTTPError": SourceCause.LOST,
    "ExitError": SourceCause.TIMEOUT,
    "InvalidDataError": SourceCause.FORMAT,
    "ProtocolNotFoundError": SourceCause.FORMAT,
    "DemuxerNotFoundError": SourceCause.FORMAT,
    "DecoderNotFoundError": SourceCause.FORMAT,
}
"""By the names of PyAV's classes, the nearest in the order of inheritance."""

ADVICE = {
    SourceCause.NOT_FOUND: "the server is there, but not this path: check the address",
    SourceCause.NAME_RESOLUTION: "its host name can't be resolved: check the name and the DNS",
    SourceCause.REFUSED: "the connection was refused: check the port, and that the camera is on",
    SourceCause.UNREACHABLE: "there is no route to the host: check the network",
    SourceCause.AUTHENTICATION: "the user name or password was refused: check connect.username "
    "and connect.password",
    SourceCause.TIMEOUT: "there was no answer in time: check that the camera is on, or raise "
    "connect.open_timeout_s",
    SourceCause.FORMAT: "what it sends is not a video that can be read: check the address",
    SourceCause.LOST: "the connection was closed without an answer: check the address and the "
    "camera",
}
"""What to do about each cause of a failed open."""


STUBBORN = frozenset({SourceCause.AUTHENTICATION, SourceCause.NOT_FOUND})
"""Failures that somebody has to put right: such a source is opened again, but seldom."""

_SELDOM_FACTOR = 2.0
"""Cameras lock out who knocks too often with a wrong password."""
_ABSENT_TRIES = 3
"""So often a path that isn't there is tried as quickly as all else: a media server that has just
been started doesn't have its cameras yet."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait before opening again: doubling from ``first_s`` up to ``cap_s``.

    With jitter, so that cameras behind one switch don't all come back in the same instant.
    """

    first_s: float = 0.5
    cap_s: float = 30.0

    def delay_s(self, attempt: int, jitter: float) -> float:
        """Return the seconds to wait before an attempt.

        Args:
            attempt: Failures in a row so far, less one: 0 for the first wait.
            jitter: A random number, 0 <= jitter < 1: the wait lies between half of the whole and
                the whole.
        """
        cap_s = max(self.cap_s, self.first_s)
        # 2.0 ** 1024 overflows, and a camera can be away for months.
        whole_s = min(cap_s, self.first_s * 2.0 ** min(max(attempt, 0), 64))
        return whole_s * (0.5 + 0.5 * jitter)

    def rest_s(self, cause: SourceCause, attempt: int, jitter: float) -> float:
        """Return the seconds to wait after a failure of some kind: as ``delay_s``, or seldom.

        Args:
            cause: Why the attempt failed: a refused password is tried again at twice the longest
                wait, and so is a path that is still not there after three attempts.
            attempt: As of ``delay_s``.
            jitter: As of ``delay_s``.
        """
        is_seldom = cause is SourceCause.AUTHENTICATION or (
            cause is SourceCause.NOT_FOUND and attempt >= _ABSENT_TRIES
        )
        if not is_seldom:
            return self.delay_s(attempt, jitter)
        return max(self.cap_s, self.first_s) * _SELDOM_FACTOR * (0.5 + 0.5 * jitter)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a TCP connection of an address goes."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def endpoint_of(url: str) -> Endpoint | None:
    """Return where an address connects to, or None where it has no host or doesn't use TCP.

    Raises:
        SourceError: The address can't be parsed (cause FORMAT).
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise SourceError(
            f"{redact(url)} is not an address: check the host, the port, and that special "
            "characters in user name and password are percent-encoded",
            SourceCause.FORMAT,
        ) from None
    if not host or parts.scheme.lower() not in _DEFAULT_PORTS:
        return None
    return Endpoint(host, port if port is not None else _DEFAULT_PORTS[parts.scheme.lower()])


def require_resolvable(endpoint: Endpoint, url: str, timeout_s: float) -> None:
    """Resolve the host's name, since the library would wait for the resolver without a limit.

    Raises:
        SourceError: There is no such name, or no answer in time (cause NAME_RESOLUTION).
    """
    try:
        call_with_deadline(
            lambda: socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM),
            timeout_s,
            "vp-resolve",
        )
    except TimeoutError:
        raise SourceError(
            f"{redact(url)}: the name {endpoint.host} was not resolved within {timeout_s:g} s: "
            "check the DNS server",
            SourceCause.NAME_RESOLUTION,
        ) from None
    except (OSError, UnicodeError):
        raise failure(url, SourceCause.NAME_RESOLUTION) from None


def probe_endpoint(endpoint: Endpoint, timeout_s: float) -> SourceCause | None:
    """Resolve and connect; return what prevents it, or None if the endpoint accepts connections."""
    started_at = time.monotonic()
    try:
        addresses = call_with_deadline(
            lambda: socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM),
            timeout_s,
            "vp-resolve",
        )
    except (OSError, UnicodeError):  # a TimeoutError is an OSError too
        return SourceCause.NAME_RESOLUTION
    cause: SourceCause | None = SourceCause.TIMEOUT
    for family, kind, protocol, _, address in addresses:
        left_s = timeout_s - (time.monotonic() - started_at)
        if left_s <= 0:
            break
        cause = _connect(socket.socket(family, kind, protocol), address, left_s)
        if cause is None:
            break
    return cause


def _connect(connection: socket.socket, address: Any, timeout_s: float) -> SourceCause | None:
    with connection:
        connection.settimeout(timeout_s)
        try:
            connection.connect(address)
        except TimeoutError:
            return SourceCause.TIMEOUT
        except ConnectionRefusedError:
            return SourceCause.REFUSED
        except OSError:
            return SourceCause.UNREACHABLE
    return None


def cause_of_error(exc: BaseException) -> SourceCause | None:
    """Return what an error of the system's or of PyAV's says, or None where it says too little.

    PyAV's are told by the names of their classes: its import stays in ``video``.
    """
    if isinstance(exc, TimeoutError):
        return SourceCause.TIMEOUT
    for kind in type(exc).__mro__:
        if kind.__name__ in _CAUSES_BY_NAME:
            return _CAUSES_BY_NAME[kind.__name__]
    return cause_of_errno(getattr(exc, "errno", None))


def cause_of_errno(number: int | None) -> SourceCause | None:
    """Return what a system error number says of a source, or None where it says too little."""
    if number in _UNREACHABLE:
        return SourceCause.UNREACHABLE
    return {
        errno.ECONNREFUSED: SourceCause.REFUSED,
        errno.ETIMEDOUT: SourceCause.TIMEOUT,
        errno.ENOENT: SourceCause.NOT_FOUND,
        errno.EACCES: SourceCause.REFUSED,
        errno.EPERM: SourceCause.REFUSED,
        errno.ECONNRESET: SourceCause.LOST,
        errno.ECONNABORTED: SourceCause.LOST,
        errno.EPIPE: SourceCause.LOST,
    }.get(number or 0)


def is_timeout(elapsed_s: float, timeout_s: float) -> bool:
    """Tell by one's own clock whether a failed call was waiting for a silent peer."""
    return elapsed_s >= timeout_s * _SILENCE_SHARE


def gave_up_early(elapsed_s: float, silence_s: float, timeout_s: float) -> bool:
    """Tell whether FFmpeg gave up early: it tries RTSP twice, but for a packet that broke off.

    So it is given half of the timeout, and asked once more if that was all the silence.
    """
    return is_timeout(elapsed_s, timeout_s / 2) and not is_timeout(silence_s, timeout_s)


def classify_open_failure(
    *,
    hint: SourceCause | None,
    elapsed_s: float,
    timeout_s: float,
    endpoint: Endpoint | None,
    probe_s: float,
) -> SourceCause:
    """Return why an open failed.

    Args:
        hint: What the library said; None or FORMAT where it may mean anything.
        elapsed_s: How long the open took to fail.
        timeout_s: How long it might have taken.
        endpoint: Where it connects to; None where that can't be probed.
        probe_s: How long the probe may take.
    """
    if hint not in (None, SourceCause.FORMAT, SourceCause.TIMEOUT, SourceCause.LOST):
        return hint
    blocked_by = probe_endpoint(endpoint, probe_s) if endpoint is not None else None
    if blocked_by is not None:
        return blocked_by
    if hint is SourceCause.TIMEOUT or is_timeout(elapsed_s, timeout_s):
        return SourceCause.TIMEOUT
    return hint or SourceCause.LOST


def failure(url: str, cause: SourceCause, detail: str = "") -> SourceError:
    """Return the error of a failed open: the address without its secrets, and what to do."""
    note = f" ({redact(detail)})" if detail else ""
    return SourceError(f"{redact(url)}: {ADVICE[cause]}{note}", cause)
