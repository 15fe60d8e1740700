from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.graphs import saved, ssd_rows
from vidpipe.errors import ModelError
from vidpipe.inference import worth as module
from vidpipe.inference.model import read_detector
from vidpipe.inference.preprocess import InputFiller
from vidpipe.inference.samples import Sample
from vidpipe.inference.settings import Color, DetectorSettings, InputRecipe, InputSettings
from vidpipe.inference.stamp import stamp
from vidpipe.inference.worth import weigh
from vidpipe.pixels import picture_from_bgr
from vidpipe.types import Detections

ROW = [0, 1, 0.9, 0.25, 0.25, 0.5, 0.75]
MOVED = [0, 1, 0.8, 0.25, 0.25, 0.5, 0.6]  # IoU 0.7
OTHER = [0, 1, 0.7, 0.6, 0.6, 0.9, 0.9]
SETTINGS = DetectorSettings("gate", labels=("vehicle", "person"))


@pytest.fixture(autouse=True)
def short_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ROUNDS", 3)
    monkeypatch.setattr(module, "_ROUND_S", 0.02)


def samples(count: int = 2) -> list[Sample]:
    filler = InputFiller((32, 24), InputRecipe())
    pixels = np.empty((24, 32, 3), np.uint8)
    geometry = filler.fill(picture_from_bgr(np.full((48, 64, 3), 90, np.uint8)), pixels)
    return [Sample(pixels, geometry)] * count


def write(folder: Path, name: str, rows: list[list[float]], **changes: object) -> Path:
    said: dict[str, object] = {
        "name": "gate",
        "family": "ssd",
        "labels": {0: "vehicle", 1: "person"},
        "recipe": InputRecipe(),
    }
    graph = ssd_rows(rows)
    stamp(graph, **{**said, **changes})  # type: ignore[arg-type] # by name
    return saved(graph, folder, name)


def test_a_file_is_compared_with_its_original(tmp_path: Path) -> None:
    original = read_detector(saved(ssd_rows([ROW]), tmp_path), SETTINGS)
    box = np.array([[16, 12, 32, 28.8]], np.float32)
    truth = Detections(box, np.ones(1, np.float32), np.zeros(1, np.int32), ("person",))
    labelled = [replace(sample, truth=truth) for sample in samples(1)]

    before, after = weigh(original, write(tmp_path, "small", [MOVED, OTHER]), samples(), labelled)

    assert before.agreement.found == (2, 2)
    assert after.agreement.found == (2, 0)
    assert after.agreement.added == (2, 4)
    assert after.agreement.score_difference == pytest.approx(0.1)
    assert (before.accuracy, after.accuracy) == (1.0, 1.0)
    assert before.size_bytes != after.size_bytes > 0
    assert min(before.inferences_per_s, after.inferences_per_s) > 10


@pytest.mark.parametrize(
    ("what", "changes"),
    [
        ("labels", {"labels": {1: "person"}}),
        ("input", {"recipe": InputRecipe(color=Color.RGB)}),
        ("input", {"recipe": InputRecipe(pad=3)}),
    ],
)
def test_a_file_that_says_something_else_is_refused(
    tmp_path: Path, what: str, changes: dict[str, object]
) -> None:
    original = read_detector(saved(ssd_rows([ROW]), tmp_path), SETTINGS)
    with pytest.raises(ModelError, match=f"model gate: .* another {what} than"):
        weigh(original, write(tmp_path, "small", [ROW], **changes), samples())


def test_settings_that_no_file_carries_count_for_both(tmp_path: Path) -> None:
    settings = replace(SETTINGS, confidence=0.85, input=InputSettings(pad=3))
    original = read_detector(saved(ssd_rows([ROW]), tmp_path), settings)
    small = write(tmp_path, "small", [ROW, OTHER], recipe=InputRecipe(pad=3))
    _, after = weigh(original, small, samples())
    assert (after.agreement.expected, after.agreement.reported) == (2, 2)
    assert after.accuracy is None
