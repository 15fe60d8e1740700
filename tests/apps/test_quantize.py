"""`vidpipe models quantize` by its front door, on drawn scenes and small clips."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import cv2
import pytest

from tests.clips import ClipSpec, scene_bgr, write_clip
from tests.command import Finished, ended, started, vidpipe, write_config
from tests.graphs import saved, ssd_rows
from tests.layers import brightness
from vidpipe.inference.model import read_detector
from vidpipe.inference.quantize import is_quantizer_there
from vidpipe.inference.settings import DetectorSettings, Resize

needs_nncf = pytest.mark.skipif(not is_quantizer_there(), reason="NNCF, an extra, is not installed")
QUANTIZE = ("models", "quantize")


def model(folder: Path) -> Path:
    return saved(brightness(), folder, "bright")


def clips(folder: Path, frames: int = 30) -> list[Path]:
    return [write_clip(folder / f"{name}.mp4", ClipSpec(frames=frames)) for name in ("a", "b")]


def quantize(folder: Path, *arguments: str | Path) -> Finished:
    return vidpipe(*QUANTIZE, *arguments, cwd=folder, timeout_s=800)


@needs_nncf
def test_files_make_a_model_that_needs_its_path_alone(tmp_path: Path) -> None:
    done = quantize(tmp_path, model(tmp_path), "--frames", *clips(tmp_path), "--json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert report["output"] == "bright-int8.xml"
    assert report["frames"] == {
        "sources": {str(tmp_path / "a.mp4"): 30, str(tmp_path / "b.mp4"): 30},
        "used": 48,
        "held_back": 12,
        "labelled": 0,
    }
    after = report["after"]["agreement"]
    assert after["expected"] == after["iou_0.8"]["found"] == 12
    assert after["iou_0.5"]["added"] == 0
    assert 0 <= after["score_difference"] < 0.02
    assert report["after"]["inferences_per_s"] > 0
    assert "only 60 frames" in report["warnings"][0]
    detector = read_detector(tmp_path / report["output"], DetectorSettings("any"))
    assert detector.family.name == "ssd"
    assert not list(tmp_path.glob(".part-*"))


@needs_nncf
def test_a_configuration_gives_sources_labels_and_input(tmp_path: Path) -> None:
    config = write_config(
        tmp_path,
        {
            "models": {
                "person": {
                    "path": str(model(tmp_path)),
                    "labels": ["vehicle", "person"],
                    "input": {"resize": "letterbox", "pad": 7, "scale": 2},
                }
            },
            "streams": [
                {"id": "gate", "source": str(clips(tmp_path)[0])},
                {"id": "hall", "source": "synthetic:people?size=320x240"},
                {"id": "gone", "source": str(tmp_path / "gone.mp4")},
            ],
        },
    )
    folder = tmp_path / "made"
    folder.mkdir()
    done = quantize(
        tmp_path, "person", "--frames", config, "-o", folder, "--count", "40", "--seconds", "3"
    )
    # The stream that isn't there is told, and the rest is done.
    assert done.code == 1, done.err
    assert "failed: gone: there is no file" in done.out
    assert "inferences a second here" in done.out
    detector = read_detector(folder / "person-int8.xml", DetectorSettings("any"))
    assert detector.rule.labels.by_id() == {0: "vehicle", 1: "person"}
    assert detector.recipe.resize is Resize.LETTERBOX
    assert (detector.recipe.pad, detector.recipe.scale) == (7, (2, 2, 2))


@needs_nncf
def test_labelled_pictures_hold_it_to_their_truth(tmp_path: Path) -> None:
    for number in range(3):
        cv2.imwrite(str(tmp_path / f"{number}.png"), scene_bgr((64, 48), number))
    labels = tmp_path / "labels.json"
    document = {
        "images": [{"id": number, "file_name": f"{number}.png"} for number in range(3)],
        "categories": [{"id": 1, "name": "class-1"}],
        "annotations": [
            {"image_id": number, "category_id": 1, "bbox": [16, 12, 16, 24]} for number in range(3)
        ],
    }
    labels.write_text(json.dumps(document), "utf-8")
    done = quantize(
        tmp_path, model(tmp_path), "--frames", *clips(tmp_path), "--labels", labels, "--json"
    )
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert report["frames"]["labelled"] == 3
    assert report["before"]["mean_average_precision"] == 1
    assert report["after"]["mean_average_precision"] == 1
    assert "holding it to the labels" in done.err


@needs_nncf
def test_labels_of_another_file_are_refused(tmp_path: Path) -> None:
    labels = tmp_path / "labels.jsonl"
    line = {"stream": "a", "frame": 30, "detections": [{"label": "x", "box": [1, 2, 3, 4]}]}
    labels.write_text(json.dumps(line), "utf-8")
    done = quantize(tmp_path, model(tmp_path), "--frames", *clips(tmp_path), "--labels", labels)
    assert done.code == 1
    assert "a has no frame 30" in done.err
    labels.write_text(json.dumps({**line, "stream": "c"}), "utf-8")
    done = quantize(tmp_path, model(tmp_path), "--frames", *clips(tmp_path), "--labels", labels)
    assert done.code == 2
    assert "no source is called c" in done.err


@needs_nncf
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_nothing(tmp_path: Path, number: int) -> None:
    frames: list[str | Path] = ["--frames", *clips(tmp_path), "-o", "made/small.xml"]
    with started(*QUANTIZE, model(tmp_path), *frames, cwd=tmp_path) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("measuring"):  # the file is there, under another name
                break
        assert len(list((tmp_path / "made").rglob("small.*"))) == 2
        process.send_signal(number)
        done = ended(process)
    assert done.code == 130
    assert list((tmp_path / "made").iterdir()) == []


@needs_nncf
@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("{model}",), 2, "--frames: give"),
        (("{model}", "--frames", "{clip}", "--count", "9"), 2, "9 frames are too few"),
        (("{model}", "--frames", "none.mp4"), 1, "there is no file none.mp4"),
        (("{model}", "--frames", "{clip}", "c.yml"), 2, "one configuration, or files"),
        (("{model}", "--frames", "{clip}", "-o", "x.onnx"), 2, "written as .xml"),
        (("none.xml", "--frames", "{clip}"), 2, "there is no file none.xml"),
        (("persn-ssdlite", "--frames", "{clip}"), 2, "did you mean"),
        (("{flat}", "--frames", "{clip}"), 2, "quantised"),
    ],
)
def test_what_can_not_be_done_is_told_in_words(
    tmp_path: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    flat = saved(ssd_rows([[0, 1, 0.9, 0.2, 0.2, 0.5, 0.7]]), tmp_path, "flat")
    names = {
        "model": str(model(tmp_path)),
        "clip": str(clips(tmp_path)[0]),
        "flat": str(flat),
    }
    done = quantize(tmp_path, *(text.format(**names) for text in arguments))
    assert done.code == code, done.err
    assert words in done.err
    assert "Traceback" not in done.err
    assert not list(tmp_path.glob("*-int8.*"))


@needs_nncf
def test_a_file_that_exists_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "bright-int8.bin").write_text("mine", "utf-8")
    done = quantize(tmp_path, model(tmp_path), "--frames", *clips(tmp_path))
    assert done.code == 2
    assert "bright-int8.bin exists" in done.err
    assert "reading" not in done.err  # told before any work


@needs_nncf
@pytest.mark.realdata
@pytest.mark.slow  # quantising a real model takes minutes where the cores are busy
@pytest.mark.timeout(900)
def test_a_real_detector_finds_the_same_in_int8(tmp_path: Path) -> None:
    data = os.environ.get("VIDPIPE_TEST_DATA")
    if not data:
        pytest.skip("VIDPIPE_TEST_DATA is not set")
    videos = sorted((Path(data) / "videos").iterdir())
    original = Path(data) / "models" / "yolox_nano" / "yolox_nano.onnx"
    done = quantize(tmp_path, original, "--frames", *videos, "--count", "60", "--json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    agreement = report["after"]["agreement"]
    assert agreement["expected"] >= 5
    assert agreement["iou_0.5"]["found"] >= 0.8 * agreement["expected"]
    assert agreement["iou_0.5"]["added"] <= 0.25 * agreement["reported"]
    assert report["after"]["size_bytes"] < 0.6 * report["before"]["size_bytes"]
    detector = read_detector(tmp_path / report["output"], DetectorSettings("any"))
    assert detector.family.name == "yolox"
    assert detector.rule.labels.name(0) == "person"
    assert detector.recipe.resize is Resize.LETTERBOX
