"""Who is let in, decided from a request's head alone.

In this order: too many requests, too large a body, a page that is everybody's, a name that this
server doesn't have, who asks, and whether it is they who ask, not some page that is open in their
browser.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from urllib.parse import quote

from loguru import logger
from starlette.types import Scope

from vidpipe.server.access import Access, Role
from vidpipe.server.origins import has_own_origin, is_from_elsewhere
from vidpipe.server.rates import Buckets, Rate, address_of
from vidpipe.server.sessions import Session, Sessions

LOGIN = "/login"
REQUESTS = Rate(burst=1000, per_s=200)
"""Of one address: a wall's page asks some ten times at its start, a desk has several screens."""
FAILURES = Rate(burst=20, per_s=0.2)
"""Wrong tokens of one address; one of 32 random characters takes for ever at any rate."""
_WARNINGS = Rate(burst=1, per_s=1 / 60)
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_NAVIGATION = (b"text/html", b"application/xhtml")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why somebody isn't let in; ``headers`` of the answer, by name."""

    status: int
    reason: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Admitted:
    """Who it is: nobody in particular, on a page that is everybody's."""

    role: Role | None = None
    session: Session | None = None


@dataclass(frozen=True, slots=True)
class Paths:
    """What is special about some paths.

    Attributes:
        public: Nobody is asked who they are.
        most_body_bytes: How large a body may be.
        usual_body_bytes: And how large it may be elsewhere.
    """

    public: Set[str]
    most_body_bytes: Mapping[str, int]
    usual_body_bytes: int


class Failures:
    """Wrong tokens, by address."""

    def __init__(self, rate: Rate = FAILURES) -> None:
        """Begin with none."""
        self._turns = Buckets(rate)
        self._warnings = Buckets(_WARNINGS)

    def refusal(self, address: str) -> Refusal | None:
        """Return why nobody of an address may try a token now, or None if they may."""
        wait_s = self._turns.wait_s(address)
        return _too_many("too many wrong tokens", wait_s) if wait_s else None

    def add(self, address: str) -> None:
        """Count one."""
        self._turns.take(address)
        if not self._warnings.take(address):
            logger.warning("somebody at {} presents a wrong token (said once a minute)", address)


class Admission:
    """The door of one server; for its loop alone."""

    def __init__(
        self, access: Access, sessions: Sessions, paths: Paths, failures: Failures
    ) -> None:
        """Let in by tokens and by sessions."""
        self._access = access
        self._sessions = sessions
        self._paths = paths
        self._failures = failures
        self._requests = Buckets(REQUESTS)

    def admit(self, scope: Scope) -> Admitted | Refusal:
        """Decide about a request, or a WebSocket's handshake."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        path: str = scope["path"]
        wait_s = self._requests.take(address_of(scope))
        if wait_s:
            return _too_many("too many requests", wait_s)
        refusal = self._size_refusal(path, headers)
        if refusal is not None:
            return refusal
        is_public = path in self._paths.public
        if not is_public and not self._access.takes_host(headers.get(b"host")):
            why = "the Host header names no address of this machine: configure server.tokens"
            return Refusal(421, why)
        admitted = self._who(scope, headers, is_public=is_public)
        if isinstance(admitted, Admitted):
            return _origin_refusal(scope, headers, admitted) or admitted
        return admitted

    def _size_refusal(self, path: str, headers: Mapping[bytes, bytes]) -> Refusal | None:
        most = self.most_body_bytes(path)
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) <= most:
            return None
        return Refusal(413, f"larger than {most} bytes", {"connection": "close"})

    def most_body_bytes(self, path: str) -> int:
        """Return how large a body may be."""
        return self._paths.most_body_bytes.get(path, self._paths.usual_body_bytes)

    def _who(
        self, scope: Scope, headers: Mapping[bytes, bytes], *, is_public: bool
    ) -> Admitted | Refusal:
        authorization = headers.get(b"authorization")
        if authorization is not None and self._access.tokens and not is_public:
            address = address_of(scope)
            refusal = self._failures.refusal(address)
            if refusal is not None:
                return refusal
            role = self._access.role_of(authorization)
            if role is None:
                self._failures.add(address)
                return _unknown()
            return Admitted(role)
        session = self._sessions.find(headers.get(b"cookie"))
        if session is not None:
            return Admitted(session.role, session)
        role = self._access.role_of(None)
        if role is None and not is_public:
            return _to_login(scope) if _is_navigation(scope, headers) else _unknown()
        return Admitted(role)


def _origin_refusal(
    scope: Scope, headers: Mapping[bytes, bytes], admitted: Admitted
) -> Refusal | None:
    """Refuse what another site's page makes a browser do.

    It can't make one send a header with a token; nor can it read what only looks.
    """
    if scope["type"] == "websocket":
        # A browser says where a WebSocket comes from, always, and asks nobody before.
        is_checked = b"origin" in headers or admitted.session is not None
        is_foreign = is_checked and not has_own_origin(headers)
    else:
        is_checked = scope["method"] not in _SAFE and b"authorization" not in headers
        is_foreign = is_checked and is_from_elsewhere(headers)
    if not is_foreign:
        return None
    return Refusal(403, "asked by a page of another site", {"connection": "close"})


def _is_navigation(scope: Scope, headers: Mapping[bytes, bytes]) -> bool:
    """Return True if somebody waits for a page to look at."""
    if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
        return False
    mode = headers.get(b"sec-fetch-mode")
    if mode is not None:
        return mode == b"navigate"
    return headers.get(b"accept", b"").startswith(_NAVIGATION)


def _to_login(scope: Scope) -> Refusal:
    query = scope.get("query_string", b"").decode("latin-1")
    target = scope["path"] + (f"?{query}" if query else "")
    location = f"{LOGIN}?next={quote(target, safe='/')}"
    return Refusal(303, "log in first", {"location": location})


def _unknown() -> Refusal:
    why = "needs Authorization: Bearer TOKEN, or a login"
    return Refusal(401, why, {"www-authenticate": "Bearer"})


def _too_many(what: str, wait_s: float) -> Refusal:
    seconds = max(1, round(wait_s + 0.5))
    return Refusal(429, f"{what}: try again in {seconds} s", {"retry-after": str(seconds)})
