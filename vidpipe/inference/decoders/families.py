"""The list of families, and the choice among them by the shapes of a model's outputs.

A new family is a module beside this one and a line in `FAMILIES`.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from loguru import logger

from vidpipe.errors import ModelError
from vidpipe.inference.decoders import (
    boxlist,
    detr,
    endtoend,
    fastestdet,
    nanodet,
    ssd,
    tfod,
    ultralight,
    yolo,
    yolov5,
    yolox,
    yunet,
)
from vidpipe.inference.decoders.family import Family, Signature
from vidpipe.inference.decoders.matched import MatchedFamily
from vidpipe.inference.decoders.plugin import offered_families
from vidpipe.inference.labels import carried_labels
from vidpipe.runtime.plugins import FAMILIES as PLUGINS
from vidpipe.runtime.plugins import plugin_names

FAMILIES: tuple[Family, ...] = (
    ssd.FAMILY,
    tfod.FAMILY,
    boxlist.FAMILY,
    yolo.FAMILY,
    endtoend.FAMILY,
    yolov5.FAMILY,
    yolox.FAMILY,
    nanodet.FAMILY,
    fastestdet.FAMILY,
    yunet.FAMILY,
    ultralight.FAMILY,
    detr.FAMILY,
)
"""All families."""

ALIASES = {"d-fine": "rt-detr"}
"""Further names, of detectors that answer as another family does."""

_COCO = 80


def choose_family(
    decoder: str,
    signature: Signature,
    model: str,
    label_count: int | None = None,
    *,
    with_packages: bool = True,
) -> Family:
    """Return the family of a model.

    With ``auto``, what the file says of itself goes first. Else a family must fit that no other has
    the shapes of. Where several could have them, the number of classes decides: the one that is
    named, or the 80 of COCO. The families of installed packages are tried where none of vidpipe's
    own fits.

    Args:
        decoder: A family's name, vidpipe's own or an installed package's, or ``auto``.
        signature: What the model shows.
        model: Its name, for the message.
        label_count: How many classes the user names, or None.
        with_packages: False: ``auto`` is content with vidpipe's own families, and with what the
            file says.

    Raises:
        ModelError: There is no such family, the model can't be of it, or none or several fit.
    """
    if decoder == "auto":
        return _told(signature, model, label_count, plugin_names(PLUGINS) if with_packages else ())
    wanted = ALIASES.get(decoder, decoder)
    own = tuple(family for family in FAMILIES if family.name == wanted)
    for family in own or offered_families(wanted):
        reason = family.mismatch(signature)
        if reason is None:
            _warn_of_doubt(family, signature, model)
            return family
        raise ModelError(
            f"model {model}: decoder {decoder} doesn't fit: {reason}; its outputs are"
            f" {_outputs(signature)}, and {decoder} needs {family.needs}"
        )
    names = [*(family.name for family in FAMILIES), *ALIASES]
    close = get_close_matches(decoder, names, n=1)
    hint = f"did you mean {close[0]}?" if close else f"there are auto, {', '.join(names)}"
    raise ModelError(f"model {model}: no decoder is called {decoder!r}: {hint}")


def _warn_of_doubt(chosen: Family, signature: Signature, model: str) -> None:
    """Say where a decoder was named that the shapes speak against: its boxes would be nonsense."""
    fitting = [family for family in FAMILIES if family.mismatch(signature) is None]
    certain = [family.name for family in fitting if family.is_certain(signature)]
    if len(certain) == 1 and chosen.name not in certain and not chosen.is_certain(signature):
        logger.warning(
            "model {}: decoder {} was asked for, but its outputs ({}) are those of {}: if the boxes"
            " are wrong, leave the key decoder out",
            model,
            chosen.name,
            _outputs(signature),
            certain[0],
        )


def _told(
    signature: Signature, model: str, label_count: int | None, packages: Sequence[str]
) -> Family:
    possible = [family for family in FAMILIES if family.mismatch(signature) is None]
    stated = signature.metadata.get("family", "")
    for family in (*possible, *_offered(signature, (stated,))):
        if family.name == ALIASES.get(stated, stated):
            return family
    fitting, named = _of_class_count(possible, signature, label_count)
    certain = [family for family in fitting if family.is_certain(signature)]
    if len(certain) == 1:
        return certain[0]
    named = _likely(named, signature)
    if not certain and len(named) == 1:
        return named[0]
    choices = certain or _likely(fitting, signature)
    if not possible:
        choices = _offered(signature, packages)
        if len(choices) == 1 and choices[0].is_certain(signature):
            return choices[0]
    if not choices:
        raise ModelError(
            f"model {model}: no decoder fits its outputs ({_outputs(signature)}).\n"
            f"{_needs(FAMILIES)}\nName the decoder with the key decoder, or use another model."
        )
    if len(choices) == 1:
        raise ModelError(
            f"model {model}: its outputs ({_outputs(signature)}) may be those of"
            f" {choices[0].name}, but don't prove it; if they are, say so with the key decoder"
            f" (decoder: {choices[0].name}).\n{_needs(choices)}"
        )
    names = " or ".join(family.name for family in choices)
    raise ModelError(
        f"model {model}: its outputs ({_outputs(signature)}) fit several decoders: say which with"
        f" the key decoder (decoder: {names}).\n{_needs(choices)}"
    )


def _of_class_count(
    possible: Sequence[Family], signature: Signature, label_count: int | None
) -> tuple[Sequence[Family], Sequence[Family]]:
    """Return the families that can have the number of classes, and those that surely have it."""
    counts = {family.name: family.class_count(signature) for family in possible}
    hint = label_count or len(carried_labels(signature.metadata)) or None
    if hint is None and _COCO in counts.values():
        hint = _COCO
    if hint is None:
        return possible, ()
    named = [family for family in possible if counts[family.name] == hint]
    fitting = [family for family in possible if counts[family.name] in (None, hint)]
    # Labels of another number are told of elsewhere, and decide nothing.
    return (fitting or possible), named


def _likely(families: Sequence[Family], signature: Signature) -> Sequence[Family]:
    """Return the families without those that are remote, unless all are."""
    return [
        family
        for family in families
        if not (isinstance(family, MatchedFamily) and family.is_remote(signature))
    ] or families


def _offered(signature: Signature, names: Sequence[str]) -> list[Family]:
    """Return the families of installed packages that fit, under these names, none of them ours.

    One that can't be loaded, or fails, is passed over: nobody has asked for it.
    """
    fitting = []
    own = {family.name for family in FAMILIES} | ALIASES.keys()
    for name in names:
        try:
            offered = () if name in own else offered_families(name)
            fitting += [family for family in offered if family.mismatch(signature) is None]
        except ModelError as error:
            logger.warning("{}: it isn't tried on models whose decoder is auto", error)
    return fitting


def _outputs(signature: Signature) -> str:
    return ", ".join(str(spec) for spec in signature.outputs) or "none"


def _needs(families: Sequence[Family]) -> str:
    return "\n".join(f"  {family.name} needs {family.needs}" for family in families)
