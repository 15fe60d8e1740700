"""Opening and closing containers through FFmpeg's libraries, whose errors stop here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import av
import av.error

from vidpipe.errors import SourceCause
from vidpipe.runtime.logs import redact
from vidpipe.sources.connection import cause_of_error

if TYPE_CHECKING:
    from av.container import InputContainer


class LibraryError(Exception):
    """What FFmpeg raised, without the address in it: for the functions that open.

    Attributes:
        cause: What it says, or None where it says too little.
        reason: Its words beyond "invalid data".
    """

    def __init__(self, cause: SourceCause | None, reason: str) -> None:
        """Keep both."""
        super().__init__(reason)
        self.cause = cause
        self.reason = reason


def connect(
    name: str,
    *,
    options: Mapping[str, str] | None = None,
    timeouts_s: tuple[float, float] | None = None,
) -> InputContainer:
    """Open a container by FFmpeg's name for it; may block beyond its timeouts.

    Args:
        name: ``file:`` and a path, or an address.
        options: FFmpeg's options of the demuxer and the protocol.
        timeouts_s: For opening (each of two steps), and for reading a packet.

    Raises:
        LibraryError: It can't be opened.
    """
    try:
        return av.open(
            name,
            "r",
            container_options=dict(options or {}),
            timeout=timeouts_s,
            metadata_errors="replace",
        )
    except (av.FFmpegError, OSError, UnicodeError) as exc:
        raise LibraryError(cause_of_error(exc), reason_of(exc)) from None


def release(container: InputContainer) -> None:
    """Close a container that came too late to be used."""
    container.close()


def reason_of(exc: Exception) -> str:
    """Return what FFmpeg says beyond "invalid data", without the address that it says it of."""
    if isinstance(exc, av.error.InvalidDataError):
        return ""
    return redact(str(getattr(exc, "strerror", None) or type(exc).__name__))
