"""Which hosts can only be this machine itself."""

from __future__ import annotations

import ipaddress


def is_loopback(host: str) -> bool:
    """Return True if a name or an address can only mean this machine; brackets are taken."""
    name = host.strip().lower().removeprefix("[").removesuffix("]").removesuffix(".")
    if name == "localhost" or name.endswith(".localhost"):  # RFC 6761, 6.3
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
