"""Files are divided into units that together are the file."""

from __future__ import annotations

import json

import pytest

from vidpipe.apps.batch.plan import Unit, plan_units, unit_from_document
from vidpipe.apps.batch.sampling import Sampling
from vidpipe.sources.keyframes import KeyFrame, KeyFrames
from vidpipe.sources.spans import Span

FPS = 25


def key_frames(seconds: int, every_s: int = 1) -> KeyFrames:
    """Return those of a video at 25 frames a second."""
    keys = tuple(
        KeyFrame(at * 1000, float(at), at * FPS, at - 0.04, at * FPS, at * FPS)
        for at in range(every_s, seconds, every_s)
    )
    return KeyFrames(keys, seconds * FPS, seconds - 0.04)


@pytest.mark.parametrize("seconds", [15, 61, 600, 1800])
@pytest.mark.parametrize("cores", [1, 2, 64])
def test_units_follow_one_another_without_gap(seconds: int, cores: int) -> None:
    units = plan_units(key_frames(seconds), Sampling(), cores=cores)
    assert [unit.number for unit in units] == list(range(len(units)))
    assert units[0].span.start_ticks is None
    assert units[-1].span.end_ticks is None
    at = 0
    for unit, following in zip(units, [*units[1:], None], strict=True):
        assert unit.first_frame == at
        assert unit.frames is not None or unit.is_whole
        at += unit.frames or seconds * FPS
        if following is not None:
            assert unit.span.end_ticks == following.span.start_ticks
            assert unit.span.packets == unit.frames
    assert at == seconds * FPS


def test_units_are_neither_long_nor_short() -> None:
    units = plan_units(key_frames(1800), Sampling(), cores=2)
    lengths = [(unit.end_s or 0) - unit.start_s for unit in units]
    assert max(lengths) <= 61
    assert min(lengths[:-1]) >= 10
    assert len(units) >= 8


def test_what_cant_be_divided_is_one_unit() -> None:
    assert plan_units(KeyFrames(reason="no"), Sampling(), cores=2) == (Unit(),)
    assert plan_units(key_frames(5), Sampling(), cores=2) == (Unit(),)
    far_apart = key_frames(600, every_s=400)
    assert len(plan_units(far_apart, Sampling(), cores=2)) == 2


def test_parts_in_which_nothing_is_wanted_are_left_out() -> None:
    sampling = Sampling(start_s=130, end_s=250)
    whole = plan_units(key_frames(600), Sampling(), cores=2)
    units = plan_units(key_frames(600), sampling, cores=2)
    assert 0 < len(units) < len(whole)
    assert units[0].start_s <= 130
    assert (units[-1].end_s or 600) >= 250
    assert units[0].first_frame == units[0].start_s * FPS
    assert [unit.number for unit in units] == list(range(len(units)))


def test_a_unit_survives_being_written_down() -> None:
    unit = Unit(3, Span(90_000, 180_000, 77), 25, 26, 1 / 3, 0.1 + 0.2, 7.25)
    assert unit_from_document(json.loads(json.dumps(unit.document()))) == unit
    assert unit_from_document(json.loads(json.dumps(Unit().document()))) == Unit()
