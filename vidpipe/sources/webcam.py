"""Cameras on this machine, through ``cv2.VideoCapture`` and the system's V4L2: the only place.

``device:0`` or ``device:/dev/video0``, with what the camera is to be set to behind a ``?``, as in
``device:0?size=1280x720&fps=15&format=mjpg``. OpenCV converts to BGR in native code; pictures leave
here as planes, like those of any other source. There are no timestamps: the time of arrival counts.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qsl

import cv2
import numpy as np
from loguru import logger

from vidpipe.errors import SourceCause, SourceError
from vidpipe.interfaces import Clock
from vidpipe.pixels import picture_from_bgr
from vidpipe.runtime.supervisor import call_with_deadline
from vidpipe.sources.connection import is_timeout
from vidpipe.types import Decoded, SourceInfo, SourceKind

_PREFIX = "device:"
_GREY_DIMENSIONS = 2
_FOUR = 4
_LARGEST_RATE_FPS = 1000.0


class Camera(Protocol):
    """What is used of ``cv2.VideoCapture``."""

    def isOpened(self) -> bool:  # noqa: N802 - OpenCV's name
        """Tell whether it can be read."""

    def read(self) -> tuple[bool, Any]:
        """Wait for the next picture: whether there is one, and BGR (H, W, 3) uint8."""

    def get(self, propId: int, /) -> float:  # noqa: N803 - OpenCV's name
        """Return a property; 0 where it is unknown."""

    def set(self, propId: int, value: float, /) -> bool:  # noqa: N803 - OpenCV's name
        """Set a property; False if the camera doesn't know it."""

    def release(self) -> None:
        """Close it."""


_MODE_KEYS = {"size", "fps", "format", "backend"}
_BACKENDS = {"v4l2": cv2.CAP_V4L2, "any": cv2.CAP_ANY}


@dataclass(frozen=True, slots=True)
class CameraMode:
    """What a camera is to be set to; None: as it is.

    Attributes:
        size_wh: Width and height in pixels.
        rate_fps: Frames a second.
        fourcc: How it codes pictures on the cable: ``MJPG`` lets more through than ``YUYV``.
        backend: OpenCV's number of what talks to it.
    """

    size_wh: tuple[int, int] | None = None
    rate_fps: float | None = None
    fourcc: str | None = None
    backend: int = cv2.CAP_V4L2


def camera_mode(address: str) -> CameraMode:
    """Return what stands behind the ``?`` of an address.

    Raises:
        SourceError: It isn't understood (cause FORMAT).
    """
    query = address.partition("?")[2]
    try:
        values = dict(parse_qsl(query, strict_parsing=bool(query)))
        width, _, height = values.get("size", "0x0").partition("x")
        size_wh = (int(width), int(height))
        rate_fps = float(values.get("fps", "0"))
        backend = _BACKENDS[values.get("backend", "v4l2")]
    except (ValueError, KeyError):
        raise _misunderstood(address) from None
    fourcc = values.get("format", "mjpg").upper()
    if set(values) - _MODE_KEYS or len(fourcc) != _FOUR or not fourcc.isascii():
        raise _misunderstood(address)
    return CameraMode(
        size_wh=size_wh if "size" in values else None,
        rate_fps=rate_fps if "fps" in values else None,
        fourcc=fourcc if "format" in values else None,
        backend=backend,
    )


def _misunderstood(address: str) -> SourceError:
    return SourceError(
        f"{address}: behind the ? may stand size=1280x720, fps=15, format=mjpg and backend=v4l2 "
        "or any, with & between them",
        SourceCause.FORMAT,
    )


def device_path(address: str) -> Path:
    """Return the device file of ``device:0`` or ``device:/dev/video0``."""
    device = address.removeprefix(_PREFIX).partition("?")[0]
    is_number = device.isascii() and device.isdigit()
    return Path(f"/dev/video{int(device)}" if is_number else device)


def open_webcam(
    address: str, *, open_timeout_s: float = 5.0, read_timeout_s: float = 5.0
) -> WebcamReader:
    """Open a camera on this machine.

    Raises:
        SourceError: There is no such device (NOT_FOUND), it may not be used or another program has
            it (REFUSED), it is no camera (FORMAT), or it doesn't answer (TIMEOUT).
    """
    path, mode = device_path(address), camera_mode(address)
    _require_device(address, path)
    try:
        camera = call_with_deadline(
            lambda: _open_camera(path, mode, read_timeout_s), open_timeout_s, "vp-open", _release
        )
    except TimeoutError:
        raise SourceError(
            f"{address} doesn't answer within {open_timeout_s:g} s: unplug it and plug it in again",
            SourceCause.TIMEOUT,
        ) from None
    except cv2.error as exc:
        raise SourceError(f"{address} can't be opened ({exc.err})", SourceCause.FORMAT) from None
    if not camera.isOpened():
        camera.release()
        raise SourceError(
            f"{address} can't be opened as a camera: another program may have it, or {path} is "
            "only its metadata device (try the next lower number)",
            SourceCause.REFUSED,
        )
    return WebcamReader(camera, address, read_timeout_s=read_timeout_s)


class WebcamReader:
    """An open camera; one thread reads and closes it."""

    def __init__(
        self,
        camera: Camera,
        address: str,
        *,
        read_timeout_s: float,
        clock: Clock = time.monotonic,
    ) -> None:
        """Take over the camera."""
        self._camera = camera
        self._address = address
        self._read_timeout_s = read_timeout_s
        self._clock = clock
        self._is_closed = False
        self._is_held = False
        rate_fps = camera.get(cv2.CAP_PROP_FPS)
        self._info = SourceInfo(
            kind=SourceKind.DEVICE,
            is_live=True,
            codec=_fourcc(camera.get(cv2.CAP_PROP_FOURCC)),
            width=int(camera.get(cv2.CAP_PROP_FRAME_WIDTH)),
            height=int(camera.get(cv2.CAP_PROP_FRAME_HEIGHT)),
            rate_fps=rate_fps if 0 < rate_fps <= _LARGEST_RATE_FPS else None,
        )

    @property
    def info(self) -> SourceInfo:
        """What the camera says of itself."""
        return self._info

    def read(self) -> Decoded:
        """Return the next picture, without a timestamp.

        Raises:
            SourceError: Nothing came in time (TIMEOUT), or the camera is gone (LOST).
        """
        if self._is_closed:
            raise SourceError(f"{self._address} is closed", SourceCause.LOST)
        asked_at = self._clock()
        try:
            has_picture, bgr = call_with_deadline(
                self._camera.read, self._read_timeout_s, "vp-camera", self._release_late
            )
        except TimeoutError:
            self._is_held = True
            raise self._silence() from None
        except cv2.error as exc:
            raise SourceError(
                f"{self._address} can't be read ({exc.err})", SourceCause.LOST
            ) from None
        if not has_picture or bgr is None or not bgr.size:
            if is_timeout(self._clock() - asked_at, self._read_timeout_s):
                raise self._silence()
            raise SourceError(
                f"{self._address} gives no more pictures: it may have been unplugged",
                SourceCause.LOST,
            )
        if bgr.ndim == _GREY_DIMENSIONS or bgr.shape[2] == 1:
            bgr = cv2.cvtColor(bgr, cv2.COLOR_GRAY2BGR)
        return Decoded(picture_from_bgr(np.asarray(bgr, np.uint8)), None)

    def close(self) -> None:
        """Release the camera; one that is held by a native read is released when that returns."""
        if not self._is_closed:
            self._is_closed = True
            if not self._is_held:
                self._camera.release()

    def _release_late(self, _: tuple[bool, Any]) -> None:
        self._camera.release()

    def _silence(self) -> SourceError:
        return SourceError(
            f"{self._address}: no picture for {self._read_timeout_s:g} s", SourceCause.TIMEOUT
        )


def _require_device(address: str, path: Path) -> None:
    try:
        is_device = path.is_char_device()
        path.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        found = sorted(str(device) for device in Path("/dev").glob("video*"))
        listed = f"found {', '.join(found)}" if found else "no camera is plugged in"
        raise SourceError(
            f"{address}: there is no device {path}: {listed}", SourceCause.NOT_FOUND
        ) from None
    except PermissionError:
        raise _forbidden(address, path) from None
    if not is_device:
        raise SourceError(
            f"{address}: {path} is not a device; a file is given as its path alone",
            SourceCause.FORMAT,
        )
    try:
        with path.open("rb", buffering=0):
            pass
    except PermissionError:
        raise _forbidden(address, path) from None
    except OSError as exc:
        raise SourceError(
            f"{address}: {path} can't be opened ({exc.strerror})", SourceCause.REFUSED
        ) from None


def _forbidden(address: str, path: Path) -> SourceError:
    return SourceError(
        f"{address}: {path} may not be used by this user: add it to the group video",
        SourceCause.REFUSED,
    )


def set_mode(camera: Camera, mode: CameraMode) -> list[str]:
    """Set what is wanted; return in words what the camera does otherwise.

    The format comes first: what sizes and rates there are depends on it.
    """
    wanted: list[tuple[str, int, float]] = []
    if mode.fourcc is not None:
        code = int.from_bytes(mode.fourcc.encode("ascii"), "little")
        wanted.append(("format", cv2.CAP_PROP_FOURCC, float(code)))
    if mode.size_wh is not None:
        wanted.append(("width", cv2.CAP_PROP_FRAME_WIDTH, float(mode.size_wh[0])))
        wanted.append(("height", cv2.CAP_PROP_FRAME_HEIGHT, float(mode.size_wh[1])))
    if mode.rate_fps is not None:
        wanted.append(("fps", cv2.CAP_PROP_FPS, mode.rate_fps))
    for _, key, value in wanted:
        camera.set(key, value)
    found = [(name, value, camera.get(key)) for name, key, value in wanted]
    return [
        f"{name} {_fourcc(is_so) if name == 'format' else f'{is_so:g}'}"
        for name, value, is_so in found
        if not math.isclose(value, is_so, rel_tol=0.01)
    ]


def _open_camera(path: Path, mode: CameraMode, read_timeout_s: float) -> cv2.VideoCapture:
    # OpenCV's own words go to standard error past every log; ours say the same with the address.
    cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)
    camera = cv2.VideoCapture(str(path), mode.backend)
    if camera.isOpened():
        refused = set_mode(camera, mode)
        if refused:
            logger.warning("{} has no such mode; it gives {}", path, ", ".join(refused))
        camera.set(cv2.CAP_PROP_READ_TIMEOUT_MSEC, read_timeout_s * 1000)
        camera.set(cv2.CAP_PROP_BUFFERSIZE, 1)
    return camera


def _release(camera: cv2.VideoCapture) -> None:
    camera.release()


def _fourcc(value: float) -> str:
    code = int(value) if math.isfinite(value) and value > 0 else 0
    text = code.to_bytes(8, "little")[:4].decode("ascii", "replace").strip("\0 ")
    return text.lower() if text.isprintable() and text.isascii() and text else "raw"
