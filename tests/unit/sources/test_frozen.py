from __future__ import annotations

from tests.builders import make_picture
from vidpipe.sources.frozen import FrozenWatch


def test_a_picture_that_stays_the_same_is_frozen_until_another_comes() -> None:
    watch = FrozenWatch(10.0)
    found = [watch.look(make_picture(luma=50), n * 0.5) for n in range(30)]
    assert found.index(True) == 20
    assert "same picture" in watch.reason
    assert not watch.look(make_picture(luma=51), 15.0)
    assert watch.reason == ""


def test_a_picture_that_changes_is_never_frozen() -> None:
    watch = FrozenWatch(2.0)
    assert not any(watch.look(make_picture(luma=n % 200), float(n)) for n in range(100))


def test_a_clock_that_stands_still_is_frozen_though_the_picture_moves() -> None:
    watch = FrozenWatch(5.0)
    found = [watch.look(make_picture(luma=n % 200), float(n), n) for n in range(10)]
    assert found.index(True) == 5
    assert "clock" in watch.reason


def test_frozen_can_be_turned_off() -> None:
    watch = FrozenWatch(0.0)
    assert not any(watch.look(make_picture(), float(n), n) for n in range(1000))
