from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from vidpipe.errors import SourceCause, SourceError
from vidpipe.sources.synthetic import open_synthetic, parse_address, scene_of, truth
from vidpipe.types import Picture, SourceKind


def read_pictures(address: str, count: int) -> list[Picture]:
    reader = open_synthetic(address)
    frames = [reader.read() for _ in range(count)]
    return [frame.picture for frame in frames if frame is not None]


def same(left: Picture, right: Picture) -> bool:
    pairs = ((left.y, right.y), (left.u, right.u), (left.v, right.v))
    return all(np.array_equal(one, other) for one, other in pairs)


def test_an_address_sets_every_parameter() -> None:
    spec = parse_address("synthetic:people?size=640x360&fps=30000/1001&frames=50&seed=7&count=2")
    assert (spec.size_wh, spec.rate_fps, spec.frame_count) == (
        (640, 360),
        Fraction(30000, 1001),
        50,
    )
    assert (spec.seed, spec.count) == (7, 2)
    assert parse_address("synthetic:people").frame_count is None
    assert parse_address("synthetic:blank?seconds=2&fps=12.5").frame_count == 25


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("synthetic:cats", "blank, people"),
        ("synthetic:", "blank, people"),
        ("synthetic:people?colour=red", "size, fps, frames, seconds, seed, count"),
        ("synthetic:blank?seed=1", "size, fps, frames, seconds"),
        ("synthetic:people?frames", "name=value"),
        ("synthetic:people?frames=", "whole number"),
        ("synthetic:people?frames=-1", "whole number"),
        ("synthetic:people?frames=1&frames=2", "twice"),
        ("synthetic:people?frames=1&seconds=2", "either"),
        ("synthetic:people?size=640", "WIDTHxHEIGHT"),
        ("synthetic:people?size=1x1", "from 16 to 8192"),
        ("synthetic:people?fps=0", "above 0"),
        ("synthetic:people?fps=1/0", "above 0"),
        ("synthetic:people?fps=1e999999999", "above 0"),
        ("synthetic:people?fps=0.0000000001", "too small"),
        ("synthetic:people?fps=nan", "above 0"),
        ("synthetic:people?count=²", "whole number"),
        ("synthetic:people?count=1001", "whole number"),
    ],
)
def test_a_wrong_address_is_answered_with_the_choices(address: str, words: str) -> None:
    with pytest.raises(SourceError) as caught:
        open_synthetic(address)
    assert caught.value.cause is SourceCause.FORMAT
    assert words in str(caught.value)
    assert address in str(caught.value)


def test_a_frame_is_the_same_whoever_asks_and_however_often() -> None:
    address = "synthetic:people?size=321x241&seed=3"
    first, second = read_pictures(address, 30), read_pictures(address, 30)
    assert all(same(left, right) for left, right in zip(first, second, strict=True))
    assert same(first[17], scene_of(parse_address(address)).picture(17))
    assert not same(first[0], first[29])


def test_seeds_differ() -> None:
    pictures = [
        read_pictures(f"synthetic:people?size=320x240&seed={seed}", 1)[0] for seed in (1, 2)
    ]
    assert not same(*pictures)


@pytest.mark.parametrize("size", ["1280x720", "321x241", "16x16", "17x1001"])
def test_the_truth_lies_inside_of_the_picture(size: str) -> None:
    width, height = map(int, size.split("x"))
    for number in (0, 1, 777, 10**6):
        boxes = truth(f"synthetic:people?size={size}&count=9&seed=5", number)
        assert boxes.shape == (9, 4)
        assert boxes.dtype == np.float32
        assert (boxes[:, :2] >= 0).all()
        assert (boxes[:, 2] <= width).all()
        assert (boxes[:, 3] <= height).all()
        assert (boxes[:, 2:] > boxes[:, :2]).all()


@pytest.mark.parametrize("number", [0, 40, 123])
def test_the_truth_is_what_is_drawn(number: int) -> None:
    address = "synthetic:people?size=640x480&count=1&seed=11"
    scene = scene_of(parse_address(address))
    empty = scene_of(parse_address("synthetic:people?size=640x480&count=0&seed=11"))
    rows, columns = np.nonzero(scene.picture(number).y != empty.picture(number).y)
    x1, y1, x2, y2 = truth(address, number)[0]
    assert (columns.min(), columns.max() + 1) == (x1, x2)
    assert (rows.min(), rows.max() + 1) == (y1, y2)


def test_people_walk_smoothly() -> None:
    boxes = np.stack([truth("synthetic:people?seed=1", number)[:, 0] for number in range(500)])
    steps = np.abs(np.diff(boxes, axis=0))
    assert steps.max() <= 1280 * 0.16 / 25 + 1
    assert (boxes.max(axis=0) - boxes.min(axis=0) > 100).all()


def test_times_are_exact_and_the_end_is_the_end() -> None:
    reader = open_synthetic("synthetic:blank?size=64x64&fps=30000/1001&frames=3")
    frames = list(iter(reader.read, None))
    assert [frame.pts_s for frame in frames] == [n * 1001 / 30000 for n in range(3)]
    assert reader.read() is None
    info = reader.info
    assert (info.kind, info.is_live, info.frame_count) == (SourceKind.SYNTHETIC, False, 3)
    assert info.time_base == Fraction(1001, 30000)
    assert info.duration_s == pytest.approx(0.1001)
    reader.close()


def test_without_an_end_it_goes_on() -> None:
    reader = open_synthetic("synthetic:blank?size=64x64")
    assert all(reader.read() for _ in range(10_000))
    assert reader.info.frame_count is None


def test_pictures_are_read_only_and_planar() -> None:
    for address in ("synthetic:people?size=65x47", "synthetic:blank?size=65x47"):
        picture = read_pictures(address, 1)[0]
        assert (picture.y.shape, picture.u.shape, picture.v.shape) == ((47, 65), (24, 33), (24, 33))
        assert not any(p.flags.writeable for p in (picture.y, picture.u, picture.v))


def test_blank_has_nobody() -> None:
    assert truth("synthetic:blank", 5).shape == (0, 4)
