from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from tests.clips import scene_bgr
from vidpipe.errors import SourceCause, SourceError
from vidpipe.pixels import bgr_from_picture
from vidpipe.sources.webcam import (
    CameraMode,
    WebcamReader,
    camera_mode,
    device_path,
    open_webcam,
    set_mode,
)
from vidpipe.types import SourceKind

PROPERTIES = {
    cv2.CAP_PROP_FPS: 30.0,
    cv2.CAP_PROP_FRAME_WIDTH: 65.0,
    cv2.CAP_PROP_FRAME_HEIGHT: 47.0,
    cv2.CAP_PROP_FOURCC: float(int.from_bytes(b"MJPG", "little")),
}


class FakeCamera:
    """Gives the pictures that it was given, then none."""

    def __init__(self, *pictures: Any, properties: dict[int, float] | None = None) -> None:
        self.pictures = list(pictures)
        self.properties = dict(PROPERTIES if properties is None else properties)
        self.releases = 0
        self.asked: list[int] = []
        self.refuses: tuple[float, ...] = ()

    def isOpened(self) -> bool:  # noqa: N802 - OpenCV's name
        return True

    def read(self) -> tuple[bool, Any]:
        return (True, self.pictures.pop(0)) if self.pictures else (False, None)

    def get(self, propId: int, /) -> float:  # noqa: N803 - OpenCV's name
        return self.properties.get(propId, 0.0)

    def set(self, propId: int, value: float, /) -> bool:  # noqa: N803 - OpenCV's name
        self.asked.append(propId)
        is_known = propId in self.properties
        if is_known and value not in self.refuses:
            self.properties[propId] = value
        return is_known

    def release(self) -> None:
        self.releases += 1


class HangingCamera(FakeCamera):
    """Holds its reader until it is told to let go."""

    def __init__(self) -> None:
        super().__init__()
        self.lets_go = threading.Event()
        self.released = threading.Event()

    def read(self) -> tuple[bool, Any]:
        self.lets_go.wait(10.0)
        return False, None

    def release(self) -> None:
        super().release()
        self.released.set()


def reader_of(camera: FakeCamera, read_timeout_s: float = 5.0) -> WebcamReader:
    return WebcamReader(camera, "device:0", read_timeout_s=read_timeout_s)


def test_pictures_come_as_planes_without_timestamps() -> None:
    scene = scene_bgr((65, 47))
    reader = reader_of(FakeCamera(scene))
    decoded = reader.read()
    assert decoded.pts_s is None
    assert decoded.picture.size_wh == (65, 47)
    assert np.abs(bgr_from_picture(decoded.picture).astype(int) - scene).mean() < 4


@pytest.mark.parametrize("shape", [(48, 64), (48, 64, 1)])
def test_a_grey_camera_is_read_too(shape: tuple[int, ...]) -> None:
    picture = reader_of(FakeCamera(np.full(shape, 90, np.uint8))).read().picture
    assert picture.size_wh == (64, 48)
    assert np.abs(bgr_from_picture(picture).astype(int) - 90).max() <= 2


def test_what_the_camera_says_of_itself_is_told() -> None:
    info = reader_of(FakeCamera()).info
    assert (info.kind, info.is_live, info.codec) == (SourceKind.DEVICE, True, "mjpg")
    assert (info.width, info.height, info.rate_fps) == (65, 47, 30.0)


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf"), 1e9])
def test_an_incredible_rate_is_no_rate(rate: float) -> None:
    info = reader_of(FakeCamera(properties={cv2.CAP_PROP_FPS: rate})).info
    assert info.rate_fps is None
    assert info.codec == "raw"


def test_a_camera_that_gives_no_more_is_lost() -> None:
    with pytest.raises(SourceError) as caught:
        reader_of(FakeCamera()).read()
    assert caught.value.cause is SourceCause.LOST


def test_a_camera_that_hangs_is_a_timeout_and_released_when_it_returns() -> None:
    camera = HangingCamera()
    reader = reader_of(camera, 0.05)
    with pytest.raises(SourceError) as caught:
        reader.read()
    assert caught.value.cause is SourceCause.TIMEOUT
    reader.close()
    assert camera.releases == 0
    camera.lets_go.set()
    assert camera.released.wait(5.0)
    assert camera.releases == 1


def test_close_releases_once_and_reading_on_is_refused() -> None:
    camera = FakeCamera(scene_bgr((64, 48)))
    reader = reader_of(camera)
    reader.close()
    reader.close()
    assert camera.releases == 1
    with pytest.raises(SourceError, match="closed"):
        reader.read()


@pytest.mark.parametrize(
    ("address", "path"),
    [
        ("device:0", "/dev/video0"),
        ("device:07", "/dev/video7"),
        ("device:/dev/v4l/by-id/x", "/dev/v4l/by-id/x"),
    ],
)
def test_a_device_is_a_number_or_a_path(address: str, path: str) -> None:
    assert device_path(address) == Path(path)


def test_devices_that_are_no_cameras_are_told_apart(tmp_path: Path) -> None:
    clip = tmp_path / "clip.mp4"
    clip.write_bytes(b"x")
    for address, cause in (
        ("device:987", SourceCause.NOT_FOUND),
        ("device:", SourceCause.FORMAT),
        ("device:a\0b", SourceCause.NOT_FOUND),
        (f"device:{clip}", SourceCause.FORMAT),
        ("device:/dev/null", SourceCause.REFUSED),
    ):
        with pytest.raises(SourceError) as caught:
            open_webcam(address)
        assert caught.value.cause is cause, address
        assert address in str(caught.value)


def test_opencv_says_nothing_on_standard_error() -> None:
    script = (
        "from vidpipe.errors import SourceError\n"
        "from vidpipe.sources.webcam import open_webcam\n"
        "for address in ('device:987', 'device:/dev/null'):\n"
        "    try:\n"
        "        open_webcam(address)\n"
        "    except SourceError:\n"
        "        pass\n"
    )
    run = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert run.stderr == ""


def test_an_address_says_what_a_camera_is_to_be_set_to() -> None:
    address = "device:/dev/video2?size=1280x720&fps=12.5&format=mjpg&backend=any"
    assert device_path(address) == Path("/dev/video2")
    assert camera_mode(address) == CameraMode((1280, 720), 12.5, "MJPG", cv2.CAP_ANY)
    assert camera_mode("device:0") == CameraMode()


@pytest.mark.parametrize(
    "query", ["size=big", "size=1", "fps=fast", "format=x", "backend=dos", "zoom=2", "size", "&"]
)
def test_a_mode_that_is_not_understood_is_refused(query: str) -> None:
    with pytest.raises(SourceError, match="size=1280x720") as caught:
        camera_mode(f"device:0?{query}")
    assert caught.value.cause is SourceCause.FORMAT


def test_the_format_is_set_first_and_what_the_camera_does_otherwise_is_told() -> None:
    camera = FakeCamera()
    mode = CameraMode((1280, 720), 15.0, "YUYV")
    assert set_mode(camera, mode) == []
    assert camera.asked[0] == cv2.CAP_PROP_FOURCC
    assert camera.properties[cv2.CAP_PROP_FRAME_WIDTH] == 1280.0
    stubborn = FakeCamera()
    stubborn.refuses = (15.0, float(int.from_bytes(b"YUYV", "little")))
    assert set_mode(stubborn, mode) == ["format mjpg", "fps 30"]
