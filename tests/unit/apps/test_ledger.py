"""A worker's counters survive its process."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from vidpipe.apps.ledger import Ledger
from vidpipe.apps.messages import View
from vidpipe.apps.outcome import Failure
from vidpipe.runtime.durations import Durations, Stage, StageMeters
from vidpipe.runtime.meters import StreamMeter, StreamStats
from vidpipe.types import CaptureReport, DropCause, PoolReport, StreamState

NO_TIME = StageMeters().snapshot()


def counted(captured: int, processed: int, **errors: int) -> StreamStats:
    """Return the counters of a stream of which some frames are in flight."""
    meter = StreamMeter()
    for _ in range(captured):
        meter.count_captured()
    for _ in range(processed):
        meter.count_processed(0.01, 2)
    for stage, count in errors.items():
        for _ in range(count):
            meter.count_error(stage)
    return meter.snapshot()


def report(state: StreamState = StreamState.LIVE, *, up: bool = True) -> CaptureReport:
    return CaptureReport(state, "", up, None, None)


def view(
    stats: Mapping[str, StreamStats],
    *,
    reports: Mapping[str, CaptureReport] | None = None,
    stages: Mapping[Stage, Durations] = NO_TIME,
    pools: tuple[PoolReport, ...] = (),
    failures: tuple[Failure, ...] = (),
    files: tuple[Path, ...] = (),
    ended: frozenset[str] = frozenset(),
) -> View:
    return View(
        stats=stats,
        reports=reports or {stream: report() for stream in stats},
        depths=dict.fromkeys(stats, 1),
        stages=stages,
        pools=pools,
        switches={"m": 1},
        failures=failures,
        files=files,
        ended=ended,
    )


def balance(stats: StreamStats) -> int:
    gone = stats.processed + stats.passed + sum(stats.dropped.values())
    return stats.captured - gone - stats.in_flight


def test_counters_go_on_after_a_death_and_the_balance_holds() -> None:
    ledger = Ledger(["a"])
    ledger.take(view({"a": counted(10, 7, inference=1)}))
    assert ledger.stats()["a"].in_flight == 3

    in_flight = ledger.close_life("its worker died", DropCause.ERROR, is_coming_back=True)

    dead = ledger.stats()["a"]
    assert in_flight == {"a": 3}
    assert (dead.captured, dead.processed, dead.in_flight) == (10, 7, 0)
    assert (dead.dropped, dead.reconnects) == ({"error": 3}, 1)
    assert balance(dead) == 0
    ledger.take(view({"a": counted(5, 4, inference=2)}))
    again = ledger.stats()["a"]
    assert (again.captured, again.processed, again.in_flight) == (15, 11, 1)
    assert (again.detections, again.age.count, again.errors) == (22, 11, {"inference": 3})
    assert balance(again) == 0


def test_a_life_without_a_word_costs_nothing() -> None:
    ledger = Ledger(["a"])
    ledger.take(view({"a": counted(10, 10)}))
    for _ in range(3):
        ledger.close_life("its worker died", DropCause.ERROR, is_coming_back=True)
    assert ledger.stats()["a"].captured == 10
    assert ledger.stats()["a"].reconnects == 1


def test_a_stream_that_has_ended_keeps_its_counters_and_its_state() -> None:
    ledger = Ledger(["a", "b"])
    ended = {"a": report(StreamState.ENDED), "b": report()}
    ledger.take(
        view({"a": counted(4, 4), "b": counted(9, 9)}, reports=ended, ended=frozenset({"a"}))
    )
    ledger.close_life("its worker died", DropCause.ERROR, is_coming_back=True)
    assert ledger.is_ended("a")
    assert not ledger.is_ended("b")
    assert ledger.reports()["a"].state is StreamState.ENDED
    assert ledger.stats()["a"].reconnects == 0
    ledger.take(view({"b": counted(1, 1)}))
    assert ledger.stats()["a"].captured == 4
    assert ledger.stats()["b"].captured == 10


def test_the_streams_of_a_dead_process_wait_for_it_and_were_up() -> None:
    ledger = Ledger(["a"])
    assert ledger.reports()["a"].state is StreamState.CONNECTING
    ledger.take(view({"a": counted(1, 1)}))
    ledger.close_life("its worker was killed by SIGKILL", DropCause.ERROR, is_coming_back=True)
    waiting = ledger.reports()["a"]
    assert (waiting.state, waiting.error) == (
        StreamState.BACKING_OFF,
        "its worker was killed by SIGKILL",
    )
    connecting = report(StreamState.CONNECTING, up=False)
    ledger.take(view({"a": counted(0, 0)}, reports={"a": connecting}))
    assert ledger.reports()["a"].state is StreamState.CONNECTING
    assert ledger.reports()["a"].has_been_up
    assert ledger.depths() == {"a": 1}


def test_a_process_that_ends_in_order_leaves_its_last_reports() -> None:
    ledger = Ledger(["a"])
    ledger.take(view({"a": counted(1, 1)}, reports={"a": report(StreamState.ENDED)}))
    ledger.close_life("", DropCause.STOP, is_coming_back=False)
    assert ledger.reports()["a"].state is StreamState.ENDED
    assert ledger.depths() == {"a": 0}


def test_a_stream_that_is_given_up_has_failed() -> None:
    ledger = Ledger(["a"])
    ledger.take(view({"a": counted(1, 1)}))
    ledger.give_up("a", "its worker died; given up")
    ledger.close_life("its worker died", DropCause.ERROR, is_coming_back=True)
    assert ledger.is_ended("a")
    assert ledger.reports()["a"].state is StreamState.FAILED
    assert ledger.failures == [Failure("a", "source", "its worker died; given up")]


def test_files_and_failures_are_listed_once() -> None:
    ledger = Ledger(["a"])
    failure = Failure("a", "jsonl", "no room")
    ledger.take(view({"a": counted(1, 1)}, failures=(failure,), files=(Path("1.mp4"),)))
    ledger.take(view({"a": counted(2, 2)}, failures=(failure,), files=(Path("2.mp4"),)))
    ledger.close_life("its worker died", DropCause.ERROR, is_coming_back=True)
    ledger.take(view({"a": counted(2, 2)}, failures=(failure,), files=(Path("3.mp4"),)))
    assert ledger.failures == [failure]
    assert ledger.files == [Path("1.mp4"), Path("2.mp4"), Path("3.mp4")]


def test_stages_switches_and_batches_are_added_up() -> None:
    stages = StageMeters()
    stages.record(Stage.INFER, 0.01)
    pool = PoolReport("m", "m", {"free": 2, "running": 1}, True, 3, 9, 12)  # noqa: FBT003
    told = view({"a": counted(1, 1)}, stages=stages.snapshot(), pools=(pool,))
    ledger = Ledger(["a"])
    ledger.take(told)
    ledger.close_life("its worker died", DropCause.ERROR, is_coming_back=True)
    (dead,) = ledger.pools()
    assert (dead.is_ready, dead.batches, set(dead.requests.values())) == (False, 3, {0})
    ledger.take(told)
    (alive,) = ledger.pools()
    assert (alive.is_ready, alive.batches, alive.batch_places) == (True, 6, 24)
    assert ledger.stages()[Stage.INFER].count == 2
    assert ledger.switches() == {"m": 2}


def test_a_worker_that_is_done_is_not_missed() -> None:
    pool = PoolReport("m", "m", {"free": 2}, True)  # noqa: FBT003
    ledger = Ledger(["a"])
    ledger.take(view({"a": counted(1, 1)}, pools=(pool,), ended=frozenset({"a"})))
    ledger.close_life("", DropCause.STOP, is_coming_back=False)
    assert [one.is_ready for one in ledger.pools()] == [True]


def test_other_streams_are_followed_and_what_begins_anew_has_neither_ended_nor_failed() -> None:
    ledger = Ledger(["a", "b", "c"])
    failures = tuple(Failure(stream, "source", "gone") for stream in "abc")
    stats = {stream: counted(3, 3) for stream in "abc"}
    ledger.take(view(stats, failures=failures, ended=frozenset("abc")))
    ledger.follow(["a", "b", "d"], begun=["b"])
    assert list(ledger.stats()) == ["a", "b", "d"]
    assert ledger.stats()["d"].captured == 0
    assert [ledger.is_ended(stream) for stream in "abcd"] == [True, False, False, False]
    assert [failure.stream for failure in ledger.failures] == ["a"]
    ledger.close_life("its worker died", DropCause.ERROR, is_coming_back=True)
    assert ledger.stats()["b"].captured == 3, "counters go on"
    ledger.follow(["c"], begun=["c"])
    assert ledger.stats()["c"].captured == 0, "what was removed is forgotten"
