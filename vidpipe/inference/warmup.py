"""The first inference of every request, which is slower than all others, before it counts."""

from __future__ import annotations

from collections.abc import Sequence

from loguru import logger

from vidpipe.errors import InferenceError, ModelError
from vidpipe.inference.slot import PooledDetector, Slot


def warm_up(detector: PooledDetector, slots: Sequence[Slot], timeout_s: float) -> None:
    """Run every request once, of every size, on a black picture; the slots are nobody else's yet.

    As many at once as the device likes, so that each has the time that it will have later.

    Raises:
        ModelError: One of them isn't answered in time; the device still holds some.
    """
    complaints: set[str] = set()
    for size in detector.sizes:
        for first in range(0, len(slots), detector.optimal_requests):
            wave = slots[first : first + detector.optimal_requests]
            for slot in wave:
                slot.choose(size.batch_size)
                slot.request.start()
            for slot in wave:
                try:
                    is_answered = slot.request.wait(timeout_s)
                except InferenceError as exc:  # a black picture may be one that it can't take
                    complaints.add(str(exc))
                    continue
                if not is_answered:
                    for held in wave:
                        held.request.cancel()
                    raise ModelError(
                        f"model {detector.name}: no answer to its first picture within"
                        f" {timeout_s:g} s: check the device, or raise the key timeout_s"
                    )
    for complaint in complaints:
        logger.warning("model {}: its first inference failed: {}", detector.name, complaint)
