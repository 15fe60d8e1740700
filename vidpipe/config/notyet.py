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


LATER_OUTPUTS = re.compile("record|rtsp|rtmp|mqtt|webhook")
OUTPUTS = ("defaults.outputs.*", "streams.*.outputs.*")

NOT_YET = (
    NotYet("server"),
    NotYet("wall"),
    NotYet("events"),
    NotYet("outbox"),
    NotYet("telemetry.manifest"),
    NotYet("workers", re.compile("0*([2-9]|[1-9][0-9]+)"), "1"),
    NotYet("models.*.mode", re.compile("independent|batched"), "shared"),
    NotYet("models.*.call", re.compile("sync"), "async"),
    NotYet("models.*.hint", re.compile("cumulative_throughput|adaptive"), "latency or throughput"),
    NotYet("models.*.batch"),
    NotYet("models.*.input.fit", re.compile("streams"), "model"),
    *(NotYet(f"{output}.type", LATER_OUTPUTS, "video or jsonl") for output in OUTPUTS),
    *(
        NotYet(f"{output}.{key}")
        for output in OUTPUTS
        for key in ("keep_days", "keep_gb", "min_free_gb")
    ),
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
