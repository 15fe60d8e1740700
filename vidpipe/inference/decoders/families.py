"""The list of families, and the choice among them by the shapes of a model's outputs.

A new family is a module beside this one and a line in `FAMILIES`.
"""

from __future__ import annotations

from difflib import get_close_matches

from vidpipe.errors import ModelError
from vidpipe.inference.decoders import ssd, tfod
from vidpipe.inference.decoders.family import Family, Signature

FAMILIES: tuple[Family, ...] = (ssd.FAMILY, tfod.FAMILY)
"""All families; those that are told most surely come first."""


def choose_family(decoder: str, signature: Signature, model: str) -> Family:
    """Return the family of a model.

    Args:
        decoder: A family's name, or ``auto``: what the file says of itself, else its shapes.
        signature: What the model shows.
        model: Its name, for the message.

    Raises:
        ModelError: There is no such family, the model can't be of it, or none fits.
    """
    if decoder == "auto":
        stated = signature.metadata.get("family", "")
        for family in FAMILIES:
            if family.name == stated and family.mismatch(signature) is None:
                return family
        for family in FAMILIES:
            if family.mismatch(signature) is None and family.is_certain(signature):
                return family
        raise ModelError(
            f"model {model}: no decoder fits its outputs ({_outputs(signature)}).\n"
            f"{_needs()}\nName the decoder with the key decoder, or use another model."
        )
    for family in FAMILIES:
        if family.name == decoder:
            reason = family.mismatch(signature)
            if reason is None:
                return family
            raise ModelError(
                f"model {model}: decoder {decoder} doesn't fit: {reason}; its outputs are"
                f" {_outputs(signature)}, and {decoder} needs {family.needs}"
            )
    names = [family.name for family in FAMILIES]
    close = get_close_matches(decoder, names, n=1)
    hint = f"did you mean {close[0]}?" if close else f"there are auto, {', '.join(names)}"
    raise ModelError(f"model {model}: no decoder is called {decoder!r}: {hint}")


def _outputs(signature: Signature) -> str:
    return ", ".join(str(spec) for spec in signature.outputs) or "none"


def _needs() -> str:
    return "\n".join(f"  {family.name} needs {family.needs}" for family in FAMILIES)
