from __future__ import annotations

from datetime import UTC, datetime

from vidpipe.apps.messages import Shown
from vidpipe.apps.picturepost import PicturePost
from vidpipe.shots import Shot, ShotSize

SMALL, LARGE = ShotSize(320, 180), ShotSize(640, 360)


def shot(seq: int, stream: str = "gate") -> Shot:
    return Shot(stream, seq, datetime(2026, 11, 30, tzinfo=UTC), 0.0, 320, 180, {}, b"")


def test_whoever_sends_is_called_once_and_gets_the_newest_of_each_size() -> None:
    post = PicturePost()
    first, second, third = shot(1), shot(2), shot(3)
    assert post.put(first, [SMALL, LARGE])
    assert not post.put(second, [SMALL])
    assert not post.put(third, [SMALL])
    assert post.take() == [Shown(third, (SMALL,)), Shown(first, (LARGE,))]
    assert post.take() == []
    assert post.put(first, [SMALL])


def test_a_picture_that_answers_two_sizes_goes_once() -> None:
    post = PicturePost()
    post.put(shot(1), [SMALL, LARGE])
    assert post.take() == [Shown(shot(1), (SMALL, LARGE))]


def test_a_call_that_failed_is_tried_again() -> None:
    post = PicturePost()
    assert post.put(shot(1), [SMALL])
    post.miss()
    assert post.put(shot(2), [SMALL])
