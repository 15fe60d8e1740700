"""A folder of pictures as a recorded stream: ``slideshow:FOLDER?seconds=2``."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs

import cv2
import numpy as np

from vidpipe import (
    Decoded,
    Reader,
    SourceCause,
    SourceError,
    SourceInfo,
    SourceKind,
    SourceRequest,
    picture_from_bgr,
)

_SUFFIXES = {".jpg", ".jpeg", ".png", ".bmp", ".webp"}


class SlideshowReader:
    """Implements vidpipe's ``Reader``: one picture after another, in the order of their names."""

    def __init__(self, files: list[Path], seconds: float) -> None:
        """Look at the first picture, and show each for so long."""
        self._files = files
        self._seconds = seconds
        self._shown = 0
        height, width = _read(files[0]).shape[:2]
        self.info = SourceInfo(
            kind=SourceKind.PLUGIN,
            is_live=False,
            codec="pictures",
            width=width,
            height=height,
            rate_fps=1 / seconds,
            frame_count=len(files),
            duration_s=len(files) * seconds,
        )

    def read(self) -> Decoded | None:
        """Return the next picture, or None after the last."""
        if self._shown == len(self._files):
            return None
        picture = picture_from_bgr(_read(self._files[self._shown]))
        decoded = Decoded(picture, pts_s=self._shown * self._seconds, duration_s=self._seconds)
        self._shown += 1
        return decoded

    def close(self) -> None:
        """There is nothing to release."""


class Slideshow:
    """What the entry point names: opens the addresses that begin with ``slideshow:``."""

    is_live = False

    def open(self, request: SourceRequest) -> Reader:
        """Open a folder.

        Raises:
            SourceError: It isn't there, or has no pictures, or the address is wrong.
        """
        folder, _, query = request.url.partition(":")[2].partition("?")
        try:
            seconds = float(parse_qs(query).get("seconds", ["1"])[0])
        except ValueError:
            seconds = 0.0
        if seconds <= 0:
            raise SourceError(f"{request.url}: seconds must be above 0", SourceCause.FORMAT)
        try:
            files = sorted(p for p in Path(folder).iterdir() if p.suffix.lower() in _SUFFIXES)
        except OSError as exc:
            raise SourceError(
                f"the folder {folder} can't be read: {exc.strerror}", SourceCause.NOT_FOUND
            ) from exc
        if not files:
            raise SourceError(f"there is no picture in {folder}", SourceCause.NOT_FOUND)
        return SlideshowReader(files, seconds)


def _read(file: Path) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    bgr = cv2.imread(str(file), cv2.IMREAD_COLOR)
    if bgr is None:
        raise SourceError(f"{file} is no picture that can be read", SourceCause.FORMAT)
    return np.asarray(bgr, np.uint8)


PLUGIN = Slideshow()
