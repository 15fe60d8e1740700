"""Which texts of a configuration are secrets."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

from vidpipe.config.address import USERINFO_SAFE, secrets_of_url
from vidpipe.config.document import ListNode, Node, TextNode

SECRET_KEYS = frozenset({"password", "token"})


def secrets_in(node: Node, key: str = "") -> Iterator[str]:
    """Yield every password and token in the tree, as it stands and percent-encoded."""
    if isinstance(node, TextNode):
        found = [node.text] if key in SECRET_KEYS else secrets_of_url(node.text)
        for secret in found:
            yield from forms_of(secret)
    elif isinstance(node, ListNode):
        for item in node.items:
            yield from secrets_in(item, key)
    else:
        for name, entry in node.entries.items():
            yield from secrets_in(entry.node, name)


def forms_of(secret: str) -> Iterator[str]:
    """Yield a secret as it stands, and as it may stand in a URL."""
    yield secret
    printable = secret.encode("utf-8", "surrogateescape")
    yield quote(printable, safe="")
    yield quote(printable, safe=USERINFO_SAFE)
