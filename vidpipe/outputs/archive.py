"""The files that one output has written, found by their names alone.

A name must be made wholly as the output makes it: the template with the stream's id, a time of the
form of ``{start}`` and a number for ``{n}``, and, where the name ends in ``{start}`` or ``{n}``,
the number that a name gets that was taken. So nothing else in a shared folder is ever meant.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

_START = r"[0-9]{8}T[0-9]{6}Z"
_START_FORMAT = "%Y%m%dT%H%M%SZ"
_PLACEHOLDER = re.compile(r"(\{start\}|\{n\})")
_PARTIAL = ".partial"
_STILL_S = 3600.0
"""A file under a temporary name that hasn't grown for so long is what a killed run left behind."""
_FRESH_S = 5.0
"""A file that has just been written to, under whatever name, isn't touched."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """One file.

    Attributes:
        path: Where it is.
        size_bytes: Its size.
        changed_at: When it was written to, in seconds since 1970.
        ended_at: When its last picture was written, likewise: as the system says, but no later
            than the end of the segment that begins with its ``{start}``; a copy is not young.
        is_partial: True under a temporary name.
    """

    path: Path
    size_bytes: int
    changed_at: float
    ended_at: float
    is_partial: bool

    def is_growing(self, now: float) -> bool:
        """Tell whether somebody may be writing it; ``now`` in seconds since 1970."""
        return now - self.changed_at < (_STILL_S if self.is_partial else _FRESH_S)


class Archive:
    """The files of one output of one stream. Any thread may ask."""

    def __init__(self, template: str, *, stream: str, segment_s: float | None = None) -> None:
        """Take the output's path, with ``{stream}``, ``{start}`` and ``{n}``.

        Args:
            template: The path.
            stream: The stream's id.
            segment_s: How long a file is at most, in seconds, or None.
        """
        self.template = template.replace("{stream}", stream)
        self._segment_s = segment_s
        parts = Path(self.template).expanduser().parts
        fixed = 0
        while fixed < len(parts) - 1 and not _PLACEHOLDER.search(parts[fixed]):
            fixed += 1
        self.folder = Path(*parts[:fixed]) if fixed else Path()
        """The deepest folder that all the files have in common."""
        self._folders = [_pattern(part) for part in parts[fixed:-1]]
        self._name = _name_pattern(parts[-1])

    def files(self) -> list[StoredFile]:
        """Return the files that there are, in no order.

        Raises:
            OSError: The folder can't be read.
        """
        try:
            return list(self._search(self.folder, 0))
        except FileNotFoundError:
            return []  # nothing has been written yet

    def remove_empty_folders(self, path: Path) -> None:
        """Remove the folders of a deleted file that were made for it and hold nothing more."""
        folder = path.parent
        for _ in self._folders:
            try:
                folder.rmdir()
            except OSError:
                return
            folder = folder.parent

    def _search(self, folder: Path, depth: int) -> Iterator[StoredFile]:
        with os.scandir(folder) as entries:
            for entry in entries:
                if depth < len(self._folders):
                    is_meant = self._folders[depth].fullmatch(entry.name) is not None
                    if is_meant and entry.is_dir(follow_symlinks=False):
                        with suppress(FileNotFoundError):
                            yield from self._search(Path(entry.path), depth + 1)
                elif (found := self._name.fullmatch(entry.name)) is not None:
                    with suppress(FileNotFoundError):
                        status = entry.stat(follow_symlinks=False)
                        if stat.S_ISREG(status.st_mode):
                            yield self._stored(Path(entry.path), status, found)

    def _stored(self, path: Path, status: os.stat_result, found: re.Match[str]) -> StoredFile:
        ended_at = status.st_mtime
        started_at = _seconds(found["start"]) if "start" in found.re.groupindex else None
        if started_at is not None and self._segment_s is not None:
            # twice: the file goes on to the first key frame behind its end
            ended_at = min(ended_at, started_at + 2 * self._segment_s)
        is_partial = bool(found["inner"] or found["outer"])
        return StoredFile(path, status.st_size, status.st_mtime, ended_at, is_partial)


def _seconds(start: str) -> float | None:
    try:
        return datetime.strptime(start, _START_FORMAT).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None  # the 99th of a month: no moment


def _pattern(part: str) -> re.Pattern[str]:
    return re.compile(_regex(part, names_start=False))


def _name_pattern(name: str) -> re.Pattern[str]:
    """Return what matches a file's name, and says whether it is a temporary one."""
    stem, dot, suffix = name.rpartition(".") if "." in name.lstrip(".") else (name, "", "")
    is_open_end = stem.endswith(("{start}", "{n}"))
    again = r"(?:-[0-9]+)?" if is_open_end else ""
    inner = re.escape(_PARTIAL)
    return re.compile(
        f"{_regex(stem, names_start=True)}{again}(?P<inner>{inner})?"
        f"{re.escape(dot + suffix)}(?P<outer>{inner})?"
    )


def _regex(part: str, *, names_start: bool) -> str:
    """Return the expression for a part of a path; a second ``{start}`` equals the first."""
    pieces = []
    for piece in _PLACEHOLDER.split(part):
        if piece == "{start}":
            pieces.append(f"(?P<start>{_START})" if names_start else _START)
            if names_start and sum(p.startswith("(?P<start>") for p in pieces) > 1:
                pieces[-1] = "(?P=start)"
        else:
            pieces.append("[0-9]+" if piece == "{n}" else re.escape(piece))
    return "".join(pieces)
