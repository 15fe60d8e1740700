"""What Ultralytics' exports have in common: their pixels, and what they say of themselves.

Source: `engine/exporter.py` of the package: the metadata `task`, `names`, `imgsz`, `description`,
`end2end` and `args` (what the export was asked for), and the extra outputs of models that also
segment.
"""

from __future__ import annotations

from collections.abc import Mapping

from vidpipe.inference.decoders.family import Signature
from vidpipe.inference.labels import carried_labels, literal
from vidpipe.inference.settings import Anchor, Color, InputRecipe, Resize

RECIPE = InputRecipe(
    color=Color.RGB,
    resize=Resize.LETTERBOX,
    anchor=Anchor.CENTRE,
    pad=114,
    scale=(255.0, 255.0, 255.0),
)
"""`data/augment.py`, LetterBox; pixels in 0..1."""

SIZE_WH = (640, 640)

_BOX = 4

_WITH_BOXES = ("", "detect", "segment", "pose")
"""The tasks whose rows begin with an upright box and the classes; what follows is passed over."""


def is_ultralytics(signature: Signature) -> bool:
    """Return True if the file says that it is one of Ultralytics' exports."""
    said = signature.metadata
    return "task" in said or said.get("author", "").strip().lower() == "ultralytics"


def is_finished(signature: Signature) -> bool:
    """Return True if the file says that overlap is resolved in it: by its head or its export."""
    said = signature.metadata
    arguments = literal(said.get("args", ""))
    with_nms = arguments.get("nms") if isinstance(arguments, Mapping) else None
    answers = (said.get("end2end"), said.get("nms"), with_nms)
    return any(str(answer).strip().lower() == "true" for answer in answers)


def unfit_task(signature: Signature) -> str | None:
    """Return why a file's task rules out boxes, or None."""
    task = signature.metadata.get("task", "").strip().lower()
    return None if task in _WITH_BOXES else f"its task is {task}, not detect"


def only_table(signature: Signature) -> int | str:
    """Return the index of the one output of three dimensions, or why there is none.

    Masks and raw heads beside it have four or five; boxes beside it are another family's.
    """
    tables = [
        index
        for index, spec in enumerate(signature.outputs)
        if spec.shape is not None and len(spec.shape) == 3 and spec.shape[0] in (1, None)
    ]
    boxes = [spec for spec in signature.outputs if spec.shape and spec.shape[2:][-1:] == (_BOX,)]
    if len(tables) == 1 and len(boxes) == 1 and boxes[0] is not signature.outputs[tables[0]]:
        return f"its boxes stand in an output of their own, {boxes[0]}"
    if len(tables) == 1:
        return tables[0]
    return f"{len(tables)} of its outputs are tables of three dimensions, not one"


def named_classes(signature: Signature) -> int | None:
    """Return how many classes the file names, or None."""
    return len(carried_labels(signature.metadata)) or None


def classes_among(signature: Signature, columns: int) -> int:
    """Return how many of the columns behind a box are classes: masks and points may follow.

    Args:
        signature: The model.
        columns: All columns behind the box (and the objectness).
    """
    named = named_classes(signature)
    task = signature.metadata.get("task", "")
    if task in ("segment", "pose") and named is not None and named <= columns:
        return named
    masks = [spec.shape[1] for spec in signature.outputs if spec.shape and len(spec.shape) == 4]
    if len(masks) == 1 and len(signature.outputs) == 2 and masks[0] and masks[0] < columns:
        return columns - masks[0]
    return columns
