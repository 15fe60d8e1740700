"""What files of OpenVINO's Model API say of their pixels: Ultralytics' and OTX's exports do so.

Source: Model API's `models/image_model.py` and `detection_model.py`: the section ``model_info`` of
the runtime info, with ``reverse_input_channels`` (the model wants RGB), ``resize_type``,
``pad_value``, ``mean_values``, ``scale_values``, ``iou_threshold`` and ``embedded_processing`` (all
that is in the graph already).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isfinite

from vidpipe.inference.settings import Anchor, Color, InputSettings, Resize, Triple

_NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")
_RESIZES = {
    "standard": (Resize.STRETCH, None),
    "fit_to_window": (Resize.LETTERBOX, Anchor.CORNER),
    "fit_to_window_letterbox": (Resize.LETTERBOX, Anchor.CENTRE),
}
_WHITE = 255
_LONGEST_SIDE = 8192


def stated_input(metadata: Mapping[str, str]) -> InputSettings:
    """Return what a file says of its pixels; what it doesn't say, or says unclearly, is None."""
    if metadata.get("embedded_processing", "").strip().lower() == "true":
        return InputSettings()
    resize, anchor = _RESIZES.get(metadata.get("resize_type", "").strip(), (None, None))
    if is_rtdetr(metadata):
        # Ultralytics writes the same of all its models, and stretches for this one.
        resize, anchor = None, None
    colors = {"true": Color.RGB, "yes": Color.RGB, "false": Color.BGR, "no": Color.BGR}
    pads = _numbers(metadata.get("pad_value", ""))
    scale = _triple(metadata.get("scale_values", ""))
    return InputSettings(
        color=colors.get(metadata.get("reverse_input_channels", "").strip().lower()),
        resize=resize,
        anchor=anchor,
        pad=int(pads[0]) if len(pads) == 1 and 0 <= pads[0] <= _WHITE else None,
        mean=_triple(metadata.get("mean_values", "")),
        scale=scale if scale and 0.0 not in scale else None,
        size_wh=_size_wh(metadata.get("imgsz", "")),
    )


def is_rtdetr(metadata: Mapping[str, str]) -> bool:
    """Return True if a file says that it is Ultralytics' RT-DETR."""
    return "rtdetr" in metadata.get("description", "").lower().replace("-", "")


def stated_iou(metadata: Mapping[str, str]) -> float | None:
    """Return the overlap that a file asks for, or None."""
    found = _numbers(metadata.get("iou_threshold", ""))
    return found[0] if len(found) == 1 and 0 < found[0] < 1 else None


def _size_wh(text: str) -> tuple[int, int] | None:
    """Return the size of Ultralytics' ``imgsz``: height and width, or one number for both."""
    sides = [int(number) for number in _numbers(text)]
    if not sides or len(sides) > 2 or min(sides) < 1 or max(sides) > _LONGEST_SIDE:
        return None
    return sides[-1], sides[0]


def _triple(text: str) -> Triple | None:
    found = _numbers(text)
    if len(found) == 1:
        return found[0], found[0], found[0]
    return (found[0], found[1], found[2]) if len(found) == 3 else None


def _numbers(text: str) -> list[float]:
    found = [float(number) for number in _NUMBER.findall(text)]
    return found if all(map(isfinite, found)) else []
