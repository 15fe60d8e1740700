from __future__ import annotations

from pathlib import Path

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as ops

from tests.graphs import fixed_outputs, picture_parameter, saved
from vidpipe.errors import ModelError
from vidpipe.inference.aspect import coarsest_stride, fitted_wh, scale_beside_square
from vidpipe.inference.decoders.family import Signature, TensorSpec
from vidpipe.inference.model import compile_detector, read_detector
from vidpipe.inference.settings import DetectorSettings, InputSettings, Resize

WIDE = 16 / 9


def convolutional_yolox(classes: int = 2, side: int = 64) -> ov.Model:
    """Return a YOLOX of one-cell kernels: its maps follow its input, whatever the size."""
    image = picture_parameter((1, 3, side, side))
    maps = []
    for stride in (8, 16, 32):
        weights = np.full((5 + classes, 3, stride, stride), 1e-6, np.float32)
        cells = ops.convolution(
            image, ops.constant(weights), [stride, stride], [0, 0], [0, 0], [1, 1]
        )
        rows = ops.reshape(cells, np.array([0, 5 + classes, -1]), special_zero=True)
        maps.append(ops.transpose(rows, np.array([0, 2, 1])))
    table = ops.concat(maps, 1)
    table.output(0).set_names({"output"})
    return ov.Model([ops.result(table)], [image], "yolox")


def signature(picture_wh: tuple[int, int], *shapes: tuple[int, ...]) -> Signature:
    outputs = tuple(TensorSpec(frozenset(), shape, "f32") for shape in shapes)
    return Signature((), outputs, picture_wh=picture_wh)


@pytest.mark.parametrize(
    ("own_wh", "aspect", "stride", "wanted_wh"),
    [
        ((640, 640), 16 / 9, 32, (640, 384)),
        ((640, 640), 1920 / 1088, 32, (640, 384)),
        ((640, 640), 9 / 16, 32, (384, 640)),
        ((640, 640), 4 / 3, 32, (640, 480)),
        ((640, 640), 1.0, 32, (640, 640)),
        ((416, 416), 16 / 9, 32, (416, 256)),
        ((640, 640), 16 / 9, 64, (640, 384)),
        ((1280, 1280), 16 / 9, 64, (1280, 768)),
        ((640, 384), 16 / 9, 32, (640, 384)),  # it has that shape already
        ((640, 384), 1.0, 32, (384, 384)),
        ((640, 640), 100.0, 32, (640, 32)),
        ((300, 300), 1.01, 32, (300, 300)),  # never more than its own
    ],
)
def test_an_input_is_as_small_as_the_pictures_scale_allows(
    own_wh: tuple[int, int], aspect: float, stride: int, wanted_wh: tuple[int, int]
) -> None:
    assert fitted_wh(own_wh, aspect, stride) == wanted_wh


@pytest.mark.parametrize(
    ("aspect", "of_aspect", "scale"),
    [
        (9 / 16, 16 / 9, 9 / 16),
        (16 / 9, 9 / 16, 9 / 16),
        (4 / 3, 16 / 9, 3 / 4),
        (1.0, 16 / 9, 9 / 16),
        (16 / 9, 4 / 3, 1.0),
        (16 / 9, 1.0, 1.0),
        (21 / 9, 16 / 9, 1.0),
    ],
)
def test_a_picture_of_another_shape_loses_what_the_input_is_short_of(
    aspect: float, of_aspect: float, scale: float
) -> None:
    assert scale_beside_square(aspect, of_aspect) == pytest.approx(scale)
    own = 6400  # large beside the stride, so that the fitted input is nearly the exact one
    room_w, room_h = fitted_wh((own, own), of_aspect, 1)
    width, height = fitted_wh((own, own), aspect, 1)
    assert min(1.0, room_w / width, room_h / height) == pytest.approx(scale, abs=1e-3)


def test_the_stride_is_that_of_the_coarsest_map() -> None:
    assert coarsest_stride(signature((640, 640), (1, 84, 8400))) == 32
    assert coarsest_stride(signature((640, 640), (1, 25200, 85))) == 32
    assert coarsest_stride(signature((1280, 1280), (1, 34000, 85))) == 64
    assert coarsest_stride(signature((320, 320), (1, 25, 80), (1, 25, 32))) == 64
    assert coarsest_stride(signature((640, 640), (1, 1, 200, 7))) == 32


def test_a_convolutional_detector_takes_the_shape_of_its_streams(tmp_path: Path) -> None:
    path = saved(convolutional_yolox(), tmp_path)
    settings = DetectorSettings("tiny", input=InputSettings(aspect=WIDE))
    found = compile_detector(path, settings)
    assert found.input_wh == (64, 64)  # 36 rounds up to 64
    found = compile_detector(
        saved(convolutional_yolox(side=640), tmp_path),
        settings,
    )
    assert found.input_wh == (640, 384)


def test_a_size_that_is_given_wins(tmp_path: Path) -> None:
    path = saved(convolutional_yolox(), tmp_path)
    settings = DetectorSettings("tiny", input=InputSettings(aspect=WIDE, size_wh=(96, 32)))
    assert read_detector(path, settings).rule.input_wh == (96, 32)


def test_a_model_that_stretches_its_pictures_is_refused(tmp_path: Path) -> None:
    path = saved(convolutional_yolox(side=640), tmp_path)
    given = InputSettings(aspect=WIDE, resize=Resize.STRETCH)
    with pytest.raises(ModelError, match=r"model tiny: input\.fit: streams is for models that see"):
        read_detector(path, DetectorSettings("tiny", input=given))


def test_a_model_whose_rows_are_fixed_is_refused(tmp_path: Path) -> None:
    rows = np.zeros((1, 8400, 7), np.float32)
    path = saved(fixed_outputs({"output": rows}, shape=(1, 3, 640, 640)), tmp_path)
    given = InputSettings(aspect=WIDE)
    with pytest.raises(ModelError, match=r"input of 640x384 pixels.*8400 is not the number"):
        read_detector(path, DetectorSettings("tiny", input=given))
