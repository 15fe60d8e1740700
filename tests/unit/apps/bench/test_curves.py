from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from tests.bench_rows import make_row
from vidpipe.apps.bench import curves as module
from vidpipe.apps.bench.curves import comparison_chart, require_charts, stage_chart, sweep_chart
from vidpipe.apps.bench.rows import StageCost
from vidpipe.errors import UsageError

pytest.importorskip("matplotlib", reason="Matplotlib, an extra, is not installed")

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return ["".join(node.itertext()).strip() for node in ET.fromstring(svg).iter(f"{SVG}text")]


def test_a_sweep_shows_each_measured_value_and_marks_the_knee() -> None:
    rows = [make_row("requests", n, fps) for n, fps in ((4, 100.0), (1, 50.0), (9, 101.0))]
    svg = sweep_chart("requests", rows, "requests 4")
    shown = texts(svg)
    assert {"1", "4", "9", "requests", "knee", "p50", "p95", "p99"} <= set(shown)
    assert "var(--knee)" in svg


def test_without_a_knee_none_is_marked() -> None:
    rows = [make_row("requests", n, 50.0) for n in (1, 2)]
    assert "knee" not in texts(sweep_chart("requests", rows))


def test_words_on_the_axis_keep_their_order_and_get_bars() -> None:
    rows = [make_row("hint", hint, 50.0) for hint in ("throughput", "latency")]
    shown = texts(sweep_chart("hint", rows))
    assert shown.index("throughput") < shown.index("latency")


def test_points_without_figures_are_left_out() -> None:
    failed = make_row("batch", 4, 0.0, rounds=0, error="refused")
    shown = texts(sweep_chart("batch", [make_row("batch", 1, 50.0), failed]))
    assert "1" in shown
    assert "4" not in shown


def test_latencies_far_apart_stand_on_a_logarithmic_scale() -> None:
    rows = [make_row("streams", 1, 50.0, p95_ms=4.0), make_row("streams", 16, 50.0, p95_ms=900.0)]
    assert "latency, ms (logarithmic)" in texts(sweep_chart("streams", rows))


def test_a_chart_has_no_colour_size_style_or_address_of_its_own() -> None:
    svg = sweep_chart("requests", [make_row("requests", n, 50.0) for n in (1, 2)])
    assert not re.search(r"#0102|<style|<script|xlink|<!DOCTYPE|https?://(?!www.w3.org/2000)", svg)
    assert ET.fromstring(svg).get("width") is None
    assert "currentColor" in svg


def test_the_ids_of_two_charts_differ() -> None:
    rows = [make_row("requests", n, 50.0) for n in (1, 2)]
    others = [make_row("hint", hint, 50.0) for hint in ("throughput", "latency")]
    ids = [
        {node.get("id") for node in ET.fromstring(svg).iter() if node.get("id")}
        for svg in (sweep_chart("requests", rows), sweep_chart("hint", others))
    ]
    assert ids[0]
    assert not ids[0] & ids[1]


def test_every_reference_finds_what_it_names() -> None:
    svg = sweep_chart("requests", [make_row("requests", n, 50.0) for n in (1, 2)])
    ids = {node.get("id") for node in ET.fromstring(svg).iter()}
    assert set(re.findall(r'(?:url\(|href=")#([^")]+)', svg)) <= ids


@pytest.mark.parametrize("name", ["$x^2$ & <b>\"'", "ドア \a.", "\\frac{1}{2}"])
def test_names_are_shown_as_they_are(name: str) -> None:
    rows = [make_row("call", "sync", 50.0, name=name), make_row("call", "async", 60.0)]
    assert name.replace("\a", "?") in texts(comparison_chart("call", rows))


def test_the_floor_stands_out_among_the_stages() -> None:
    stages = [StageCost("decode", 2.0, 500.0), StageCost("inference", 11.0, 90.0, is_floor=True)]
    svg = stage_chart(stages)
    assert {"decode", "inference", "2 ms", "11 ms"} <= set(texts(svg))
    assert "var(--knee)" in svg
    plain = stage_chart([replace(stage, is_floor=False) for stage in stages])
    assert "var(--knee)" not in plain


def test_the_same_figures_give_the_same_chart() -> None:
    rows = [make_row("requests", n, 50.0) for n in (1, 2)]
    assert sweep_chart("requests", rows) == sweep_chart("requests", rows)


def test_a_sweep_of_which_nothing_could_be_measured_is_still_drawn() -> None:
    ET.fromstring(sweep_chart("batch", [make_row("batch", 2, 0.0, rounds=0, error="no")]))


def test_without_matplotlib_it_is_told_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "mpl", None)
    with pytest.raises(UsageError, match=r"pip install '\.\[bench\]'"):
        require_charts()
