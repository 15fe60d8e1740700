"""A source that needs no camera and knows the truth: ``synthetic:people`` and ``synthetic:blank``.

    synthetic:people?size=1280x720&fps=25&frames=500&seed=7&count=4

Frame n is the same whoever asks and however often: a scene is a pure function of its parameters
and n. Endless unless ``frames`` or ``seconds`` is given; as fast as it is read, so that it waits
like a file.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol, TypeAlias
from urllib.parse import parse_qsl

import cv2
import numpy as np
from numpy.typing import NDArray

from vidpipe.errors import SourceCause, SourceError
from vidpipe.pixels import yuv_from_bgr
from vidpipe.types import ColorMatrix, Decoded, Picture, Pixels, SourceInfo, SourceKind

_PREFIX = "synthetic:"
_SCENES = ("blank", "people")
_PARAMETERS = {
    "blank": ("size", "fps", "frames", "seconds"),
    "people": ("size", "fps", "frames", "seconds", "seed", "count"),
}
_SIDE_RANGE = (16, 8192)
_MOST_PEOPLE = 1000
_LARGEST_RATE_PART = 1_000_000
_LARGEST_NUMBER = 10**9
_INTEGER = re.compile(r"[0-9]{1,20}")
_NUMBER = re.compile(r"[0-9]{1,10}(\.[0-9]{1,10}|/[0-9]{1,10})?")

Color: TypeAlias = tuple[int, int, int]
Planes: TypeAlias = tuple[Pixels, Pixels, Pixels]


@dataclass(frozen=True, slots=True)
class SceneSpec:
    """What a synthetic address asks for.

    Attributes:
        scene: ``people`` or ``blank``.
        size_wh: Width and height in pixels.
        rate_fps: Frames a second, exact.
        frame_count: Frames until the end, or None for no end.
        seed: What the people look like and how they walk.
        count: How many people.
    """

    scene: str
    size_wh: tuple[int, int] = (1280, 720)
    rate_fps: Fraction = Fraction(25)
    frame_count: int | None = None
    seed: int = 0
    count: int = 4


class Scene(Protocol):
    """Pictures and their truth as pure functions of the frame's number."""

    def picture(self, number: int) -> Picture:
        """Return frame ``number``."""

    def boxes_xyxy(self, number: int) -> NDArray[np.float32]:
        """Return (N, 4) float32: the boxes of what is drawn, in pixels, in a fixed order."""


def parse_address(address: str) -> SceneSpec:
    """Read a ``synthetic:`` address.

    Raises:
        SourceError: The scene or a parameter is unknown or out of range (cause FORMAT); the message
            lists the choices.
    """
    scene, _, query = address.removeprefix(_PREFIX).partition("?")
    if scene not in _SCENES:
        raise _error(address, f"there is no scene {scene!r}: choose from {', '.join(_SCENES)}")
    known = _PARAMETERS[scene]
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError:
        raise _error(address, "parameters are written name=value&name=value") from None
    values = dict(pairs)
    unknown = [name for name in values if name not in known]
    if unknown:
        raise _error(address, f"unknown {', '.join(unknown)}: choose from {', '.join(known)}")
    if len(values) < len(pairs):
        raise _error(address, "a parameter is given twice")
    if "frames" in values and "seconds" in values:
        raise _error(address, "give either frames or seconds")
    rate_fps = _rate(address, values.get("fps", "25"))
    frame_count = None
    if "frames" in values:
        frame_count = _integer(address, "frames", values["frames"], (0, 10**12))
    elif "seconds" in values:
        frame_count = int(_number(address, "seconds", values["seconds"]) * rate_fps)
    return SceneSpec(
        scene,
        _size(address, values.get("size", "1280x720")),
        rate_fps,
        frame_count,
        _integer(address, "seed", values.get("seed", "0"), (0, 2**63)),
        _integer(address, "count", values.get("count", "4"), (0, _MOST_PEOPLE)),
    )


@lru_cache(maxsize=64)
def scene_of(spec: SceneSpec) -> Scene:
    """Return the scene of a specification; any thread may ask it."""
    return _People(spec) if spec.scene == "people" else _Blank(spec)


def truth(address: str, frame_number: int) -> NDArray[np.float32]:
    """Return the boxes in a frame of an address, (N, 4) float32 x1, y1, x2, y2 in pixels.

    Nearer people hide others in part; the boxes are of whole people. They lie inside of the
    picture and on whole pixels.

    Raises:
        SourceError: As ``parse_address``.
    """
    return scene_of(parse_address(address)).boxes_xyxy(frame_number)


def open_synthetic(address: str) -> SyntheticReader:
    """Open a ``synthetic:`` address.

    Raises:
        SourceError: As ``parse_address``.
    """
    return SyntheticReader(parse_address(address))


class SyntheticReader:
    """Reads a scene from its first frame on; one thread."""

    def __init__(self, spec: SceneSpec) -> None:
        """Begin before frame 0."""
        self._scene = scene_of(spec)
        self._count = spec.frame_count
        self._next = 0
        self._numerator = spec.rate_fps.denominator
        self._denominator = spec.rate_fps.numerator
        self._duration_s = self._numerator / self._denominator
        width, height = spec.size_wh
        self._info = SourceInfo(
            kind=SourceKind.SYNTHETIC,
            is_live=False,
            codec="synthetic",
            width=width,
            height=height,
            rate_fps=float(spec.rate_fps),
            time_base=1 / spec.rate_fps,
            frame_count=spec.frame_count,
            duration_s=(
                None if spec.frame_count is None else float(spec.frame_count / spec.rate_fps)
            ),
        )

    @property
    def info(self) -> SourceInfo:
        """What was asked for."""
        return self._info

    def read(self) -> Decoded | None:
        """Return the next frame, or None after the last."""
        number = self._next
        if number == self._count:
            return None
        self._next = number + 1
        return Decoded(
            self._scene.picture(number),
            number * self._numerator / self._denominator,
            self._duration_s,
        )

    def close(self) -> None:
        """Release nothing: a scene holds no resource."""


class _Blank:
    """The same grey picture for ever: what a run costs without pictures."""

    def __init__(self, spec: SceneSpec) -> None:
        self._picture = _background(spec.size_wh, (114, 114, 114))

    def picture(self, number: int) -> Picture:
        return self._picture

    def boxes_xyxy(self, number: int) -> NDArray[np.float32]:
        return np.zeros((0, 4), np.float32)


class _People:
    """Upright figures that walk to and fro, each at its own pace and distance."""

    def __init__(self, spec: SceneSpec) -> None:
        width, height = spec.size_wh
        rng = np.random.default_rng(spec.seed)
        count = spec.count
        self._rate_fps = float(spec.rate_fps)
        self._background = _background(spec.size_wh, (150, 170, 160))
        self._heights = np.maximum(8, np.rint(rng.uniform(0.25, 0.6, count) * height)).astype(int)
        self._widths = np.clip(np.rint(self._heights * 0.4).astype(int), 4, width)
        # Who stands lower in the picture is nearer, and taller.
        lowest = height - self._heights
        self._tops = np.rint(lowest * rng.uniform(0.6, 1.0, count)).astype(int)
        self._spans = np.maximum(1, width - self._widths)
        self._starts = rng.uniform(0, 2, count) * self._spans
        self._speeds = rng.uniform(0.04, 0.16, count) * width
        self._order = np.argsort(self._tops + self._heights, kind="stable")
        self._clothes = [_yuv(_random_color(rng)) for _ in range(count)]
        self._trousers = [_yuv(_random_color(rng, dark=True)) for _ in range(count)]
        self._skin = _yuv((130, 160, 210))

    def boxes_xyxy(self, number: int) -> NDArray[np.float32]:
        lefts = self._lefts(number)
        return np.stack(
            [lefts, self._tops, lefts + self._widths, self._tops + self._heights], axis=1
        ).astype(np.float32)

    def picture(self, number: int) -> Picture:
        still = self._background
        y, u, v = still.y.copy(), still.u.copy(), still.v.copy()
        planes = (y, u, v)
        lefts = self._lefts(number)
        for index in self._order:
            stride = number * self._speeds[index] / self._rate_fps / self._widths[index]
            self._draw(planes, int(index), int(lefts[index]), stride)
        for plane in planes:
            plane.setflags(write=False)
        return Picture(y, u, v)

    def _lefts(self, number: int) -> NDArray[np.int64]:
        """Each position is a triangle wave: to the right edge and back."""
        way = (self._starts + self._speeds * (number / self._rate_fps)) % (2 * self._spans)
        lefts: NDArray[np.int64] = np.rint(np.minimum(way, 2 * self._spans - way)).astype(np.int64)
        rightmost = np.maximum(0, self._background.y.shape[1] - self._widths)
        np.minimum(lefts, rightmost, out=lefts)
        return lefts

    def _draw(self, planes: Planes, index: int, left: int, stride: float) -> None:
        """Head, body as wide as the box, and two legs that part and close as it walks."""
        top, height, width = (
            int(self._tops[index]),
            int(self._heights[index]),
            int(self._widths[index]),
        )
        right, bottom = left + width, top + height
        head = max(1, height // 14)
        shoulder, hip = top + 2 * head, top + height * 11 // 20
        leg = max(1, width // 3)
        spread = round((width - 2 * leg) / 2 * (1 - abs(stride % 2 - 1)))
        middle = left + width // 2
        trousers = self._trousers[index]
        _fill(planes, (middle - spread - leg, hip, middle - spread, bottom), trousers)
        _fill(planes, (middle + spread, hip, middle + spread + leg, bottom), trousers)
        _fill(planes, (left, shoulder, right, hip), self._clothes[index])
        _fill_circle(planes, (middle, top + head), head, self._skin)


def _fill(planes: Planes, box_xyxy: tuple[int, int, int, int], color: Color) -> None:
    x1, y1, x2, y2 = box_xyxy
    planes[0][y1:y2, x1:x2] = color[0]
    half = (slice(y1 // 2, (y2 + 1) // 2), slice(x1 // 2, (x2 + 1) // 2))
    planes[1][half] = color[1]
    planes[2][half] = color[2]


def _fill_circle(planes: Planes, centre_xy: tuple[int, int], radius: int, color: Color) -> None:
    x, y = centre_xy
    cv2.circle(planes[0], (x, y), radius, color[0], cv2.FILLED)
    for plane, value in zip(planes[1:], color[1:], strict=True):
        cv2.circle(plane, (x // 2, y // 2), radius // 2, value, cv2.FILLED)


def _background(size_wh: tuple[int, int], color_bgr: Color) -> Picture:
    width, height = size_wh
    half = ((height + 1) // 2, (width + 1) // 2)
    y, u, v = (
        np.full(shape, value, np.uint8)
        for shape, value in zip(((height, width), half, half), _yuv(color_bgr), strict=True)
    )
    for plane in (y, u, v):
        plane.setflags(write=False)
    return Picture(y, u, v)


def _yuv(color_bgr: Color) -> Color:
    return yuv_from_bgr(color_bgr, ColorMatrix.BT601, is_full_range=False)


def _random_color(rng: np.random.Generator, *, dark: bool = False) -> Color:
    blue, green, red = rng.integers(0, 90 if dark else 256, 3).tolist()
    return blue, green, red


def _error(address: str, message: str) -> SourceError:
    return SourceError(f"{address}: {message}", SourceCause.FORMAT)


def _integer(address: str, name: str, text: str, bounds: tuple[int, int]) -> int:
    low, high = bounds
    if not (_INTEGER.fullmatch(text) and low <= int(text) <= high):
        raise _error(address, f"{name} is a whole number from {low} to {high}, not {text!r}")
    return int(text)


def _number(address: str, name: str, text: str) -> Fraction:
    value = Fraction(0)
    if _NUMBER.fullmatch(text):  # a Fraction also takes 1e1000000000, and never comes back
        with suppress(ZeroDivisionError):
            value = Fraction(text)
    if not 0 < value <= _LARGEST_NUMBER:
        raise _error(address, f"{name} is a number above 0, not {text!r}")
    return value


def _rate(address: str, text: str) -> Fraction:
    """Take 25, 29.97 or 30000/1001."""
    rate_fps = _number(address, "fps", text).limit_denominator(_LARGEST_RATE_PART)
    if rate_fps == 0:
        raise _error(address, f"fps is too small: {text!r}")
    return rate_fps


def _size(address: str, text: str) -> tuple[int, int]:
    width, cross, height = text.partition("x")
    if not cross:
        raise _error(address, f"size is WIDTHxHEIGHT, not {text!r}")
    return (
        _integer(address, "the width in size", width, _SIDE_RANGE),
        _integer(address, "the height in size", height, _SIDE_RANGE),
    )
