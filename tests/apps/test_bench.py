"""`vidpipe bench` as a user runs it, on a tiny model and a short clip."""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.clips import ClipSpec, write_clip
from tests.command import ended, started, vidpipe, write_config
from tests.graphs import saved, ssd_rows

QUICK = ("--seconds", "0.5", "--rounds", "1")
FIGURES = ("fps", "p50_ms", "p95_ms", "p99_ms", "cpu_ms_per_frame", "rss_mb", "threads")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return write_config(tmp_path, document(tmp_path))


def document(folder: Path, model: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return two streams of a short clip, with an output."""
    path = saved(ssd_rows([[0, 1, 0.9, 0, 0, 1, 1]]), folder)
    clip = write_clip(folder / "clip.mp4", ClipSpec(frames=25))
    outputs = [{"type": "jsonl", "path": str(folder / "out" / "{stream}.jsonl")}]
    return {
        "models": {"tiny": {"path": str(path), **(model or {})}},
        "streams": [{"id": n, "source": str(clip), "outputs": outputs} for n in ("a", "b")],
    }


def test_a_sweep_is_measured_explained_and_turned_into_advice(config: Path, tmp_path: Path) -> None:
    page = tmp_path / "pages" / "bench.html"
    done = vidpipe(
        *("bench", config, "--sweep", "requests", "--json", "--html", page),
        *(*QUICK, "--set", "models.tiny.requests=2"),
        cwd=tmp_path,
        timeout_s=110,
    )
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert report["is_complete"] is True
    assert report["machine"]["cores"] >= 1
    rows = {row["name"]: row for row in report["rows"]}
    # Where more requests bring nothing any more, as on a busy machine, the sweep ends early.
    assert list(rows) in [
        ["as configured", *(f"requests {n}" for n in (1, 2, 4)[:count])] for count in (2, 3)
    ]
    for row in rows.values():
        assert row["error"] is None
        assert all(row[figure] > 0 for figure in FIGURES)
        assert row["p50_ms"] <= row["p95_ms"] <= row["p99_ms"]
        assert row["streams"] == 2
    knee = report["knee"]["requests"]
    assert knee["row"] == f"requests {knee['value']}"
    assert f"{rows[knee['row']]['fps']:.1f}" in knee["why"]
    pasted = yaml.safe_load(report["advice"])["models"]["tiny"]
    assert pasted["requests"] == knee["value"]
    assert "<html" in page.read_text("utf-8")
    assert "[1/1] configured: as configured" in done.err
    assert not (tmp_path / "out").exists(), "outputs are not touched"


def test_a_comparison_shows_what_can_not_run_beside_what_can(config: Path, tmp_path: Path) -> None:
    done = vidpipe(
        *("bench", config, "--compare", "device=CPU,NPU", *QUICK), cwd=tmp_path, timeout_s=110
    )
    assert done.code == 0, done.err
    assert "compare device" in done.out
    assert "device CPU" in done.out
    assert "device NPU: not measured: " in done.out
    assert "available: CPU" in done.out
    assert "advice" in done.out


def test_an_interrupt_keeps_what_was_measured(config: Path, tmp_path: Path) -> None:
    with started(
        *("bench", config, "--sweep", "requests", "--json", "--seconds", "1", "--rounds", "50"),
        cwd=tmp_path,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "configured: as configured, round 2" in line:
                break  # the first run has ended
        process.send_signal(signal.SIGINT)
        done = ended(process)
    assert done.code == 130, done.err
    report = json.loads(done.out)
    assert report["is_complete"] is False
    assert [row["name"] for row in report["rows"]] == ["as configured"]
    assert report["rows"][0]["fps"] > 0


def test_an_interrupt_before_the_first_run_has_ended_leaves_nothing(
    config: Path, tmp_path: Path
) -> None:
    with started("bench", config, "--seconds", "60", cwd=tmp_path) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "as configured" in line:
                break
        process.send_signal(signal.SIGINT)
        done = ended(process)
    assert (done.code, done.out) == (130, "")


def test_outputs_work_into_a_folder_of_the_bench(config: Path, tmp_path: Path) -> None:
    done = vidpipe(
        *("bench", config, "--compare", "requests=1,2", "--with-outputs", "--json", *QUICK),
        cwd=tmp_path,
        timeout_s=110,
    )
    assert done.code == 0, done.err
    assert not (tmp_path / "out").exists()
    assert "with outputs" in json.loads(done.out)["subject"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--sweep", "speed"), "expected one of requests, streams"),
        (("--compare", "sync,shared"), "the values of one key"),
        (("--goal", "fast"), "such as p95=100ms"),
        (("--set", "models.tiny.hint=fast"), "hint"),
    ],
)
def test_what_is_not_understood_is_refused_before_anything_runs(
    config: Path, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    done = vidpipe("bench", config, *words, cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert "as configured" not in done.err


def test_a_configuration_that_can_not_run_is_an_error_with_its_reason(tmp_path: Path) -> None:
    config = write_config(tmp_path, document(tmp_path, {"device": "NPU"}))
    done = vidpipe("bench", config, "--efficiency", *QUICK, cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert "there is no device 'NPU'" in done.err
