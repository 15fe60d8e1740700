from __future__ import annotations

import os
from pathlib import Path

import openvino as ov
import pytest

from tests.builders import make_picture
from tests.graphs import saved, ssd_rows
from vidpipe.errors import ModelError
from vidpipe.inference.devices import properties_for
from vidpipe.inference.model import compile_detector
from vidpipe.inference.settings import DetectorSettings, Hint, Precision, PropertyValue

ROW = [0, 1, 0.9, 0, 0, 1, 1]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return saved(ssd_rows([ROW]), tmp_path)


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


@pytest.mark.parametrize("device", ["CPU", "AUTO", "HETERO:CPU"])
@pytest.mark.parametrize(
    "name", ["FULL_DEVICE_NAME", "OPTIMAL_NUMBER_OF_INFER_REQUESTS", "range_for_streams"]
)
def test_a_property_that_can_only_be_read_is_refused_as_such(
    path: Path, device: str, name: str
) -> None:
    settings = DetectorSettings("gate", device=device, properties={name: 1})
    with pytest.raises(ModelError, match=rf"model gate: properties\.{name} is read-only"):
        compile_detector(path, settings)


@pytest.mark.parametrize("device", ["AUTO:CPU", "MULTI:CPU", "HETERO:CPU"])
def test_a_wrong_value_is_an_error_in_words_behind_a_virtual_device(
    path: Path, device: str
) -> None:
    settings = DetectorSettings("gate", device=device, properties={"INFERENCE_NUM_THREADS": -5})
    with pytest.raises(ModelError, match="Expected only non negative integer") as caught:
        compile_detector(path, settings)
    assert "Exception from" not in str(caught.value)


def test_a_wrong_value_is_an_error_in_words(path: Path) -> None:
    with pytest.raises(ModelError, match=r"gate.*number of streams") as caught:
        compile_detector(path, DetectorSettings("gate", properties={"NUM_STREAMS": "many"}))
    assert "Exception from" not in str(caught.value)


def test_properties_of_the_user_win() -> None:
    settings = DetectorSettings(
        "m",
        hint=Hint.LATENCY,
        precision=Precision.F32,
        properties={"ENABLE_CPU_PINNING": True, "INFERENCE_NUM_THREADS": 1},
    )
    assert properties_for(ov.Core(), settings) == {
        "PERFORMANCE_HINT": "LATENCY",
        "ENABLE_CPU_PINNING": True,
        "INFERENCE_NUM_THREADS": 1,
        "INFERENCE_PRECISION_HINT": "f32",
    }


@pytest.mark.parametrize("device", ["CPU", "AUTO", "AUTO:GPU,CPU", "MULTI:CPU", "BATCH:CPU(2)"])
def test_pinning_is_off_on_the_cpu_wherever_it_stands(path: Path, device: str) -> None:
    detector = compile_detector(path, DetectorSettings("m", device=device))
    assert detector.answers()["enable_cpu_pinning"] == "False"


@pytest.mark.parametrize("device", ["CPU", "AUTO", "MULTI:GPU,CPU", "HETERO:CPU", "BATCH:CPU(2)"])
def test_overrides_reach_the_device_behind_a_virtual_one(path: Path, device: str) -> None:
    settings = DetectorSettings("m", device=device, num_streams=1, threads=1, is_pinned=True)
    answers = compile_detector(path, settings).answers()
    assert answers["num_streams"] == "1"
    assert answers["inference_num_threads"] == "1"
    assert answers["enable_cpu_pinning"] == "True"


def test_a_property_of_the_user_reaches_the_device_behind_a_virtual_one(path: Path) -> None:
    settings = DetectorSettings("m", device="AUTO:CPU", properties={"ENABLE_CPU_PINNING": True})
    assert compile_detector(path, settings).answers()["enable_cpu_pinning"] == "True"


@pytest.mark.parametrize("key", ["num_streams", "threads"])
def test_more_than_a_device_has_is_refused_with_what_it_has(path: Path, key: str) -> None:
    settings = DetectorSettings("gate", **{key: 1000})  # type: ignore[arg-type] # by name
    with pytest.raises(
        ModelError, match=rf"model gate: {key} is 1000, and device CPU has \d+ here"
    ):
        compile_detector(path, settings)


def test_a_key_and_a_property_that_mean_the_same_are_refused(path: Path) -> None:
    settings = DetectorSettings("gate", num_streams=1, properties={"NUM_STREAMS": 1})
    with pytest.raises(ModelError, match=r"num_streams and properties\.NUM_STREAMS"):
        compile_detector(path, settings)


@pytest.mark.parametrize(
    ("device", "name", "value", "key"),
    [
        ("CPU", "PERFORMANCE_HINT", "LATENCY", "hint"),
        ("CPU", "performance_hint", "LATENCY", "hint"),
        ("HETERO:CPU", "PERFORMANCE_HINT", "LATENCY", "hint"),
        ("CPU", "DEVICE_PROPERTIES", "{CPU:{PERFORMANCE_HINT:LATENCY}}", "hint"),
        ("AUTO", "MULTI_DEVICE_PRIORITIES", "CPU", "device"),
        ("CPU", "DEVICE_ID", "1", "device"),
    ],
)
def test_a_property_that_a_key_says_is_refused(
    path: Path, device: str, name: str, value: str, key: str
) -> None:
    settings = DetectorSettings("gate", device=device, hint=Hint.ADAPTIVE, properties={name: value})
    with pytest.raises(ModelError, match=rf"{key} and properties\..* say it with the key {key}$"):
        compile_detector(path, settings)


def test_a_key_does_not_hide_in_the_properties_of_devices(path: Path) -> None:
    properties: dict[str, PropertyValue] = {"DEVICE_PROPERTIES": "{CPU:{NUM_STREAMS:2}}"}
    settings = DetectorSettings("gate", num_streams=1, properties=properties)
    with pytest.raises(ModelError, match=r"num_streams and properties\.NUM_STREAMS"):
        compile_detector(path, settings)


def test_the_number_that_the_hint_reckons_with_is_let_through(path: Path) -> None:
    settings = DetectorSettings("gate", properties={"PERFORMANCE_HINT_NUM_REQUESTS": 1})
    assert compile_detector(path, settings).optimal_requests == 1


def test_a_misspelt_property_that_a_key_says_leads_to_the_key(path: Path) -> None:
    settings = DetectorSettings("gate", properties={"PERFORMANCE_HNT": "LATENCY"})
    with pytest.raises(ModelError, match=r"mean PERFORMANCE_HINT\? Say it with the key hint$"):
        compile_detector(path, settings)


def test_models_side_by_side_share_the_cores_out(path: Path) -> None:
    usual = compile_detector(path, DetectorSettings("m", share_of=1000)).answers()
    assert (usual["num_streams"], usual["inference_num_threads"]) == ("1", "1")
    cores = len(os.sched_getaffinity(0))
    own = compile_detector(path, DetectorSettings("m", share_of=1000, threads=cores)).answers()
    assert own["inference_num_threads"] == str(cores)


@pytest.mark.parametrize("device", ["HETERO:GPU.7,CPU", "AUTO:GPU.7", "MULTI:GPU.7"])
def test_a_virtual_device_without_a_device_is_refused(path: Path, device: str) -> None:
    with pytest.raises(ModelError, match=r"model gate: there is no device .* available: .*CPU"):
        compile_detector(path, DetectorSettings("gate", device=device))


@pytest.mark.parametrize("device", ["AUTO:-CPU", "AUTO:CPU,-CPU"])
def test_a_virtual_device_that_excludes_all_there_are_has_nothing_left(
    path: Path, device: str
) -> None:
    with pytest.raises(ModelError, match=rf"device {device} .* nothing is left; available: .*CPU"):
        compile_detector(path, DetectorSettings("gate", device=device))


@pytest.mark.parametrize("device", ["AUTO:GPU.7,CPU", "AUTO:-GPU.7", "MULTI:GPU.7,CPU"])
def test_auto_and_multi_go_without_a_device_that_is_not_here(
    path: Path, device: str, tmp_path: Path
) -> None:
    settings = DetectorSettings("gate", device=device, cache_dir=tmp_path / "cache")
    assert len(compile_detector(path, settings).infer_once(make_picture())) == 1


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


def test_a_compiled_model_is_kept_in_the_cache_folder(
    path: Path, tmp_path: Path, log_lines: list[str]
) -> None:
    cache = tmp_path / "compiled"
    for _ in range(2):
        detector = compile_detector(path, DetectorSettings("m", cache_dir=cache))
        assert len(detector.infer_once(make_picture())) == 1
    assert len(list(cache.rglob("*.blob"))) == 1
    compiled = [line for line in log_lines if "model m: read in" in line]
    assert ["from the cache" in line for line in compiled] == [False, True]


def test_the_users_own_cache_dir_wins(path: Path, tmp_path: Path) -> None:
    settings = DetectorSettings("m", cache_dir=tmp_path / "c", properties={"CACHE_DIR": ""})
    compile_detector(path, settings)
    assert not (tmp_path / "c").exists()
