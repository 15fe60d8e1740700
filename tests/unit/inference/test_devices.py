from __future__ import annotations

from pathlib import Path

import openvino as ov
import pytest

from tests.builders import make_picture
from tests.graphs import saved, ssd_rows
from vidpipe.errors import ModelError
from vidpipe.inference.devices import device_names, properties_for
from vidpipe.inference.model import compile_detector
from vidpipe.inference.settings import DetectorSettings, Hint, Precision

ROW = [0, 1, 0.9, 0, 0, 1, 1]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return saved(ssd_rows([ROW]), tmp_path)


@pytest.mark.parametrize(
    ("device", "names"),
    [
        ("CPU", ["CPU"]),
        ("gpu.1", ["GPU"]),
        ("AUTO", ["AUTO"]),
        ("AUTO:GPU.0, CPU", ["AUTO", "GPU", "CPU"]),
        ("AUTO:-GPU,CPU", ["AUTO", "GPU", "CPU"]),
        ("BATCH:CPU(4)", ["BATCH", "CPU"]),
        ("", []),
    ],
)
def test_devices_are_taken_out_of_a_text(device: str, names: list[str]) -> None:
    assert device_names(device) == names


@pytest.mark.parametrize(
    "device", ["CPU", "cpu", "AUTO", "AUTO:CPU", "AUTO:GPU,CPU", "MULTI:CPU", "HETERO:CPU"]
)
@pytest.mark.parametrize("precision", [Precision.AUTO, Precision.F32])
def test_virtual_devices_answer_like_the_cpu(path: Path, device: str, precision: Precision) -> None:
    settings = DetectorSettings("m", device=device, precision=precision)
    detector = compile_detector(path, settings)
    assert len(detector.infer_once(make_picture())) == 1
    assert detector.optimal_requests >= 1


@pytest.mark.parametrize("device", ["FOO", "GPU.7", "AUTO:FOO,CPU", "AUTO:FOO", "", "CPU FAST"])
def test_a_device_that_is_not_here_is_an_error_that_lists_those_that_are(
    path: Path, device: str
) -> None:
    with pytest.raises(ModelError, match=r"gate.*CPU"):
        compile_detector(path, DetectorSettings("gate", device=device))


def test_a_misspelt_property_is_an_error_with_a_suggestion(path: Path) -> None:
    settings = DetectorSettings("gate", properties={"ENABLE_CPU_PINING": True})
    with pytest.raises(ModelError, match="did you mean ENABLE_CPU_PINNING"):
        compile_detector(path, settings)


def test_a_property_that_can_only_be_read_is_refused(path: Path) -> None:
    with pytest.raises(ModelError, match="FULL_DEVICE_NAME"):
        compile_detector(path, DetectorSettings("gate", properties={"FULL_DEVICE_NAME": "x"}))


def test_a_wrong_value_is_an_error_in_words(path: Path) -> None:
    with pytest.raises(ModelError, match=r"gate.*number of streams") as caught:
        compile_detector(path, DetectorSettings("gate", properties={"NUM_STREAMS": "many"}))
    assert "Exception from" not in str(caught.value)


def test_properties_of_the_user_win() -> None:
    settings = DetectorSettings(
        "m",
        hint=Hint.LATENCY,
        precision=Precision.F32,
        properties={"ENABLE_CPU_PINNING": True, "PERFORMANCE_HINT": "THROUGHPUT"},
    )
    assert properties_for(settings) == {
        "PERFORMANCE_HINT": "THROUGHPUT",
        "ENABLE_CPU_PINNING": True,
        "INFERENCE_PRECISION_HINT": "f32",
    }


def test_pinning_is_off_on_the_cpu_alone() -> None:
    assert properties_for(DetectorSettings("m"))["ENABLE_CPU_PINNING"] is False
    assert "ENABLE_CPU_PINNING" not in properties_for(DetectorSettings("m", device="AUTO"))


def test_a_precision_that_the_device_lacks_is_said(path: Path, log_lines: list[str]) -> None:
    lacking = set(Precision) - {Precision.AUTO, *precisions_of_the_cpu()}
    for precision in lacking:
        compile_detector(path, DetectorSettings("gate", precision=precision))
    assert len([line for line in log_lines if "gate" in line and "computes in" in line]) == len(
        lacking
    )


def precisions_of_the_cpu() -> set[Precision]:
    names = ov.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    known = {"FP32": Precision.F32, "FP16": Precision.F16, "BF16": Precision.BF16}
    return {known[name] for name in names if name in known}


def test_a_compiled_model_is_kept_in_the_cache_folder(path: Path, tmp_path: Path) -> None:
    cache = tmp_path / "compiled"
    for _ in range(2):
        detector = compile_detector(path, DetectorSettings("m", cache_dir=cache))
        assert len(detector.infer_once(make_picture())) == 1
    assert len(list(cache.glob("*.blob"))) == 1
