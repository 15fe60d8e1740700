"""What makes an input the one that was analysed: its size, its time, and a hash of its content."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

_END_BYTES = 1 << 20
"""How much of a file's head and tail is hashed: containers keep their headers and indexes there."""


@dataclass(frozen=True, slots=True)
class Identity:
    """A file's content, as far as it was looked at.

    Attributes:
        size_bytes: Its size.
        mtime_ns: When it was last written.
        digest: The hash, in hexadecimal.
        is_full: Whether all of it was hashed, not its two ends alone.
    """

    size_bytes: int
    mtime_ns: int
    digest: str
    is_full: bool = False


def identify(path: Path, *, is_full: bool = False) -> Identity:
    """Look at a file; raises OSError."""
    with path.open("rb") as file:
        status = path.stat()
        size = status.st_size
        if is_full:
            digest = hashlib.file_digest(file, "blake2b").hexdigest()
        else:
            hashed = hashlib.blake2b(size.to_bytes(8, "little"))
            hashed.update(file.read(_END_BYTES))
            file.seek(max(_END_BYTES, size - _END_BYTES))
            hashed.update(file.read(_END_BYTES))
            digest = hashed.hexdigest()
    return Identity(size, status.st_mtime_ns, digest, is_full)


def difference(before: Identity, now: Identity) -> str:
    """Return in words how an input has changed, or an empty text if it is the same.

    Where only its time is new, the two ends say nothing of the middle: it counts as changed, but
    not where all of it was hashed, now and before.
    """
    if before.size_bytes != now.size_bytes:
        return f"the input has {now.size_bytes} bytes, no longer {before.size_bytes}"
    is_comparable = before.is_full == now.is_full
    if is_comparable and before.digest != now.digest:
        return "the input's content has changed"
    if before.mtime_ns != now.mtime_ns and not (is_comparable and now.is_full):
        return "the input was written to since"
    return ""
