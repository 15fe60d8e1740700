from __future__ import annotations

import time

import numpy as np
import pytest

from vidpipe.inference.decoders.family import DecodeRule
from vidpipe.inference.decoders.selection import finish
from vidpipe.inference.geometry import geometry_of
from vidpipe.inference.labels import LabelTable
from vidpipe.inference.settings import InputRecipe

AT = geometry_of((200, 100), (200, 100), InputRecipe())
ODD = np.array([np.nan, np.inf, -np.inf, 1e9, -1e9, 0.5, -1.0])


def rule(**changes: object) -> DecodeRule:
    fields: dict[str, object] = {
        "confidence": 0.3,
        "iou": 1.0,
        "labels": LabelTable(("a", "b", "c")),
        "kept_ids": None,
        "input_wh": (200, 100),
    }
    return DecodeRule(**{**fields, **changes})  # type: ignore[arg-type] # by name


@pytest.mark.parametrize("kept_ids", [None, frozenset({0, 2})])
@pytest.mark.parametrize("seed", range(5))
def test_many_candidates_are_chosen_as_few_are(seed: int, kept_ids: frozenset[int] | None) -> None:
    """Few are looked at one by one, many at once: one after the other they give the same."""
    rng = np.random.default_rng(seed)
    boxes = np.cumsum(rng.uniform(-5, 40, (300, 2, 2)), axis=1).reshape(300, 4)
    scores = np.round(rng.random(300), 1)
    ids = rng.integers(0, 3, 300).astype(float)
    for values in (boxes.reshape(-1), scores, ids):
        spoilt = rng.choice(len(values), 10)
        values[spoilt] = rng.choice(ODD, 10)
    scores[scores == 1e9] = 1  # or it would come before a 1 of an earlier part
    many = finish(boxes, scores, ids, AT, rule(kept_ids=kept_ids))
    few = [
        finish(boxes[i : i + 20], scores[i : i + 20], ids[i : i + 20], AT, rule(kept_ids=kept_ids))
        for i in range(0, 300, 20)
    ]
    together = np.concatenate([found.scores for found in few])
    order = np.argsort(-together, kind="stable")
    np.testing.assert_array_equal(many.scores, together[order])
    np.testing.assert_array_equal(
        many.boxes_xyxy, np.concatenate([found.boxes_xyxy for found in few])[order]
    )
    assert len(many) > 50


def test_scores_above_one_become_one() -> None:
    found = finish(np.array([[0.0, 0, 9, 9]]), np.array([7.0]), np.array([1]), AT, rule())
    assert found.scores.tolist() == [1.0]
    assert found.labels == ("b",)


def test_overlap_is_resolved_before_boxes_are_clipped() -> None:
    boxes = np.array([[-100.0, 0, 50, 50], [0, 0, 50, 50]])
    found = finish(boxes, np.array([0.9, 0.8]), np.zeros(2), AT, rule(iou=0.5))
    assert len(found) == 2


def test_a_flood_of_candidates_takes_bounded_work() -> None:
    rng = np.random.default_rng(0)
    boxes = np.concatenate(
        [rng.uniform(0, 100, (60_000, 2)), rng.uniform(100, 200, (60_000, 2))], 1
    )
    started_s = time.process_time()
    found = finish(boxes, rng.random(60_000), np.zeros(60_000), AT, rule(confidence=0.0, iou=0.99))
    assert 0 < len(found) <= 3000
    assert time.process_time() - started_s < 30  # without a bound, hours
