from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.builders import make_detections, make_frame, make_picture, make_result
from tests.galleries import TYPESETTER
from vidpipe.outputs.annotate import Annotator
from vidpipe.outputs.palette import color_of
from vidpipe.outputs.tile import MOST_SIZES, encode_placard, encode_tile, fitted_wh, plan_tiles
from vidpipe.pixels import bgr_from_picture, picture_from_bgr
from vidpipe.shots import LARGEST_SIDE_PX, ShotSize
from vidpipe.types import ColorMatrix, FrameResult, Picture, Verdict


def decoded(jpeg: bytes) -> NDArray[np.uint8]:
    image = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)
    assert image is not None
    return np.asarray(image, np.uint8)


def tile_of(
    result: FrameResult, size_wh: tuple[int, int], *, quality: int = 90
) -> NDArray[np.uint8]:
    tile = encode_tile(result, size_wh, Annotator(TYPESETTER), quality=quality)
    image = decoded(tile.jpeg)
    assert image.shape[1::-1] == tile.size_wh == size_wh
    return image


@given(st.integers(2, 8000), st.integers(2, 8000), st.integers(16, 4000), st.integers(16, 4000))
def test_a_picture_fits_keeps_its_aspect_and_never_grows(
    width: int, height: int, room_w: int, room_h: int
) -> None:
    found_w, found_h = fitted_wh((width, height), ShotSize(room_w, room_h))
    assert found_w <= max(width, 2)
    assert found_h <= max(height, 2)
    assert found_w <= room_w + 1
    assert found_h <= room_h + 1
    if min(found_w, found_h) > 40:
        assert found_w / found_h == pytest.approx(width / height, rel=0.06)


def test_without_a_limit_a_picture_stays_as_it_is() -> None:
    assert fitted_wh((641, 361), ShotSize()) == (641, 361)
    assert LARGEST_SIDE_PX >= 7680


def test_sizes_that_come_to_the_same_picture_are_encoded_once() -> None:
    wide, high = ShotSize(320, 1000), ShotSize(1000, 180)
    plan = plan_tiles((1920, 1080), [wide, high])
    assert plan == {ShotSize(320, 180): [wide, high]}


@given(st.lists(st.integers(16, 3000), min_size=1, max_size=60))
def test_of_however_many_sizes_a_few_are_encoded_and_none_is_too_small(widths: list[int]) -> None:
    sizes = [ShotSize(width, LARGEST_SIDE_PX) for width in sorted(set(widths))]
    plan = plan_tiles((1920, 1080), sizes)
    assert len(plan) <= MOST_SIZES
    assert sorted(size for asked in plan.values() for size in asked) == sizes
    for made, asked in plan.items():
        assert all(made.width >= min(size.width, 1920) - 1 for size in asked)


def test_boxes_are_drawn_where_the_objects_are_at_the_small_size() -> None:
    picture = make_picture(640, 360, luma=128)
    boxes = make_detections((160, 90, 480, 270), label="car")
    image = tile_of(make_result(detections=boxes, frame=make_frame(picture=picture)), (320, 180))
    color = np.array(color_of("car"), float)
    # the box's left edge, half-way down, two pixels wide
    edge = image[90, 80:82].astype(float).mean(axis=0)
    assert np.abs(edge - color).max() < 80, "but for the chroma that four pixels share"
    inside = image[90, 100:220].astype(float)
    assert np.ptp(inside) < 40


def test_a_label_can_be_read_on_a_small_tile() -> None:
    picture = make_picture(1920, 1080, luma=60)
    boxes = make_detections((200, 300, 1700, 1000), label="person")
    plain = make_result(frame=make_frame(picture=picture))
    marked = make_result(detections=boxes, frame=make_frame(picture=picture))
    difference = np.abs(
        tile_of(marked, (240, 136)).astype(int) - tile_of(plain, (240, 136)).astype(int)
    ).max(axis=2)
    tag = difference[36 - 14 : 36, 25:80]
    assert (tag > 40).mean() > 0.5, "no tag of readable height stands above the box"


@pytest.mark.parametrize("rotation_deg", [0, 90, 180, 270])
def test_a_rotated_picture_is_shown_upright(rotation_deg: int) -> None:
    bgr = np.zeros((120, 160, 3), np.uint8)
    bgr[:60, :80] = (0, 0, 255)
    straight = picture_from_bgr(bgr)
    turned = Picture(straight.y, straight.u, straight.v, straight.matrix, rotation_deg=rotation_deg)
    image = tile_of(make_result(frame=make_frame(picture=turned)), turned.size_wh)
    expected = bgr_from_picture(turned)
    assert np.abs(image.astype(int) - expected.astype(int)).mean() < 6


@pytest.mark.parametrize("matrix", list(ColorMatrix))
@pytest.mark.parametrize("is_full_range", [False, True])
def test_colours_are_those_of_the_picture(
    matrix: ColorMatrix,
    is_full_range: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    picture = make_picture(64, 64, luma=120, matrix=matrix, is_full_range=is_full_range)
    u = np.full((32, 32), 90, np.uint8)
    v = np.full((32, 32), 170, np.uint8)
    colored = Picture(picture.y, u, v, matrix, is_full_range)
    image = tile_of(make_result(frame=make_frame(picture=colored)), (64, 64))
    assert np.abs(image.astype(int) - bgr_from_picture(colored).astype(int)).max() <= 6


@pytest.mark.parametrize("size_wh", [(1, 1), (3, 2), (33, 17), (2, 400)])
def test_odd_and_tiny_pictures_are_encoded_whole(size_wh: tuple[int, int]) -> None:
    picture = make_picture(*size_wh)
    tile_of(make_result(frame=make_frame(picture=picture)), size_wh)


def test_a_frame_without_an_answer_says_so_and_a_passed_one_has_its_boxes() -> None:
    picture = make_picture(640, 360)
    frame, boxes = make_frame(picture=picture), make_detections((100, 100, 400, 300))
    bare = tile_of(make_result(frame=frame), (320, 180)).astype(int)
    failed = make_result(frame=frame, verdict=Verdict.FAILED, error="no")
    passed = make_result(detections=boxes, frame=frame, verdict=Verdict.PASSED)
    assert np.abs(tile_of(failed, (320, 180)) - bare)[:20, 220:].max() > 60
    assert np.abs(tile_of(passed, (320, 180)) - bare)[100, 45:60].max() > 30


def test_quality_makes_it_larger_and_chroma_is_halved() -> None:
    rng = np.random.default_rng(1)
    picture = picture_from_bgr(rng.integers(0, 255, (180, 320, 3), np.uint8))
    result = make_result(frame=make_frame(picture=picture))
    low, high = (
        encode_tile(result, (320, 180), Annotator(TYPESETTER), quality=quality).jpeg
        for quality in (30, 90)
    )
    assert len(low) < len(high)
    marker = high.index(b"\xff\xc0")
    assert high[marker + 10 : marker + 12] == b"\x01\x22", "not 4:2:0"


@pytest.mark.parametrize("size_wh", [(640, 360), (200, 112), (16, 16), (320, 40)])
def test_a_placard_is_text_on_black(size_wh: tuple[int, int]) -> None:
    lines = ["gate is backing-off", "nothing came for 5 s " * 9, "", "ворота"]
    image = decoded(encode_placard(size_wh, lines, TYPESETTER, quality=80))
    assert image.shape[1::-1] == size_wh
    assert image[0].max() < 30
    if min(size_wh) > 100:
        assert image.max() > 150
        assert np.ptp(image.astype(int), axis=2).max() == 0
