from __future__ import annotations

import time
from datetime import UTC, datetime

from tests.galleries import Catcher
from vidpipe.apps.fleetgallery import FleetGallery
from vidpipe.apps.messages import Shown, View
from vidpipe.shots import Glance, Second, Shot, ShotSize, Wants

SMALL = ShotSize(320, 180)


def shown(seq: int, stream: str = "gate") -> Shown:
    now = datetime.now(UTC)
    return Shown(Shot(stream, seq, now, time.monotonic(), 320, 180, {}, b"jpeg"), (SMALL,))


def view(seconds: list[Second], glance: Glance | None) -> View:
    return View({}, {}, {}, {}, (), {}, (), (), frozenset(), {"gate": glance}, {"gate": seconds})


def test_workers_are_told_what_is_wanted_and_their_pictures_come_to_who_wants_them() -> None:
    told: list[Wants] = []
    gallery, catcher = FleetGallery(told.append), Catcher()
    visit = gallery.visit(catcher.take)
    visit.ask({"gate": {SMALL: 10.0}})
    assert told == [{"gate": {SMALL: 10.0}}]
    gallery.hang(shown(3))
    gallery.hang(shown(4, "yard"))
    assert [shot.seq for shot, _ in catcher.shots] == [3]
    assert [shot.seq for shot in gallery.replay("gate")] == [3]
    visit.close()
    assert told[-1] == {}


def test_a_worker_that_comes_back_goes_on_counting() -> None:
    gallery, catcher = FleetGallery(lambda _: None), Catcher()
    gallery.visit(catcher.take).ask({"gate": {SMALL: 10.0}})
    gallery.begin_life(["gate"])
    gallery.hang(shown(5))
    gallery.begin_life(["gate"])
    gallery.hang(shown(0))
    gallery.hang(shown(1))
    assert [shot.seq for shot, _ in catcher.shots] == [5, 6, 7]


def test_what_workers_have_noted_is_known_and_forgotten_with_the_stream() -> None:
    gallery = FleetGallery(lambda _: None)
    assert gallery.glance("gate") is None
    assert gallery.history("gate") == []
    now = datetime.now(UTC).replace(microsecond=0)
    glance = Glance(now, time.monotonic(), (1920, 1080), {"person": 1})
    for _ in range(3):
        gallery.learn(view([Second(now, {"person": 1})], glance))
    gallery.learn(view([], None))
    assert gallery.glance("gate") == glance
    assert gallery.history("gate") == [Second(now, {"person": 1})]
    gallery.remove("gate")
    assert gallery.glance("gate") is None


def test_a_placard_is_made_here() -> None:
    assert FleetGallery(lambda _: None).placard(SMALL, ["gate"]).startswith(b"\xff\xd8")
