from __future__ import annotations

import pytest

from vidpipe.inference.modelapi import stated_input, stated_iou
from vidpipe.inference.settings import Anchor, Color, InputSettings, Resize

ULTRALYTICS = {
    "model_type": "YOLO",
    "reverse_input_channels": "True",
    "pad_value": "114",
    "scale_values": "[255.0]",
    "iou_threshold": "0.7",
    "resize_type": "fit_to_window_letterbox",
    "imgsz": "[384, 640]",
}


def test_what_ultralytics_writes_is_understood() -> None:
    assert stated_input(ULTRALYTICS) == InputSettings(
        color=Color.RGB,
        resize=Resize.LETTERBOX,
        anchor=Anchor.CENTRE,
        pad=114,
        scale=(255.0, 255.0, 255.0),
        size_wh=(640, 384),
    )
    assert stated_iou(ULTRALYTICS) == 0.7


def test_its_detr_is_stretched_whatever_the_file_says() -> None:
    stated = stated_input({**ULTRALYTICS, "description": "Ultralytics rtdetr-l model"})
    assert (stated.resize, stated.anchor) == (None, None)
    assert stated.color is Color.RGB


def test_mean_and_scale_may_be_three_numbers() -> None:
    stated = stated_input(
        {"mean_values": "123.675 116.28 103.53", "scale_values": "[58.4, 57.1, 5.7e1]"}
    )
    assert stated.mean == (123.675, 116.28, 103.53)
    assert stated.scale == (58.4, 57.1, 57.0)


@pytest.mark.parametrize(
    ("text", "size_wh"),
    [
        ("640", (640, 640)),
        ("[384, 640]", (640, 384)),
        ("", None),
        ("[1, 2, 3]", None),
        ("0", None),
        ("[1, 9999999]", None),
    ],
)
def test_the_size_is_height_and_width(text: str, size_wh: tuple[int, int] | None) -> None:
    assert stated_input({"imgsz": text}).size_wh == size_wh


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"pad_value": "x", "mean_values": "", "scale_values": "1 2", "resize_type": "crop"},
        {"scale_values": "0", "pad_value": "300", "reverse_input_channels": "maybe"},
        {"mean_values": "1e999", "scale_values": "1e400"},
        {**ULTRALYTICS, "embedded_processing": "True"},
    ],
)
def test_what_is_unclear_or_done_already_is_left_to_the_family(metadata: dict[str, str]) -> None:
    assert stated_input(metadata) == InputSettings()


@pytest.mark.parametrize("text", ["", "1", "0", "x", "0.5 0.6"])
def test_an_overlap_that_makes_no_sense_is_none(text: str) -> None:
    assert stated_iou({"iou_threshold": text}) is None
