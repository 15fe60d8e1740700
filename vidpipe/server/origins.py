"""Whether a browser asks on behalf of this server's own pages, or of somebody else's."""

from __future__ import annotations

from collections.abc import Mapping

_DEFAULT_PORTS = {b"http": b":80", b"https": b":443"}


def is_from_elsewhere(headers: Mapping[bytes, bytes]) -> bool:
    """Return True if a page of another site makes the browser ask.

    Every browser of the last years says one of the two; a program says neither. The host alone is
    compared: where something in between ends the encryption, the schemes differ.
    """
    site = headers.get(b"sec-fetch-site")
    if site is not None:
        return site.strip().lower() not in (b"same-origin", b"none")
    return b"origin" in headers and not has_own_origin(headers)


def has_own_origin(headers: Mapping[bytes, bytes]) -> bool:
    """Return True if the ``Origin`` header is there, and names the host that is asked."""
    scheme, _, origin = headers.get(b"origin", b"").strip().lower().partition(b"://")
    port = _DEFAULT_PORTS.get(scheme)
    host = headers.get(b"host", b"").strip().lower()
    return port is not None and bool(host) and origin.removesuffix(port) == host.removesuffix(port)
