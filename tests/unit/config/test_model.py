from __future__ import annotations

from pathlib import Path

import pytest

from tests.config_files import fault_of, faults_of, load, one_model, one_stream


def test_every_key_of_a_model_is_understood() -> None:
    model = load(
        one_model(
            "decoder: ssd, labels: [person, no, 1], classes: [person], confidence: 0.3, iou: 0.6,"
            " nms: agnostic, input: {size: [640, 384], color: rgb, resize: letterbox,"
            " anchor: corner, pad: 114, mean: 127.5, scale: [1, 2, 3], fit: model},"
            " precision: f16, device: cpu, hint: latency, call: async, mode: shared, requests: 4,"
            " timeout_s: 2"
        )
    ).models["person"]
    assert model.labels == ("person", "no", "1")
    assert (model.nms, model.input.size) == ("agnostic", (640, 384))
    assert model.input.mean == (127.5, 127.5, 127.5)
    assert model.input.scale == (1.0, 2.0, 3.0)
    assert (model.device, model.requests, model.timeout_s) == ("CPU", 4, 2.0)


def test_one_number_is_a_square_input() -> None:
    assert load(one_model("input: {size: 416}")).models["person"].input.size == (416, 416)


def test_labels_may_be_a_file() -> None:
    assert load(one_model("labels: names.txt")).models["person"].labels == Path("names.txt")


@pytest.mark.parametrize(
    ("text", "device"),
    [
        ("GPU.1", "GPU.1"),
        ("AUTO", "AUTO"),
        ("AUTO:GPU,CPU", "AUTO:GPU,CPU"),
        ("AUTO:-NPU", "AUTO:-NPU"),
        ("MULTI:GPU, CPU", "MULTI:GPU,CPU"),
        ("HETERO:GPU.0,CPU", "HETERO:GPU.0,CPU"),
        ("BATCH:CPU(4)", "BATCH:CPU(4)"),
    ],
)
def test_devices_are_those_of_openvino(text: str, device: str) -> None:
    assert load(one_model(f"device: '{text}'")).models["person"].device == device


@pytest.mark.parametrize(
    ("keys", "key", "words"),
    [
        ("device: GPPU", "device", "did you mean 'GPU'"),
        ("device: MULTI", "device", "MULTI:CPU,GPU"),
        ("device: 'HETERO:'", "device", "HETERO needs its devices, such as HETERO:CPU,GPU"),
        ("device: ''", "device", "is empty"),
        ("device: 'CPU:'", "device", "expected CPU"),
        ("requests: 0", "requests", "expected auto or a number from 1"),
        ("requests: many", "requests", "not 'many'"),
        ("confidence: 1.1", "confidence", "at most 1"),
        ("iou: -0.1", "iou", "at least 0"),
        ("classes: [persn], labels: [person]", "classes", "did you mean 'person'"),
        ("classes: []", "classes", "at least 1"),
        ("labels: 5.5.5, classes: x", "classes", "expected a list"),
        ("labels: {a: 1}", "labels", "a list of names, or a file"),
        ("input: {scale: [1, 0, 1]}", "input.scale", "can't hold 0"),
        ("input: {mean: [1, 2]}", "input.mean", "three numbers"),
        ("input: {anchor: center}", "input.anchor", "did you mean 'centre'"),
        ("input: {size: [640]}", "input.size", "a width and a height"),
        ("input: {size: [640, 0]}", "input.size", "from 1 to 8192"),
        ("input: {size: 640x384}", "input.size", "640x384"),
        ("nms: soft", "nms", "class"),
        ("input: {pad: 256}", "input.pad", "at most 255"),
        ("decoder: yolox2", "decoder", "did you mean 'yolox'"),
        ("path: x.xml", "", "exclude each other"),
        ("properties: {A: [1]}", "properties.A", "not a list"),
        ("timeout_s: 0", "timeout_s", "greater than 0"),
    ],
)
def test_a_wrong_value_is_refused_at_its_key(keys: str, key: str, words: str) -> None:
    fault = fault_of(one_model(keys))
    assert fault.key == f"models.person{'.' if key else ''}{key}"
    assert words in fault.message


def test_a_model_needs_a_path_or_a_zoo_name_whatever_else_is_wrong() -> None:
    text = one_stream().replace("zoo: person-ssdlite", "iou: 7")
    assert [fault.key for fault in faults_of(text)] == ["models.person", "models.person.iou"]
    assert fault_of(one_stream().replace("{zoo: person-ssdlite}", "")).key == "models.person"


def test_overrides_of_the_hint_are_read() -> None:
    model = load(one_model("num_streams: 2, threads: 4, pinning: yes")).models["person"]
    assert (model.num_streams, model.threads, model.pinning) == (2, 4, True)
    plain = load(one_model("num_streams: auto, threads: , pinning: ")).models["person"]
    assert (plain.num_streams, plain.threads, plain.pinning) == ("auto", None, None)


@pytest.mark.parametrize(
    "keys",
    ["num_streams: 0", "num_streams: many", "threads: 0", "threads: auto", "pinning: 2"],
)
def test_overrides_of_the_hint_have_bounds(keys: str) -> None:
    fault = fault_of(one_model(keys))
    assert fault.key == f"models.person.{keys.partition(':')[0]}"


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("call: sync, mode: batched", "exclude each other"),
        ("hint: adaptive, call: sync", "not call: sync"),
        ("hint: adaptive, mode: independent", "not mode: independent"),
        ("hint: adaptive, mode: batched", "not mode: batched"),
    ],
)
def test_choices_that_exclude_one_another_are_refused(keys: str, said: str) -> None:
    (found,) = faults_of(one_model(keys))
    assert found.key == "models.person"
    assert said in found.message


@pytest.mark.parametrize(
    "keys",
    [
        "call: sync",
        "call: sync, mode: independent",
        "call: sync, hint: latency",
        "mode: independent, hint: latency",
        "mode: batched, hint: latency, batch: {size: 4}",
        "hint: adaptive",
    ],
)
def test_all_other_choices_go_together(keys: str) -> None:
    assert "person" in load(one_model(keys)).models
