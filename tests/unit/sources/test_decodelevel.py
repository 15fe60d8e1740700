from __future__ import annotations

from vidpipe.sources.decodelevel import DecodeLevel

STREAMS = 16


def fallen(*, until: float, now_s: float = 0.0) -> DecodeLevel:
    """Return a level after streams were late, the last one at ``now_s``."""
    level = DecodeLevel(now_s - 100)
    for n in range(100):
        if level.part > until:
            level.note_late(now_s - 99 + n, STREAMS)
    level.note_strain(now_s)
    return level


def adjusted(
    level: DecodeLevel, decoded: int, answered: int, *, seconds: range, lag_every_s: int = 0
) -> list[float]:
    """Return its parts where so much becomes of the pictures in each of its spells."""
    parts = []
    for now_s in seconds:
        if lag_every_s and now_s % lag_every_s == 0:
            level.note_strain(now_s)
        if level.is_due(now_s):
            level.adjust(now_s, STREAMS, decoded, answered)
        parts.append(level.part)
    return parts


def test_everything_until_somebody_is_late_beyond_hope() -> None:
    level = DecodeLevel(0.0)
    for now_s in range(1000):
        level.note_strain(now_s)
        assert not level.is_due(now_s)
    assert level.part == 1.0


def test_many_that_are_late_at_once_count_as_one() -> None:
    level = DecodeLevel(0.0)
    for _ in range(16):
        level.note_late(5.0, STREAMS)
    assert level.part == 0.7


def test_lateness_that_lasts_is_answered_again_and_again_but_never_with_nothing() -> None:
    level = DecodeLevel(0.0)
    parts = []
    for n in range(400):
        level.note_late(n / 20, STREAMS)
        parts.append(level.part)
    assert parts == sorted(parts, reverse=True)
    assert parts[-1] == 0.1


def test_one_alone_is_never_told_to_rest() -> None:
    level = DecodeLevel(0.0)
    for now_s in range(0, 100, 2):
        level.note_late(now_s, 1)
    assert level.part == 1.0


def test_less_is_decoded_where_the_model_answers_little_of_it_and_pictures_wait() -> None:
    parts = adjusted(fallen(until=0.7), 400, 100, seconds=range(10), lag_every_s=3)
    assert 0.4 < parts[0] < 0.7
    assert parts[-1] <= 0.2
    assert parts == sorted(parts, reverse=True)


def test_what_the_model_answers_is_enough_however_pictures_wait() -> None:
    parts = adjusted(fallen(until=0.5), 180, 100, seconds=range(600), lag_every_s=3)
    assert set(parts) == {parts[0]}


def test_a_model_that_answers_nearly_all_gets_more() -> None:
    parts = adjusted(fallen(until=0.2), 110, 100, seconds=range(40), lag_every_s=5)
    assert parts[-1] > 2 * parts[0]


def test_more_is_tried_again_a_minute_after_the_last_that_was_late_up_to_all() -> None:
    level = fallen(until=0.2)
    parts = adjusted(level, 400, 100, seconds=range(180))
    assert set(parts[40:60]) == {0.1}
    assert parts[64] > 0.1
    assert parts[-1] == 1.0
    assert not level.is_due(1000.0)
