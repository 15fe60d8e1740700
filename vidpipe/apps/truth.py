"""Labelled frames from a file: COCO's JSON, or JSON Lines as vidpipe itself writes them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vidpipe.errors import UsageError
from vidpipe.types import Detections

_COCO_KEYS = ("images", "annotations", "categories")


@dataclass(frozen=True, slots=True)
class LabelledFrame:
    """One frame and what is to be seen in it.

    Attributes:
        source: A stream's id, or a picture's file name as it is written.
        number: The frame's number in its source, from 0; 0 for a picture.
        is_picture: True if the source is a picture's file.
        truth: The objects, in pixels of the displayed frame.
    """

    source: str
    number: int
    is_picture: bool
    truth: Detections


def read_truth(path: Path) -> list[LabelledFrame]:
    """Return the labelled frames in a file; frames without objects are among them.

    Raises:
        UsageError: It can't be read, is of neither kind, or has no frame.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise UsageError(f"labels {path} can't be read: {reason}") from error
    try:
        document = _whole(text)
        found = list(_from_coco(document) if document is not None else _from_lines(text))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(
            f"labels {path}: {error!r} is not as it should be: it is neither COCO's JSON"
            f" ({', '.join(_COCO_KEYS)}) nor JSON Lines as the output jsonl writes them"
        ) from error
    if not any(len(frame.truth) for frame in found):
        raise UsageError(f"labels {path}: there is no object in it")
    return found


def _whole(text: str) -> Mapping[str, Any] | None:
    """Return COCO's document; None if the text is lines."""
    try:
        document = json.loads(text)
    except ValueError:
        return None
    is_coco = isinstance(document, dict) and all(key in document for key in _COCO_KEYS)
    return document if is_coco else None


def _from_coco(document: Mapping[str, Any]) -> Iterable[LabelledFrame]:
    names = {category["id"]: str(category["name"]) for category in document["categories"]}
    objects: dict[Any, list[tuple[str, list[float]]]] = {}
    for annotation in document["annotations"]:
        if annotation.get("iscrowd"):
            continue  # a crowd's box is no object's
        x, y, width, height = (float(value) for value in annotation["bbox"])
        box = [x, y, x + width, y + height]
        objects.setdefault(annotation["image_id"], []).append(
            (names[annotation["category_id"]], box)
        )
    for image in document["images"]:
        truth = _detections(objects.get(image["id"], []))
        yield LabelledFrame(str(image["file_name"]), 0, is_picture=True, truth=truth)


def _from_lines(text: str) -> Iterable[LabelledFrame]:
    for line in text.splitlines():
        if not line.strip():
            continue
        entry = json.loads(line)
        if entry.get("error") is not None:
            continue
        objects = [
            (str(found["label"]), [float(value) for value in found["box"]])
            for found in entry["detections"]
        ]
        yield LabelledFrame(
            str(entry["stream"]), int(entry["frame"]), is_picture=False, truth=_detections(objects)
        )


def _detections(objects: list[tuple[str, list[float]]]) -> Detections:
    count = len(objects)
    return Detections(
        boxes_xyxy=np.array([box for _, box in objects], np.float32).reshape(count, 4),
        scores=np.ones(count, np.float32),
        class_ids=np.zeros(count, np.int32),
        labels=tuple(label for label, _ in objects),
    )
