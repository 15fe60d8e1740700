"""Outputs of every family that say what a test wants: the decoders' formulas, turned round.

A head is blank (nothing is found) until boxes are put into it. Nothing here uses a decoder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vidpipe.inference.decoders.family import Signature, TensorSpec

Output = NDArray[np.generic]
BoxXyxy = tuple[float, float, float, float]
Put = Callable[[Sequence[NDArray[np.float32]], int, BoxXyxy, float, int], None]
"""Writes into blank outputs: the how many-th object it is, its box, score and class."""

CLASSES = 80
ANCHORS = 1917


@dataclass(frozen=True, slots=True)
class Head:
    """The outputs of a model.

    Attributes:
        input_wh: Its input in pixels.
        shapes: The shape of each output by name, in order.
        put: Writes an object into blank outputs.
        types: The element types that are not f32, by name.
        has_classes: False where there is one class alone.
        blank: What blank outputs are filled with.
    """

    input_wh: tuple[int, int]
    shapes: Mapping[str, tuple[int, ...]]
    put: Put
    types: Mapping[str, str]
    has_classes: bool = True
    blank: float = 0.0

    def signature(self) -> Signature:
        """Return what such a model shows."""
        return Signature(
            inputs=(),
            outputs=tuple(
                TensorSpec(frozenset({name}), shape, self.types.get(name, "f32"))
                for name, shape in self.shapes.items()
            ),
            picture_wh=self.input_wh,
        )

    def outputs(
        self, boxes: Sequence[BoxXyxy] = (), scores: Sequence[float] = (), ids: Sequence[int] = ()
    ) -> list[Output]:
        """Return outputs that hold these objects, in float32 but where the model says otherwise."""
        filled = [np.full(shape, self.blank, np.float32) for shape in self.shapes.values()]
        for number, (box, score, class_id) in enumerate(zip(boxes, scores, ids, strict=True)):
            self.put(filled, number, box, score, class_id)
        return [
            values.astype(np.int64) if self.types.get(name) == "i64" else values
            for name, values in zip(self.shapes, filled, strict=True)
        ]


def cells(input_wh: tuple[int, int], strides: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return column, row and stride of each cell, in the models' order."""
    width, height = input_wh
    return [
        (x, y, stride)
        for stride in strides
        for y in range(-(-height // stride))
        for x in range(-(-width // stride))
    ]


def _centre(box: BoxXyxy) -> tuple[float, float, float, float]:
    x1, y1, x2, y2 = box
    return (x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1


def _yolo(
    filled: Sequence[NDArray[np.float32]], n: int, box: BoxXyxy, score: float, c: int
) -> None:
    filled[0][0, :4, 37 * n] = _centre(box)
    filled[0][0, 4 + c, 37 * n] = score


def _yolo_by_row(
    filled: Sequence[NDArray[np.float32]], n: int, box: BoxXyxy, score: float, c: int
) -> None:
    filled[0][0, 37 * n, :4] = _centre(box)
    filled[0][0, 37 * n, 4 + c] = score


def _yolov5(
    filled: Sequence[NDArray[np.float32]], n: int, box: BoxXyxy, score: float, c: int
) -> None:
    filled[0][0, 37 * n, :5] = (*_centre(box), 1.0)
    filled[0][0, 37 * n, 5 + c] = score


def _six(filled: Sequence[NDArray[np.float32]], n: int, box: BoxXyxy, score: float, c: int) -> None:
    filled[0][0, n] = (*box, score, c)


def _yolox_of(input_wh: tuple[int, int], strides: Sequence[int]) -> Put:
    grid = cells(input_wh, strides)

    def put(
        filled: Sequence[NDArray[np.float32]], n: int, box: BoxXyxy, score: float, c: int
    ) -> None:
        row = (37 * n) % len(grid)
        x, y, stride = grid[row]
        cx, cy, w, h = _centre(box)
        sizes = np.log(w / stride), np.log(h / stride)
        filled[0][0, row, :5] = (cx / stride - x, cy / stride - y, *sizes, 1.0)
        filled[0][0, row, 5 + c] = score

    return put


def _sides(
    bins: NDArray[np.float32], box: BoxXyxy, point: tuple[float, float], stride: int
) -> None:
    """Write four distances, each between two bins."""
    x1, y1, x2, y2 = box
    distances = (point[0] - x1, point[1] - y1, x2 - point[0], y2 - point[1])
    for side, distance in enumerate(distances):
        low, part = divmod(min(distance / stride, 6.999), 1.0)
        weights = np.full(8, -60.0)
        weights[int(low)] = np.log(1 - part) if part < 1 else -60.0
        weights[int(low) + 1] = np.log(part) if part > 0 else -60.0
        bins[8 * side : 8 * side + 8] = weights


def _inside(
    grid: Sequence[tuple[int, int, int]], box: BoxXyxy, n: int
) -> tuple[int, tuple[int, int, int]]:
    """Return a near cell that reaches all sides of a box; another one for each of three objects."""
    cx, cy, w, h = _centre(box)
    near = [
        (abs((x + 0.5) * s - cx) + abs((y + 0.5) * s - cy), i)
        for i, (x, y, s) in enumerate(grid)
        if max(w, h) < 6 * s and i % 3 == n % 3
    ]
    _, index = min(near)
    return index, grid[index]


def _nanodet_pairs(
    filled: Sequence[NDArray[np.float32]], n: int, box: BoxXyxy, score: float, c: int
) -> None:
    strides = (8, 16, 32)
    index, (x, y, stride) = _inside(cells((320, 320), strides), box, n)
    level = strides.index(stride)
    row = index - len(cells((320, 320), strides[:level]))
    filled[level][0, row, c] = score
    point = (x * stride + (stride - 1) / 2, y * stride + (stride - 1) / 2)
    _sides(filled[3 + level][0, row], box, point, stride)


def _nanodet_plus(
    filled: Sequence[NDArray[np.float32]], n: int, box: BoxXyxy, score: float, c: int
) -> None:
    index, (x, y, stride) = _inside(cells((416, 416), (8, 16, 32, 64)), box, n)
    filled[0][0, index, c] = score
    _sides(filled[0][0, index, CLASSES:], box, (x * stride, y * stride), stride)


def _fastestdet(
    filled: Sequence[NDArray[np.float32]], n: int, box: BoxXyxy, score: float, c: int
) -> None:
    cx, cy, w, h = (value / 352 for value in _centre(box))
    x, y = min(21, int(cx * 22)), min(21, int(cy * 22))
    values = (np.arctanh(cx * 22 - x), np.arctanh(cy * 22 - y), -np.log(1 / w - 1))
    filled[0][0, :5, y, x] = (1.0, *values, -np.log(1 / h - 1))
    filled[0][0, 5 + c, y, x] = score ** (1 / 0.4)


def _yunet(
    filled: Sequence[NDArray[np.float32]], n: int, box: BoxXyxy, score: float, c: int
) -> None:
    del c
    row = 37 * n
    x, y, stride = cells((640, 640), (8,))[row]
    cx, cy, w, h = _centre(box)
    filled[0][0, row, 0] = filled[3][0, row, 0] = score
    filled[6][0, row] = (cx / stride - x, cy / stride - y, np.log(w / stride), np.log(h / stride))


def _ultralight(
    filled: Sequence[NDArray[np.float32]], n: int, box: BoxXyxy, score: float, c: int
) -> None:
    del c
    filled[0][0, 37 * n] = (1 - score, score)
    filled[1][0, 37 * n] = np.array(box) / (320, 240, 320, 240)


def _detr_table(
    filled: Sequence[NDArray[np.float32]], n: int, box: BoxXyxy, score: float, c: int
) -> None:
    filled[0][0, n, :4] = np.array(_centre(box)) / 640
    filled[0][0, n, 4 + c] = score


def _detr_lists(
    filled: Sequence[NDArray[np.float32]], n: int, box: BoxXyxy, score: float, c: int
) -> None:
    filled[0][0, n], filled[1][0, n], filled[2][0, n] = c, box, score


def _detr_logits(
    filled: Sequence[NDArray[np.float32]], n: int, box: BoxXyxy, score: float, c: int
) -> None:
    filled[0][0, n, c] = np.log(score / (1 - score))
    filled[1][0, n] = np.array(_centre(box)) / 640


def _boxlist(
    filled: Sequence[NDArray[np.float32]], n: int, box: BoxXyxy, score: float, c: int
) -> None:
    filled[0][n], filled[1][n] = (*box, score), c


def _ssd(filled: Sequence[NDArray[np.float32]], n: int, box: BoxXyxy, score: float, c: int) -> None:
    filled[0][0, 0, n] = (0, c, score, *(np.array(box) / 300))


def _tfod(
    filled: Sequence[NDArray[np.float32]], n: int, box: BoxXyxy, score: float, c: int
) -> None:
    x1, y1, x2, y2 = (value / 300 for value in box)
    filled[0][0, n] = (y1, x1, y2, x2)
    filled[1][0, n], filled[2][0, n], filled[3][0] = c + 1, score, n + 1


_LEVELS = {8: 6400, 16: 1600, 32: 400}
_YUNET_SHAPES = {
    f"{kind}_{stride}": (1, rows, columns)
    for kind, columns in (("cls", 1), ("obj", 1), ("bbox", 4), ("kps", 10))
    for stride, rows in _LEVELS.items()
}

HEADS: dict[str, tuple[str, Head]] = {
    "ssd": ("ssd", Head((300, 300), {"out": (1, 1, 200, 7)}, _ssd, {})),
    "tf-od": (
        "tf-od",
        Head(
            (300, 300),
            {
                "detection_boxes": (1, 100, 4),
                "detection_classes": (1, 100),
                "detection_scores": (1, 100),
                "num_detections": (1,),
            },
            _tfod,
            {},
        ),
    ),
    "omz-boxes": (
        "omz-boxes",
        Head((448, 256), {"boxes": (100, 5), "labels": (100,)}, _boxlist, {"labels": "i64"}),
    ),
    "yolo": ("yolo", Head((640, 640), {"output0": (1, 84, 8400)}, _yolo, {})),
    "yolo, transposed": ("yolo", Head((640, 640), {"output0": (1, 8400, 84)}, _yolo_by_row, {})),
    "yolo-e2e": ("yolo-e2e", Head((640, 640), {"output0": (1, 300, 6)}, _six, {})),
    "yolov5": ("yolov5", Head((640, 640), {"output0": (1, 25200, 85)}, _yolov5, {})),
    "yolox": (
        "yolox",
        Head((640, 640), {"output": (1, 8400, 85)}, _yolox_of((640, 640), (8, 16, 32)), {}),
    ),
    "yolox, P6": (
        "yolox",
        Head((640, 384), {"output": (1, 5100, 85)}, _yolox_of((640, 384), (8, 16, 32, 64)), {}),
    ),
    "nanodet": (
        "nanodet",
        Head(
            (320, 320),
            {
                "cls_pred_stride_8": (1, 1600, 80),
                "cls_pred_stride_16": (1, 400, 80),
                "cls_pred_stride_32": (1, 100, 80),
                "dis_pred_stride_8": (1, 1600, 32),
                "dis_pred_stride_16": (1, 400, 32),
                "dis_pred_stride_32": (1, 100, 32),
            },
            _nanodet_pairs,
            {},
        ),
    ),
    "nanodet, joined": (
        "nanodet",
        Head((416, 416), {"output": (1, 3598, 112)}, _nanodet_plus, {}),
    ),
    "fastestdet": ("fastestdet", Head((352, 352), {"out": (1, 85, 22, 22)}, _fastestdet, {})),
    "yunet": ("yunet", Head((640, 640), _YUNET_SHAPES, _yunet, {}, has_classes=False)),
    "ultralight-face": (
        "ultralight-face",
        Head(
            (320, 240),
            {"scores": (1, 4420, 2), "boxes": (1, 4420, 4)},
            _ultralight,
            {},
            has_classes=False,
        ),
    ),
    "rt-detr": ("rt-detr", Head((640, 640), {"output0": (1, 300, 84)}, _detr_table, {})),
    "rt-detr, lists": (
        "rt-detr",
        Head(
            (640, 640),
            {"labels": (1, 300), "boxes": (1, 300, 4), "scores": (1, 300)},
            _detr_lists,
            {"labels": "i64"},
        ),
    ),
    "rt-detr, logits": (
        "rt-detr",
        Head(
            (640, 640),
            {"logits": (1, 300, 80), "pred_boxes": (1, 300, 4)},
            _detr_logits,
            {},
            blank=-12.0,
        ),
    ),
}
"""Each kind of export by a title: the family that it belongs to, and its outputs."""
