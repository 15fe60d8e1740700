from __future__ import annotations

import pytest

from vidpipe.errors import ModelError
from vidpipe.inference.decoders.families import FAMILIES, choose_family
from vidpipe.inference.decoders.family import Shape, Signature, TensorSpec


def signature(*shapes: Shape | None, stated: str = "") -> Signature:
    outputs = tuple(
        TensorSpec(frozenset({f"out{i}"}), shape, "f32") for i, shape in enumerate(shapes)
    )
    return Signature((), outputs, metadata={"family": stated} if stated else {})


@pytest.mark.parametrize(
    ("shapes", "family"),
    [
        ([(1, 1, 200, 7)], "ssd"),
        ([(1, 100, 4), (1, 100), (1, 100), (1,)], "tf-od"),
        ([(1, 1917, 4), (1, 1917, 91)], "tf-od"),
    ],
)
def test_auto_tells_a_family_by_its_shapes(shapes: list[Shape], family: str) -> None:
    assert choose_family("auto", signature(*shapes), "m").name == family


@pytest.mark.parametrize(
    "shapes",
    [
        [(1, 3549, 85)],
        [(1, 3549, 7)],
        [(None, 7)],
        [(None, 5), (None,)],
        [(1, 8400, 4), (1, 8400, 80)],
        [(1, 4), (1, 7)],
        [None],
        [],
    ],
)
def test_auto_does_not_guess(shapes: list[Shape | None]) -> None:
    with pytest.raises(ModelError) as caught:
        choose_family("auto", signature(*shapes), "gate")
    text = str(caught.value)
    assert "gate" in text
    assert all(f"{family.name} needs {family.needs}" in text for family in FAMILIES)
    if shapes:
        assert "out0 [" in text


def test_what_the_file_states_goes_before_the_shapes() -> None:
    assert choose_family("auto", signature((1, 200, 7), stated="ssd"), "m").name == "ssd"


def test_what_the_file_states_must_fit() -> None:
    assert choose_family("auto", signature((1, 1, 200, 7), stated="tf-od"), "m").name == "ssd"


def test_the_user_may_name_a_family_that_auto_would_not_guess() -> None:
    assert choose_family("ssd", signature((None, 7)), "m").name == "ssd"


@pytest.mark.parametrize(
    ("decoder", "said"),
    [("sdd", "did you mean ssd"), ("zzz", "there are auto"), ("tf-od", "doesn't fit")],
)
def test_a_wrong_name_is_an_error_that_helps(decoder: str, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        choose_family(decoder, signature((1, 1, 200, 7)), "m")
