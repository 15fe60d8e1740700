"""Which files are taken for videos, and which for pictures, by the endings of their names."""

from __future__ import annotations

from enum import StrEnum
from pathlib import PurePath, PurePosixPath


class Kind(StrEnum):
    """What an input is."""

    VIDEO = "video"
    """Many frames, in order."""
    PICTURE = "picture"
    """One frame; pictures are analysed in groups."""


VIDEO_SUFFIXES = frozenset(
    {
        *(".mp4", ".m4v", ".mov", ".qt", ".3gp", ".3g2", ".mj2", ".f4v", ".ismv"),
        *(".mkv", ".webm", ".avi", ".divx", ".flv", ".wmv", ".asf", ".ogv", ".rm", ".rmvb"),
        *(".ts", ".m2ts", ".mts", ".mpg", ".mpeg", ".m2v", ".mpv", ".vob", ".mxf", ".gxf", ".dv"),
        *(".264", ".h264", ".avc", ".265", ".h265", ".hevc", ".266", ".av1", ".obu", ".ivf"),
        *(".mjpeg", ".mjpg", ".y4m", ".nut", ".gif", ".dav", ".amv", ".roq", ".apng"),
    }
)
PICTURE_SUFFIXES = frozenset(
    {".jpg", ".jpeg", ".jpe", ".png", ".bmp", ".webp", ".tif", ".tiff", ".ppm", ".pgm", ".jp2"}
)


def is_picture(stem: str) -> bool:
    """Tell whether an input of this name is a picture."""
    return kind_of(PurePosixPath(stem)) is Kind.PICTURE


def kind_of(path: PurePath) -> Kind | None:
    """Return what a file is by its name, or None for what is neither."""
    suffix = path.suffix.lower()
    if suffix in VIDEO_SUFFIXES:
        return Kind.VIDEO
    return Kind.PICTURE if suffix in PICTURE_SUFFIXES else None
