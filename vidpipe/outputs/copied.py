"""A file of packets that were coded elsewhere: copied as they are, video and audio.

What the container doesn't take of the audio is left out; the video must fit.
One thread opens, writes and closes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import av
from av.bitstream import BitStreamFilterContext

from vidpipe.errors import SinkError
from vidpipe.outputs.growing import GrowingFile, require_packets
from vidpipe.packets import EncodedPacket, Track, TrackKind

_WITH_PARAMETERS = ("h264", "hevc")
"""Codecs whose parameter sets stand in the file's header; a camera may send them in the stream."""


class CopiedFile:
    """A file being written; times are in each track's own unit."""

    def __init__(self, wanted: Path, tracks: Sequence[Track], *, stream: str) -> None:
        """Create the temporary file; its ending says which container it is.

        Args:
            wanted: The name in the end.
            tracks: The first is the video.
            stream: The stream's id, for messages.

        Raises:
            SinkError: It can't be created, or the container doesn't take the video.
        """
        self.tracks = tuple(tracks)
        self.frame_count = 0
        self.left_out: list[str] = []
        """The codecs of audio that the container doesn't take."""
        self._file = GrowingFile(wanted, stream=stream)
        self._streams: dict[int, Any] = {}
        self._filters: dict[int, BitStreamFilterContext] = {}
        try:
            with self._file.translated("opened"):
                for place, track in enumerate(tracks):
                    self._add(place, track, stream)
        except BaseException:
            self._file.discard()
            raise

    @property
    def path(self) -> Path:
        """The temporary name."""
        return self._file.path

    def _add(self, place: int, track: Track, stream: str) -> None:
        container: Any = self._file.container
        is_video = track.kind is TrackKind.VIDEO
        try:
            if is_video and track.codec in _WITH_PARAMETERS and not track.parameters:
                # The library then takes them from the first packet.
                width, height = track.size_wh
                self._streams[place] = container.add_mux_stream(
                    track.codec, width=width, height=height, time_base=track.time_base
                )
            else:
                self._streams[place] = container.add_stream_from_template(
                    track.template, opaque=True
                )
        except ValueError:
            if is_video:
                raise SinkError(
                    f"stream {stream}: {self._file.format_name} doesn't hold {track.codec} video: "
                    "end the path of this record in .mkv"
                ) from None
            self.left_out.append(track.codec)

    def write(self, packet: EncodedPacket, pts: int, dts: int) -> None:
        """Write one packet; of a track that was left out nothing.

        Args:
            packet: The bytes.
            pts: When it is shown in the file, in the track's unit.
            dts: When it is decoded: later than the one before of its track.

        Raises:
            SinkError: The disk is full, or the packet can't be stored.
        """
        target = self._streams.get(packet.track)
        if target is None:
            return
        track = self.tracks[packet.track]
        copy = av.Packet(packet.data)
        copy.pts, copy.dts, copy.duration = pts, dts, packet.duration
        copy.time_base = track.time_base
        copy.is_keyframe = packet.is_key
        with self._file.translated("written"):
            if self._needs_unpacking(track, packet):
                self._mux_unpacked(copy, packet.track)
            else:
                copy.stream = target
                self._file.container.mux(copy)
            self._file.note_growth()
        self.frame_count += track.kind is TrackKind.VIDEO

    def _needs_unpacking(self, track: Track, packet: EncodedPacket) -> bool:
        """Tell AAC with a header on each packet, as broadcasts have it, from what a file holds."""
        head = packet.data[:2]
        return (
            track.codec == "aac"
            and self._file.format_name != "matroska"
            and not track.parameters
            and len(head) == 2
            and head[0] == 0xFF
            and head[1] & 0xF0 == 0xF0
        )

    def _mux_unpacked(self, packet: av.Packet[Any], place: int) -> None:
        template, target = self.tracks[place].template, self._streams[place]
        if place not in self._filters:
            self._filters[place] = BitStreamFilterContext("aac_adtstoasc", template, target)
        time_base = packet.time_base
        packet.stream = template
        for bare in self._filters[place].filter(packet):
            bare.stream = target
            bare.time_base = time_base
            self._file.container.mux(bare)

    def sync(self) -> None:
        """Make durable what has been written.

        Raises:
            SinkError: The disk fails.
        """
        self._file.sync()

    def finish(self) -> Path:
        """Write the index, check the file, and give it its name.

        Raises:
            SinkError: Any of that fails; the message says where the part is.
        """
        return self._file.finish(lambda: None, self._check)

    def abandon(self) -> None:
        """Let go of everything native; what is whole stays, under its temporary name."""
        self._file.abandon()

    def _check(self, path: Path) -> None:
        require_packets(path, self.frame_count)
