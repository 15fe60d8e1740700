"""The outputs of a batch, cut into what each of its pictures would have answered alone.

A model that was exported for one picture often takes a batch without an error and answers
nonsense; what can be seen of that in the shapes of its outputs is refused here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from vidpipe.errors import InferenceError, ModelError
from vidpipe.inference.decoders.family import Output, Shape, TensorSpec, can_be

BATCH_REMEDY = "set mode: shared, or export the model again with a dynamic batch"

_ROW = 7


class Cut(Enum):
    """How one output is cut."""

    FIRST_AXIS = "first axis"
    """One entry a picture."""
    IMAGE_ID = "image id"
    """DetectionOutput's list of all pictures, whose rows begin with the picture's number; the first
    negative one ends it (OpenVINO's specification of DetectionOutput-8)."""


@dataclass(frozen=True, slots=True)
class Split:
    """Cuts the outputs of batches of one size; pure, from any thread.

    Attributes:
        batch: The size.
        cuts: How each output is cut, in the model's order.
    """

    batch: int
    cuts: tuple[Cut, ...]

    def __call__(self, outputs: Sequence[Output], row: int) -> list[Output]:
        """Return the outputs of one picture, as a batch of one has them; views where possible.

        Raises:
            InferenceError: The outputs have another shape than was promised.
        """
        return [self._cut(output, cut, row) for output, cut in zip(outputs, self.cuts, strict=True)]

    def _cut(self, output: Output, cut: Cut, row: int) -> Output:
        if cut is Cut.FIRST_AXIS:
            if output.ndim == 0 or output.shape[0] != self.batch:
                raise InferenceError(
                    f"the model answered {output.shape} to a batch of {self.batch} pictures"
                )
            return output[row : row + 1]
        rows = output.reshape(-1, _ROW)
        is_over = rows[:, 0] < 0
        if is_over.any():
            rows = rows[: is_over.argmax()]
        own: Output = rows[rows[:, 0] == row]
        own[:, 0] = 0
        return own[None, None]


def split_of(
    single: Sequence[TensorSpec], batched: Sequence[TensorSpec], batch: int, model: str
) -> Split:
    """Return how the outputs of a batch are cut.

    Args:
        single: The outputs for one picture.
        batched: The same outputs for the batch.
        batch: Its size.
        model: The model's name, for the message.

    Raises:
        ModelError: They can't be told apart.
    """
    cuts = [_cut_of(one, many, batch) for one, many in zip(single, batched, strict=True)]
    wrong = [index for index, cut in enumerate(cuts) if cut is None]
    if wrong:
        got = " and ".join(_dims(batched[index].shape) for index in wrong)
        # Where one picture has a list of no fixed length, so have several: one for all of them.
        right = " and ".join(
            _dims(_stacked(single[index].shape, batch))
            for index in wrong
            if (single[index].shape or (None,))[0] is not None
        )
        raise ModelError(
            f"model {model}: it can't run in batches: for {batch} pictures it has outputs {got}"
            f" where {right or 'one a picture'} would be right; {BATCH_REMEDY}"
        )
    return Split(batch, tuple(cut for cut in cuts if cut is not None))


def _cut_of(one: TensorSpec, many: TensorSpec, batch: int) -> Cut | None:
    if one.shape is None or many.shape is None:
        return None
    is_stack = one.shape[:1] == (1,) and can_be(many.shape, (batch, *one.shape[1:]))
    # [?,1,?,7] may be a stack or a list, and is the latter.
    if is_stack and (many.shape[0] == batch or not _is_list(one.shape)):
        return Cut.FIRST_AXIS
    if _is_list(one.shape) and _is_list(many.shape):
        return Cut.IMAGE_ID
    return None


def _is_list(shape: Shape) -> bool:
    """Return True for [1,1,N,7], and its like with fewer ones before."""
    return len(shape) >= 2 and shape[-1] == _ROW and all(dim == 1 for dim in shape[:-2])


def _stacked(shape: Shape | None, batch: int) -> Shape | None:
    return None if shape is None else (batch, *shape[1:])


def _dims(shape: Shape | None) -> str:
    if shape is None:
        return "[...]"
    return f"[{','.join('?' if dim is None else str(dim) for dim in shape)}]"
