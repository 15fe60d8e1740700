"""What kind of detector a graph is, whether its shapes are fixed or open.

Families are told by shapes, and some only by the number of boxes that an input of known size gives.
So where the graph leaves sizes open, or takes several pictures at once, a copy of it is given a
likely size and asked instead. The families of installed packages are tried last.
"""

from __future__ import annotations

from collections.abc import Mapping

import openvino as ov

from vidpipe.errors import ModelError
from vidpipe.inference.decoders.families import choose_family
from vidpipe.inference.decoders.family import Family, Output
from vidpipe.inference.graph import fix_shapes, signature_of

_LIKELY_WH = (640, 640)
"""Most detectors are trained with it; every usual stride divides it."""


def recognise(
    graph: ov.Model,
    constants: Mapping[str, Output],
    *,
    model: str,
    decoder: str = "auto",
    label_count: int | None = None,
    size_wh: tuple[int, int] | None = None,
) -> Family:
    """Return the family of a graph, which stays as it is.

    Args:
        graph: As it was read.
        constants: What `take_constants` found.
        model: Its name, for the message.
        decoder: A family's name, or ``auto``.
        label_count: How many classes the user names, or None.
        size_wh: The input that the user or the file asks for, or None.

    Raises:
        ModelError: No family fits, or several do.
    """
    signature = signature_of(graph, constants)
    try:
        return choose_family(decoder, signature, model, label_count, with_packages=False)
    except ModelError:
        fixed = graph.clone()
        try:
            fix_shapes(fixed, size_wh, _LIKELY_WH, model)
        except ModelError:
            fixed = graph
    return choose_family(decoder, signature_of(fixed, constants), model, label_count)
