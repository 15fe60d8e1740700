from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

import pytest

from tests.coded import START
from tests.fakes import FakeClock
from tests.threads import wait_until
from vidpipe.errors import SinkError
from vidpipe.outputs import packetlane
from vidpipe.outputs.archive import Archive
from vidpipe.outputs.packetlane import PacketFeed, RecordLane
from vidpipe.outputs.storage import Storage, StoragePolicy
from vidpipe.packets import EncodedPacket, Opening, Track, TrackKind
from vidpipe.runtime.supervisor import ThreadGroup
from vidpipe.types import Overflow

LIVE = Opening(
    1.0,
    (Track(TrackKind.VIDEO, "h264", Fraction(1, 25)), Track(TrackKind.AUDIO, "aac", Fraction(1))),
    is_live=True,
)
FILE = replace(LIVE, is_live=False)


def packet(number: int, *, track: int = 0, size_bytes: int = 1) -> EncodedPacket:
    is_key = track == 0 and number % 4 == 0
    data = b"x" * size_bytes
    return EncodedPacket(track, data, number, number, 1, is_key, number / 25, START)


@dataclass
class FakeSink:
    """Notes what it is given, or fails as the test says."""

    fault: Callable[[EncodedPacket], Exception | None] = lambda _: None
    numbers: list[int] = field(default_factory=list)
    closes: int = 0

    def write(self, opening: Opening, packet: EncodedPacket) -> None:
        assert opening.tracks
        error = self.fault(packet)
        if error is not None:
            raise error
        assert packet.pts is not None
        self.numbers.append(packet.pts)

    def close(self) -> list[str]:
        self.closes += 1
        return [f"file-{self.closes}"]


@dataclass
class Told:
    """Implements ``PacketEvents``."""

    lost: int = 0
    errors: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    rests: list[bool] = field(default_factory=list)
    finishes: int = 0

    def rest(self, *, is_resting: bool) -> None:
        self.rests.append(is_resting)

    def lose(self, count: int) -> None:
        self.lost += count

    def fail(self, error: str) -> None:
        self.errors.append(error)

    def finish(self, paths: list[str]) -> None:
        self.finishes += 1
        self.paths += paths


def feed_of(
    sink: FakeSink,
    told: Told,
    *,
    size: int = 8,
    overflow: Overflow = Overflow.DROP_OLDEST,
    free: Callable[[Path], int] = lambda _: 0,
    min_free_gb: float | None = None,
    clock: FakeClock | None = None,
) -> PacketFeed:
    clock = clock or FakeClock()
    storage = Storage(
        StoragePolicy(min_free_gb=min_free_gb),
        Archive("/x/{stream}.mp4", stream="gate"),
        stream="gate",
        clock=clock,
        free=free,
    )
    return PacketFeed(RecordLane("record", sink, size, overflow, storage), "gate", told, clock)


def run(feed: PacketFeed) -> None:
    """Write what waits, and end."""
    feed.close()
    feed.run()


def test_a_full_lane_takes_nothing_until_the_next_key_frame() -> None:
    sink, told = FakeSink(), Told()
    feed = feed_of(sink, told, size=5)
    for number in range(7):
        feed.take(LIVE, packet(number))
    # frames 5 and 6 were refused; whatever refers to them is, too, although there is room
    threads = ThreadGroup()
    threads.spawn("feed", feed.run)
    wait_until(lambda: len(sink.numbers) == 5, "five packets")
    for number in range(7, 11):
        feed.take(LIVE, packet(number))
    feed.close()
    assert threads.join(10) == []
    assert sink.numbers == [0, 1, 2, 3, 4, 8, 9, 10]
    assert told.lost == 3
    assert (told.finishes, told.paths) == (1, ["file-1"])


def test_a_lane_is_bounded_in_bytes_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packetlane, "MOST_BYTES", 250)
    sink, told = FakeSink(), Told()
    feed = feed_of(sink, told, size=100)
    for number in range(6):
        feed.take(LIVE, packet(number, size_bytes=100))
    run(feed)
    assert sink.numbers == [0, 1, 2]
    assert told.lost == 3


def test_sound_is_taken_while_pictures_wait_for_a_key_frame() -> None:
    sink, told = FakeSink(), Told()
    feed = feed_of(sink, told, size=2)
    for number in range(3):
        feed.take(LIVE, packet(number))
    assert feed.abort() == 2
    assert told.lost == 3


def test_a_recorded_source_waits_and_loses_nothing() -> None:
    sink, told = FakeSink(), Told()
    feed = feed_of(sink, told, size=2, overflow=Overflow.BLOCK)
    threads = ThreadGroup()
    threads.spawn("feed", feed.run)
    for number in range(50):
        feed.take(FILE, packet(number))
    feed.close()
    assert threads.join(10) == []
    assert sink.numbers == list(range(50))
    assert told.lost == 0
    feed.take(FILE, packet(50))  # after the end: nobody waits


def test_a_capture_that_was_left_behind_is_not_heard() -> None:
    sink, told = FakeSink(), Told()
    feed = feed_of(sink, told)
    newer = replace(LIVE, opened_at=2.0)
    feed.take(LIVE, packet(0))
    feed.take(newer, packet(4))
    feed.take(LIVE, packet(1))
    run(feed)
    assert sink.numbers == [0, 4]


def test_a_live_recording_that_fails_is_tried_again_after_a_rest(log_lines: list[str]) -> None:
    clock = FakeClock()

    def fault(one: EncodedPacket) -> Exception | None:
        clock.advance(1)
        return SinkError("no space") if one.pts in (4, 5) else None

    sink, told = FakeSink(fault), Told()
    feed = feed_of(sink, told, size=100, clock=clock)
    for number in range(5):
        feed.take(LIVE, packet(number))
    threads = ThreadGroup()
    threads.spawn("feed", feed.run)
    wait_until(lambda: told.lost == 1, "a loss")
    feed.take(LIVE, packet(6))
    wait_until(lambda: told.lost == 2, "a loss")
    clock.advance(11)
    feed.take(LIVE, packet(8))
    feed.close()
    assert threads.join(10) == []
    assert sink.numbers == [0, 1, 2, 3, 8]
    assert told.errors == ["no space"]
    assert log_lines == []


def test_a_recording_of_a_file_that_fails_is_given_up() -> None:
    sink, told = FakeSink(lambda one: ValueError("odd") if one.pts == 2 else None), Told()
    feed = feed_of(sink, told, overflow=Overflow.BLOCK)
    for number in range(5):
        feed.take(FILE, packet(number))
    run(feed)
    assert sink.numbers == [0, 1]
    assert told.errors == ["odd"]
    assert told.lost == 3


def test_without_room_on_the_disk_the_file_is_finished_and_nothing_fails() -> None:
    clock = FakeClock()
    room = iter([10**10, 10**10, 0, 0, 10**10, 10**10])

    def free(_: Path) -> int:
        return next(room)

    def fault(_: EncodedPacket) -> None:
        clock.advance(2)

    sink, told = FakeSink(fault), Told()
    feed = feed_of(sink, told, min_free_gb=1, free=free, clock=clock)
    feed.take(LIVE, packet(0))
    feed.take(LIVE, packet(1))
    feed.take(LIVE, packet(2))
    run(feed)
    assert sink.numbers == [0, 1]
    assert told.lost == 1
    assert told.errors == []
    assert told.paths == ["file-1", "file-2"]
    assert told.rests == [True]
