from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench_rows import configured_row, make_row
from tests.web_page import LOADING, Page
from vidpipe.apps.bench import curves
from vidpipe.apps.bench.page import check_page, page_from_report, write_page
from vidpipe.apps.bench.rows import (
    Advice,
    BenchReport,
    Cameras,
    Efficiency,
    Goal,
    Knee,
    Machine,
    StageCost,
)
from vidpipe.errors import UsageError

pytest.importorskip("matplotlib", reason="Matplotlib, an extra, is not installed")

EVIL = "<script>alert('x')</script> & \"quoted\""


def make_report(**changes: object) -> BenchReport:
    """Return a report that has everything, with odd texts wherever they may come from outside."""
    sweep = [make_row("requests", n, fps) for n, fps in ((1, 50.0), (4, 100.0), (9, 101.0))]
    refused = make_row("mode", "batched", 0.0, group="compare mode", rounds=0, error=EVIL)
    modes = [make_row("mode", "shared", 100.0, group="compare mode"), refused]
    report = BenchReport(
        config=f"{EVIL}.yml",
        started_at="2026-11-30T10:00:00+00:00",
        machine=Machine(EVIL, 2, 2048, EVIL, {EVIL: EVIL}, {EVIL: EVIL}, 0.5),
        subject=EVIL,
        rows=[configured_row(), *sweep, *modes, make_row("call", "sync", 90.0, name=EVIL)],
        stages=[StageCost("decode", 2.0, 1000.0, EVIL), StageCost("inference", 22.0, 90.0, "m")],
        knees=[Knee("requests", "requests 4", f"4 are enough {EVIL}")],
        advice=Advice(f"models:\n  m:\n    requests: 4  # {EVIL}\n"),
        efficiency=Efficiency(9.0, 10.0, 0.9, 0.88, 0.92, 100.0, 110.0, {"decode": 3.0}, 3),
        cameras=Cameras(5, 25.0, 25.0, "inference", EVIL, EVIL),
        goal=Goal(EVIL, is_met=True, row="requests 4", settings={"requests": 4}, why=EVIL),
        notes=[EVIL],
    )
    return replace(report, **changes)  # type: ignore[arg-type] # by name


def test_the_page_loads_nothing_and_runs_nothing() -> None:
    page = Page(page_from_report(make_report()))
    assert not {"script", "link", "iframe", "img", "object", "embed", "base"} & set(page.tags)
    for tag, name, value in page.attributes:
        assert name not in LOADING, (tag, name)
        assert not name.startswith("on"), (tag, name)
        if name in {"href", "xlink:href"}:
            assert value.startswith("#"), (tag, value)
        assert "url(#" in value or "url(" not in value, (tag, value)
    policy = [value for tag, name, value in page.attributes if tag == "meta" and name == "content"]
    assert any(value.startswith("default-src 'none'") for value in policy)
    style = page_from_report(make_report()).split("<style>")[1].split("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style


def test_every_element_that_is_opened_is_closed() -> None:
    assert Page(page_from_report(make_report())).open == []


def test_every_text_from_outside_is_escaped_and_shown_as_it_is() -> None:
    page = Page(page_from_report(make_report()))
    assert "script" not in page.tags
    assert page.text.count("<script>alert('x')</script>") >= 12


def test_the_page_tells_what_was_found() -> None:
    text = Page(page_from_report(make_report())).text
    for words in (
        "requests 4",
        "4 are enough",
        "inference 22 ms: at most 90 frames a second on this machine (2 cores)",
        "0.900",
        "0.880 to 0.920",
        "Medians of 3 interleaved rounds; spread",
        "cameras at 25 frames a second",
    ):
        assert words in text, words


def test_the_advice_can_be_copied_line_by_line() -> None:
    page = page_from_report(make_report(advice=Advice("models:\n  m:\n    requests: 4\n")))
    assert "<pre>models:\n  m:\n    requests: 4\n</pre>" in page


def test_a_goal_that_is_missed_has_a_nearest_point_and_no_best_one() -> None:
    missed = Goal("p95=1ms", is_met=False, row="sync", settings={}, why="none of 9")
    page = page_from_report(make_report(goal=missed))
    assert "Nearest: sync" in page
    assert "Best: " not in page


def test_a_bench_that_was_stopped_early_says_so() -> None:
    assert "Stopped early" in page_from_report(make_report(is_complete=False))
    assert "Stopped early" not in page_from_report(make_report())


def test_a_stage_that_no_output_asks_for_is_shown_as_such() -> None:
    stages = [StageCost("decode", 2.0, 900.0), StageCost("encode", 9.0, 200.0, "x", is_used=False)]
    assert "x: no output here asks for it" in page_from_report(make_report(stages=stages))


def test_a_report_of_nothing_but_the_machine_is_a_page() -> None:
    machine = Machine("a CPU", 1, 1024, "Linux")
    page = Page(page_from_report(BenchReport("c.yml", "2026-11-30T10:00:00+00:00", machine)))
    assert page.open == []
    assert "a CPU, 1 core for this process" in page.text


def test_the_page_is_written_whole_into_a_folder_that_is_made(tmp_path: Path) -> None:
    path = tmp_path / "new" / "page.html"
    check_page(path)
    write_page(make_report(), path)
    write_page(make_report(), path)  # a page is made again as often as one likes
    assert path.read_text("utf-8").endswith("</html>\n")
    assert [entry.name for entry in path.parent.iterdir()] == ["page.html"]


def test_a_place_where_no_page_can_be_is_refused_before_anything_is_measured(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").write_text("x", "utf-8")
    with pytest.raises(UsageError, match="can't be written"):
        check_page(tmp_path / "file" / "page.html")
    with pytest.raises(UsageError, match="it is a folder"):
        check_page(tmp_path)


def test_without_matplotlib_it_is_refused_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(curves, "mpl", None)
    with pytest.raises(UsageError, match="Matplotlib"):
        check_page(tmp_path / "page.html")
