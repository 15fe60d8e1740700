from __future__ import annotations

import threading

import pytest

from tests.builders import make_picture, make_source
from tests.fakes import FakeReader
from vidpipe.apps.aspect import common_aspect, most_common
from vidpipe.errors import SourceCause, SourceError
from vidpipe.interfaces import Reader
from vidpipe.types import Decoded


def shows(width: int, height: int) -> Reader:
    return FakeReader([Decoded(make_picture(width, height), 0.0)], make_source())


def is_down() -> Reader:
    raise SourceError("nobody answers", SourceCause.TIMEOUT)


@pytest.mark.parametrize(
    ("sizes", "aspect"),
    [
        ([(1920, 1080)], 16 / 9),
        ([(1920, 1080), (1920, 1088), (640, 480)], 16 / 9),
        ([(640, 480), (1920, 1080), (1280, 720)], 16 / 9),
        ([(1080, 1920), (720, 1280), (640, 480)], 9 / 16),
        ([(640, 480), (1920, 1080)], 4 / 3),
    ],
)
def test_the_shape_of_most_streams_is_taken(sizes: list[tuple[int, int]], aspect: float) -> None:
    assert most_common(sizes) == pytest.approx(aspect, rel=0.01)


def test_no_size_is_no_shape() -> None:
    assert most_common([]) is None


def test_streams_that_are_down_have_no_say() -> None:
    sources = {"gate": is_down, "dock": lambda: shows(160, 90), "yard": is_down}
    assert common_aspect("person", sources, 5.0) == pytest.approx(16 / 9)


def test_a_stream_of_another_shape_is_warned_of_with_its_scale_and_the_remedy(
    log_lines: list[str],
) -> None:
    sources = {
        "gate": lambda: shows(160, 90),
        "dock": lambda: shows(320, 180),
        "hall": lambda: shows(90, 160),
        "yard": lambda: shows(120, 90),
    }
    assert common_aspect("person", sources, 5.0) == pytest.approx(16 / 9)
    warnings = sorted(line for line in log_lines if line.startswith("WARNING"))
    assert len(warnings) == 2
    for line, stream, percent in zip(warnings, ("hall", "yard"), (56, 75), strict=True):
        assert f"stream {stream}: " in line
        assert f"at about {percent} percent of the scale that the model's own square" in line
        assert "a second section under models" in line


def test_a_stream_of_another_shape_that_loses_nothing_is_no_warning(log_lines: list[str]) -> None:
    sources = {
        "gate": lambda: shows(120, 90),
        "dock": lambda: shows(120, 90),
        "wide": lambda: shows(160, 90),
    }
    common_aspect("person", sources, 5.0)
    assert not [line for line in log_lines if line.startswith("WARNING")]
    assert [line for line in log_lines if "stream wide: 160x90" in line and "usual scale" in line]


def test_the_shape_that_is_taken_is_logged(log_lines: list[str]) -> None:
    sources = {"gate": is_down, "dock": lambda: shows(160, 90), "yard": lambda: shows(90, 90)}
    common_aspect("person", sources, 5.0)
    (line,) = (line for line in log_lines if "its input takes the shape" in line)
    assert line.startswith("INFO")
    assert "model person" in line
    assert "of 1 of 3 streams, 1.78 to 1" in line


def test_without_any_picture_the_model_keeps_its_shape() -> None:
    assert common_aspect("person", {"gate": is_down}, 5.0) is None


def test_a_stream_that_hangs_is_not_waited_for_longer_than_the_limit() -> None:
    is_over = threading.Event()

    def hangs() -> Reader:
        is_over.wait()
        return shows(4, 4)

    sources = {"gate": hangs, "dock": lambda: shows(90, 160)}
    assert common_aspect("person", sources, 0.2) == pytest.approx(9 / 16)
    is_over.set()
