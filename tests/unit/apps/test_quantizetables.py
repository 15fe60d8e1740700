from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from vidpipe.apps.quantize import QuantizeReport
from vidpipe.apps.quantizetables import quantize_lines, quantize_table
from vidpipe.inference.agreement import Agreement
from vidpipe.inference.worth import Worth


def worth(found: int, added: int) -> Worth:
    agreement = Agreement(60, 41, 43, (found, found - 1), (added, added + 1), 0.02)
    return Worth(Path("m.xml"), 2_000_000, 20.0, 30.0, agreement, None)


def test_shares_stand_beside_the_counts_that_they_are_of() -> None:
    report = QuantizeReport(
        model="m",
        family="yolox",
        output=Path("m-int8.xml"),
        counts={"a.mp4": 150, "b.mp4": 150},
        used=240,
        held_back=60,
        labelled=0,
        before=worth(41, 0),
        after=worth(40, 3),
        warnings=("few",),
        failures=(),
    )
    file = io.StringIO()
    Console(file=file, width=100).print(quantize_table(report))
    rows = {line[1:].split("  ")[0].strip(" │"): line for line in file.getvalue().splitlines()}
    assert "40 of 41   97.6%" in rows["objects found, IoU 0.5"]
    assert "41 of 41  100.0%" in rows["objects found, IoU 0.5"]
    assert "3 of 43    7.0%" in rows["objects added, IoU 0.5"]
    lines = quantize_lines(report)
    assert lines[0] == "frames: a.mp4 150, b.mp4 150"
    assert lines[-1] == "warning: few"
