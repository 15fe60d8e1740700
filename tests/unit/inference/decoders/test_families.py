from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from tests.heads import HEADS
from vidpipe.config.model import DecoderName
from vidpipe.errors import ModelError
from vidpipe.inference.decoders.families import ALIASES, FAMILIES, choose_family
from vidpipe.inference.decoders.family import Shape, Signature, TensorSpec

SQUARE = (640, 640)


def signature(
    *shapes: Shape | None, stated: str = "", picture_wh: tuple[int | None, int | None] = SQUARE
) -> Signature:
    outputs = tuple(
        TensorSpec(frozenset({f"out{i}"}), shape, "f32") for i, shape in enumerate(shapes)
    )
    metadata = {"family": stated} if stated else {}
    return Signature((), outputs, metadata=metadata, picture_wh=picture_wh)


@pytest.mark.parametrize(
    ("shapes", "family"),
    [
        ([(1, 1, 200, 7)], "ssd"),
        ([(1, 100, 4), (1, 100), (1, 100), (1,)], "tf-od"),
        ([(1, 1917, 4), (1, 1917, 91)], "tf-od"),
        ([(None, 5), (None,)], "omz-boxes"),
        ([(1, 84, 8400)], "yolo"),
        ([(1, 6, 8400)], "yolo"),
        ([(1, 84, 8500)], "yolo"),
        ([(1, 84, 34000)], "yolo"),
        ([(1, 8400, 84)], "yolo"),
        ([(1, 116, 8400), (1, 32, 160, 160)], "yolo"),
        ([(1, 8400, 85)], "yolox"),
        ([(1, 8400, 6)], "yolox"),
        ([(1, 8400, 25)], "yolox"),
        ([(1, 8500, 85)], "yolox"),
        ([(1, 2000, 85)], "yolox"),
        ([(1, 25200, 85)], "yolov5"),
        ([(1, 25200, 6)], "yolov5"),
        ([(1, 25500, 85)], "yolov5"),
        ([(1, 6000, 85)], "yolov5"),
        ([(1, 300, 6)], "yolo-e2e"),
        ([(1, 8400, 112)], "nanodet"),
        ([(1, 8500, 112)], "nanodet"),
        ([(1, 85, 40, 40)], "fastestdet"),
        ([(1, 300, 84)], "rt-detr"),
        ([(1, 300, 5)], "rt-detr"),
    ],
)
def test_auto_tells_a_family_by_its_shapes(shapes: list[Shape], family: str) -> None:
    assert choose_family("auto", signature(*shapes), "m").name == family


@pytest.mark.parametrize("title", list(HEADS))
def test_auto_tells_every_kind_of_export(title: str) -> None:
    family, head = HEADS[title]
    assert choose_family("auto", head.signature(), "m").name == family


@pytest.mark.parametrize(
    "shapes",
    [
        [(1, 8400, 4), (1, 8400, 80)],
        [(1, 4), (1, 8)],
        [(1, 1000)],
        [(1, 3, 640, 640), (1, 1000)],
        [(1, 8400, 5), (1, 8400, 85)],
        # Darknet's YOLOv4 in ONNX; segmentation, heat maps, plates and classes as maps.
        [(1, 10647, 1, 4), (1, 10647, 80)],
        [(1, 21, 640, 640)],
        [(1, 17, 64, 48)],
        [(1, 88, 1, 1)],
        [(1, 1000, 1, 1)],
        [(1, 255, 20, 20)],
        [None],
        [],
    ],
)
def test_what_fits_nothing_is_told_what_each_family_needs(shapes: list[Shape | None]) -> None:
    with pytest.raises(ModelError) as caught:
        choose_family("auto", signature(*shapes), "gate")
    text = str(caught.value)
    assert "gate" in text
    assert all(f"{family.name} needs {family.needs}" in text for family in FAMILIES)
    if shapes:
        assert "out0 [" in text


@pytest.mark.parametrize(
    ("shape", "picture_wh", "choices"),
    [
        # 12 * 20 and 6 * 10 cells at strides 16 and 32.
        ((1, 300, 6), (320, 192), "yolo-e2e or yolox"),
        ((1, None, 6), (640, 640), "yolo-e2e or yolov5 or yolox or rt-detr"),
        ((1, 3549, 85), (None, None), "yolov5 or yolox"),
        ((1, 300, 7), (640, 640), "ssd or rt-detr"),
        # A NanoDet of one class, or a YOLOX of 28.
        ((1, 8500, 33), (640, 640), "yolox or nanodet"),
    ],
)
def test_what_stays_ambiguous_is_refused_with_the_choices(
    shape: Shape, picture_wh: tuple[int | None, int | None], choices: str
) -> None:
    with pytest.raises(ModelError) as caught:
        choose_family("auto", signature(shape, picture_wh=picture_wh), "gate")
    text = str(caught.value)
    assert all(name in text.partition("(decoder:")[2] for name in choices.split(" or "))
    assert "model gate: its outputs (out0 [" in text


@pytest.mark.parametrize(
    ("shapes", "family"),
    [
        ([(1, 256, 256)], "rt-detr"),  # a map of depth
        ([(1, 197, 768)], "rt-detr"),  # a transformer's tokens
        ([(1, 100, 4), (1, 100), (1, 100)], "rt-detr"),  # an SSD with its suppression inside
        ([(1, 1), (1, 100, 4), (1, 100), (1, 100)], "tf-od"),  # YOLO-NAS likewise
    ],
)
def test_a_resemblance_is_no_proof(shapes: list[Shape], family: str) -> None:
    shown = signature(*shapes)
    whole = replace(shown.outputs[-1], element_type="i64")
    shown = replace(shown, outputs=(*shown.outputs[:-1], whole))
    with pytest.raises(ModelError) as caught:
        choose_family("auto", shown, "gate")
    assert family in str(caught.value).partition("decoder: ")[2]


@pytest.mark.parametrize("shape", [(None, 7), (1, 200, 7)])
def test_what_fits_one_family_alone_but_proves_nothing_is_asked_for(shape: Shape) -> None:
    with pytest.raises(ModelError, match="decoder: ssd"):
        choose_family("auto", signature(shape, picture_wh=(320, 192)), "gate")


@pytest.mark.parametrize(
    ("shape", "labels", "family"),
    [
        ((1, 8400, 6), 1, "yolox"),
        ((1, 8400, 6), 2, "yolo"),
        ((1, 8400, 84), 79, "yolox"),
        ((1, 8400, 112), 107, "yolox"),
        ((1, 8400, 33), 1, "nanodet"),
        ((1, 8400, 85), 3, "yolox"),
        ((1, 300, 6), 2, "yolo-e2e"),
        ((1, 300, 7), 3, "rt-detr"),
    ],
)
def test_the_number_of_labels_decides(shape: Shape, labels: int, family: str) -> None:
    assert choose_family("auto", signature(shape), "m", labels).name == family


def test_the_configuration_knows_the_same_names() -> None:
    names = {family.name for family in FAMILIES}
    assert set(get_args(DecoderName)) == {"auto", *names, *ALIASES}


@pytest.mark.parametrize("alias", list(ALIASES))
def test_a_further_name_is_the_same_family(alias: str) -> None:
    assert choose_family(alias, signature((1, 300, 84)), "m").name == ALIASES[alias]


def test_what_the_file_states_goes_before_the_shapes() -> None:
    assert choose_family("auto", signature((1, 200, 7), stated="ssd"), "m").name == "ssd"


def test_what_the_file_states_must_fit() -> None:
    assert choose_family("auto", signature((1, 1, 200, 7), stated="tf-od"), "m").name == "ssd"


def test_the_user_may_name_a_family_that_auto_would_not_guess() -> None:
    assert choose_family("ssd", signature((None, 7)), "m").name == "ssd"


@pytest.mark.parametrize("decoder", [family.name for family in FAMILIES if family.name != "yolo"])
def test_a_name_does_not_make_a_model_what_it_is_not(decoder: str) -> None:
    with pytest.raises(ModelError, match=f"decoder {decoder} doesn't fit: "):
        choose_family(decoder, signature((1, 84, 8400)), "m")


@pytest.mark.parametrize(
    ("decoder", "said"),
    [("sdd", "did you mean ssd"), ("zzz", "there are auto"), ("tf-od", "doesn't fit")],
)
def test_a_wrong_name_is_an_error_that_helps(decoder: str, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        choose_family(decoder, signature((1, 1, 200, 7)), "m")


def test_a_named_decoder_that_the_shapes_speak_against_is_warned_of(log_lines: list[str]) -> None:
    head = HEADS["yolox"][1].signature()
    assert choose_family("nanodet", head, "m").name == "nanodet"
    (line,) = log_lines
    assert line.startswith("WARNING {} model m: decoder nanodet was asked for, but its outputs (")
    assert "are those of yolox" in line


@pytest.mark.parametrize("title", list(HEADS))
def test_the_right_decoder_may_be_named_without_a_word(title: str, log_lines: list[str]) -> None:
    family, head = HEADS[title]
    assert choose_family(family, head.signature(), "m").name == family
    assert log_lines == []
