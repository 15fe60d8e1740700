from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from tests.builders import make_detections, make_frame, make_picture, make_result
from vidpipe.outputs.annotate import Annotator, measures_of
from vidpipe.outputs.canvas import Canvas, format_for, new_canvas, paint_picture
from vidpipe.outputs.fonts import FontShelf
from vidpipe.outputs.glyphs import Typesetter
from vidpipe.outputs.palette import color_of
from vidpipe.types import NO_DETECTIONS, Detections, FrameResult, Verdict

TYPESETTER = Typesetter(FontShelf([]))


def drawn(
    detections: Detections,
    size: tuple[int, int] = (640, 480),
    *,
    scale: float | None = None,
    verdict: Verdict = Verdict.DETECTED,
    name: str = "",
    time: datetime | None = None,
) -> Canvas:
    frame = replace(make_frame(picture=make_picture(*size)), time=time)
    error = "it failed" if verdict is Verdict.FAILED else None
    canvas = new_canvas(format_for(frame.picture, scale=scale))
    paint_picture(canvas, frame.picture)
    annotator = Annotator(TYPESETTER, name=name, should_show_time=time is not None)
    annotator.draw(canvas, FrameResult(frame, detections, verdict, error))
    return canvas


def test_nothing_found_leaves_the_picture_as_it_is() -> None:
    canvas = drawn(NO_DETECTIONS)
    assert (canvas.y == 128).all()
    assert (canvas.u == 128).all()


def test_a_box_is_outlined_in_its_class_colour_and_hollow() -> None:
    canvas = drawn(make_detections((100, 200, 300, 400)))
    y, u, v = canvas.yuv(color_of("person"))
    assert (canvas.y[200:400, 100:102] == y).all()
    assert (canvas.y[398:400, 100:300] == y).all()
    assert (canvas.u[100:200, 149] == u).all()
    assert (canvas.v[100:200, 149] == v).all()
    assert (canvas.y[210:390, 110:290] == 128).all()


def test_a_tag_stands_above_its_box_with_legible_text() -> None:
    canvas = drawn(make_detections((100, 200, 300, 400)))
    tag = canvas.y[200 - measures_of((640, 480)).tag : 200, 100:180]
    paper = canvas.yuv(color_of("person"))[0]
    assert (tag == paper).mean() > 0.4
    assert np.abs(tag.astype(int) - paper).max() > 80


def test_a_tag_at_the_upper_edge_goes_where_there_is_room() -> None:
    canvas = drawn(make_detections((0, 0, 200, 200)))
    below = canvas.y[202:214, 2:60]
    assert (below != 128).mean() > 0.9


@pytest.mark.parametrize("size", [(320, 240), (641, 361), (1920, 1080), (3840, 2160)])
def test_lines_and_letters_grow_with_the_picture(size: tuple[int, int]) -> None:
    measures = measures_of(size)
    assert 0.02 * min(size) <= measures.font <= 0.05 * min(size)
    assert measures.line % 2 == 0
    assert 1 / 600 <= measures.line / min(size) <= 1 / 100


@pytest.mark.parametrize("size", [(1, 1), (2, 2), (3, 7), (17, 5), (33, 31), (321, 241)])
def test_any_size_can_be_drawn_on(size: tuple[int, int]) -> None:
    boxes = make_detections((0, 0, *size), (size[0], size[1], *size), (0, 0, 0, 0))
    canvas = drawn(boxes, size, name="gate", time=datetime(2026, 1, 1, tzinfo=UTC))
    assert (canvas.y != 128).any()


def test_boxes_follow_the_scale() -> None:
    canvas = drawn(make_detections((200, 200, 400, 400)), scale=0.5)
    y = canvas.yuv(color_of("person"))[0]
    assert canvas.y.shape == (240, 320)
    assert (canvas.y[100:200, 100:102] == y).all()


def test_tags_of_near_boxes_do_not_cover_one_another() -> None:
    near = [(100.0, 200.0 + 4 * step, 300.0, 400.0 + 4 * step) for step in range(4)]
    canvas = drawn(make_detections(*near))
    single = drawn(make_detections(near[0]))
    tag = measures_of((640, 480)).tag
    rows = slice(200 - tag, 200)
    is_tag = single.y[rows] != 128
    assert is_tag.any()
    assert (canvas.y[rows][is_tag] == single.y[rows][is_tag]).all()


def test_five_hundred_boxes_are_drawn() -> None:
    rng = np.random.default_rng(1)
    corners = rng.uniform(-50, 700, (500, 2))
    boxes = np.clip(np.hstack([corners, corners + 60]), 0, (640, 480, 640, 480))
    canvas = drawn(make_detections(*[tuple(box) for box in boxes.tolist()], score=0.99))
    assert (canvas.y != 128).mean() > 0.3


def test_boxes_that_are_no_numbers_harm_nothing() -> None:
    nan, inf = float("nan"), float("inf")
    canvas = drawn(make_detections((nan, 0, 10, 10), (0, 0, inf, inf), (-inf, -5, 9e9, 20)))
    assert canvas.y.shape == (480, 640)


def test_a_failed_frame_has_a_mark_and_no_boxes() -> None:
    box = make_detections((100, 200, 300, 400))
    canvas = drawn(box, verdict=Verdict.FAILED)
    assert (canvas.y[100:] == 128).all()
    assert (canvas.y[:20, 560:] != 128).any()


def test_a_passed_frame_shows_the_last_boxes() -> None:
    box = make_detections((100, 200, 300, 400))
    assert (drawn(box, verdict=Verdict.PASSED).y == drawn(box).y).all()


def test_name_and_time_are_shown_only_where_asked_for() -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    plain, full = drawn(NO_DETECTIONS), drawn(NO_DETECTIONS, name="gate", time=noon)
    assert (plain.y == 128).all()
    assert (full.y[:16, :30] != 128).any()
    assert (full.y[-16:, :30] != 128).any()
    later = drawn(NO_DETECTIONS, name="gate", time=noon.replace(second=7))
    assert (full.y[-16:] != later.y[-16:]).any()


def test_track_ids_are_part_of_the_tag() -> None:
    plain = make_detections((100, 200, 300, 400))
    tracked = replace(plain, track_ids=(17,))
    untracked = replace(plain, track_ids=(None,))
    assert (drawn(untracked).y == drawn(plain).y).all()
    assert (drawn(tracked).y != drawn(plain).y).any()


def test_a_long_label_leaves_most_of_the_width_free() -> None:
    canvas = drawn(make_detections((10, 200, 100, 300), label="label " * 100))
    assert (canvas.y[:, 320:] == 128).all()


def test_one_annotator_serves_pictures_of_changing_size() -> None:
    annotator = Annotator(TYPESETTER)
    for size in ((320, 240), (1920, 1080), (2, 2), (320, 240)):
        frame = make_frame(picture=make_picture(*size))
        canvas = new_canvas(format_for(frame.picture))
        paint_picture(canvas, frame.picture)
        annotator.draw(canvas, make_result(0, make_detections((0, 0, 50, 50)), frame=frame))
        assert (canvas.y[0, :2] != 128).all()
