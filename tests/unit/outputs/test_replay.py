from __future__ import annotations

from datetime import UTC, datetime

from vidpipe.outputs.replay import Replay
from vidpipe.shots import Shot

NOW = datetime(2026, 11, 30, tzinfo=UTC)


def shot(at_s: float, *, size: int = 1000, stream: str = "gate", width: int = 320) -> Shot:
    return Shot(stream, round(at_s * 10), NOW, at_s, width, 180, {}, b"x" * size)


def test_it_keeps_half_a_minute_in_order() -> None:
    replay = Replay()
    for n in range(600):
        replay.keep(shot(n / 10))
    found = replay.shots("gate", 60.0)
    assert [one.captured_at for one in found] == sorted(one.captured_at for one in found)
    assert 299 <= len(found) <= 301
    assert found[0].captured_at >= 29.9
    assert replay.shots("yard", 60.0) == []


def test_it_is_bounded_in_bytes_of_each_stream_and_altogether() -> None:
    replay = Replay(most_bytes=20_000, most_bytes_each=8_000)
    for n in range(50):
        for stream in ("a", "b", "c", "d"):
            replay.keep(shot(n / 10, stream=stream))
    assert replay.size_bytes <= 20_000
    assert [len(replay.shots(stream, 5.0)) for stream in "abcd"] == [5, 5, 5, 5]
    replay.keep(shot(100.0, stream="a"))
    assert replay.size_bytes == 1000, "the others are too old"


def test_of_one_frame_the_widest_picture_stays() -> None:
    replay = Replay()
    replay.keep(shot(1.0, width=320, size=500))
    replay.keep(shot(1.0, width=640, size=900))
    replay.keep(shot(1.0, width=160, size=100))
    assert [one.width for one in replay.shots("gate", 1.0)] == [640]
    assert replay.size_bytes == 900


def test_a_stream_that_is_shown_faster_is_kept_at_ten_a_second() -> None:
    replay = Replay()
    for n in range(300):
        replay.keep(Shot("gate", n, NOW, n / 30, 320, 180, {}, b"x"))
    assert 98 <= len(replay.shots("gate", 10.0)) <= 102


def test_what_is_too_old_or_forgotten_holds_no_memory() -> None:
    replay = Replay()
    replay.keep(shot(0.0))
    replay.keep(shot(0.0, stream="yard"))
    replay.forget("yard")
    assert replay.shots("yard", 0.0) == []
    assert not replay.is_empty
    replay.expire(31.0)
    assert replay.is_empty
    assert replay.size_bytes == 0
