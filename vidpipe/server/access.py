"""Who may ask: tokens with roles, and, where there are none, this machine alone."""

from __future__ import annotations

import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from vidpipe.config.loopback import is_loopback

_PORT = re.compile(r"(?<![:\[]):[0-9]*$")


class Role(IntEnum):
    """What somebody may do; a higher role may do all that a lower one may."""

    VIEWER = 1
    """May look."""
    OPERATOR = 2
    """May change things."""


@dataclass(frozen=True, slots=True)
class Access:
    """The rules of one server.

    Attributes:
        tokens: Each with the role that it gives; none: whoever reaches the server is an operator,
            since only this machine does.
    """

    tokens: Sequence[tuple[Role, bytes]] = ()

    def role_of(self, authorization: bytes | None) -> Role | None:
        """Return the role that an ``Authorization`` header gives, or None for nobody."""
        if not self.tokens:
            return Role.OPERATOR
        scheme, _, presented = (authorization or b"").strip().partition(b" ")
        role = self.role_of_token(presented)
        return role if scheme.lower() == b"bearer" else None

    def role_of_token(self, presented: bytes) -> Role | None:
        """Return the role that a token gives, or None if it is none of them.

        Every token is compared in constant time, and none is left out once one fits.
        """
        presented = presented.strip()
        role: Role | None = None
        for given, token in self.tokens:
            if hmac.compare_digest(token, presented):
                role = max(role or given, given)
        return role

    def takes_host(self, host: bytes | None) -> bool:
        """Return True if a request may be meant for this server, by its ``Host`` header.

        Without tokens a page of the web could ask through the browser of somebody on this machine,
        by a name of its own that it lets point here (DNS rebinding): so only names and addresses of
        the loopback are taken. Programs that send no ``Host`` are no browsers.
        """
        if self.tokens or host is None:
            return True
        return is_loopback(_PORT.sub("", host.decode("latin-1").strip()))
