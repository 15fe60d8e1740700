from __future__ import annotations

import io

from rich.console import Console

from tests.fakes import FakeClock
from vidpipe.apps.steps import step_progress


def test_a_file_is_told_each_step_and_now_and_then_how_far_it_is() -> None:
    file, clock = io.StringIO(), FakeClock()
    with step_progress(Console(file=file), clock) as tell:
        for done in range(40):
            tell("calibrating", done, 40)
            clock.advance(1.0)
        tell("saving", 0, 0)
    assert file.getvalue().splitlines() == [
        "calibrating",
        "calibrating: 10 of 40",
        "calibrating: 20 of 40",
        "calibrating: 30 of 40",
        "saving",
    ]
