"""From a path or a network address to an open video, within a time limit and in plain words."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vidpipe.errors import SourceCause, SourceError
from vidpipe.runtime.logs import redact
from vidpipe.runtime.supervisor import call_with_deadline
from vidpipe.sources.connection import (
    classify_open_failure,
    endpoint_of,
    failure,
    require_resolvable,
)
from vidpipe.sources.container import LibraryError, connect, release
from vidpipe.sources.declared import Place, VideoLimits, is_endless
from vidpipe.sources.files import file_error, require_file, shown
from vidpipe.sources.paced import IN_PIECES, PacedReader
from vidpipe.sources.truncation import is_file_cut
from vidpipe.sources.video import VideoReader, prepare
from vidpipe.types import SourceKind

_PROBE_S = 0.5
_INNER_SHARE = 0.95
"""FFmpeg's own timeout comes first, so that its thread ends; the deadline is for what ignores it.
"""

_RTSP = ("rtsp", "rtsps")
_HTTP = ("http", "https")
_ENCRYPTED = ("rtsps", "https", "rtmps")


def open_file(
    path: Path, *, is_live: bool = False, limits: VideoLimits | None = None
) -> VideoReader:
    """Open a recorded file, decoding its first picture.

    Args:
        path: Any path: special characters in it mean nothing to FFmpeg here.
        is_live: Its end is a loss (a pipe that a camera program writes to).
        limits: Only the thread count counts, and for a pipe the opening time.

    Raises:
        SourceError: It is missing (NOT_FOUND), may not be read (REFUSED), or is not a video that
            can be decoded (FORMAT).
    """
    limits = limits or VideoLimits()
    require_file(path)
    with _in_plain_words(path):
        try:
            if path.is_file():
                container = _container_of(path)
            else:  # the other end of a pipe may never come
                container = call_with_deadline(
                    lambda: _container_of(path), limits.open_timeout_s, "vp-open", release
                )
        except TimeoutError:
            raise SourceError(
                f"{shown(path)}: nothing came within {limits.open_timeout_s:g} s",
                SourceCause.TIMEOUT,
            ) from None
    return prepare(
        container,
        Place(shown(path), SourceKind.FILE, is_live=is_live, path=path, is_local=True),
        limits,
    )


def open_network(
    url: str, *, is_live: bool | None = None, limits: VideoLimits | None = None
) -> VideoReader | PacedReader:
    """Open an ``http(s)://``, ``rtsp(s)://``, ``rtmp://``, ``udp://`` or ``srt://`` address.

    Args:
        url: The address; user name and password percent-encoded.
        is_live: Whether its end is a loss. None decides: HTTP is recorded where the server says
            how long the resource is (HLS: where the playlist has an end), all else is live.
        limits: Timeouts, transport and threads.

    Raises:
        SourceError: With the cause as far as a probe of the address can tell. After
            ``open_timeout_s`` and half a second for the probe at the latest.
    """
    limits = limits or VideoLimits()
    container, name = connect_network(url, limits)
    if is_live is None:
        is_live = is_endless(container, url.partition(":")[0].lower())
    place = Place(name, SourceKind.NETWORK, is_live=is_live, path=None, is_local=False)
    is_in_pieces = is_live and container.format.name in IN_PIECES
    reader = prepare(container, place, limits)
    return PacedReader(reader, limits.read_timeout_s / 2) if is_in_pieces else reader


def connect_network(url: str, limits: VideoLimits) -> tuple[Any, str]:
    """Open the container of a network address; return it, and its name without any password.

    Raises:
        SourceError: As ``open_network``.
    """
    started_at = time.monotonic()
    timeout_s = limits.open_timeout_s
    endpoint = endpoint_of(url)
    if endpoint is not None:
        require_resolvable(endpoint, url, timeout_s)
    scheme = url.partition(":")[0].lower()
    left_s = max(0.1, timeout_s - (time.monotonic() - started_at))
    options = _options_of(scheme, limits)
    # FFmpeg tries a silent RTSP peer twice: half of the timeout gives the whole.
    read_s = limits.read_timeout_s / 2 if scheme in _RTSP else limits.read_timeout_s
    timeouts_s = (left_s * _INNER_SHARE, read_s)
    try:
        container = call_with_deadline(
            lambda: connect(url, options=options, timeouts_s=timeouts_s),
            left_s,
            "vp-open",
            release,
        )
    except (LibraryError, TimeoutError) as exc:
        cause = classify_open_failure(
            hint=exc.cause if isinstance(exc, LibraryError) else SourceCause.TIMEOUT,
            elapsed_s=time.monotonic() - started_at,
            timeout_s=timeout_s,
            endpoint=endpoint,
            probe_s=min(_PROBE_S, timeout_s),
        )
        is_untrusted = cause is SourceCause.LOST and scheme in _ENCRYPTED and limits.is_verified
        hint = "or its certificate is not trusted: see connect.tls" if is_untrusted else ""
        raise failure(url, cause, hint) from None
    return container, redact(url)


def connect_file(path: Path) -> Any:
    """Return a file's open container; PyAV's types stay in ``video``.

    Raises:
        SourceError: As ``open_file``.
    """
    require_file(path)
    with _in_plain_words(path):
        return _container_of(path)


@contextmanager
def _in_plain_words(path: Path) -> Iterator[None]:
    """Say of a file that can't be opened what is wrong with it."""
    try:
        yield
    except LibraryError as exc:
        raise file_error(path, exc, exc.reason) from None
    except OSError as exc:
        raise file_error(path, exc) from None


def _container_of(path: Path) -> Any:
    """Return a file's open container.

    Raises:
        LibraryError: It can't be opened.
        OSError: A file whose name is in no encoding can't be.
    """
    name = f"file:{path.absolute()}"
    try:
        name.encode()
    except UnicodeEncodeError:  # a name in no encoding: the system knows another one for it
        with path.open("rb") as file:
            return connect(f"file:/proc/self/fd/{file.fileno()}")
    try:
        return connect(name)
    except LibraryError:
        if not is_file_cut(path):
            raise
        # All fragments of an MP4 are looked at first, unless told so: a cut one hides the others.
        return connect(name, options={"fflags": "+ignidx"})


def _options_of(scheme: str, limits: VideoLimits) -> dict[str, str]:
    options: dict[str, str] = {}
    if scheme in _RTSP:
        options = {
            "rtsp_transport": limits.transport,
            "allowed_media_types": "video" if limits.packets is None else "video+audio",
            "analyzeduration": "500000",  # microseconds; the default takes 2 s to open
        }
    if scheme in _HTTP:
        # Resumes what has a known length; a live stream is opened anew by who reads it.
        options = {"reconnect": "1", "reconnect_delay_max": "2"}
    if scheme in _ENCRYPTED:
        options["tls_verify"] = str(int(limits.is_verified))
        if limits.ca_file:
            options["ca_file"] = limits.ca_file
    return options
