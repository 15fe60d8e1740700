from __future__ import annotations

import pytest

from tests.conditions import CASES, ConditionCase
from vidpipe.wall.condition import Condition, condition_of


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_a_tile_says_how_its_stream_stands(case: ConditionCase) -> None:
    found = condition_of(
        case.state,
        case.age_s,
        is_frozen=case.is_frozen,
        is_linked=case.is_linked,
        usual_s=case.usual_s,
    )
    assert found == Condition(case.kind, case.word, is_black=case.is_black, grade=case.grade)
