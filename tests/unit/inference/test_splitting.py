from __future__ import annotations

import numpy as np
import pytest

from vidpipe.errors import InferenceError, ModelError
from vidpipe.inference.decoders.family import Shape, TensorSpec
from vidpipe.inference.splitting import Cut, Split, split_of


def specs(*shapes: Shape | None) -> list[TensorSpec]:
    return [TensorSpec(frozenset({"out"}), shape, "f32") for shape in shapes]


@pytest.mark.parametrize(
    ("single", "batched", "cut"),
    [
        ((1, 3549, 85), (4, 3549, 85), Cut.FIRST_AXIS),
        ((1, 85, 22, 22), (4, 85, 22, 22), Cut.FIRST_AXIS),
        ((1,), (4,), Cut.FIRST_AXIS),
        ((1, None, 6), (4, None, 6), Cut.FIRST_AXIS),
        ((1, 100, 5), (None, 100, 5), Cut.FIRST_AXIS),
        ((1, 300, 7), (4, 300, 7), Cut.FIRST_AXIS),
        ((1, 1, 200, 7), (4, 1, 200, 7), Cut.FIRST_AXIS),
        ((1, 1, 200, 7), (1, 1, 800, 7), Cut.IMAGE_ID),
        ((1, 1, None, 7), (1, 1, None, 7), Cut.IMAGE_ID),
        ((1, 200, 7), (1, 800, 7), Cut.IMAGE_ID),
        ((200, 7), (800, 7), Cut.IMAGE_ID),
        ((None, 7), (None, 7), Cut.IMAGE_ID),
    ],
)
def test_the_cut_is_told_from_the_shapes(single: Shape, batched: Shape, cut: Cut) -> None:
    split = split_of(specs(single), specs(batched), 4, "tiny")
    assert split == Split(4, (cut,))


@pytest.mark.parametrize(
    ("single", "batched", "words"),
    [
        ([(1, 3549, 85)], [(1, 7098, 85)], r"outputs \[1,7098,85\] where \[2,3549,85\] would be"),
        ([(1, 9), (1, 5, 4)], [(2, 9), (1, 10, 4)], r"outputs \[1,10,4\] where \[2,5,4\]"),
        ([(None, 5), (None,)], [(None, 5), (None,)], r"\[\?,5\] and \[\?\] where one a picture"),
        ([(1, 3, 4)], [(1, 3, 4)], r"outputs \[1,3,4\] where \[2,3,4\]"),
        ([None], [None], r"outputs \[\.\.\.\] where"),
        ([()], [()], "where"),
    ],
)
def test_outputs_that_cannot_be_told_apart_are_refused(
    single: list[Shape], batched: list[Shape], words: str
) -> None:
    with pytest.raises(ModelError, match=words) as caught:
        split_of(specs(*single), specs(*batched), 2, "tiny")
    assert "model tiny" in str(caught.value)
    assert "mode: shared" in str(caught.value)
    assert "dynamic batch" in str(caught.value)


def test_each_picture_gets_its_entry_as_a_batch_of_one() -> None:
    array = np.arange(24, dtype=np.float32).reshape(3, 2, 4)
    split = Split(3, (Cut.FIRST_AXIS,))
    for row in range(3):
        (own,) = split([array], row)
        assert own.shape == (1, 2, 4)
        assert np.array_equal(own[0], array[row])
        assert own.base is not None, "a view"


def test_each_picture_gets_its_rows_of_a_common_list_up_to_its_end() -> None:
    rows = np.zeros((1, 1, 8, 7), np.float32)
    rows[0, 0, :, 0] = [1, 0, 1, 1, 0, -1, 0, 1]
    rows[0, 0, :, 2] = np.arange(8)
    split = Split(3, (Cut.IMAGE_ID,))
    found = [split([rows], row)[0] for row in range(3)]
    assert [own[0, 0, :, 2].tolist() for own in found] == [[1, 4], [0, 2, 3], []]
    assert all((own[..., 0] == 0).all() for own in found)
    assert all(own.ndim == 4 and own.shape[:2] == (1, 1) and own.shape[3] == 7 for own in found)
    assert rows[0, 0, 0, 0] == 1, "the model's own output is left as it is"


def test_an_answer_of_another_size_costs_the_frame() -> None:
    with pytest.raises(InferenceError, match="batch of 3"):
        Split(3, (Cut.FIRST_AXIS,))([np.zeros((1, 6))], 0)
