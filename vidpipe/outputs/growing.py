"""A video file that grows safely, whatever is muxed into it.

It grows under a temporary name, in fragments (MP4, QuickTime) or clusters (Matroska) of a second
that are flushed and synced, so that a cut-off at any moment costs the last second or two and leaves
a playable file. At the end an MP4 gets an ordinary index (FFmpeg's ``hybrid_fragmented``), is
synced and checked, and only then does the file get its name.

One thread opens, writes and closes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import av
from av.container import OutputContainer
from av.error import FFmpegError

from vidpipe.errors import SinkError
from vidpipe.outputs.naming import open_temporary, publish

SYNC_EVERY_S = 1.0

_HEAD_BYTES = 1 << 16
"""More than the header of a file with a video stream and some audio."""

_FRAGMENTED = {
    # The header waits for the first fragment: written at once, it has a wrong edit list, or forgets
    # that a recording starts later than 0.
    "movflags": "hybrid_fragmented+delay_moov",
    "frag_duration": "1000000",
    "flush_packets": "1",
}
_FORMATS = {
    ".mp4": ("mp4", _FRAGMENTED),
    ".m4v": ("mp4", _FRAGMENTED),
    ".mov": ("mov", _FRAGMENTED),
    ".mkv": ("matroska", {"cluster_time_limit": "1000", "flush_packets": "1"}),
}
_CHECKED_WHOLE_BYTES, _CHECKED_WHOLE_FRAMES = 512_000_000, 50_000
"""A larger file is checked by its index and last packets: reading it all would hold the stop."""
_LONGEST_WAIT = {"max_interleave_delta": "1000000"}
"""Microseconds that the muxer waits for a track that is silent, before it writes the others."""


class GrowingFile:
    """A file being written through ``container``; ``path`` is its temporary name."""

    def __init__(self, wanted: Path, *, stream: str) -> None:
        """Create the temporary file; its ending says which container it is.

        Args:
            wanted: The name in the end.
            stream: The stream's id, for messages.

        Raises:
            SinkError: The file can't be created.
        """
        self._wanted = wanted
        self._stream = stream
        self.path = wanted
        self.format_name, options = _FORMATS[wanted.suffix.lower()]
        self._container: OutputContainer | None = None
        self._descriptor = -1
        self._whole_bytes = 0
        with self.translated("opened"):
            self._descriptor, self.path = open_temporary(wanted, is_suffix_last=True)
            try:
                self._container = av.open(
                    f"file:{self.path}",
                    "w",
                    format=self.format_name,
                    options=options | _LONGEST_WAIT,
                )
            except BaseException:
                self.discard()
                raise

    @property
    def container(self) -> OutputContainer:
        """Where packets are muxed, while the file is open."""
        assert self._container is not None
        return self._container

    @property
    def is_open(self) -> bool:
        """True until ``finish`` or ``abandon``."""
        return self._container is not None

    def note_growth(self) -> None:
        """After each packet: the muxer holds back a fragment until it is whole, then flushes it."""
        self._whole_bytes = os.fstat(self._descriptor).st_size

    def sync(self) -> None:
        """Make durable what has been written.

        Raises:
            SinkError: The disk fails.
        """
        with self.translated("synced"):
            os.fdatasync(self._descriptor)

    def finish(self, flush: Callable[[], None], check: Callable[[Path], None]) -> Path:
        """Write the rest and the index, check the file, and give it its name.

        Args:
            flush: Muxes what an encoder still holds.
            check: Raises OSError or FFmpegError where something is missing in the file.

        Raises:
            SinkError: Any of that fails; the message says where the part is.
        """
        with self.translated("finished"):
            try:
                flush()
                container, self._container = self._container, None
                if container is not None:
                    container.close()
                os.fsync(self._descriptor)
                check(self.path)
            finally:
                self.abandon()
            return publish(self.path, self._wanted)

    def abandon(self) -> None:
        """Let go of everything native; the whole fragments stay, under their temporary name."""
        container, self._container = self._container, None
        with suppress(FFmpegError, OSError, ValueError):
            if container is not None:
                self._close_without_index(container)
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def discard(self) -> None:
        """Let go of everything, and leave no file."""
        self.abandon()
        self.path.unlink(missing_ok=True)

    def _close_without_index(self, container: OutputContainer) -> None:
        """Close, and undo what the muxer does to the file meanwhile.

        On a full disk it would turn the fragments' header into plain data and then have no room for
        the index that replaces it.
        """
        head = os.pread(self._descriptor, _HEAD_BYTES, 0)[: self._whole_bytes]
        with suppress(FFmpegError, OSError, ValueError):
            container.close()
        os.ftruncate(self._descriptor, self._whole_bytes)
        os.pwrite(self._descriptor, head, 0)
        if not self._whole_bytes:
            self.path.unlink(missing_ok=True)

    @contextmanager
    def translated(self, what: str) -> Iterator[None]:
        """Turn errors of the library's and the system's into ours.

        Raises:
            SinkError: In their place.
        """
        try:
            yield
        except (FFmpegError, OSError, ValueError) as exc:
            reason = getattr(exc, "strerror", None) or str(exc)
            raise SinkError(
                f"stream {self._stream}: video {self.path} can't be {what}: {reason}; "
                "check the folder's permissions and the free space"
            ) from exc


def require_packets(path: Path, count: int) -> None:
    """Check that the file on the disk has so many packets of video.

    Raises:
        OSError: It hasn't.
    """
    with av.open(f"file:{path}") as container:
        video = container.streams.video[0]
        counted = video.frames or count  # Matroska doesn't say
        is_large = path.stat().st_size > _CHECKED_WHOLE_BYTES or count > _CHECKED_WHOLE_FRAMES
        if is_large:
            end = video.duration or container.duration or 0
            if video.duration:
                container.seek(max(0, end - 1), stream=video)
            else:
                container.seek(max(0, end - 1))
            is_whole = any(packet.size for packet in container.demux(video))
        else:
            counted = sum(1 for packet in container.demux(video) if packet.size)
            is_whole = video.frames in (0, count)
    if counted != count or not is_whole:
        raise OSError(None, f"the check found {counted} of {count} frames in it")
