from __future__ import annotations

from dataclasses import replace

from vidpipe.apps.heart import Heart
from vidpipe.runtime.meters import StreamStats
from vidpipe.telemetry.rows import NOTHING_COUNTED


def stats(processed: int = 0, in_flight: int = 0, dropped: int = 0) -> dict[str, StreamStats]:
    one = replace(
        NOTHING_COUNTED, processed=processed, in_flight=in_flight, dropped={"age": dropped}
    )
    return {"gate": one}


def test_a_run_whose_frames_move_is_alive() -> None:
    heart = Heart(10, 0)
    for second in range(100):
        moving = stats(processed=second, in_flight=3)
        assert heart.is_beating(moving, has_answered=True, now_s=second)


def test_a_run_without_frames_is_alive_while_its_workers_answer() -> None:
    heart = Heart(10, 0)
    assert heart.is_beating(stats(), has_answered=True, now_s=100)
    assert heart.is_beating(stats(), has_answered=False, now_s=110)
    assert not heart.is_beating(stats(), has_answered=False, now_s=111)
    assert heart.is_beating(stats(), has_answered=True, now_s=112)


def test_frames_that_come_to_no_end_are_no_life() -> None:
    heart = Heart(10, 0)
    assert heart.is_beating(stats(5, in_flight=2), has_answered=True, now_s=1)
    assert heart.is_beating(stats(5, in_flight=2), has_answered=True, now_s=11)
    assert not heart.is_beating(stats(5, in_flight=2), has_answered=True, now_s=12)
    dropped = stats(5, in_flight=2, dropped=1)
    assert heart.is_beating(dropped, has_answered=True, now_s=13), "one was given up"
