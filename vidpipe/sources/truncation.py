"""Whether a file breaks off: what its own bytes say of where it should end, without a decoder.

Only regular files are looked into: a pipe gives its bytes once, to who decodes them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

_EBML, _SEGMENT = b"\x1a\x45\xdf\xa3", b"\x18\x53\x80\x67"
_MOST_CHUNKS = 10_000
_MOST_BOXES = 1_000_000
_FLV_HEADER_BYTES, _FLV_TAG_HEADER_BYTES = 9, 11
_FLV_TAGS = (8, 9, 18)
"""Sound, video and script data."""
_GIF_END = b";"
_JPEG_START, _JPEG_END = b"\xff\xd8\xff", b"\xff\xd9"
_JPEG_SCAN = 0xDA
_CHUNK_BYTES = 1 << 20
_TS_SYNC = b"G"
_TS_LAYOUTS = ((188, 0), (192, 4), (204, 0))
"""Bytes a packet, and where in it the sync byte stands: plain, with a clock, with a checksum."""


def is_file_cut(path: Path) -> bool | None:
    """Tell whether a file is shorter than it should be.

    Known are Matroska, WebM, AVI, fragmented MP4, FLV, GIF, JPEG and MPEG transport streams.
    Returns None for other files, for a length that was never filled in (a recording that was not
    closed), where the end only looks whole, and for what can't be read or is no regular file.
    """
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            look = _look_for(file.read(8))
            file.seek(0)
            return look(file, size)
    except OSError:
        return None


def is_image_cut(data: bytes) -> bool | None:
    """Tell of a JPEG's bytes what ``is_file_cut`` tells of a file; None for other kinds."""
    return _is_jpeg_cut(BytesIO(data), len(data)) if data[:3] == _JPEG_START else None


def _look_for(magic: bytes) -> Callable[[BinaryIO, int], bool | None]:
    if magic[:4] == _EBML:
        return _is_matroska_cut
    if magic[:4] == b"RIFF":
        return _is_riff_cut
    if magic[:3] == b"FLV":
        return _is_flv_cut
    if magic[:4] == b"GIF8":
        return _is_gif_cut
    if magic[:3] == _JPEG_START:
        return _is_jpeg_cut
    if magic[4:] == b"ftyp":
        return _is_mp4_cut
    return _is_broadcast_cut


def _is_matroska_cut(file: BinaryIO, size: int) -> bool | None:
    """Source: RFC 8794 (EBML): element sizes are variable integers, all ones means unknown."""
    file.seek(len(_EBML))
    header_size = _variable_integer(file)
    if header_size is None:
        return None
    file.seek(header_size, os.SEEK_CUR)
    if file.read(4) != _SEGMENT:
        return None
    segment_size = _variable_integer(file)
    return None if segment_size is None else file.tell() + segment_size > size


def _variable_integer(file: BinaryIO) -> int | None:
    first = file.read(1)
    if not first or first[0] == 0:
        return None
    length = 9 - first[0].bit_length()
    rest = file.read(length - 1)
    bits = 7 * length
    value = int.from_bytes(first + rest, "big") & ((1 << bits) - 1)
    return None if len(rest) < length - 1 or value == (1 << bits) - 1 else value


def _is_riff_cut(file: BinaryIO, size: int) -> bool | None:
    """Large AVI files are several RIFF chunks, one after the other (OpenDML)."""
    offset = 0
    for _ in range(_MOST_CHUNKS):
        file.seek(offset)
        head = file.read(8)
        if len(head) < 8 or head[:4] != b"RIFF":
            return False
        length = int.from_bytes(head[4:], "little")
        if length in (0, 0xFFFFFFFF):
            return None
        offset += 8 + length
        if offset > size:
            return True
        offset += length % 2
    return False


def _is_mp4_cut(file: BinaryIO, size: int) -> bool | None:
    """Walk the boxes of a fragmented MP4 (ISO/IEC 14496-12); of any other the index says more."""
    offset = 0
    is_fragmented = False
    for _ in range(_MOST_BOXES):
        head = os.pread(file.fileno(), 16, offset)
        length, kind = int.from_bytes(head[:4], "big"), head[4:8]
        is_fragmented = is_fragmented or kind == b"moof"
        if not head:
            return False if is_fragmented else None
        if len(head) < 8:
            return is_fragmented or None
        if length == 1:  # the length is in the 64 bits behind the name
            length = int.from_bytes(head[8:], "big")
        if length < 8:  # 0: until the end of the file
            return None
        offset += length
        if offset > size:
            # What is no name at all is something that was appended.
            return (is_fragmented and kind.isalnum()) or None
    return None


def _is_flv_cut(file: BinaryIO, size: int) -> bool | None:
    """Every tag is followed by its size; a file may be cut between two tags, too."""
    if size < _FLV_HEADER_BYTES + 4 + _FLV_TAG_HEADER_BYTES:
        return None
    file.seek(size - 4)
    tag_bytes = int.from_bytes(file.read(4), "big")
    start = size - 4 - tag_bytes
    if start < _FLV_HEADER_BYTES:
        return True
    file.seek(start)
    head = file.read(4)
    content_bytes = int.from_bytes(head[1:], "big")
    is_tag = head[0] in _FLV_TAGS and content_bytes + _FLV_TAG_HEADER_BYTES == tag_bytes
    return None if is_tag else True


def _is_gif_cut(file: BinaryIO, size: int) -> bool:
    file.seek(max(0, size - 64))
    return not file.read().rstrip(b"\0\r\n").endswith(_GIF_END)


def _is_jpeg_cut(file: BinaryIO, size: int) -> bool | None:
    """A picture's end is marked (ITU-T T.81); the one of a preview stands before its scan.

    Its decoder makes a grey half of what is missing, and says nothing.
    """
    offset = 2
    for _ in range(_MOST_CHUNKS):
        file.seek(offset)
        head = file.read(4)
        if len(head) < 4:
            return True
        if head[0] != _JPEG_START[0]:
            return None  # damaged, rather
        if head[1] == _JPEG_SCAN:
            return not _holds(file, _JPEG_END) or None
        is_padding = head[1] == _JPEG_START[0]
        offset += 1 if is_padding else 2 + int.from_bytes(head[2:], "big")
    return None


def _holds(file: BinaryIO, wanted: bytes) -> bool:
    """Tell whether two bytes stand in the rest of a file."""
    last = b""
    while chunk := file.read(_CHUNK_BYTES):
        if wanted in last + chunk:
            return True
        last = chunk[-1:]
    return False


def _is_broadcast_cut(file: BinaryIO, size: int) -> bool | None:
    """A transport stream that begins with whole packets should end with one."""
    head = file.read(3 * 204)
    for packet_bytes, at in _TS_LAYOUTS:
        syncs = head[at::packet_bytes][:3]
        if syncs == 3 * _TS_SYNC:
            return True if size % packet_bytes else None
    return None
