from __future__ import annotations

from datetime import UTC, datetime

from tests.galleries import Catcher
from vidpipe.outputs.visits import Visits
from vidpipe.shots import Shot, ShotSize, Wants

SMALL, LARGE = ShotSize(320, 180), ShotSize(1280, 720)
SHOT = Shot("gate", 1, datetime(2026, 11, 30, tzinfo=UTC), 0.0, 320, 180, {}, b"")


def test_what_is_wanted_is_the_sum_and_the_rate_that_of_the_most_eager() -> None:
    told: list[Wants] = []
    visits = Visits(told.append)
    one, two = (visits.begin(Catcher().take) for _ in range(2))
    one.ask({"gate": {SMALL: 5.0}, "yard": {SMALL: 1.0}})
    two.ask({"gate": {SMALL: 10.0, LARGE: 2.0}, "dock": {}})
    assert told[-1] == {"gate": {SMALL: 10.0, LARGE: 2.0}, "yard": {SMALL: 1.0}}
    one.ask({"gate": {SMALL: 25.0}})
    assert told[-1] == {"gate": {SMALL: 25.0, LARGE: 2.0}}
    count = len(told)
    one.ask({"gate": {SMALL: 25.0}})
    assert len(told) == count, "nothing has changed"
    one.close()
    two.close()
    two.close()
    assert told[-1] == {} == visits.wants


def test_a_picture_goes_to_those_who_asked_for_its_size() -> None:
    visits = Visits(lambda _: None)
    small, both, other = Catcher(), Catcher(), Catcher()
    visits.begin(small.take).ask({"gate": {SMALL: 1.0}})
    visits.begin(both.take).ask({"gate": {SMALL: 1.0, LARGE: 1.0}})
    visits.begin(other.take).ask({"yard": {SMALL: 1.0}})
    visits.deliver(SHOT, [SMALL, LARGE])
    assert small.shots == [(SHOT, (SMALL,))]
    assert both.shots == [(SHOT, (SMALL, LARGE))]
    assert other.shots == []
