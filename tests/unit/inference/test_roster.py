from __future__ import annotations

import threading

import pytest

from tests.devices import Gate, compile_probe
from tests.threads import running, wait_until
from vidpipe.errors import ModelError
from vidpipe.inference.model import CompiledDetector
from vidpipe.inference.roster import Roster
from vidpipe.inference.slot import Slot


def roster_of(gate: Gate, size: int | None = 2) -> Roster:
    return Roster(lambda: compile_probe(gate, is_wide=True), size, 10, None)


def hang(slot: Slot, gate: Gate) -> None:
    """Let the device hold a slot's request, until the gate is set."""
    before = gate.comers
    slot.choose(1)
    slot.request.tensor[:] = 100
    slot.request.start()
    wait_until(lambda: gate.comers == before + 1, "it is held")


def test_what_is_taken_is_nobody_elses_until_it_is_put_back(gate: Gate) -> None:
    roster = roster_of(gate)
    one, other = roster.take(), roster.take_now()
    assert one is not None
    assert other is not None
    assert one is not other
    assert roster.take_now() is None
    roster.put_back(one)
    assert roster.take() is one
    roster.close()


def test_who_waits_gets_what_is_put_back(gate: Gate) -> None:
    roster = roster_of(gate, 1)
    slot = roster.take()
    assert slot is not None
    got: list[Slot | None] = []
    with running(lambda: got.append(roster.take())):
        roster.put_back(slot)
    assert got == [slot]
    roster.close()


def test_a_parked_slot_has_a_spare_one_in_its_place_until_it_has_come_to_rest(gate: Gate) -> None:
    roster = roster_of(gate)
    slot = roster.take()
    assert slot is not None
    hang(slot, gate)
    roster.park(slot)
    assert (roster.free, roster.parked) == (2, 1)
    assert roster.held == [slot]
    assert not roster.visit_parked()
    gate.set()
    wait_until(roster.visit_parked, "it has come to rest")
    assert (roster.free, roster.parked, roster.held) == (2, 0, [])
    roster.close()


def test_what_is_closed_gives_out_nothing_and_wakes_everyone(gate: Gate) -> None:
    roster = roster_of(gate, 1)
    held = roster.take()
    assert held is not None
    got: list[Slot | None] = []
    with running(lambda: got.append(roster.take()), lambda: got.append(roster.take())):
        roster.close()
    assert got == [None, None]
    roster.put_back(held)
    assert roster.free == 0
    assert roster.take_now() is None


def test_a_model_that_answers_nothing_when_compiled_anew_is_not_taken(
    gate: Gate, log_lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[CompiledDetector] = []

    def compile_model() -> CompiledDetector:
        compiled.append(compile_probe(gate))
        return compiled[-1]

    roster = Roster(compile_model, 2, 10, None)
    slot = roster.take()
    assert slot is not None
    hang(slot, gate)
    roster.park(slot)
    assert not roster.is_ready

    def refuse(*_: object) -> None:
        raise ModelError("no answer to its first picture")

    with monkeypatch.context() as patch:
        patch.setattr("vidpipe.inference.roster.warm_up", refuse)
        assert not roster.tend(0)
    assert roster.detector is compiled[0]
    assert any("no answer to its first picture" in line for line in log_lines)
    roster.tend(1)
    assert len(compiled) == 2, "not again so soon"
    assert roster.held == [slot], "what never ran is not held"
    assert roster.tend(1000)
    assert roster.detector is compiled[2]
    assert (roster.free, roster.parked, roster.is_ready) == (2, 0, True)
    gate.set()
    wait_until(lambda: roster.tend(1001) or not roster.held, "the old one has come to rest")
    roster.close()


def test_any_number_of_threads_may_take_and_put_back(gate: Gate) -> None:
    roster = roster_of(gate, 3)
    lock, taken, most = threading.Lock(), set[int](), [0]

    def use() -> None:
        for _ in range(500):
            slot = roster.take()
            assert slot is not None
            with lock:
                assert id(slot) not in taken
                taken.add(id(slot))
                most[0] = max(most[0], len(taken))
            with lock:
                taken.discard(id(slot))
            roster.put_back(slot)

    with running(*[use] * 6):
        pass
    assert roster.free == 3
    assert most[0] <= 3
    roster.close()


def test_there_may_be_more_requests_later_and_fewer_again(gate: Gate) -> None:
    roster = roster_of(gate)
    roster.grow(5)
    assert (roster.size, roster.free) == (5, 5)
    taken = [roster.take() for _ in range(5)]
    assert len({id(slot) for slot in taken}) == 5
    roster.shrink(3)
    assert roster.size == 5, "none is free"
    for slot in taken[:4]:
        assert slot is not None
        roster.put_back(slot)
    roster.shrink(3)
    assert (roster.size, roster.free) == (3, 2)
    roster.grow(2)
    assert roster.size == 3
    assert taken[4] is not None
    roster.put_back(taken[4])
    roster.close()
    assert roster.rest(10)


def test_who_waits_gets_a_request_that_was_added(gate: Gate) -> None:
    roster = roster_of(gate, 1)
    assert roster.take() is not None
    got: list[Slot | None] = []
    with running(lambda: got.append(roster.take())):
        roster.grow(2)
    assert got[0] is not None
    roster.close()
