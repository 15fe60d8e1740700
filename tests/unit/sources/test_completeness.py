from __future__ import annotations

import pytest

from vidpipe.sources.completeness import Promise, Tally, loss


@pytest.mark.parametrize(
    ("promise", "tally"),
    [
        (Promise(), Tally(packets=5, pictures=5)),
        (Promise(packets=5), Tally(packets=5, pictures=5)),
        (Promise(packets=5), Tally(packets=6, pictures=6)),
        (Promise(packets=10), Tally(packets=10, pictures=5)),  # two fields, one picture
        (Promise(end_s=10.0), Tally(pictures=5, end_s=9.2)),  # not clear enough
        (Promise(end_s=10.0, is_cut=False), Tally(pictures=5, end_s=1.0)),  # a wrong duration
        (Promise(end_s=10.0, is_cut=True), Tally(pictures=5, end_s=9.98)),  # cut in its index
        (Promise(packets=5, is_cut=False), Tally(packets=5, pictures=5)),
    ],
)
def test_a_whole_file_has_lost_nothing(promise: Promise, tally: Tally) -> None:
    assert loss(promise, tally, 0.04) is None


@pytest.mark.parametrize(
    ("promise", "tally", "words"),
    [
        (
            Promise(packets=377),
            Tally(packets=201, pictures=201, damaged_packets=3),
            "the container promises 377 frames, 201 could be read; 3 packets damaged",
        ),
        (
            Promise(frames=795, end_s=79.5, is_cut=True),
            Tally(pictures=391, end_s=39.1),
            "the container promises 79.50 s (795 frames), it ends after 39.10 s "
            "(391 frames could be read)",
        ),
        (
            Promise(end_s=10.0),
            Tally(pictures=1, end_s=8.9),
            "the container promises 10.00 s, it ends after 8.90 s (1 frame could be read)",
        ),
        (Promise(end_s=10.0, is_cut=True), Tally(pictures=9, end_s=9.96), "it ends after 9.96"),
        (
            Promise(),
            Tally(pictures=7, damaged_packets=1, damaged_pictures=2),
            "7 frames could be read; 1 packet damaged; 2 pictures damaged",
        ),
        (Promise(), Tally(pictures=7, broke_off="I/O error"), "reading broke off: I/O error"),
        (
            Promise(is_cut=True),
            Tally(pictures=7),
            "7 frames could be read; the file breaks off in the middle",
        ),
        (
            Promise(packets=7, is_cut=True),
            Tally(packets=7, pictures=7),
            "7 frames could be read; the file breaks off in the middle",
        ),
    ],
)
def test_the_message_says_what_was_lost(promise: Promise, tally: Tally, words: str) -> None:
    assert words in (loss(promise, tally, 0.04) or "")


def test_at_a_low_rate_a_second_is_less_than_a_picture() -> None:
    assert loss(Promise(end_s=100.0), Tally(pictures=9, end_s=91.0), 5.0) is None
    assert loss(Promise(end_s=100.0), Tally(pictures=8, end_s=89.0), 5.0) is not None


@pytest.mark.parametrize(
    ("times", "damaged"),
    [
        ([11, 12, 13], 1),  # the clock goes on: packets are missing
        ([], 1),
        ([11, 0, 1], 0),  # it starts anew: two recordings, one behind the other
        ([0], 0),
        ([11, 12, 13, 0], 1),  # a seam elsewhere
    ],
)
def test_a_gap_before_a_new_clock_is_a_seam(times: list[int], damaged: int) -> None:
    tally = Tally(packets=5, damaged_packets=1)
    tally.note_gap(10)
    for time in times:
        tally.packets += 1
        tally.note_clock(time)
    assert tally.damaged_packets == damaged
