"""The address that the server listens on: only this machine's own, unless tokens guard it."""

from __future__ import annotations

import errno
import ipaddress
import socket
from typing import Any

from vidpipe.errors import UsageError
from vidpipe.runtime.supervisor import call_with_deadline

_RESOLVE_S = 5.0
_BACKLOG = 64
_WHY = {
    errno.EADDRINUSE: (
        "port",
        "is already in use: stop what listens there, choose another port, or 0 for any free one",
    ),
    errno.EACCES: ("port", "may not be used by this user: choose one from 1024 on"),
    errno.EADDRNOTAVAIL: ("host", "is no address of this machine"),
}


def listen(host: str, port: int, *, may_leave_machine: bool) -> socket.socket:
    """Return a listening socket.

    Args:
        host: An address or a name; of several addresses the first of IPv4 is taken.
        port: 0 for any that is free.
        may_leave_machine: False: only a loopback address is taken.

    Raises:
        UsageError: The address can't be used; the message names the key.
    """
    family, address = _resolved(host, port)
    if not may_leave_machine and not ipaddress.ip_address(address[0]).is_loopback:
        raise UsageError(
            f"server.host: {host} can be reached from outside of this machine: add server.tokens"
        )
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)  # "::" means all
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as exc:
        listener.close()
        key, why = _WHY.get(exc.errno or 0, ("host", f"can't be listened on ({exc.strerror})"))
        raise UsageError(f"server.{key}: {shown(host, port)} {why}") from exc
    listener.settimeout(0)
    return listener


def shown(host: str, port: int) -> str:
    """Return ``host:port`` as it stands in a URL."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _resolved(host: str, port: int) -> tuple[socket.AddressFamily, tuple[Any, ...]]:
    def resolve() -> list[tuple[socket.AddressFamily, tuple[Any, ...]]]:
        bare = host.removeprefix("[").removesuffix("]")
        found = socket.getaddrinfo(bare, port, type=socket.SOCK_STREAM)
        return [(family, address) for family, *_, address in found]

    try:
        found = call_with_deadline(resolve, _RESOLVE_S, "vp-resolve")
    except TimeoutError:
        raise UsageError(f"server.host: nobody says what address {host} is") from None
    except (OSError, UnicodeError) as exc:
        why = exc.strerror if isinstance(exc, OSError) else "not a name"
        raise UsageError(f"server.host: {host} is no address of this machine ({why})") from exc
    if not found:
        raise UsageError(f"server.host: {host} is no address of this machine")
    return min(found, key=lambda pair: pair[0] != socket.AF_INET)
