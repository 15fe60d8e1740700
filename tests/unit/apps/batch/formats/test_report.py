from __future__ import annotations

import json
import os
from base64 import b64encode
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from tests.batch_results import make_entry, make_found, make_outcome, make_result_file, make_summary
from tests.clips import ClipSpec, scene_bgr, write_clip
from tests.web_page import LOADING, Page
from vidpipe.apps.batch.discover import PassedOver
from vidpipe.apps.batch.formats.pictures import jpeg_from_bgr
from vidpipe.apps.batch.formats.report import write_report
from vidpipe.apps.batch.formats.results import (
    FileOutcome,
    FileState,
    ResultFile,
    RunSummary,
)
from vidpipe.apps.batch.formats.summary import write_summary
from vidpipe.runtime.logs import register_secret

EVIL = "<script>alert('x')</script> & \"quoted\""


def filmed(folder: Path, stem: str, source: Path, *labels: str) -> ResultFile:
    entries = [
        make_entry(n, *(make_found(label) for label in labels[: 1 + n % 5])) for n in range(50)
    ]
    return make_result_file(folder, entries, stem=stem, source=source)


def full_summary(folder: Path, **changes: Any) -> RunSummary:
    """Return a run of everything: done, failed, unfinished, skipped, odd texts everywhere."""
    source = write_clip(folder / "a.mp4", ClipSpec(50))
    output = folder / "out & <results>"
    results = [
        filmed(output, "a.mp4", source, "person", "car", EVIL, "d", "e"),
        filmed(output, f"{EVIL.replace('/', ' ')}.mp4", source, "person"),
    ]
    files = [
        *map(make_outcome, results),
        FileOutcome("broken.mp4", FileState.FAILED, f"no index {EVIL}", None, Path("b.partial")),
        FileOutcome("late.mp4", FileState.UNFINISHED, "stopped"),
    ]
    return replace(
        make_summary(output, files=files, skipped=[PassedOver(EVIL, f"no video {EVIL}")]),
        settings={"save": ["jsonl"], EVIL: EVIL},
        frames_inferred=100,
        **changes,
    )


def report_of(summary: RunSummary) -> str:
    (path,) = write_report(summary)
    assert path == summary.output / "report.html"
    return path.read_text("utf-8")


def test_the_page_loads_nothing_and_runs_nothing(tmp_path: Path) -> None:
    text = report_of(full_summary(tmp_path))
    page = Page(text)
    assert not {"script", "link", "iframe", "object", "embed", "base"} & set(page.tags)
    for tag, name, value in page.attributes:
        assert not name.startswith("on"), (tag, name)
        if name in LOADING:
            assert (tag, name) == ("img", "src")
            assert value.startswith("data:image/jpeg;base64,")
        if name == "href":
            assert value.startswith("#")
    style = text.split("<style>")[1].split("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style
    policy = [value for tag, name, value in page.attributes if tag == "meta" and name == "content"]
    assert any(value.startswith("default-src 'none'") for value in policy)


def test_every_element_is_closed_and_every_link_leads_somewhere(tmp_path: Path) -> None:
    page = Page(report_of(full_summary(tmp_path)))
    assert page.open == []
    ids = {value for _, name, value in page.attributes if name == "id"}
    links = {value[1:] for _, name, value in page.attributes if name == "href"}
    assert links
    assert links <= ids


def test_every_text_from_outside_is_shown_as_it_is(tmp_path: Path) -> None:
    page = Page(report_of(full_summary(tmp_path)))
    assert "script" not in page.tags
    assert page.text.count("<script>alert('x')</script>") >= 6


def test_it_tells_the_whole_and_each_file(tmp_path: Path) -> None:
    text = Page(report_of(full_summary(tmp_path))).text
    for words in (
        *("2 of 4", "files done", "100", "frames analysed", "files failed", "broken.mp4"),
        *("partial results: b.partial", "late.mp4", "unfinished", "no video", "sha256:0123"),
        *("50 frames", "100 frames/s", "e 10", "processor"),
    ):
        assert words in text, words


def test_thumbnails_are_real_pictures(tmp_path: Path) -> None:
    page = Page(report_of(full_summary(tmp_path)))
    images = [value for tag, name, value in page.attributes if (tag, name) == ("img", "src")]
    assert len(images) == 8
    assert all(len(image) > 500 for image in images)


def test_a_run_that_was_stopped_says_how_to_go_on(tmp_path: Path) -> None:
    assert "goes on from here" in report_of(full_summary(tmp_path, is_complete=False))


@pytest.mark.parametrize("count", [0, 1])
def test_a_run_of_nothing_is_a_page(tmp_path: Path, count: int) -> None:
    results = [make_result_file(tmp_path, [], stem=f"{n}.mp4") for n in range(count)]
    page = Page(report_of(make_summary(tmp_path, *results, took_s=0.0)))
    assert page.open == []
    assert f"{count} of {count}" in page.text


def test_four_hundred_files_make_a_page_of_bounded_size(tmp_path: Path) -> None:
    entries = [make_entry(n, *[make_found()] * (1 + n % 3)) for n in range(20)]
    noise = np.random.default_rng(1).integers(0, 255, (180, 320, 3), np.uint8)
    jpeg = b64encode(jpeg_from_bgr(noise, 45)).decode()  # no picture of a camera takes as much
    thumbs = [
        {"frame": n, "words": "0:00.0", "size_wh": [320, 180], "jpeg": jpeg} for n in range(4)
    ]
    results = []
    for number in range(400):
        result = make_result_file(tmp_path / "out", entries, stem=f"{number:03d}.mp4")
        kept = result.hidden("report", ".json")
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps({"format": 1, "thumbs": thumbs}), "utf-8")
        os.utime(kept, ns=(0, result.jsonl.stat().st_mtime_ns))
        results.append(result)
    page = report_of(make_summary(tmp_path / "out", *results))
    assert page.count("<article") == page.count("<svg") == 400
    assert 300 < page.count("<img") <= 800
    assert len(page) < 25_000_000


def test_pictures_are_made_once(tmp_path: Path) -> None:
    summary = full_summary(tmp_path)
    before = report_of(summary)
    (tmp_path / "a.mp4").unlink()
    assert report_of(summary) == before


def test_pictures_stand_together_instead_of_a_block_each(tmp_path: Path) -> None:
    results = []
    for number in range(5):
        source = tmp_path / f"{number}.png"
        assert cv2.imwrite(str(source), scene_bgr((64, 48), number))
        entry = make_entry(0, *[make_found()] * number, pts=None)
        results.append(make_result_file(tmp_path, [entry], stem=source.name, source=source))
    page = Page(report_of(make_summary(tmp_path, *results)))
    assert page.tags.count("article") == 1
    assert page.tags.count("img") == 5
    assert "3.png: 3× person" in page.text
    assert page.open == []


def summary_of(summary: RunSummary) -> dict[str, Any]:
    (path,) = write_summary(summary)
    document: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return document


def test_the_summary_has_its_keys(tmp_path: Path) -> None:
    document = summary_of(full_summary(tmp_path))
    assert set(document) == {
        *("format", "vidpipe", "started_at", "seconds", "complete", "files", "frames"),
        *("frames_this_run", "frames_failed", "video_seconds", "fps", "detections", "failures"),
        *("skipped", "results", "settings", "model", "machine", "versions"),
    }
    assert document["files"] == {
        "total": 4,
        "done": 2,
        "failed": 1,
        "unfinished": 1,
        "reused": 0,
        "skipped": 1,
    }
    assert document["frames"] == 100
    assert document["fps"] == 50.0
    assert document["started_at"] == "2026-11-30T05:00:00+00:00"
    assert document["detections"] == {"person": 100, "car": 40, EVIL: 30, "d": 20, "e": 10}
    assert document["failures"] == [
        {"file": "broken.mp4", "reason": f"no index {EVIL}", "partial": "b.partial"}
    ]
    assert document["results"][0]["jsonl"] == "a.mp4.jsonl"
    assert document["model"]["hash"] == "sha256:0123"
    assert {"python", "openvino"} <= set(document["versions"])


def test_no_secret_is_told(tmp_path: Path) -> None:
    register_secret("hunter22")
    summary = replace(
        full_summary(tmp_path),
        settings={"input": ["http://me:pass@host/x"], "note": "hunter22"},
        model={"path": Path("/models/hunter22.xml"), "score": float("nan")},
    )
    for path in (*write_summary(summary), *write_report(summary)):
        text = path.read_text("utf-8")
        assert "hunter22" not in text
        assert "me:pass" not in text


def test_a_digest_from_before_tells_the_same(tmp_path: Path) -> None:
    summary = full_summary(tmp_path)
    assert summary_of(summary) == summary_of(summary)
