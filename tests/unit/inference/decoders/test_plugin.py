from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders import make_picture
from tests.graphs import saved, ssd_rows
from tests.packages import install
from vidpipe.errors import InferenceError, ModelError
from vidpipe.inference.model import CompiledDetector, compile_detector
from vidpipe.inference.settings import DetectorSettings
from vidpipe.runtime.plugins import FAMILIES

FAMILY = """
import numpy as np
from vidpipe.inference.decoders.ssd import SsdFamily
from vidpipe.types import Detections

def found(count=1):
    return Detections(
        np.zeros((count, 4), np.float32), np.ones(1, np.float32), np.zeros(1, np.int32), ("it",)
    )

class Mine(SsdFamily):
    def decoder(self, signature, rule):
        return lambda outputs, geometry: found()
"""


def compiled(folder: Path, monkeypatch: pytest.MonkeyPatch, change: str = "") -> CompiledDetector:
    """Compile a model of a family whose package's module ends in this change."""
    install(
        folder,
        monkeypatch,
        modules={"acme": f"{FAMILY}{change}\nFAMILY = Mine()\n"},
        entry_points={FAMILIES: {"mine": "acme:FAMILY", "ssd": "nothing"}},
    )
    path = saved(ssd_rows([[0, 1, 0.9, 0.25, 0.25, 0.5, 0.75]]), folder)
    return compile_detector(path, DetectorSettings("person", decoder="mine"))


def test_a_package_decodes_the_models_of_its_family(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    detector = compiled(tmp_path, monkeypatch)
    assert detector.infer_once(make_picture()).labels == ("it",)
    assert detector.describe()["family"] == "mine"


def test_a_package_can_not_take_the_place_of_a_family_of_vidpipe_s_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled(tmp_path, monkeypatch)
    path = tmp_path / "tiny.xml"
    own = compile_detector(path, DetectorSettings("person", decoder="ssd"))
    assert own.infer_once(make_picture()).labels == ("class-1",)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("import nothing_of_this_name", "the plugin mine .* can't be loaded"),
        ("class Mine: pass", r"is no Family: it has no name"),
        (
            "def no(self, s): raise ZeroDivisionError('oh')\nMine.mismatch = no",
            "plugin mine failed",
        ),
        ("def no(self, s): return 'too small'\nMine.mismatch = no", "doesn't fit: too small"),
        ("def no(self, s, r): return 1 / 0\nMine.decoder = no", "ZeroDivisionError"),
    ],
)
def test_a_family_that_fails_is_a_model_that_can_not_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, words: str
) -> None:
    with pytest.raises(ModelError, match=words):
        compiled(tmp_path, monkeypatch, change)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("None", "a NoneType, no Detections"),
        ("found(2)", r"shapes \(2, 4\), \(1,\), \(1,\) with 1"),
    ],
)
def test_an_answer_that_is_none_fails_the_frame(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, words: str
) -> None:
    change = f"Mine.decoder = lambda self, s, r: lambda outputs, geometry: {answer}"
    detector = compiled(tmp_path, monkeypatch, change)
    with pytest.raises(InferenceError, match=words):
        detector.infer_once(make_picture())
