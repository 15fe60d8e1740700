from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest

from tests.builders import make_result
from tests.fakes import FakeClock, RecordingSink
from tests.threads import wait_until
from vidpipe.errors import SinkError
from vidpipe.events import EventKind
from vidpipe.interfaces import Sink
from vidpipe.outputs.archive import Archive
from vidpipe.outputs.fanout import Fanout, SinkLane
from vidpipe.outputs.storage import Storage, StoragePolicy
from vidpipe.runtime.meters import StreamMeter
from vidpipe.runtime.supervisor import ThreadGroup
from vidpipe.types import NO_PICTURE, FrameResult, Overflow, Verdict


class Events:
    """Keeps what a fan-out tells."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.settled = 0
        self.rooms = 0
        self.failures: list[tuple[str, str, str]] = []
        self.finished: dict[str, list[str]] = {}

    def settle(self, stream: str) -> None:
        with self._lock:
            self.settled += 1

    def make_room(self, stream: str) -> None:
        with self._lock:
            self.rooms += 1

    def fail(self, stream: str, sink: str, error: str) -> None:
        with self._lock:
            self.failures.append((stream, sink, error))

    def finish(self, stream: str, sink: str, paths: Sequence[str]) -> None:
        with self._lock:
            assert sink not in self.finished, "finished twice"
            self.finished[sink] = list(paths)


class BrittleSink(RecordingSink):
    """A sink that fails with some frame, and perhaps when it is closed."""

    def __init__(self, *, at: int = -1, write: Exception, close: Exception | None = None) -> None:
        super().__init__()
        self._at = at
        self._write_error = write
        self._close_error = close
        self.is_closed = threading.Event()

    def write(self, result: FrameResult) -> None:
        if result.frame.number == self._at:
            raise self._write_error
        super().write(result)

    def close(self) -> list[str]:
        super().close()
        if self._close_error is not None:
            raise self._close_error
        return ["kept.mp4"]


def block(name: str, sink: Sink, size: int = 2) -> SinkLane:
    return SinkLane(name, sink, size, Overflow.BLOCK)


def newest(name: str, sink: Sink, size: int = 2) -> SinkLane:
    return SinkLane(name, sink, size, Overflow.DROP_OLDEST)


class Bench:
    def __init__(self, *lanes: SinkLane) -> None:
        self.events = Events()
        self.meter = StreamMeter()
        self.fanout = Fanout("gate", lanes, self.meter, self.events)
        self._lanes = lanes

    @contextmanager
    def running(self) -> Iterator[None]:
        crashes: list[BaseException] = []
        threads = ThreadGroup(lambda _, exc: crashes.append(exc))
        self.fanout.start(threads)
        try:
            yield
        finally:
            self.fanout.close()
            left = threads.join(10)
        assert not left
        assert not crashes
        assert set(self.events.finished) == {lane.name for lane in self._lanes}

    def write(self, count: int, *, verdict: Verdict = Verdict.DETECTED) -> None:
        """Write as a chain does: only when there is room."""
        error = "no answer" if verdict is Verdict.FAILED else None
        for number in range(count):
            wait_until(lambda: self.fanout.has_room, "there is room")
            self.fanout.write(make_result(number, verdict=verdict, error=error))


def test_every_sink_gets_every_result_in_order() -> None:
    sinks = [RecordingSink() for _ in range(3)]
    bench = Bench(*(block(f"s{number}", sink) for number, sink in enumerate(sinks)))
    with bench.running():
        bench.write(50)
    assert [sink.numbers for sink in sinks] == [list(range(50))] * 3
    assert bench.events.settled == 50
    assert bench.meter.snapshot().sink_losses == {}


def test_each_sink_has_a_thread_of_its_own_with_its_name() -> None:
    names: list[str] = []

    class Namer(RecordingSink):
        def write(self, result: FrameResult) -> None:
            names.append(threading.current_thread().name)

    bench = Bench(block("jsonl", Namer()), newest("wall", Namer()))
    with bench.running():
        bench.write(1)
    assert sorted(names) == ["vp-jsonl-gate", "vp-wall-gate"]


def test_without_sinks_a_frame_is_settled_at_once() -> None:
    bench = Bench()
    with bench.running():
        assert bench.fanout.has_room
        bench.write(3)
        assert bench.events.settled == 3


def test_a_frame_is_settled_by_its_last_blocking_sink() -> None:
    gates = [threading.Event() for _ in range(3)]
    first, second, dropping = (RecordingSink(gate=gate) for gate in gates)
    bench = Bench(block("a", first), block("b", second), newest("c", dropping))
    with bench.running():
        bench.write(1)
        gates[0].set()
        wait_until(lambda: first.numbers == [0], "the first has written")
        assert bench.events.settled == 0
        gates[1].set()
        wait_until(lambda: bench.events.settled == 1, "the second settles it")
        assert dropping.numbers == []
        gates[2].set()


def test_a_sink_that_drops_holds_no_frame_in_the_window() -> None:
    gate = threading.Event()
    sink = RecordingSink(gate=gate)
    bench = Bench(newest("wall", sink))
    with bench.running():
        for number in range(10):
            assert bench.fanout.has_room
            bench.fanout.write(make_result(number))
        assert bench.events.settled == 10
        gate.set()
    lost = bench.meter.snapshot().sink_losses["wall"]
    assert sink.numbers[-1] == 9
    assert len(sink.numbers) + lost == 10
    assert bench.events.rooms == 0


def test_a_full_blocking_lane_is_said_and_its_next_room_told() -> None:
    gate = threading.Event()
    sink = RecordingSink(gate=gate)
    bench = Bench(block("jsonl", sink, size=1), newest("wall", RecordingSink()))
    with bench.running():
        bench.write(2)  # one is being written, one waits
        assert not bench.fanout.has_room
        assert bench.events.rooms == 1
        gate.set()
        wait_until(lambda: bench.events.rooms == 2, "room is told")
        assert bench.fanout.has_room


def test_room_is_told_before_the_slow_write_and_not_after() -> None:
    gate = threading.Event()
    bench = Bench(block("video", RecordingSink(gate=gate), size=1))
    with bench.running():
        bench.write(1)
        wait_until(lambda: bench.events.rooms == 1, "there is room while it is being written")
        gate.set()


def test_a_blocked_sink_harms_no_other() -> None:
    gate = threading.Event()
    blocked, free = RecordingSink(gate=gate), RecordingSink()
    bench = Bench(newest("rtsp", blocked), newest("wall", free, size=50))
    with bench.running():
        bench.write(20)
        wait_until(lambda: free.numbers == list(range(20)), "the other one has all")
        gate.set()


@pytest.mark.parametrize("error", [SinkError("disk full"), OSError("disk full"), ValueError()])
def test_a_sink_that_fails_is_left_out_and_the_others_go_on(error: Exception) -> None:
    brittle, other = BrittleSink(at=3, write=error), RecordingSink()
    bench = Bench(block("video", brittle), block("jsonl", other))
    with bench.running():
        bench.write(10)
    assert brittle.numbers == [0, 1, 2]
    assert brittle.is_closed.is_set()
    assert other.numbers == list(range(10))
    stats = bench.meter.snapshot()
    assert stats.sink_losses == {"video": 7}
    assert stats.errors == {"video": 1}
    assert bench.events.failures == [("gate", "video", str(error) or repr(error))]
    assert bench.events.settled == 10
    assert bench.events.finished == {"video": ["kept.mp4"], "jsonl": []}


def test_a_sink_that_cannot_be_finished_has_failed_and_is_done() -> None:
    brittle = BrittleSink(write=OSError(), close=SinkError("out/gate.mp4.part can't be renamed"))
    bench = Bench(block("video", brittle))
    with bench.running():
        bench.write(2)
    assert bench.events.failures == [("gate", "video", "out/gate.mp4.part can't be renamed")]
    assert bench.events.finished == {"video": []}
    assert bench.meter.snapshot().sink_losses == {}


def test_a_sink_fails_once_though_its_close_fails_too(log_lines: list[str]) -> None:
    brittle = BrittleSink(at=0, write=SinkError("first"), close=ValueError("second"))
    bench = Bench(block("video", brittle))
    with bench.running():
        bench.write(2)
    assert [error for _, _, error in bench.events.failures] == ["first"]
    assert any("second" in line for line in log_lines)


def test_secrets_are_not_told_with_a_failure() -> None:
    brittle = BrittleSink(at=0, write=SinkError("rtsp://bob:pw@wall is gone"))
    bench = Bench(block("rtsp", brittle))
    with bench.running():
        bench.write(1)
    assert bench.events.failures == [("gate", "rtsp", "rtsp://***@wall is gone")]


def test_only_sinks_of_pictures_get_pictures_and_passed_frames() -> None:
    video, text = RecordingSink(), RecordingSink(needs_picture=False)
    bench = Bench(block("video", video), block("jsonl", text))
    with bench.running():
        bench.write(2)
        bench.write(2, verdict=Verdict.PASSED)
        bench.write(1, verdict=Verdict.FAILED)
    assert len(video.results) == 5
    assert all(result.frame.picture is not NO_PICTURE for result in video.results)
    assert [result.verdict for result in text.results] == [
        *[Verdict.DETECTED] * 2,
        Verdict.FAILED,
    ]
    assert all(result.frame.picture is NO_PICTURE for result in text.results)
    assert text.results[0].frame.size_wh == video.results[0].frame.size_wh
    assert bench.events.settled == 5


def test_a_passed_frame_that_no_blocking_sink_wants_is_settled_at_once() -> None:
    gate = threading.Event()
    bench = Bench(block("jsonl", RecordingSink(needs_picture=False, gate=gate)))
    with bench.running():
        bench.write(3, verdict=Verdict.PASSED)
        assert bench.events.settled == 3
        gate.set()


def test_a_result_after_the_close_is_counted_as_lost_and_settled() -> None:
    bench = Bench(block("video", RecordingSink()), newest("wall", RecordingSink()))
    with bench.running():
        bench.fanout.close()
        bench.fanout.write(make_result())
    assert bench.events.settled == 1
    assert bench.meter.snapshot().sink_losses == {"video": 1, "wall": 1}


def test_abort_throws_away_what_waits_and_finishes_the_sinks() -> None:
    gate = threading.Event()
    sinks: Callable[[], RecordingSink] = lambda: RecordingSink(gate=gate)  # noqa: E731 - twice below
    bench = Bench(block("video", sinks(), size=3), newest("wall", sinks(), size=3))
    with bench.running():
        bench.write(1)
        wait_until(lambda: all(len(f._channel) == 0 for f in bench.fanout._feeds), "both write")
        for number in (1, 2, 3):
            bench.fanout.write(make_result(number))
        rooms = bench.events.rooms
        assert not bench.fanout.has_room
        assert bench.fanout.abort() == {"video": 3, "wall": 3}
        assert bench.fanout.has_room
        gate.set()
        wait_until(lambda: len(bench.events.finished) == 2, "both are finished")
        assert bench.events.rooms > rooms, "a chain that waits must hear of it"
    assert bench.events.settled == 4
    assert bench.meter.snapshot().sink_losses == {"video": 3, "wall": 3}


def test_a_sink_whose_disk_is_full_rests_and_goes_on() -> None:
    clock, free = FakeClock(), [10**10]
    storage = Storage(
        StoragePolicy(min_free_gb=1),
        Archive("/x/{stream}.mp4", stream="gate"),
        stream="gate",
        clock=clock,
        free=lambda _: free[0],
    )
    sink, events, meter = RecordingSink(), Events(), StreamMeter()
    lane = SinkLane("video", sink, 8, Overflow.DROP_OLDEST, storage)
    fanout = Fanout("gate", [lane], meter, events)
    told: list[EventKind] = []
    fanout.tell(lambda kind, _: told.append(kind))
    threads = ThreadGroup()
    fanout.start(threads)

    def dealt_with() -> int:
        return len(sink.results) + meter.snapshot().sink_losses.get("video", 0)

    seen = []
    for number, bytes_free in enumerate([10**10, 10**8, 10**9, 2 * 10**9]):
        free[0] = bytes_free
        clock.advance(2)
        fanout.write(make_result(number))
        wait_until(lambda: dealt_with() == number + 1, "the result is dealt with")  # noqa: B023 - called at once
        seen.append(meter.snapshot().resting)
    fanout.close()
    assert threads.join(10) == []
    assert seen == [(), ("video",), ("video",), ()]
    assert sink.numbers == [0, 3]
    assert meter.snapshot().sink_losses == {"video": 2}
    assert told == [EventKind.DISK_LOW, EventKind.DISK_OK]
    assert events.failures == []


def test_a_recorded_source_fails_where_there_is_no_room() -> None:
    storage = Storage(
        StoragePolicy(min_free_gb=1),
        Archive("/x/{stream}.mp4", stream="gate"),
        stream="gate",
        free=lambda _: 0,
    )
    events, meter = Events(), StreamMeter()
    lane = SinkLane("video", RecordingSink(), 8, Overflow.BLOCK, storage)
    fanout = Fanout("gate", [lane], meter, events)
    threads = ThreadGroup()
    fanout.start(threads)
    for number in range(3):
        fanout.write(make_result(number))
    fanout.close()
    assert threads.join(10) == []
    assert [sink for _, sink, _ in events.failures] == ["video"]
    assert "min_free_gb" in events.failures[0][2]
    assert meter.snapshot().sink_losses == {"video": 3}
    assert events.settled == 3
