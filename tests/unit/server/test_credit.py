from __future__ import annotations

from collections import deque

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from vidpipe.server.credit import WINDOW, Credit

STREAMS = ("gate", "yard", "dock")
streams = st.sampled_from(STREAMS)


class Viewer(RuleBasedStateMachine):
    """Any order of what can happen to a viewer's credit, against what is promised."""

    def __init__(self) -> None:
        super().__init__()
        self.credit: Credit[tuple[str, int]] = Credit()
        self.now_s = 0.0
        self.seq = 0
        self.watched: set[str] = set()
        self.offered: dict[str, int] = {}
        self.sent: dict[str, int] = {}
        self.open: dict[str, deque[int]] = {stream: deque() for stream in STREAMS}

    @rule(wanted=st.sets(streams), rate=st.floats(0.5, 60))
    def watch(self, wanted: set[str], rate: float) -> None:
        self.credit.watch(dict.fromkeys(wanted, rate))
        for stream in self.watched - wanted:
            self.open[stream].clear()
            self.offered.pop(stream, None)
        self.watched = wanted

    @rule(stream=streams, pause_s=st.floats(0, 0.5))
    def offer(self, stream: str, pause_s: float) -> None:
        self.now_s += pause_s
        self.seq += 1
        if self.credit.offer(stream, self.seq, self.now_s, (stream, self.seq)):
            assert stream in self.watched
            self.offered[stream] = self.seq

    @rule()
    def take(self) -> None:
        picture = self.credit.take(self.now_s)
        if picture is None:
            ready = [s for s in self.offered if len(self.open[s]) < WINDOW]
            assert not ready, "something could have been sent"
            return
        stream, seq = picture
        assert stream in self.watched
        assert self.offered.pop(stream) == seq, "not the newest"
        assert seq > self.sent.get(stream, 0), "older than one before"
        self.sent[stream] = seq
        self.open[stream].append(seq)

    @rule(stream=streams, data=st.data())
    def settle(self, stream: str, data: st.DataObject) -> None:
        known = list(self.open[stream])
        seq = data.draw(st.sampled_from(known) if known else st.just(self.seq + 7))
        assert self.credit.settle(stream, seq, self.now_s) is bool(known)
        while known and self.open[stream].popleft() != seq:
            pass

    @rule(stream=streams, seq=st.integers(0, 2**53))
    def settle_anything(self, stream: str, seq: int) -> None:
        if seq not in self.open[stream]:
            assert not self.credit.settle(stream, seq, self.now_s)

    @invariant()
    def what_is_on_its_way_is_bounded(self) -> None:
        assert all(len(waiting) <= WINDOW for waiting in self.open.values())
        assert self.credit.unsettled == sum(map(len, self.open.values()))

    @precondition(lambda self: not any(self.open.values()))
    @invariant()
    def who_owes_nothing_is_not_stalled(self) -> None:
        assert self.credit.quiet_s(self.now_s + 100) == 0.0


TestViewer = Viewer.TestCase


def test_a_viewer_that_acknowledges_nothing_is_sent_a_window_and_no_more() -> None:
    credit: Credit[int] = Credit()
    credit.watch({"gate": 10.0})
    sent = []
    for n in range(100):
        credit.offer("gate", n, n / 10, n)
        sent += [one for one in [credit.take(n / 10)] if one is not None]
    assert sent == [0, 1]
    assert credit.quiet_s(9.9) == 9.9
    assert credit.settle("gate", 1, 9.9)
    assert credit.take(9.9) == 99, "the newest, not the next"
    assert credit.quiet_s(12.9) == 3.0


def test_an_acknowledgement_settles_what_was_sent_before() -> None:
    credit: Credit[int] = Credit(window=3)
    credit.watch({"gate": 60.0})
    for n in range(3):
        credit.offer("gate", n, float(n), n)
        credit.take(float(n))
    assert credit.settle("gate", 1, 3.0)
    assert not credit.settle("gate", 0, 3.0)
    assert credit.unsettled == 1


@given(st.integers(2, 20))
def test_tiles_take_turns(count: int) -> None:
    credit: Credit[str] = Credit(window=1000)
    names = [f"s{n}" for n in range(count)]
    credit.watch(dict.fromkeys(names, 60.0))
    served: list[str] = []
    for n in range(50):
        for name in names:
            credit.offer(name, n, float(n), name)
        for _ in range(count // 2 + 1):
            picture = credit.take(float(n))
            assert picture is not None
            served.append(picture)
    counts = [served.count(name) for name in names]
    assert max(counts) - min(counts) <= 1


def test_a_tile_is_thinned_to_the_rate_that_it_wants() -> None:
    credit: Credit[int] = Credit(window=1000)
    credit.watch({"gate": 5.0})
    taken = sum(credit.offer("gate", n, n / 25, n) for n in range(100))
    assert 19 <= taken <= 21
