from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from vidpipe.apps.batch.formats.digest import Digest, digest_of
from vidpipe.apps.batch.formats.lines import Found, ResultLine
from vidpipe.apps.batch.formats.moments import busiest_moments, key_moments


def make_digest(*frames: str, step_s: float = 1.0) -> Digest:
    """Return the digest of frames, each a text in which every letter is an object."""
    lines = []
    for number, letters in enumerate(frames):
        found = tuple(Found(letter, 0, 0.9, (0.0, 0.0, 9.0, 9.0), None) for letter in letters)
        lines.append(ResultLine("a", number, number * step_s, None, 64, 48, found, None))
    return digest_of(lines)


FRAMES = st.lists(st.text("abc", max_size=5), max_size=80)


@settings(deadline=None)
@given(FRAMES, st.integers(1, 20))
def test_no_more_than_asked_for_each_once_and_in_order(frames: list[str], count: int) -> None:
    digest = make_digest(*frames)
    for choose in (key_moments, busiest_moments):
        chosen = [key.moment.frame for key in choose(digest, count)]
        assert len(chosen) <= count
        assert chosen == sorted(set(chosen))
        assert bool(chosen) == bool(frames)


def test_the_first_of_each_class_and_the_busiest_are_among_them() -> None:
    frames = ["a"] * 60
    frames[17] = "ab"
    frames[41] = "aaaaa"
    chosen = {key.moment.frame: key.why for key in key_moments(make_digest(*frames), 12)}
    assert chosen[0] == "first a"
    assert chosen[17].startswith("first b")
    assert chosen[41].startswith("busiest")


def test_one_frame_may_have_several_reasons() -> None:
    (key,) = key_moments(make_digest("abb"), 12)
    assert key.why == "first a, b, busiest"


def test_an_empty_scene_is_shown_evenly() -> None:
    chosen = [key.moment.frame for key in key_moments(make_digest(*[""] * 101), 5)]
    assert chosen[0] == 0
    assert chosen[-1] == 100
    assert max(b - a for a, b in pairwise(chosen)) <= 50
    assert all(not key.why for key in key_moments(make_digest(*[""] * 101), 5))


def test_moments_keep_apart() -> None:
    frames = ["a"] * 100
    frames[50:60] = ["aaaaaa"] * 10
    chosen = [key.moment.frame for key in key_moments(make_digest(*frames), 10)]
    assert min(b - a for a, b in pairwise(chosen)) >= 4


def test_a_change_is_worth_a_look() -> None:
    frames = ["aaa"] * 100
    frames[70] = ""
    frames[71] = "b"
    chosen = {key.moment.frame: key.why for key in key_moments(make_digest(*frames), 9)}
    assert "change" in chosen.get(70, "") + chosen.get(71, "")


def test_a_busy_report_shows_the_busiest_frames_first_of_all() -> None:
    frames = ["a", "", "aaa", "", "aa", "", "", "aaaa", "", ""]
    chosen = [key.moment.frame for key in busiest_moments(make_digest(*frames), 2)]
    assert chosen == [2, 7]


def test_nothing_gives_nothing() -> None:
    assert key_moments(make_digest(), 12) == []
