"""Who has logged in: what a browser's cookie stands for, for as long as the process lives.

A cookie holds a random number and never a token. The number itself isn't kept either, but its hash:
finding it in a table tells nothing by the time that it takes. Bounded, and for the server's loop
alone.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from weakref import WeakSet

from vidpipe.server.access import Role

IDLE_S = 7 * 86_400.0
"""A session that nobody has used for so long is over; an open connection uses it."""
_MOST = 1000
_NUMBER_BYTES = 32
_COOKIE_S = 400 * 86_400
"""The longest that browsers keep one; the server's own table decides."""


@dataclass(slots=True, eq=False)
class Session:
    """One login.

    Attributes:
        role: What it gives.
        used_at: When it was last of use, in monotonic seconds.
        requests: The requests under way by it, which end with it.
    """

    role: Role
    used_at: float
    requests: WeakSet[asyncio.Task[object]] = field(default_factory=WeakSet)


class Sessions:
    """The table of logins."""

    def __init__(self, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin with none; ``name`` is the cookie's."""
        self.name = name
        self._clock = clock
        self._pattern = re.compile(rf"(?:^|[;,\s]){re.escape(name)}=([A-Za-z0-9_-]+)")
        self._open: OrderedDict[bytes, Session] = OrderedDict()
        """By the hash of the number; the one that was used last is at the end."""

    def begin(self, role: Role) -> str:
        """Begin a session; return its number, which nobody else is told."""
        number = secrets.token_urlsafe(_NUMBER_BYTES)
        self._open[_hash(number)] = Session(role, self._clock())
        while len(self._open) > _MOST:
            _, oldest = self._open.popitem(last=False)
            _end(oldest)
        return number

    def find(self, cookies: bytes | None) -> Session | None:
        """Return the session that a ``Cookie`` header belongs to, which is used by that."""
        for key in self._keys(cookies):
            session = self._open.get(key)
            if session is None:
                continue
            now_s = self._clock()
            if now_s - session.used_at > IDLE_S and not session.requests:
                del self._open[key]
                continue
            session.used_at = now_s
            self._open.move_to_end(key)
            return session
        return None

    def end(self, cookies: bytes | None) -> None:
        """End the session that a ``Cookie`` header belongs to, and what is under way by it."""
        for key in self._keys(cookies):
            session = self._open.pop(key, None)
            if session is not None:
                _end(session)

    @contextmanager
    def using(self, session: Session) -> Iterator[None]:
        """Use a session for as long as the running task is in the ``with``, and no longer."""
        task = asyncio.current_task()
        assert task is not None
        session.requests.add(task)
        try:
            yield
        finally:
            session.requests.discard(task)
            session.used_at = self._clock()

    def cookie(self, number: str, *, is_secure: bool) -> str:
        """Return the ``Set-Cookie`` of a session."""
        return self._set_cookie(number, _COOKIE_S, is_secure=is_secure)

    def no_cookie(self, *, is_secure: bool) -> str:
        """Return the ``Set-Cookie`` that lets a browser forget."""
        return self._set_cookie("", 0, is_secure=is_secure)

    def _set_cookie(self, value: str, lasts_s: int, *, is_secure: bool) -> str:
        secure = "; Secure" if is_secure else ""
        return f"{self.name}={value}; Path=/; Max-Age={lasts_s}; HttpOnly; SameSite=Strict{secure}"

    def _keys(self, cookies: bytes | None) -> list[bytes]:
        found = self._pattern.findall((cookies or b"").decode("latin-1"))
        return [_hash(number) for number in found]


def _hash(number: str) -> bytes:
    return hashlib.sha256(number.encode()).digest()


def _end(session: Session) -> None:
    """End what is under way by a session, but for the request that says so."""
    for task in list(session.requests):
        if task is not asyncio.current_task():
            task.cancel()
