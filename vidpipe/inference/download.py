"""One file from an address, whole and proven, however the network behaves.

A download that breaks off goes on where it stopped (``Range``, with ``If-Range`` where the server
has named its version of the file), a few times and with growing pauses; progress makes the count
begin anew. Never more than the expected bytes are taken. What arrives counts once its SHA-256 is
right.
"""

from __future__ import annotations

import errno
import http.client
import os
import re
import shutil
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit
from urllib.request import url2pathname

from vidpipe.errors import FetchError
from vidpipe.inference.cache import Progress, no_progress, unwritable
from vidpipe.inference.catalogue import RemoteFile
from vidpipe.inference.checksum import sha256_of
from vidpipe.inference.transport import Patience, WebError, open_url, web_error
from vidpipe.runtime.logs import redact

_CHUNK_BYTES = 1 << 16
_REAL_PROGRESS_BYTES = 1 << 16
"""A server that cuts the connection after fewer bytes will never come to an end."""

_PATIENCE = Patience()
_WHOLE, _REST = 200, 206
_RANGE_REFUSED = 416
_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)

_T = TypeVar("_T")


class WrongFileError(FetchError):
    """The address works, but has not the file that was asked for: none, or another."""


def download(
    source: RemoteFile,
    part: Path,
    progress: Progress = no_progress,
    *,
    patience: Patience = _PATIENCE,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Bring a file to a temporary place, synced to the disk; what is there already is gone on from.

    One process at a time may do this for a place. On failure what has come stays there, if it can
    be of use; so it does if ``progress`` raises.

    Args:
        source: What to fetch, and from where.
        part: The temporary place; its folder exists.
        progress: Told how far it is.
        patience: How long the server is waited for.
        pause: Waits so many seconds.

    Raises:
        WrongFileError: The file isn't there, or is another.
        FetchError: It can't be fetched or written.
    """
    if urlsplit(source.url).scheme == "file":
        _copy(source, part, progress)
    else:
        is_anew = _Download(source, part, progress, patience).run(pause)
        if _is_right(source, part) or is_anew:
            _prove(source, part)
            return
        # What was there before may have been of another file.
        _discard(part)
        _Download(source, part, progress, patience).run(pause)
    _prove(source, part)


class _Download:
    """The tries to bring one file."""

    def __init__(
        self, source: RemoteFile, part: Path, progress: Progress, patience: Patience
    ) -> None:
        self._source = source
        self._part = part
        self._progress = progress
        self._patience = patience
        self._version = part.with_name(f"{part.name}.version")

    def run(self, pause: Callable[[float], None]) -> bool:
        """Try until all bytes are there; return True if all of them came from here and now."""
        is_anew = _size(self._part) == 0
        failures = 0
        while (have := _size(self._part)) < self._source.size:
            _check_room(self._source, self._part, have)
            try:
                self._receive(have)
            except WebError as error:
                gained = _size(self._part) - have
                failures = 1 if gained >= _REAL_PROGRESS_BYTES else failures + 1
                if error.is_missing:
                    raise WrongFileError(self._told(str(error))) from None
                if error.is_final or failures >= self._patience.tries:
                    raise FetchError(self._told(str(error))) from None
                wait_s = max(error.wait_s, self._patience.pause_s * 2 ** (failures - 1))
                pause(min(wait_s, self._patience.longest_pause_s))
        return is_anew

    def _told(self, reason: str) -> str:
        url = redact(self._source.url)
        kept = " What has come is kept for the next try." if _size(self._part) else ""
        return (
            f"{url} can't be downloaded: {reason}.{kept} On a machine without a network, copy the"
            " file from another one and give its folder with vidpipe models get NAME --from FOLDER"
        )

    def _receive(self, have: int) -> None:
        """Append to the part what one connection gives.

        Raises:
            WebError: It breaks off, or was none.
            WrongFileError: It gives another file.
        """
        headers = {"Accept-Encoding": "identity"}
        if have:
            headers["Range"] = f"bytes={have}-"
            version = _read_text(self._version)
            if version:
                headers["If-Range"] = version
        try:
            answer = open_url(self._source.url, headers, self._patience)
        except WebError as error:
            if have and error.status == _RANGE_REFUSED:
                _discard(self._part)
                raise WebError("the server's file is shorter than what has come") from None
            raise
        with answer:
            start = self._start(answer, have)
            if start is None:
                _discard(self._part)
                raise WebError("the server's answer begins at another place than was asked for")
            if start == 0:
                self._note_version(answer)
            self._take(answer, start)

    def _start(self, answer: http.client.HTTPResponse, have: int) -> int | None:
        """Return where the answer begins, or None if that is of no use.

        Raises:
            WrongFileError: The whole has another size.
        """
        size = self._source.size
        if answer.status == _REST:
            match = _CONTENT_RANGE.fullmatch(answer.headers.get("Content-Range", ""))
            if match and match[2] not in ("*", str(size)):
                self._refuse(f"{match[2]} bytes", answer)
            return have if match and int(match[1]) == have else None
        length = answer.headers.get("Content-Length", "")
        if length.isdecimal() and int(length) != size:
            self._refuse(f"{length} bytes", answer)
        return 0

    def _refuse(self, what: str, answer: http.client.HTTPResponse) -> None:
        kind = answer.headers.get_content_type()
        hint = (
            ": a page instead of the file, such as a proxy or a login gives"
            if kind == "text/html"
            else ""
        )
        _discard(self._part)
        raise WrongFileError(
            f"{redact(self._source.url)} is not what it should be: {what}, expected"
            f" {self._source.size}{hint}. Nothing of it is kept; check the address and what is in"
            " between"
        )

    def _take(self, answer: http.client.HTTPResponse, start: int) -> None:
        done, size = start, self._source.size
        step = f"downloading {self._source.name}"
        file = _writing(self._part, lambda: self._open(start))
        try:
            while chunk := self._read(answer):
                if done + len(chunk) > size:
                    self._refuse("more bytes", answer)
                _writing(self._part, partial(_write_all, file, chunk))
                done += len(chunk)
                self._progress(step, done, size)
            if done == size:
                _writing(self._part, lambda: os.fsync(file))
        finally:
            os.close(file)
        if done < size:
            raise WebError(f"the connection was cut after {done} of {size} bytes")

    def _open(self, start: int) -> int:
        file = os.open(self._part, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        os.ftruncate(file, start)
        os.lseek(file, start, os.SEEK_SET)
        return file

    def _read(self, answer: http.client.HTTPResponse) -> bytes:
        try:
            return answer.read1(_CHUNK_BYTES)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise web_error(error, self._source.url) from None

    def _note_version(self, answer: http.client.HTTPResponse) -> None:
        """Keep what the server calls this version of the file; a weak tag proves nothing."""
        tag = answer.headers.get("ETag", "")
        version = tag if tag.startswith('"') else answer.headers.get("Last-Modified", "")
        _writing(self._version, lambda: self._version.write_text(version, "latin-1"))


def _copy(source: RemoteFile, part: Path, progress: Progress) -> None:
    path = Path(url2pathname(urlsplit(source.url).path))
    progress(f"copying {source.name}", 0, source.size)
    try:
        size = path.stat().st_size
    except OSError as error:
        raise WrongFileError(f"{path} can't be read: {error.strerror}") from error
    if size != source.size:
        raise WrongFileError(
            f"{path} is not what it should be: {size} bytes, expected {source.size}"
        )
    _check_room(source, part, 0)
    _discard(part)
    try:
        shutil.copyfile(path, part)
        with part.open("rb") as file:
            os.fsync(file.fileno())
    except OSError as error:
        _discard(part)
        raise FetchError(
            f"{path} can't be copied to {part.parent}: {error.strerror}; check the disk and the"
            " rights"
        ) from error
    progress(f"copying {source.name}", source.size, source.size)


def _is_right(source: RemoteFile, part: Path) -> bool:
    return sha256_of(part) == source.sha256


def _prove(source: RemoteFile, part: Path) -> None:
    actual = sha256_of(part)
    if actual == source.sha256:
        part.with_name(f"{part.name}.version").unlink(missing_ok=True)
        return
    _discard(part)
    raise WrongFileError(
        f"{redact(source.url)} is not what it should be: SHA-256 {actual}, expected"
        f" {source.sha256}. Nothing of it is kept; it may have been changed on its way: try"
        " again, or fetch it from elsewhere with vidpipe models get NAME --from PLACE"
    )


def _check_room(source: RemoteFile, part: Path, have: int) -> None:
    """Say that the disk is full before it is."""
    free = shutil.disk_usage(part.parent).free
    if free < source.size - have:
        raise FetchError(
            f"{source.name} needs {source.size - have} bytes more, and {part.parent} has {free}"
            " left: free some space, or name another folder with the key cache_dir"
        )


def _writing(part: Path, write: Callable[[], _T]) -> _T:
    try:
        return write()
    except OSError as error:
        if error.errno in _NO_SPACE:
            _discard(part)  # whoever has no room left needs it
        raise unwritable(part, error) from error


def _write_all(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def _discard(part: Path) -> None:
    part.unlink(missing_ok=True)
    part.with_name(f"{part.name}.version").unlink(missing_ok=True)


def _size(part: Path) -> int:
    try:
        return part.stat().st_size
    except FileNotFoundError:
        return 0


def _read_text(path: Path) -> str:
    try:
        return path.read_text("latin-1").strip()
    except OSError:
        return ""
