from __future__ import annotations

import pytest

from tests.bench_rows import make_result
from vidpipe.apps.bench.ceiling import Ceiling, shares_of
from vidpipe.apps.bench.efficiency import Round, efficiency_from_rounds


def make_round(cpu_s: float, decode_ms: float, inference_ms: float) -> Round:
    ceiling = Ceiling({"inference": inference_ms, "decode": decode_ms}, fps=120.0)
    return Round(make_result(cpu_s=cpu_s), ceiling)


def test_the_ratio_is_the_ceiling_by_what_was_measured() -> None:
    # 2 s of CPU for 200 frames: 10 ms each
    assert make_round(2.0, 3.0, 6.0).ratio == pytest.approx(0.9)


def test_medians_count_and_the_spread_is_said() -> None:
    rounds = [make_round(2.0, 3.0, 6.0), make_round(2.0, 2.0, 6.0), make_round(2.0, 3.5, 6.0)]
    found = efficiency_from_rounds(rounds)
    assert found.ratio == pytest.approx(0.9)
    assert [found.low, found.high] == pytest.approx([0.8, 0.95])
    assert found.ceiling_cpu_ms == pytest.approx(9.0)
    assert found.measured_cpu_ms == pytest.approx(10.0)
    assert found.rounds == 3
    assert found.fps == pytest.approx(100.0)


def test_a_round_is_compared_with_its_own_ceiling() -> None:
    # the machine was twice as slow in the second round: both parts of it were
    rounds = [make_round(2.0, 3.0, 6.0), make_round(4.0, 6.0, 12.0)]
    found = efficiency_from_rounds(rounds)
    assert [found.low, found.high] == pytest.approx([0.9, 0.9])


def test_the_parts_stand_in_the_order_of_a_frames_way() -> None:
    assert list(efficiency_from_rounds([make_round(2.0, 3.0, 6.0)]).parts) == [
        "decode",
        "inference",
    ]


def test_a_stream_whose_frames_are_mostly_passed_over_is_decoded_more_than_detected() -> None:
    result = make_result(
        frames=100,
        seconds=2.0,
        captured_of={"gate": 50, "dock": 250},
        fps_of={"gate": 25.0, "dock": 25.0},
    )
    shares = shares_of(result)
    assert shares.decoded == {"gate": 0.5, "dock": 2.5}
    assert shares.processed == {"gate": 0.5, "dock": 0.5}
