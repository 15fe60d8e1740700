from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.builders import make_picture, make_source
from tests.coded import write_clip
from tests.fakes import FakeClock, FakeReader, decoded
from tests.threads import running, wait_until
from vidpipe.errors import SourceCause, SourceError
from vidpipe.interfaces import Reader
from vidpipe.runtime.meters import StreamMeter
from vidpipe.sources.addresses import open_file
from vidpipe.sources.capture import Capture, CapturePolicy
from vidpipe.sources.connection import Backoff
from vidpipe.sources.declared import VideoLimits
from vidpipe.sources.decodeshare import DecodeShare
from vidpipe.sources.skipping import DecodePlan
from vidpipe.sources.video import VideoReader
from vidpipe.sources.vitals import Vitals
from vidpipe.types import Decoded, Frame, SourceInfo, StreamState

LIVE = make_source(is_live=True)
LOST = SourceError("the connection was lost", SourceCause.LOST)
NO_REST = Backoff(first_s=0.0, cap_s=0.0)


class Bench:
    """A capture over scripted readers, one an opening; after the last it stops by itself."""

    def __init__(
        self,
        *openings: FakeReader | Exception,
        clock: Callable[[], float] = FakeClock(),  # noqa: B008 - one that stands still
        takes: int = 1000,
        policy: CapturePolicy | None = None,
    ) -> None:
        self.openings = list(openings)
        self.readers = [item for item in openings if isinstance(item, FakeReader)]
        self.frames: list[Frame] = []
        self.takes = takes
        self.meter = StreamMeter()
        self.opened = 0
        self.capture = Capture(
            policy or CapturePolicy("gate", is_live=False, backoff=NO_REST),
            self._open,
            self._take,
            self.meter,
            clock,
            jitter=lambda: 0.0,
        )

    def _open(self) -> Reader:
        self.opened += 1
        if not self.openings:
            self.capture.stop()
            raise SourceError("nothing more to open", SourceCause.REFUSED)
        opening = self.openings.pop(0)
        if isinstance(opening, Exception):
            raise opening
        return opening

    def _take(self, frame: Frame) -> bool:
        if len(self.frames) >= self.takes:
            return False
        self.frames.append(frame)
        return True

    def run(self) -> list[Frame]:
        self.capture.run()
        assert all(reader.is_closed for reader in self.readers[: self.opened])
        stats = self.meter.snapshot()
        assert stats.captured == len(self.frames) + sum(stats.dropped.values())
        assert stats.in_flight == len(self.frames)
        return self.frames


def policy(
    *, is_live: bool = False, loop: bool = False, realtime: bool = False, late_s: float = 0.5
) -> CapturePolicy:
    return CapturePolicy(
        "gate", is_live=is_live, loop=loop, realtime=realtime, max_late_s=late_s, backoff=NO_REST
    )


def reader(
    count: int = 3, *, info: SourceInfo | None = None, then: Exception | None = None
) -> FakeReader:
    script: Sequence[Decoded | Exception] = [*decoded(count), *([then] if then else [])]
    return FakeReader(script, info)


def test_a_file_is_captured_to_its_end() -> None:
    bench = Bench(reader(3))
    frames = bench.run()
    assert [(frame.number, frame.pts_s, frame.epoch) for frame in frames] == [
        (0, 0.0, 0),
        (1, 0.04, 0),
        (2, 0.08, 0),
    ]
    assert frames[0].stream == "gate"
    assert frames[0].size_wh == (64, 48)
    report = bench.capture.report()
    assert (report.state, report.error, report.has_been_up) == (StreamState.ENDED, None, True)
    assert report.info == make_source()


def test_a_turned_picture_counts_as_it_is_displayed() -> None:
    turned = Decoded(make_picture(64, 48, rotation_deg=90), 0.0)
    assert Bench(FakeReader([turned])).run()[0].size_wh == (48, 64)


def test_a_file_that_cannot_be_opened_has_failed() -> None:
    error = SourceError("rtsp://bob:pw@cam: no such file", SourceCause.NOT_FOUND)
    bench = Bench(error)
    assert bench.run() == []
    report = bench.capture.report()
    assert (report.state, report.has_been_up) == (StreamState.FAILED, False)
    assert report.error == report.detail == "rtsp://***@cam: no such file"
    assert bench.opened == 1


def test_a_file_that_breaks_off_gives_what_it_has_and_has_failed() -> None:
    incomplete = SourceError("2 of 5 frames", SourceCause.INCOMPLETE)
    bench = Bench(reader(2, then=incomplete))
    assert len(bench.run()) == 2
    report = bench.capture.report()
    assert (report.state, report.error) == (StreamState.FAILED, "2 of 5 frames")


def test_a_loop_counts_on_and_its_timestamps_go_on_by_the_duration() -> None:
    bench = Bench(reader(3), reader(3), takes=6, policy=policy(loop=True))
    frames = bench.run()
    assert [frame.number for frame in frames] == list(range(6))
    assert [frame.pts_s for frame in frames] == pytest.approx([0, 0.04, 0.08, 0.12, 0.16, 0.2])
    assert [frame.epoch for frame in frames] == [0, 0, 0, 1, 1, 1]


def test_a_loop_over_timestamps_that_begin_late_has_no_gap() -> None:
    scripts = [decoded(2, first=100) for _ in range(2)]
    bench = Bench(*map(FakeReader, scripts), takes=4, policy=policy(loop=True))
    assert [frame.pts_s for frame in bench.run()] == pytest.approx([4.0, 4.04, 4.08, 4.12])


def test_a_loop_without_timestamps_has_none() -> None:
    script = [Decoded(make_picture(), None)] * 2
    bench = Bench(FakeReader(script), FakeReader(script), takes=4, policy=policy(loop=True))
    assert [frame.pts_s for frame in bench.run()] == [None] * 4


def test_a_loop_over_nothing_is_a_failure_and_no_busy_wait(log_lines: list[str]) -> None:
    bench = Bench(reader(0), policy=policy(loop=True))
    bench.run()
    assert bench.opened == 1
    assert bench.capture.report().state is StreamState.FAILED
    assert any("no frames" in line for line in log_lines)


def test_a_loop_says_once_what_it_plays(log_lines: list[str]) -> None:
    bench = Bench(*(reader(2) for _ in range(20)), takes=40, policy=policy(loop=True))
    bench.run()
    assert sum("64x48" in line for line in log_lines) == 1


@pytest.mark.parametrize("then", [None, LOST])
def test_a_live_stream_that_ends_is_opened_again(then: Exception | None) -> None:
    first = reader(2, info=LIVE, then=then)
    bench = Bench(first, LOST, reader(2, info=LIVE), policy=policy(is_live=True))
    frames = bench.run()
    assert [frame.number for frame in frames] == [0, 1, 2, 3]
    assert frames[1].epoch < frames[2].epoch
    stats = bench.meter.snapshot()
    assert stats.errors == {"capture": 3}
    assert stats.reconnects >= 3


def test_a_live_stream_that_is_down_keeps_its_error_until_it_is_up_again() -> None:
    seen: list[str | None] = []

    class Watched(FakeReader):
        def read(self) -> Decoded | None:
            report = bench.capture.report()
            seen.append(report.error)
            return super().read()

    again = Watched(decoded(2), LIVE)
    bench = Bench(LOST, again, policy=policy(is_live=True))
    bench.run()
    assert seen == [str(LOST), None, None]


def test_a_dead_camera_is_mentioned_now_and_then(clock: FakeClock, log_lines: list[str]) -> None:
    bench = Bench(*[LOST] * 200, clock=clock, policy=policy(is_live=True))
    opened = bench._open

    def slow() -> Reader:
        clock.advance(1.0)
        return opened()

    bench.capture._open_reader = slow
    bench.run()
    mentions = sum(str(LOST) in line for line in log_lines)
    assert 3 <= mentions <= 5


def test_the_rests_grow_and_begin_anew_after_a_success() -> None:
    waited: list[float] = []

    class Stop(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            assert timeout is not None
            waited.append(timeout)
            return self.is_set()

    slow = CapturePolicy("gate", is_live=True, backoff=Backoff(first_s=1.0, cap_s=4.0))
    bench = Bench(LOST, LOST, LOST, LOST, reader(1, info=LIVE), LOST, policy=slow)
    bench.capture._stop = Stop()
    bench.run()
    assert waited == [0.5, 1.0, 2.0, 2.0, 0.5, 1.0]


def test_stop_ends_a_rest_at_once_and_the_camera_is_known_to_be_down() -> None:
    slow = CapturePolicy("gate", is_live=True, backoff=Backoff(first_s=60.0, cap_s=60.0))
    bench = Bench(LOST, policy=slow)
    with running(bench.capture.run):
        wait_until(
            lambda: bench.capture.report().state is StreamState.BACKING_OFF, "the camera is down"
        )
        bench.capture.stop()
    report = bench.capture.report()
    assert report.state is StreamState.ENDED
    assert report.error == str(LOST)
    assert not report.has_been_up


def test_a_capture_that_is_stopped_before_it_began_has_ended() -> None:
    bench = Bench(reader(3))
    bench.capture.stop()
    assert bench.run() == []
    assert bench.capture.report().state is StreamState.ENDED
    assert bench.opened == 0


def test_stop_ends_after_the_frame_at_hand() -> None:
    bench = Bench()

    class Stopping(FakeReader):
        def read(self) -> Decoded | None:
            if len(bench.frames) == 3:
                bench.capture.stop()
            return super().read()

    bench.openings = [Stopping(decoded(100))]
    assert len(bench.run()) == 4
    assert bench.capture.report().state is StreamState.ENDED


@pytest.mark.parametrize("is_live", [True, False])
def test_a_lane_that_has_ended_ends_the_capture(
    is_live: bool,  # noqa: FBT001 - a parameter of the test
    log_lines: list[str],
) -> None:
    info = make_source(is_live=is_live)
    openings = [reader(5, info=info) for _ in range(3)]
    bench = Bench(*openings, takes=2, policy=policy(is_live=is_live, loop=True))
    assert len(bench.run()) == 2
    assert bench.opened == 1
    assert bench.meter.snapshot().dropped == {"stop": 1}
    assert bench.capture.report().state is StreamState.ENDED
    assert not any("again" in line for line in log_lines)


@pytest.mark.parametrize("is_live", [True, False])
def test_what_nobody_foresaw_is_a_failure_of_the_stream(
    is_live: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    info = make_source(is_live=is_live)
    broken = reader(1, info=info, then=ValueError("rtsp://bob:pw@cam: bad plane"))
    bench = Bench(broken, reader(1, info=info), policy=policy(is_live=is_live))
    frames = bench.run()
    assert len(frames) == (2 if is_live else 1)
    report = bench.capture.report()
    if not is_live:
        assert report.state is StreamState.FAILED
        assert report.error == "ValueError: rtsp://***@cam: bad plane"


def test_an_open_that_fails_unforeseen_is_a_failure_of_the_stream() -> None:
    bench = Bench(MemoryError("no room"))
    bench.run()
    assert bench.capture.report().error == "MemoryError: no room"


def test_arrival_is_the_monotonic_clock_and_live_frames_know_the_day(clock: FakeClock) -> None:
    clock.advance(77.0)
    bench = Bench(reader(1, info=LIVE), clock=clock, policy=policy(is_live=True))
    before = datetime.now(UTC)
    (frame,) = bench.run()
    assert frame.captured_at == 77.0
    assert frame.time is not None
    assert before <= frame.time <= datetime.now(UTC)


def test_recorded_frames_know_the_day_only_if_the_file_says_it() -> None:
    day = datetime(2026, 3, 1, 12, tzinfo=UTC)
    dated = Bench(reader(2, info=make_source(recorded_at=day))).run()
    assert [frame.time for frame in dated] == [day, day + timedelta(seconds=0.04)]
    assert [frame.time for frame in Bench(reader(2)).run()] == [None, None]


@pytest.mark.parametrize("pts_s", [None, 1e15, -1e15, 1e300])
def test_a_damaged_timestamp_costs_the_time_and_not_the_frame(pts_s: float | None) -> None:
    info = make_source(recorded_at=datetime(2026, 3, 1, tzinfo=UTC))
    bench = Bench(FakeReader([Decoded(make_picture(), pts_s)], info))
    assert [frame.time for frame in bench.run()] == [None]


class PacedClock:
    """A clock that a capture's own waits move on, and each frame by what its handling costs."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s

    def event(self) -> threading.Event:
        clock = self

        class Wait(threading.Event):
            def wait(self, timeout: float | None = None) -> bool:
                clock.now_s += timeout or 0.0
                return self.is_set()

        return Wait()


def test_a_file_played_in_real_time_keeps_the_pace_of_its_timestamps() -> None:
    clock = PacedClock()
    bench = Bench(reader(5), clock=clock, policy=policy(realtime=True))
    bench.capture._stop = clock.event()
    frames = bench.run()
    assert [frame.captured_at for frame in frames] == pytest.approx([0, 0.04, 0.08, 0.12, 0.16])


def test_a_file_played_in_real_time_is_decoded_no_earlier_than_a_camera_would_send(
    tmp_path: Path,
) -> None:
    clip = write_clip(tmp_path / "clip.mp4", 20, audio=None)
    clock = PacedClock()
    began: list[float] = []

    class Noting(CostlyReader):
        def read(self) -> Decoded | None:
            began.append(clock.now_s)
            return super().read()

    bench = Bench(clock=clock, policy=policy(realtime=True))
    bench.capture._stop = clock.event()
    bench.capture._open_reader = lambda: Noting(clip, clock, 0.01, is_live=False)
    frames = bench.run()
    assert [frame.captured_at for frame in frames] == pytest.approx(
        [0.01 + 0.04 * number for number in range(20)]
    )
    assert began[1:] == pytest.approx([0.03 + 0.04 * number for number in range(20)])


def test_a_file_that_is_late_skips_ahead_and_says_so() -> None:
    clock = PacedClock()
    bench = Bench(reader(50), clock=clock, policy=policy(realtime=True, late_s=0.11))
    bench.capture._stop = clock.event()
    take = bench._take

    def slow(frame: Frame) -> bool:
        clock.now_s += 0.3 if frame.number == 10 else 0.0
        return take(frame)

    bench.capture._hand_over = slow
    numbers = [frame.number for frame in bench.run()]
    stats = bench.meter.snapshot()
    assert stats.dropped == {"pacing": 4}
    assert numbers == [*range(11), *range(15, 50)]


class CostlyReader:
    """A real reader whose pictures cost more time to decode than there is."""

    def __init__(self, path: Path, clock: PacedClock, cost_s: float, *, is_live: bool) -> None:
        plan = DecodePlan(share=DecodeShare(clock).join(lambda: 0))
        self._reader = open_file(path, limits=VideoLimits(plan=plan))
        assert isinstance(self._reader, VideoReader)
        self._clock, self._cost_s = clock, cost_s
        self.vitals = self._reader.vitals
        self.leap = self._reader.leap
        self.close = self._reader.close
        self.info = replace(self._reader.info, is_live=is_live)

    def read(self) -> Decoded | None:
        self._clock.now_s += self._cost_s
        decoded = self._reader.read()
        while self.info.is_live and decoded is None:
            if not self.vitals.is_holding:
                raise LOST
            decoded = self._reader.read()
        if self.info.is_live and decoded is not None and decoded.pts_s is not None:
            waited_s = max(0.0, decoded.pts_s - self._clock.now_s)  # it hasn't been there before
            self._clock.now_s += waited_s
            self.vitals.waited_s += waited_s
        return decoded


def play(bench: Bench, readers: list[CostlyReader]) -> None:
    """Run a capture over readers, one an opening, and stop it behind the last."""

    def open_reader() -> Reader:
        if readers:
            return readers.pop()
        bench.capture.stop()
        raise LOST

    bench.capture._open_reader = open_reader
    bench.capture.run()


@pytest.mark.parametrize(("is_live", "cause"), [(False, "pacing"), (True, "age")])
def test_a_stream_that_cannot_be_decoded_in_time_is_seen_all_the_same(
    tmp_path: Path, log_lines: list[str], cause: str, *, is_live: bool
) -> None:
    clip = write_clip(tmp_path / "clip.mp4", 1500, audio=None, key_every=25)
    clock = PacedClock()
    bench = Bench(clock=clock, policy=policy(is_live=is_live, realtime=not is_live))
    bench.capture._stop = clock.event()
    readers = [CostlyReader(clip, clock, 0.1, is_live=is_live)]
    play(bench, readers)
    stats = bench.meter.snapshot()
    assert set(stats.dropped) == {cause}
    assert stats.captured == 1500
    # Two fifths could be decoded; of some of these it shows too late that they are late.
    assert 150 < len(bench.frames) < 650
    late_s = [frame.captured_at - (frame.pts_s or 0.0) for frame in bench.frames]
    assert max(late_s) - min(late_s) < 2.5
    numbers = [frame.number for frame in bench.frames]
    assert numbers == [round((frame.pts_s or 0.0) * 25) for frame in bench.frames]
    assert sum("can't decode all of it" in line for line in log_lines) == 1


def test_a_short_file_that_is_played_over_and_over_a_little_too_slowly_is_seen_for_ever(
    tmp_path: Path,
) -> None:
    clip = write_clip(tmp_path / "clip.mp4", 50, audio=None, key_every=25)
    clock = PacedClock()
    bench = Bench(clock=clock, policy=policy(loop=True, realtime=True), takes=10_000)
    bench.capture._stop = clock.event()
    readers = [CostlyReader(clip, clock, 0.044, is_live=False) for _ in range(40)]
    play(bench, readers)
    seen = Counter(frame.epoch for frame in bench.frames)
    assert all(seen[epoch] + seen[epoch + 1] >= 25 for epoch in range(38))
    assert clock.now_s < 1.15 * 40 * 2.0


def test_a_camera_is_not_paced() -> None:
    clock = PacedClock()
    bench = Bench(reader(5, info=LIVE), clock=clock, policy=policy(is_live=True, realtime=True))
    bench.capture._stop = clock.event()
    assert [frame.captured_at for frame in bench.run()] == [0.0] * 5


def test_a_full_lane_holds_the_capture_and_loses_nothing() -> None:
    gate = threading.Event()
    bench = Bench(reader(10))
    take = bench._take

    def waiting(frame: Frame) -> bool:
        gate.wait()
        return take(frame)

    bench.capture._hand_over = waiting
    with running(bench.capture.run):
        wait_until(lambda: bench.meter.snapshot().in_flight == 1, "the first frame waits")
        assert bench.capture.report().state is StreamState.LIVE
        gate.set()
    assert [frame.number for frame in bench.frames] == list(range(10))


class HangingReader(FakeReader):
    """Gives what it has, then holds its reader until it is let go, and gives one picture more."""

    def __init__(self, count: int) -> None:
        super().__init__(decoded(count + 1), LIVE)
        self.left = count
        self.lets_go = threading.Event()
        self.closed = threading.Event()

    def read(self) -> Decoded | None:
        if not self.left:
            self.lets_go.wait()
        self.left -= 1
        return super().read()

    def close(self) -> None:
        super().close()
        self.closed.set()


QUICK = CapturePolicy(
    "gate", is_live=True, backoff=NO_REST, open_timeout_s=0.02, read_timeout_s=0.1
)


def test_a_read_that_never_returns_is_given_up_and_the_camera_opened_again() -> None:
    hanging = HangingReader(2)
    bench = Bench(hanging, reader(3, info=LIVE), policy=QUICK, clock=time.monotonic)
    bench.capture.run()
    assert [frame.epoch for frame in bench.frames] == [0, 0, 1, 1, 1]
    assert [frame.number for frame in bench.frames] == [0, 1, 2, 3, 4]
    states = [move.state for move in bench.capture.moves()]
    assert states[:4] == ["connecting", "live", "stalled", "backing-off"]
    assert not hanging.is_closed
    assert bench.capture.is_held
    hanging.lets_go.set()
    assert hanging.closed.wait(10.0)  # by the thread that was left behind
    wait_until(lambda: not bench.capture.is_held, "nothing is left behind")
    assert len(bench.frames) == 5
    assert bench.meter.snapshot().captured == 5


def test_an_open_that_never_returns_is_given_up_and_closed_when_it_does() -> None:
    late, lets_go = reader(3, info=LIVE), threading.Event()
    bench = Bench(reader(2, info=LIVE), policy=QUICK, clock=time.monotonic)
    opened = bench._open
    calls = iter([True])

    def stubborn() -> Reader:
        if next(calls, False):
            lets_go.wait()
            return late
        return opened()

    bench.capture._open_reader = stubborn
    with running(bench.capture.run):
        wait_until(lambda: len(bench.frames) == 2, "the second opening")
    lets_go.set()
    wait_until(lambda: late.is_closed, "the late one is closed")
    assert len(bench.frames) == 2


def test_a_close_that_never_returns_is_given_up_too() -> None:
    lets_go = threading.Event()

    class Sticky(FakeReader):
        def close(self) -> None:
            lets_go.wait()
            super().close()

    sticky = Sticky([*decoded(2), LOST], LIVE)
    bench = Bench(sticky, reader(3, info=LIVE), policy=QUICK, clock=time.monotonic)
    bench.capture.run()
    assert [frame.epoch for frame in bench.frames] == [0, 0, 1, 1, 1]
    lets_go.set()
    wait_until(lambda: sticky.is_closed, "it is closed by the thread that was left behind")


def test_reads_that_hang_are_not_piled_up_without_end() -> None:
    hanging = [HangingReader(1) for _ in range(20)]
    slow = replace(QUICK, backoff=Backoff(0.1, 0.1))
    bench = Bench(*hanging, policy=slow, clock=time.monotonic)
    with running(bench.capture.run):
        wait_until(
            lambda: "hang in native code" in (bench.capture.report().error or ""), "it stops"
        )
        opened = bench.opened
        bench.capture.stop()
    assert opened == 4
    for one in hanging[: bench.opened]:
        one.lets_go.set()


def test_a_reader_that_hears_something_is_not_given_up() -> None:
    class Patient(HangingReader):
        @property
        def vitals(self) -> Vitals:
            return Vitals(heard_at=time.monotonic() + 1000.0)

    patient = Patient(1)
    bench = Bench(patient, policy=QUICK, clock=time.monotonic)
    with running(bench.capture.run):
        wait_until(lambda: len(bench.frames) == 1, "the first picture")
        patient.closed.wait(1.0)
        assert bench.capture.report().state is StreamState.LIVE
        bench.capture.stop()
        patient.lets_go.set()


def test_pictures_thrown_away_as_damaged_are_counted_and_numbered() -> None:
    class Damaged(FakeReader):
        def __init__(self) -> None:
            super().__init__(decoded(3), LIVE)
            self.vitals = Vitals()

        def read(self) -> Decoded | None:
            self.vitals.discarded += 2
            return super().read()

    bench = Bench(Damaged(), policy=policy(is_live=True))
    assert [frame.number for frame in bench.run()] == [2, 5, 8]
    assert bench.meter.snapshot().dropped == {"error": 6}


@pytest.mark.parametrize("cause", [SourceCause.AUTHENTICATION, SourceCause.NOT_FOUND])
def test_what_somebody_must_put_right_has_failed_and_is_tried_again(cause: SourceCause) -> None:
    bench = Bench(SourceError("no", cause), reader(1, info=LIVE), policy=policy(is_live=True))
    assert len(bench.run()) == 1
    states = [move.state for move in bench.capture.moves()]
    assert states[:4] == ["connecting", "failed", "connecting", "live"]


def test_a_camera_that_repeats_itself_is_said_to_be_frozen_once(
    clock: FakeClock, log_lines: list[str]
) -> None:
    seen: list[bool] = []

    class Still(FakeReader):
        def read(self) -> Decoded | None:
            clock.advance(1.0)
            seen.append(bench.capture.report().is_frozen)
            return super().read()

    still = Still(decoded(60, rate_fps=1.0), LIVE)
    frozen = CapturePolicy(
        "gate", is_live=True, backoff=NO_REST, read_timeout_s=1000.0, frozen_s=30.0
    )
    bench = Bench(still, clock=clock, policy=frozen)
    assert len(bench.run()) == 60
    assert seen.index(True) == 31
    assert sum("WARNING" in line and "frozen" in line for line in log_lines) == 1


def test_what_queued_during_the_opening_is_not_fresh(clock: FakeClock) -> None:
    class Burst(FakeReader):
        def read(self) -> Decoded | None:
            if len(bench.frames) >= 20:
                clock.advance(0.04)
            return super().read()

    patient = replace(policy(is_live=True), open_timeout_s=1000.0)
    bench = Bench(Burst(decoded(30), LIVE), clock=clock, policy=patient)
    opened = bench._open

    def slow() -> Reader:
        clock.advance(2.0)
        return opened()

    bench.capture._open_reader = slow
    frames = bench.run()
    assert frames[0].captured_at == 0.0
    assert frames[10].captured_at == pytest.approx(0.4)
    assert frames[-1].captured_at == pytest.approx(2.4)


@pytest.mark.parametrize(
    ("has_pts", "rate_fps", "told"),
    [(True, 25.0, 0), (False, 25.0, "25 frames a"), (False, 1.0, "1 frame a"), (True, 1.0, 0)],
)
def test_missing_timestamps_are_told_only_where_they_are_missing(
    log_lines: list[str], rate_fps: float, told: str | int, *, has_pts: bool
) -> None:
    # A package's source needn't say a time base, though its frames have their times.
    info = replace(make_source(), time_base=None, rate_fps=rate_fps)
    frames = [one if has_pts else replace(one, pts_s=None) for one in decoded(2)]
    Bench(FakeReader(frames, info)).run()
    warned = [line for line in log_lines if "no timestamps" in line]
    assert len(warned) == bool(told)
    assert not told or f" {told} second" in warned[0]
