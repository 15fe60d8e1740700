"""Small real clips for tests, written by PyAV: each function makes a file and returns its path."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, cast

import av
import cv2
import numpy as np

from vidpipe.types import Pixels

if TYPE_CHECKING:
    from av.video.stream import VideoStream


@dataclass(frozen=True, slots=True)
class ClipSpec:
    """What a clip is like; a plain H.264 clip by default.

    Attributes:
        frames: How many.
        size_wh: Width and height in pixels.
        codec: The encoder's name in FFmpeg.
        pix_fmt: The pixel format that is encoded.
        matrix_code: H.273 matrix coefficients written into the stream; 2 is unspecified.
        range_code: 0 unspecified, 1 limited, 2 full.
        encoder: Options of the encoder.
        container: Options of the container.
        metadata: Metadata of the container.
        rotation_ccw_deg: Counterclockwise rotation of the display matrix, or None for none.
        pts: The timestamp of each frame in 1/1000 s, or None for 25 frames a second.
        with_sound: Add a silent sound track, longer than the video by so many seconds.
        is_sound_first: The sound is the container's first stream.
    """

    frames: int = 10
    size_wh: tuple[int, int] = (64, 48)
    codec: str = "libx264"
    pix_fmt: str = "yuv420p"
    matrix_code: int = 2
    range_code: int = 0
    encoder: Mapping[str, str] = field(default_factory=dict)
    container: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)
    rotation_ccw_deg: int | None = None
    pts: Callable[[int], int] | None = None
    with_sound: float | None = None
    is_sound_first: bool = False


_FAST = {"preset": "veryfast"}
"""Tests don't wait for an encoder; those that don't know the word pass over it."""


def scene_bgr(size_wh: tuple[int, int], number: int = 0) -> Pixels:
    """Return a smooth, colourful picture, (H, W, 3) uint8 BGR, that differs by number."""
    rng = np.random.default_rng(number)
    small = rng.integers(20, 235, (3, 4, 3), dtype=np.uint8)
    return np.asarray(cv2.resize(small, size_wh, interpolation=cv2.INTER_LINEAR), np.uint8)


def write_clip(path: Path, spec: ClipSpec | None = None) -> Path:
    """Write a clip; the container follows from the name."""
    spec = spec or ClipSpec()
    width, height = spec.size_wh
    with av.open(str(path), "w", container_options=dict(spec.container)) as out:
        out.metadata.update(spec.metadata)
        has_sound = spec.with_sound is not None
        sound = out.add_stream("aac", rate=8000) if has_sound and spec.is_sound_first else None
        stream = cast(
            "VideoStream", out.add_stream(spec.codec, rate=25, options={**_FAST, **spec.encoder})
        )
        stream.width, stream.height, stream.pix_fmt = width, height, spec.pix_fmt
        stream.codec_context.colorspace = spec.matrix_code
        stream.codec_context.color_range = spec.range_code
        if spec.pts is not None:
            stream.codec_context.time_base = Fraction(1, 1000)
        if spec.rotation_ccw_deg is not None:
            stream.set_display_rotation(spec.rotation_ccw_deg)
        if has_sound and sound is None:
            sound = out.add_stream("aac", rate=8000)
        for number in range(spec.frames):
            frame = _frame(spec, number)
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
        if sound is not None and spec.with_sound is not None:
            seconds = spec.frames / 25 + spec.with_sound
            for _ in range(int(seconds * 8000 / 1024)):
                silence = av.AudioFrame(format="fltp", layout="mono", samples=1024)
                for plane in silence.planes:
                    plane.update(bytes(plane.buffer_size))
                silence.sample_rate = 8000
                out.mux(sound.encode(silence))
            out.mux(sound.encode(None))
    return path


def _frame(spec: ClipSpec, number: int) -> av.VideoFrame:
    picture = av.VideoFrame.from_ndarray(scene_bgr(spec.size_wh, number), format="bgr24")
    frame = picture.reformat(
        format=spec.pix_fmt,
        dst_colorspace={1: "ITU709", 9: "BT2020"}.get(spec.matrix_code, "ITU601"),
        dst_color_range={2: "JPEG"}.get(spec.range_code, "MPEG"),
    )
    frame.colorspace = spec.matrix_code
    frame.color_range = spec.range_code
    if spec.pts is not None:
        frame.pts, frame.time_base = spec.pts(number), Fraction(1, 1000)
    else:
        frame.pts, frame.time_base = number, Fraction(1, 25)
    return frame


def write_sound(path: Path, *, cover: bool = False) -> Path:
    """Write a file with sound only; with ``cover``, and a picture of the album."""
    with av.open(str(path), "w") as out:
        stream = out.add_stream("mp3" if path.suffix == ".mp3" else "aac", rate=44100)
        picture: VideoStream | None = None
        if cover:
            picture = out.add_stream("png", rate=1)
            picture.width, picture.height, picture.pix_fmt = 32, 32, "rgb24"
            picture.disposition = av.stream.Disposition.attached_pic
        if picture is not None:
            still = av.VideoFrame.from_ndarray(scene_bgr((32, 32)), format="bgr24")
            out.mux(picture.encode(still.reformat(format="rgb24")))
            out.mux(picture.encode(None))
        for number in range(20):
            silence = av.AudioFrame(format="fltp", layout="mono", samples=1152)
            for plane in silence.planes:
                plane.update(bytes(plane.buffer_size))
            silence.sample_rate, silence.pts = 44100, number * 1152
            out.mux(stream.encode(silence))
        out.mux(stream.encode(None))
    return path


def cut(path: Path, share: float) -> Path:
    """Return a copy of a file that ends after a share of its bytes."""
    data = path.read_bytes()
    part = path.with_name(f"cut-{path.name}")
    part.write_bytes(data[: int(len(data) * share)])
    return part


def damage(path: Path, share: float, size: int) -> Path:
    """Return a copy of a file in which some bytes after a share of it are wrong."""
    data = bytearray(path.read_bytes())
    start = int(len(data) * share)
    data[start : start + size] = bytes(byte ^ 0x5A for byte in data[start : start + size])
    part = path.with_name(f"damaged-{path.name}")
    part.write_bytes(data)
    return part
