"""Real clips and a real model: the pool finds what a plain loop finds, in every frame."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.command import vidpipe, write_config
from tests.graphs import saved, ssd_rows
from vidpipe.inference.model import compile_detector
from vidpipe.inference.settings import DetectorSettings, Precision
from vidpipe.sources.addresses import open_file

DATA = Path(os.environ.get("VIDPIPE_TEST_DATA", "/nonexistent"))
VTEST = Path("/usr/share/doc/opencv-doc/examples")
LABELS = ("vehicle", "person", "bike")

realdata = [
    pytest.mark.realdata,
    pytest.mark.skipif(not DATA.exists(), reason="VIDPIPE_TEST_DATA names no folder"),
]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def document(model: dict[str, Any], **sources: Path) -> dict[str, Any]:
    """Return a configuration that writes JSON Lines for each source."""
    outputs = [{"type": "jsonl", "path": "out/{stream}.jsonl"}]
    return {
        "models": {"detector": model},
        "streams": [
            {"id": name, "source": str(source), "outputs": outputs}
            for name, source in sources.items()
        ],
    }


class TestRealModel:
    """With `person-vehicle-bike-detection-2000` in f32."""

    pytestmark = realdata

    def test_the_pool_finds_what_a_plain_loop_finds(self, tmp_path: Path) -> None:
        name = "person-vehicle-bike-detection-2000"
        model = DATA / "models" / name / f"{name}.xml"
        clip = DATA / "videos" / "car-detection.mp4"
        settings = {"path": str(model), "labels": list(LABELS), "precision": "f32"}
        config = write_config(tmp_path, document(settings, one=clip, two=clip, three=clip))

        done = vidpipe("run", config, cwd=tmp_path, timeout_s=110)

        assert done.code == 0, done.err
        expected = list(plain_loop(model, clip))
        assert len(expected) == 377
        assert sum(map(len, expected)) > 100
        for stream in ("one", "two", "three"):
            found = [
                [(one["label"], one["score"], *one["box"]) for one in line["detections"]]
                for line in lines(tmp_path / "out" / f"{stream}.jsonl")
            ]
            assert len(found) == len(expected)
            for ours, theirs in zip(found, expected, strict=True):
                assert [row[0] for row in ours] == [row[0] for row in theirs]
                for our, their in zip(ours, theirs, strict=True):
                    assert our[1:] == pytest.approx(their[1:], abs=0.02)


def plain_loop(model: Path, clip: Path) -> Any:
    """Yield what each frame has, one synchronous inference after another, without a pipeline."""
    detector = compile_detector(
        model, DetectorSettings(name="plain", labels=LABELS, precision=Precision.F32)
    )
    reader = open_file(clip)
    try:
        while (decoded := reader.read()) is not None:
            found = detector.infer_once(decoded.picture)
            yield [
                (label, float(score), *map(float, box))
                for label, score, box in zip(
                    found.labels, found.scores, found.boxes_xyxy, strict=True
                )
            ]
    finally:
        reader.close()


class TestRealClips:
    """Every frame of clips of other kinds, with a tiny model."""

    @pytest.mark.realdata
    @pytest.mark.skipif(not DATA.exists(), reason="VIDPIPE_TEST_DATA names no folder")
    def test_a_raw_stream_without_timestamps(self, tmp_path: Path) -> None:
        written = self.run(tmp_path, DATA / "videos" / "people-detection.264")
        assert len(written) == 596
        assert [line["frame"] for line in written] == list(range(596))
        assert {line["pts"] for line in written} == {None}
        assert (written[0]["width"], written[0]["height"]) == (768, 432)

    @pytest.mark.skipif(not VTEST.exists(), reason="needs Debian's package opencv-doc")
    def test_an_old_codec(self, tmp_path: Path) -> None:
        (clip,) = VTEST.rglob("vtest.avi*")
        written = self.run(tmp_path, unpacked(clip, tmp_path))
        assert len(written) == 795
        assert written[794]["pts"] == pytest.approx(79.4)

    @staticmethod
    def run(folder: Path, clip: Path) -> list[dict[str, Any]]:
        """Return the lines of a clip."""
        model = saved(ssd_rows([[0, 1, 0.9, 0.25, 0.25, 0.5, 0.75]]), folder)
        config = write_config(folder, document({"path": str(model)}, clip=clip))
        done = vidpipe("run", config, cwd=folder)
        assert done.code == 0, done.err
        return lines(folder / "out" / "clip.jsonl")


def unpacked(clip: Path, folder: Path) -> Path:
    """Return the clip itself, or an unpacked copy where the package has it packed."""
    if clip.suffix != ".gz":
        return clip
    path = folder / clip.stem
    path.write_bytes(gzip.decompress(clip.read_bytes()))
    return path
