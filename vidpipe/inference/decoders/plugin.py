"""Families that other packages offer: loaded when the key ``decoder`` names one, and checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Integral, Real
from types import NoneType
from typing import Any, cast

from vidpipe.errors import InferenceError, ModelError, PluginError
from vidpipe.inference.decoders.family import Decoder, DecodeRule, Family, Output, Signature
from vidpipe.inference.geometry import Geometry
from vidpipe.inference.settings import InputRecipe
from vidpipe.runtime.logs import redact
from vidpipe.runtime.plugins import FAMILIES, load_plugin, plugin_names
from vidpipe.types import Detections

_MEMBERS: dict[str, tuple[type, ...]] = {
    "needs": (str,),
    "recipe": (InputRecipe,),
    "input_wh": (tuple,),
    "labels": (tuple,),
}
"""What the members of a `Family` are that are no methods."""

_ANSWERS: dict[str, tuple[type, ...]] = {
    "iou": (Real,),
    "background_id": (Integral, NoneType),
    "class_count": (Integral, NoneType),
    "mismatch": (str, NoneType),
}
"""What its methods answer."""


def offered_families(name: str) -> tuple[Family, ...]:
    """Return the family that an installed package offers under a name; none if none does.

    Raises:
        ModelError: It can't be loaded, or is no family.
    """
    if name not in plugin_names(FAMILIES):
        return ()
    try:
        family = cast("Family", load_plugin(FAMILIES, name, Family))
    except PluginError as exc:
        raise ModelError(str(exc)) from exc
    return (cast("Family", PluginFamily(name, family)),)


class PluginFamily:
    """Implements ``Family`` by a plugin's: whatever it raises is a ``ModelError`` that names it."""

    def __init__(self, name: str, family: Family) -> None:
        """Take the name from the entry point: it is what the configuration says."""
        self.name = name
        self._family = family

    def __getattr__(self, key: str) -> Any:
        """Ask the plugin."""
        with _translated(self.name):
            value = getattr(self._family, key)
        if key not in _MEMBERS and callable(value):
            return self._guarded(key, value)
        self._require(key, value, _MEMBERS)
        return value

    def decoder(self, signature: Signature, rule: DecodeRule) -> Decoder:
        """Return the plugin's decoder, with its answers looked at."""
        with _translated(self.name):
            decode = self._family.decoder(signature, rule)

        def checked(outputs: Sequence[Output], geometry: Geometry) -> Detections:
            found = decode(outputs, geometry)
            wrong = _fault_of(found)
            if wrong:
                raise InferenceError(f"the plugin {self.name} answered {wrong}")
            return found

        return checked

    def _guarded(self, key: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            with _translated(self.name):
                value = method(*arguments)
            self._require(key, value, _ANSWERS)
            return value

        return call

    def _require(self, key: str, value: object, kinds: Mapping[str, tuple[type, ...]]) -> None:
        """Refuse what no family says.

        Raises:
            ModelError: It is of a wrong type.
        """
        if not isinstance(value, kinds.get(key, object)):
            kind = type(value).__name__
            raise ModelError(f"the plugin {self.name} failed: its {key} is a {kind}")


@contextmanager
def _translated(name: str) -> Iterator[None]:
    try:
        yield
    except ModelError:
        raise
    except Exception as exc:
        raise ModelError(redact(f"the plugin {name} failed: {type(exc).__name__}: {exc}")) from exc


def _fault_of(found: object) -> str:
    """Return what is wrong with an answer, or nothing."""
    if not isinstance(found, Detections):
        return f"a {type(found).__name__}, no Detections"
    count = len(found)
    shapes = found.boxes_xyxy.shape, found.scores.shape, found.class_ids.shape
    if shapes != ((count, 4), (count,), (count,)):
        words = ", ".join(map(str, shapes))
        return f"boxes, scores and class ids of the shapes {words} with {count} labels"
    return ""
