from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vidpipe.apps.batch.formats.digest import digest_of
from vidpipe.apps.batch.formats.lines import Found, ResultLine
from vidpipe.apps.batch.formats.plot import objects_plot

SVG = "{http://www.w3.org/2000/svg}"
PAIR = re.compile(r"(-?\d+(?:\.\d+)?) (-?\d+(?:\.\d+)?)")


def make_line(frame: int, pts_s: float | None, *labels: str) -> ResultLine:
    found = tuple(Found(label, 0, 0.9, (0.0, 0.0, 9.0, 9.0), None) for label in labels)
    return ResultLine("a", frame, pts_s, None, 64, 48, found, None)


def drawn(*lines: ResultLine, series: tuple[str, ...] = ("person", "car")) -> ET.Element:
    return ET.fromstring(objects_plot(digest_of(lines), series, 'a "title" & <more>'))


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.none() | st.floats(-1e4, 1e7, allow_nan=False),
            st.lists(st.sampled_from(["person", "car", "x", "y"]), max_size=9),
        ),
        max_size=60,
    )
)
def test_it_is_well_formed_and_stays_inside(rows: list[tuple[float | None, list[str]]]) -> None:
    root = drawn(*(make_line(n, pts, *labels) for n, (pts, labels) in enumerate(rows)))
    width, height = map(float, root.attrib["viewBox"].split()[2:])
    for path in root.iter(f"{SVG}path"):
        for x, y in PAIR.findall(path.attrib["d"]):
            assert 0 <= float(x) <= width
            assert 0 <= float(y) <= height


def test_a_class_has_its_colour_also_where_others_are_missing() -> None:
    root = drawn(make_line(0, 0.0, "car"), make_line(1, 1.0, "car", "x"))
    kinds = [path.attrib["class"] for path in root.iter(f"{SVG}path")]
    assert [kind for kind in kinds if kind.startswith("line")] == ["line k1", "line k4"]


def test_the_axes_tell_time_and_count() -> None:
    root = drawn(*(make_line(n, float(n), *["person"] * 5) for n in range(3601)))
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert texts[:3] == ["0", "3", "6"]
    assert texts[3:] == ["0:00", "15:00", "30:00", "45:00", "1:00:00"]


def test_without_times_the_axis_counts_frames() -> None:
    root = drawn(*(make_line(n, None, "person") for n in range(101)))
    assert [text.text for text in root.iter(f"{SVG}text")][3:] == ["0", "25", "50", "75", "100"]


def test_a_plot_of_hours_takes_few_bytes() -> None:
    digest = digest_of(
        make_line(n, n / 2, *["person"] * (n % 7), *["car"] * (n % 3)) for n in range(20_000)
    )
    assert len(objects_plot(digest, ("person", "car"), "t")) < 8000


@pytest.mark.parametrize("count", [0, 1])
def test_hardly_any_frames_are_no_fault(count: int) -> None:
    assert drawn(*(make_line(n, 5.0, "person") for n in range(count))).tag == f"{SVG}svg"
