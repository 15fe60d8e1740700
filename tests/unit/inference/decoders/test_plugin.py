from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders import make_picture
from tests.graphs import fixed_outputs, saved, ssd_rows
from tests.packages import install
from vidpipe.errors import InferenceError, ModelError
from vidpipe.inference.describe import describe_model
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

SAYS = "Mine.__getattribute__ = lambda s, k: {1} if k == '{0}' else object.__getattribute__(s, k)"
FITS_ALL = "Mine.mismatch = lambda self, s: None\nMine.is_certain = lambda self, s: True"


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
        ("def no(self, s): return True\nMine.mismatch = no", "its mismatch is a bool"),
        ("def no(self, s): return '3'\nMine.class_count = no", "its class_count is a str"),
        ("def no(self, s): return None\nMine.iou = no", "its iou is a NoneType"),
        (SAYS.format("recipe", {}), "its recipe is a dict"),
        (SAYS.format("labels", None), "its labels is a NoneType"),
        (SAYS.format("recipe", "len"), "its recipe is a builtin"),
    ],
)
def test_a_family_that_fails_is_a_model_that_can_not_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, words: str
) -> None:
    with pytest.raises(ModelError, match=words):
        compiled(tmp_path, monkeypatch, change)


def test_auto_tries_a_package_where_no_family_of_vidpipe_s_own_fits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled(tmp_path, monkeypatch, FITS_ALL)
    odd = saved(fixed_outputs({"colour": [[1.0] * 9]}), tmp_path, "odd")
    assert compile_detector(odd, DetectorSettings("person")).describe()["family"] == "mine"
    about = describe_model(odd)
    assert about.use is not None
    assert about.use.family == "mine"
    own = compile_detector(tmp_path / "tiny.xml", DetectorSettings("person"))
    assert own.describe()["family"] == "ssd"


def test_auto_does_not_guess_a_package_s_family_that_is_not_certain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled(tmp_path, monkeypatch, f"{FITS_ALL}\nMine.is_certain = lambda self, s: False")
    odd = saved(fixed_outputs({"colour": [[1.0] * 9]}), tmp_path, "odd")
    with pytest.raises(ModelError, match="decoder: mine"):
        compile_detector(odd, DetectorSettings("person"))


def test_a_file_may_say_that_it_is_of_a_package_s_family(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled(tmp_path, monkeypatch)
    graph = ssd_rows([[0, 1, 0.9, 0.25, 0.25, 0.5, 0.75]])
    graph.set_rt_info("mine", ["vidpipe", "family"])
    detector = compile_detector(saved(graph, tmp_path, "said"), DetectorSettings("person"))
    assert detector.describe()["family"] == "mine"


def test_auto_passes_over_a_package_that_fails_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log_lines: list[str]
) -> None:
    with pytest.raises(ModelError, match="can't be loaded"):
        compiled(tmp_path, monkeypatch, "import nothing_of_this_name")
    odd = saved(fixed_outputs({"colour": [[1.0] * 9]}), tmp_path, "odd")
    with pytest.raises(ModelError, match="no decoder fits its outputs"):
        compile_detector(odd, DetectorSettings("person"))
    assert len([line for line in log_lines if "WARNING" in line and "mine" in line]) == 1


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
