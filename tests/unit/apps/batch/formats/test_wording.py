from __future__ import annotations

import pytest

from vidpipe.apps.batch.formats.wording import clock_text, counts_text, number_text, totals_text


@pytest.mark.parametrize(
    ("seconds", "text", "fine"),
    [
        (0.0, "0:00", "0:00.0"),
        (59.96, "1:00", "1:00.0"),
        (754.34, "12:34", "12:34.3"),
        (3723.0, "1:02:03", "1:02:03.0"),
        (-1.5, "-0:02", "-0:01.5"),
        (-0.01, "0:00", "0:00.0"),
        (360_000.0, "100:00:00", "100:00:00.0"),
    ],
)
def test_a_time_reads_as_a_clock(seconds: float, text: str, fine: str) -> None:
    assert clock_text(seconds) == text
    assert clock_text(seconds, is_fine=True) == fine


def test_thousands_stand_apart_and_no_digit_is_made_up() -> None:
    texts = [number_text(value) for value in (7, 1234567, 0.5, 12.34, 123.4)]
    assert texts == ["7", "1\u202f234\u202f567", "0.50", "12.3", "123"]


def test_what_is_found_is_told_the_most_frequent_first() -> None:
    counts = {"car": 1, "person": 3, "dog": 1, "bus": 2}
    assert counts_text(counts) == "3× person, 2× bus, car, 1 more"
    assert totals_text(counts, most=2) == "person 3, bus 2, 2 more"
    assert counts_text({}) == totals_text({}) == ""
