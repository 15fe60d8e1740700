from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.devices import Gate, compile_probe
from vidpipe.errors import InferenceError, ModelError
from vidpipe.inference.batching import BatchedDetector
from vidpipe.inference.request import BoundRequest
from vidpipe.inference.slot import Slot
from vidpipe.inference.warmup import warm_up


class CountingRequest(BoundRequest):
    """Counts its starts, and may fail or never end."""

    __slots__ = ()
    starts: list[int] = []  # noqa: RUF012 - the test's own, cleared by its fixture
    mood = "well"

    def start(self) -> None:
        CountingRequest.starts.append(len(self.rows))
        super().start()

    def wait(self, timeout_s: float) -> bool:
        is_over = super().wait(timeout_s)
        if CountingRequest.mood == "fails":
            raise InferenceError("the device failed: black is no colour")
        return is_over and CountingRequest.mood != "hangs"


@pytest.fixture
def slots(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Slot]]:
    """Return five slots for batches of up to two."""
    monkeypatch.setattr("vidpipe.inference.model.BoundRequest", CountingRequest)
    CountingRequest.starts.clear()
    monkeypatch.setattr(CountingRequest, "mood", "well")
    gate = Gate()
    detector = BatchedDetector([compile_probe(gate, batch=size) for size in (1, 2)])
    slots = [Slot(detector) for _ in range(5)]
    yield slots
    for slot in slots:
        slot.let_go()


def test_every_request_of_every_size_runs_once(slots: list[Slot]) -> None:
    warm_up(slots[0].detector, slots, 10)
    assert CountingRequest.starts == [1] * 5 + [2] * 5


def test_a_first_inference_that_fails_is_said_once_and_no_obstacle(
    slots: list[Slot], monkeypatch: pytest.MonkeyPatch, log_lines: list[str]
) -> None:
    monkeypatch.setattr(CountingRequest, "mood", "fails")
    warm_up(slots[0].detector, slots, 10)
    assert len(CountingRequest.starts) == 10
    assert [line for line in log_lines if "black is no colour" in line] == [
        "WARNING {} model probe: its first inference failed: the device failed: black is no colour"
    ]


def test_a_first_inference_without_an_answer_is_a_fault_of_the_model(
    slots: list[Slot], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CountingRequest, "mood", "hangs")
    with pytest.raises(ModelError, match=r"no answer to its first picture within 0\.5 s"):
        warm_up(slots[0].detector, slots, 0.5)
