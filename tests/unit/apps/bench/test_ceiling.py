"""The bare parts, as programs of their own on tiny models and clips."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clips import ClipSpec, write_clip
from tests.command import write_config
from tests.graphs import plane_means, saved
from vidpipe.apps.bench.ceiling import Shares, Work, measure_ceiling, run_together
from vidpipe.apps.bench.coupling import Coupling, make_board
from vidpipe.apps.bench.efficiency import efficiency_from_rounds, measure_round
from vidpipe.apps.bench.job import RunJob, Subject
from vidpipe.apps.bench.runs import run_job
from vidpipe.errors import UsageError

SECONDS = 0.6


def turns(done: list[str], name: str) -> Iterator[None]:
    while True:
        done.append(name)
        yield


def make_job(folder: Path, *, video: bool = False, **stream: object) -> RunJob:
    """Return the order to run two streams of a small clip, on a model that finds little."""
    write_clip(folder / "clip.mp4", ClipSpec(frames=12))
    outputs = [{"type": "video", "path": "out/{stream}-{n}.mp4", "max_fps": 5}] if video else []
    document = {
        "models": {"tiny": {"path": str(saved(plane_means(), folder)), "labels": ["a", "b"]}},
        "streams": [
            {"id": name, "source": str(folder / "clip.mp4"), "outputs": outputs, **stream}
            for name in ("gate", "dock")
        ],
    }
    path = write_config(folder, document)
    return RunJob(Subject(str(path), with_outputs=video), seconds=SECONDS, warmup_s=0.1)


def test_several_works_are_done_in_their_proportions(tmp_path: Path) -> None:
    make_board(tmp_path / "board", 1)
    done: list[str] = []
    works = [Work(turns(done, "often"), 3.0), Work(turns(done, "seldom"), 1.0)]
    with Coupling(tmp_path / "board", 0, 1) as coupling:
        found = run_together(works, coupling, 0.05)
    counted = done[20:]  # after the warm-up of each
    assert 0.74 < counted.count("often") / len(counted) < 0.76
    # four turns are one frame of the run
    assert found["progress"] < len(counted) / 4 + 1
    assert found["cpu_s"] > 0
    assert found["seconds"] > 0.025  # counted from the first turn behind the start


def test_work_of_which_nothing_is_done_in_time_is_an_error(tmp_path: Path) -> None:
    make_board(tmp_path / "board", 2)
    with Coupling(tmp_path / "board", 1, 2) as stalled:
        stalled.advance(0.0, 0.0)
        works = [Work(turns([], "far ahead"), 0.001)]
        with (
            Coupling(tmp_path / "board", 0, 2) as coupling,
            pytest.raises(UsageError, match="measure longer"),
        ):
            run_together(works, coupling, 0.05)


def test_the_bare_parts_run_together_and_each_costs_something(tmp_path: Path) -> None:
    shares = Shares({"gate": 0.5, "dock": 0.5}, {"gate": 0.5, "dock": 0.5})
    found = measure_ceiling(make_job(tmp_path, video=True), shares, SECONDS)
    assert set(found.parts) == {"decode", "inference", "encode"}
    assert all(cost > 0 for cost in found.parts.values())
    assert found.fps > 0
    assert found.cpu_ms == pytest.approx(sum(found.parts.values()))


def test_a_part_that_fails_ends_all_and_says_why(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    (tmp_path / "clip.mp4").write_bytes(b"no video")
    shares = Shares({"gate": 0.5, "dock": 0.5}, {"gate": 0.5, "dock": 0.5})
    with pytest.raises(UsageError, match=r"clip\.mp4"):
        measure_ceiling(job, shares, SECONDS)


def test_a_run_is_set_against_its_own_parts(tmp_path: Path) -> None:
    job = make_job(tmp_path, detect_fps=5)
    found = efficiency_from_rounds([measure_round(job, run_job)])
    assert list(found.parts) == ["decode", "inference"]
    assert 0 < found.ratio < 1.5
    assert found.ceiling_cpu_ms == pytest.approx(sum(found.parts.values()))
