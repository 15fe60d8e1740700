"""Processes as the kernel shows them: whose children there are, and what can be seen of them."""

from __future__ import annotations

from pathlib import Path


def children_of(parent: int) -> list[int]:
    """Return the ids of the living children of a process."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            # the name, in parentheses, may hold spaces
            state, parent_id = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue  # it has just ended
        if int(parent_id) == parent and state != "Z":
            found.append(int(folder.name))
    return sorted(found)


def is_alive(process: int) -> bool:
    """Return True if a process is there and hasn't ended."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def seen_by_everybody(process: int) -> str:
    """Return what a list of processes shows of one: its command line and its environment."""
    parts = [Path(f"/proc/{process}/{name}").read_bytes() for name in ("cmdline", "environ")]
    return b"\n".join(parts).replace(b"\0", b"\n").decode("utf-8", "replace")
