from __future__ import annotations

import random
from collections import Counter

import pytest

from vidpipe.scheduling.fairness import FairShare


def shares(weights: dict[str, float]) -> FairShare:
    turns = FairShare()
    for stream, weight in weights.items():
        turns.add(stream, weight)
    return turns


def serve(turns: FairShare, ready: list[str], count: int) -> list[str]:
    served = []
    for _ in range(count):
        stream = turns.next(ready)
        assert stream is not None
        turns.charge(stream)
        served.append(stream)
    return served


def test_nobody_is_served_where_nobody_is_ready() -> None:
    assert shares({"a": 1}).next([]) is None


def test_equals_take_turns() -> None:
    assert serve(shares({"a": 1, "b": 1, "c": 1}), ["a", "b", "c"], 9) == ["a", "b", "c"] * 3


@pytest.mark.parametrize("weights", [(1, 1), (1, 2), (1, 3, 7), (0.5, 0.25), (1, 100)])
def test_served_frames_are_as_the_weights(weights: tuple[float, ...]) -> None:
    named = {f"s{number}": float(weight) for number, weight in enumerate(weights)}
    count = 2000
    served = Counter(serve(shares(named), list(named), count))
    for stream, weight in named.items():
        assert served[stream] == pytest.approx(count * weight / sum(weights), abs=2)


def test_a_weight_counts_though_a_lane_holds_one_frame_only() -> None:
    # Each stream is ready again only three turns after it was served, as with a live lane.
    turns = shares({"a": 3, "b": 1, "c": 1, "d": 1, "e": 1})
    rng = random.Random(4)
    served: Counter[str] = Counter()
    rest: dict[str, int] = dict.fromkeys("abcde", 0)
    for _ in range(6000):
        ready = [stream for stream, left in rest.items() if left == 0]
        rest = {stream: max(0, left - 1) for stream, left in rest.items()}
        stream = turns.next(ready)
        if stream is None:
            continue
        turns.charge(stream)
        served[stream] += 1
        rest[stream] = 1 if stream == "a" else rng.randint(1, 3)
    others = [served[stream] for stream in "bcde"]
    assert served["a"] / (sum(others) / 4) == pytest.approx(3, rel=0.1)
    assert max(others) / min(others) < 1.1


def test_an_idle_stream_saves_no_turns_for_a_burst() -> None:
    turns = shares({"a": 1, "b": 1})
    serve(turns, ["a"], 1000)
    burst = serve(turns, ["a", "b"], 20)
    assert burst[:8].count("b") <= 5
    assert burst.count("b") <= 12


def test_one_that_could_not_be_decoded_catches_up_a_little_but_not_for_ever() -> None:
    turns = shares({"a": 1, "b": 1})
    serve(turns, ["a"], 1000)
    turns.excuse("b")
    served = serve(turns, ["a", "b"], 60)
    assert served[:14] == ["b"] * 14
    assert served[20:].count("b") == 20
    serve(turns, ["a"], 1000)  # once it has caught up, it has no excuse any more
    assert serve(turns, ["a", "b"], 20)[:8].count("b") <= 5


def test_a_stream_that_joins_late_begins_level() -> None:
    turns = shares({"a": 1})
    serve(turns, ["a"], 1000)
    turns.add("b", 1)
    served = serve(turns, ["a", "b"], 20)
    assert 9 <= served.count("b") <= 11


def test_one_that_left_is_forgotten() -> None:
    turns = shares({"a": 1, "b": 1})
    turns.remove("a")
    assert serve(turns, ["b"], 3) == ["b", "b", "b"]
    turns.add("a", 1)
    assert set(serve(turns, ["a", "b"], 4)) == {"a", "b"}


@pytest.mark.parametrize("weight", [0.0, -1.0])
def test_a_weight_is_positive(weight: float) -> None:
    with pytest.raises(ValueError, match="positive"):
        FairShare().add("a", weight)


def test_no_stream_starves_however_the_others_come_and_go() -> None:
    rng = random.Random(7)
    names = [f"s{number}" for number in range(8)]
    turns = shares(dict.fromkeys(names, 1.0))
    waited = dict.fromkeys(names, 0)
    for _ in range(5000):
        ready = [name for name in names if waited[name] or rng.random() < 0.5]
        stream = turns.next(ready)
        if stream is None:
            continue
        turns.charge(stream)
        for name in ready:
            waited[name] += 1
        waited[stream] = 0
        assert max(waited.values()) < 40
