from __future__ import annotations

import pytest

from vidpipe.apps.bench.floor import floor_words, most_together_fps, with_floor
from vidpipe.apps.bench.rows import StageCost

DECODE = StageCost("decode", 2.0, 1000.0)
INFERENCE = StageCost("inference", 22.0, 90.0)
ENCODE = StageCost("encode", 40.0, 50.0, is_used=False)


def test_the_stage_with_the_fewest_frames_a_second_is_the_floor() -> None:
    assert [stage.is_floor for stage in with_floor([DECODE, INFERENCE])] == [False, True]


def test_a_device_of_its_own_is_the_floor_though_it_costs_the_processor_little() -> None:
    gpu = StageCost("inference", 0.5, 60.0)
    assert [stage.is_floor for stage in with_floor([DECODE, gpu])] == [False, True]


def test_what_no_output_asks_for_is_no_floor_and_takes_no_time() -> None:
    stages = with_floor([DECODE, INFERENCE, ENCODE])
    assert [stage.is_floor for stage in stages] == [False, True, False]
    assert most_together_fps(stages, 2) == pytest.approx(2 / 0.024)


def test_a_slow_device_bounds_all_stages_together_more_than_the_cores_do() -> None:
    gpu = StageCost("inference", 0.5, 60.0)
    assert most_together_fps([DECODE, gpu], 2) == 60.0


def test_the_words_name_the_stage_its_cost_and_what_it_allows() -> None:
    words = floor_words([DECODE, INFERENCE], 2)
    assert words.startswith("inference 22 ms: at most 90 frames a second on this machine (2 cores)")
    assert "24 ms a frame: at most 83" in words


def test_the_words_speak_of_one_core_and_of_a_lone_stage() -> None:
    words = floor_words([INFERENCE], 1)
    assert "(1 core)" in words
    assert "all stages" not in words


def test_no_stages_have_no_floor() -> None:
    assert with_floor([]) == []
