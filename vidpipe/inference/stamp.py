"""What a model file says of itself, so that its path alone suffices: family, classes, pixels.

It stands in the section ``vidpipe`` of the IR's runtime info, as texts, where `signature_of` finds
it. Files from elsewhere carry no such section, or only a part.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import openvino as ov

from vidpipe.errors import ModelError
from vidpipe.inference.settings import Anchor, Color, InputRecipe, Resize

_SECTION = "vidpipe"
_INPUT = "input"


def stamp(
    graph: ov.Model,
    *,
    name: str,
    family: str,
    labels: Mapping[int, str],
    recipe: InputRecipe,
    more: Mapping[str, str] | None = None,
) -> None:
    """Write into a graph how it is used; what stood there under these keys is replaced.

    Args:
        graph: Changed in place.
        name: The model's name.
        family: The name of its decoder.
        labels: Its classes' names by id.
        recipe: How its pixels are made.
        more: Further texts, such as where it comes from.
    """
    texts = dict(more or {})
    texts |= {"name": name, "family": family, _INPUT: json.dumps(asdict(recipe))}
    if labels:
        by_id = {str(key): labels[key] for key in sorted(labels)}
        texts["labels"] = json.dumps(by_id, ensure_ascii=False)
    for key, text in texts.items():
        graph.set_rt_info(text, [_SECTION, key])


def carried_recipe(metadata: Mapping[str, str], model: str) -> InputRecipe | None:
    """Return how a file says that its pixels are made, or None where it says nothing.

    Args:
        metadata: What the file says of itself.
        model: The model's name, for the message.

    Raises:
        ModelError: It says something that makes no sense.
    """
    text = metadata.get(_INPUT)
    if text is None:
        return None
    try:
        given: dict[str, Any] = json.loads(text)
        plain = InputRecipe()
        return InputRecipe(
            color=Color(given.get("color", plain.color)),
            resize=Resize(given.get("resize", plain.resize)),
            anchor=Anchor(given.get("anchor", plain.anchor)),
            pad=int(given.get("pad", plain.pad)),
            mean=_triple(given.get("mean", plain.mean)),
            scale=_triple(given.get("scale", plain.scale)),
        )
    except (ValueError, TypeError, AttributeError) as error:
        raise ModelError(
            f"model {model}: what its file says of its input makes no sense ({error}): make the"
            " file anew, or take the original"
        ) from error


def _triple(values: Any) -> tuple[float, float, float]:
    first, second, third = (float(value) for value in values)
    return first, second, third
