from __future__ import annotations

from vidpipe.runtime.newest import Newest


def test_whoever_takes_is_called_once_and_gets_the_newest_of_each_kind() -> None:
    newest: Newest[str, list[int]] = Newest()
    assert newest.put([1], ["small", "large"])
    assert not newest.put([2], ["small"])
    assert not newest.put([3], ["small"])
    assert newest.take() == [([3], ["small"]), ([1], ["large"])]
    assert newest.take() == []
    assert newest.put([1], ["small"])


def test_what_is_of_two_kinds_comes_once() -> None:
    newest: Newest[str, list[int]] = Newest()
    newest.put([1], ["small", "large"])
    assert newest.take() == [([1], ["small", "large"])]


def test_a_call_that_failed_is_tried_again() -> None:
    newest: Newest[str, list[int]] = Newest()
    assert newest.put([1], ["small"])
    newest.miss()
    assert newest.put([2], ["small"])
