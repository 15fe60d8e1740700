"""The headers by which every answer forbids what browsers might do with it."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders

_ALWAYS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # Not "no-referrer": forms would say that they come from nowhere ("Origin: null"), and without
    # encryption browsers say nothing else of it.
    "referrer-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""A page with needs of its own sets its own value."""

_DATA = {"content-security-policy": "default-src 'none'; frame-ancestors 'none'"}

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "media-src 'self'; font-src 'self'; manifest-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""No script or style but the package's own files, and nothing from or to another address."""

_PAGE = {
    "content-security-policy": PAGE_POLICY,
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
}


def forbid(headers: MutableHeaders) -> None:
    """Add what an answer doesn't say itself."""
    is_page = headers.get("content-type", "").startswith("text/html")
    for name, value in (*_ALWAYS.items(), *(_PAGE if is_page else _DATA).items()):
        headers.setdefault(name, value)
