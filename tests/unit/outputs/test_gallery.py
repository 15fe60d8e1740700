from __future__ import annotations

import gc
import threading
import time
import weakref

import numpy as np
import pytest

from tests.builders import make_picture
from tests.galleries import PATIENCE_S, Catcher, moving, opened_gallery, seen
from tests.threads import wait_until
from vidpipe.outputs.gallery import LocalGallery
from vidpipe.shots import ShotSize
from vidpipe.types import Verdict

SMALL, LARGE = ShotSize(160, 90), ShotSize(320, 180)


def test_nothing_is_encoded_while_nobody_watches_and_no_thread_runs() -> None:
    before = threading.active_count()
    with opened_gallery("gate") as (gallery, [easel]):
        for number in range(100):
            easel.take(seen(number))
        assert not easel.is_watched
        assert threading.active_count() == before
        glance = gallery.glance("gate")
        assert glance is not None
        assert glance.counts == {"person": 1}
        assert glance.size_wh == (320, 180)
        assert gallery.history("gate")[-1].counts == {"person": 1}
        assert gallery.replay("gate") == []


def test_a_visitor_gets_the_size_that_was_asked_for_once_for_all() -> None:
    one, two = Catcher(), Catcher()
    with opened_gallery("gate") as (gallery, [easel]):
        for catcher in (one, two):
            gallery.visit(catcher.take).ask({"gate": {SMALL: 10.0}})
        easel.take(seen(7))
        [first], [second] = one.wait(1), two.wait(1)
        assert first is second
        assert (first.width, first.height, first.seq) == (160, 90, 7)
        assert first.counts == {"person": 1}
        assert first.jpeg.startswith(b"\xff\xd8")
        assert one.shots[0][1] == (SMALL,)


def test_pictures_come_at_the_rate_of_the_most_eager() -> None:
    catcher = Catcher()
    with opened_gallery("gate") as (gallery, [easel]):
        gallery.visit(catcher.take).ask({"gate": {SMALL: 10.0}})
        for number in range(50):
            easel.take(seen(number, captured_at=number / 50))
            if number % 5 == 0:
                catcher.wait(number // 5 + 1)
        assert len(catcher.wait(11)) == 11  # the last one is a little early


def test_a_gallery_that_cannot_keep_up_shows_newer_ones_and_never_goes_back() -> None:
    catcher = Catcher()
    with opened_gallery("gate") as (gallery, [easel]):
        gallery.visit(catcher.take).ask({"gate": {LARGE: 60.0, SMALL: 60.0}})
        picture = make_picture(1920, 1080)
        for number in range(300):
            easel.take(seen(number, captured_at=number / 60, picture=picture))
        while not catcher.shots or catcher.shots[-1][0].seq < 299:
            catcher.wait(len(catcher.shots) + 1)
        of_large = [shot.seq for shot, sizes in catcher.shots if LARGE in sizes]
        assert of_large == sorted(set(of_large))


def test_passed_frames_are_shown_and_failed_ones() -> None:
    catcher = Catcher()
    with opened_gallery("gate") as (gallery, [easel]):
        gallery.visit(catcher.take).ask({"gate": {SMALL: 60.0}})
        easel.take(seen(0, captured_at=0.0, verdict=Verdict.PASSED))
        catcher.wait(1)
        easel.take(seen(1, captured_at=1.0, verdict=Verdict.FAILED))
        assert [shot.seq for shot in catcher.wait(2)] == [0, 1]


def test_no_picture_is_held_once_it_is_shown_or_nobody_watches() -> None:
    catcher = Catcher()
    with opened_gallery("gate") as (gallery, [easel]):
        visit = gallery.visit(catcher.take)
        visit.ask({"gate": {SMALL: 1.0}})
        held = []
        for number in range(4):  # the first is encoded, the others aren't due
            result = seen(number, captured_at=number / 10)
            held.append(weakref.ref(result.frame.picture.y))
            easel.take(result)
            del result
        catcher.wait(1)
        visit.close()
        deadline = time.monotonic() + PATIENCE_S
        while any(ref() is not None for ref in held) and time.monotonic() < deadline:
            gc.collect()
        assert [ref() for ref in held] == [None] * 4


def test_who_leaves_costs_nothing_more() -> None:
    catcher = Catcher()
    with opened_gallery("gate") as (gallery, [easel]):
        visit = gallery.visit(catcher.take)
        visit.ask({"gate": {SMALL: 60.0}})
        easel.take(seen(0, captured_at=0.0))
        catcher.wait(1)
        visit.ask({})
        assert not easel.is_watched
        easel.take(seen(1, captured_at=1.0))
        visit.close()
        assert len(catcher.shots) == 1


def test_what_was_seen_can_be_played_again_without_captions() -> None:
    catcher = Catcher()
    captioned = ShotSize(160, 90, has_captions=True)
    with opened_gallery("gate") as (gallery, [easel]):
        gallery.visit(catcher.take).ask({"gate": {SMALL: 10.0, captioned: 10.0}})
        begun_s = time.monotonic()
        for number in range(5):
            easel.take(seen(number, captured_at=begun_s + number / 10))
            shots = catcher.wait(2 * number + 2)
        plain = [shot for shot, sizes in catcher.shots if SMALL in sizes]
        assert gallery.replay("gate") == plain
        named = [shot for shot in shots if shot not in plain]
        assert named[0].jpeg != plain[0].jpeg, "the name stands on it"


def test_a_stream_may_come_after_those_who_want_it_and_go_before() -> None:
    catcher = Catcher()
    with opened_gallery() as (gallery, _):
        gallery.visit(catcher.take).ask({"late": {SMALL: 60.0}})
        easel = gallery.add("late")
        assert easel.is_watched
        easel.take(seen(0, stream="late"))
        catcher.wait(1)
        gallery.remove("late")
        easel.take(seen(1, stream="late"))
        assert gallery.glance("late") is None
        assert gallery.replay("late") == []
        assert not easel.is_watched


def test_a_picture_that_cannot_be_drawn_is_said_once_and_harms_no_other(
    log_lines: list[str],
) -> None:
    catcher = Catcher()
    broken = make_picture(64, 64)
    object.__setattr__(broken, "u", np.zeros((3, 3, 3, 3), np.uint8))
    with opened_gallery("gate") as (gallery, [easel]):
        gallery.visit(catcher.take).ask({"gate": {SMALL: 60.0}})
        for number in range(3):
            easel.take(seen(number, captured_at=float(number), picture=broken))
            wait_until(lambda: any("can't be shown" in line for line in log_lines), "it is said")
        easel.take(seen(9, captured_at=9.0))
        assert [shot.seq for shot in catcher.wait(1)] == [9]
    assert len([line for line in log_lines if "can't be shown" in line]) == 1


def test_closing_ends_its_threads_and_what_comes_later_is_ignored() -> None:
    with opened_gallery("gate") as (gallery, [easel]):
        visit = gallery.visit(Catcher().take)
        visit.ask({"gate": {SMALL: 60.0}})
        with moving([easel], rate_fps=200):
            gallery.close()
        gallery.close()
        visit.ask({"gate": {LARGE: 60.0}})
        easel.take(seen(1))


@pytest.mark.parametrize("size", [ShotSize(640, 360), ShotSize(16, 16)])
def test_a_placard_has_its_size(size: ShotSize) -> None:
    with opened_gallery() as (gallery, _):
        assert isinstance(gallery, LocalGallery)
        assert gallery.placard(size, ["gate is stalled"]).startswith(b"\xff\xd8")
