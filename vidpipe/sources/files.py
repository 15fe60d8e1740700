"""What is wrong with a path, in plain words, before and after a decoder has tried it."""

from __future__ import annotations

import re
from pathlib import Path

from vidpipe.errors import SourceCause, SourceError

_SCHEME = re.compile("([a-z][a-z0-9+.-]{1,19}):(?!//)")
"""How an address begins that an installed package might open."""


def shown(path: Path) -> str:
    """Return a path for messages: on one line, and in characters that any log can write."""
    text = str(path).encode("utf-8", "backslashreplace").decode()
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def require_file(path: Path) -> None:
    """Check what can be said without a decoder.

    Raises:
        SourceError: The path is missing (NOT_FOUND), forbidden (REFUSED), a directory or empty
            (FORMAT).
    """
    try:
        is_directory = path.is_dir()
        is_empty = path.stat().st_size == 0 and path.is_file()
    except (OSError, ValueError) as exc:
        raise file_error(path, exc) from None
    if is_directory:
        raise SourceError(
            f"{shown(path)} is a directory: give its files, or a pattern such as "
            f"{shown(path / '*.mp4')}",
            SourceCause.FORMAT,
        )
    if is_empty:
        raise SourceError(f"{shown(path)} is empty: there is no video in it", SourceCause.FORMAT)


def file_error(path: Path, exc: Exception, reason: str | None = None) -> SourceError:
    """Return the error of a file that couldn't be opened.

    Args:
        path: The file.
        exc: What the system or the decoder's library raised.
        reason: What that says beyond "invalid data"; None for the system's own errors.
    """
    name = shown(path)
    if isinstance(exc, PermissionError):
        return SourceError(
            f"{name} may not be read by this user: change its permissions",
            SourceCause.REFUSED,
        )
    # A ValueError of the system's: a zero byte in the name.
    if isinstance(exc, (FileNotFoundError, NotADirectoryError)) or reason is None:
        scheme = _SCHEME.match(name)
        hint = "check the path"
        if scheme:
            hint = f"no source is called {scheme[1]} either; is its package installed?"
        return SourceError(f"there is no file {name}: {hint}", SourceCause.NOT_FOUND)
    if _begins_like_mp4(path):
        return SourceError(
            f"{name} is an MP4 without its index: the recording was not finished, or its end is "
            "missing; a repair program may bring it back",
            SourceCause.FORMAT,
        )
    note = f" ({reason})" if reason else ""
    return SourceError(f"{name} is not a video file that can be read{note}", SourceCause.FORMAT)


def _begins_like_mp4(path: Path) -> bool:
    try:
        if not path.is_file():
            return False  # opening a pipe again would wait for its writer
        with path.open("rb") as file:
            return file.read(8)[4:] == b"ftyp"
    except OSError:
        return False
