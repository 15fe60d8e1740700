"""What the file's format has and this version doesn't do yet: refused with its place, not ignored.

An issue that builds one of these deletes its line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from vidpipe.config.document import FaultLog, KeyPath, Node, TextNode, texts_at

ANYTHING = re.compile(r"(?s).*")


@dataclass(frozen=True, slots=True)
class NotYet:
    """One refusal.

    Attributes:
        path: Where in the file; ``*`` is any key or item.
        values: Which texts are refused there; ``ANYTHING`` also refuses a mapping or list.
        instead: What works now; empty where there is nothing to say.
    """

    path: str
    values: re.Pattern[str] = ANYTHING
    instead: str = ""

    def refuses(self, node: Node) -> bool:
        """Return True if this is what isn't done yet; an empty value never is."""
        if isinstance(node, TextNode):
            return not node.is_null and self.values.fullmatch(node.text) is not None
        return self.values is ANYTHING


NOT_YET = (
    NotYet("server.tls"),
    NotYet("wall"),
)


def find_not_yet(root: Node, faults: FaultLog) -> None:
    """Report everything in the file that only a later version does."""
    for row in NOT_YET:
        pattern: KeyPath = tuple(row.path.split("."))
        for path, place, node in texts_at(root, pattern):
            if not row.refuses(node):
                continue
            what = str(path[-1])
            if isinstance(node, TextNode) and row.values is not ANYTHING:
                what += f": {node.text}"  # one of the words above, so no secret
            instead = f"; this works: {row.instead}" if row.instead else "; leave the key out"
            faults.add(place, path, f"not yet supported in this version: {what}{instead}")
