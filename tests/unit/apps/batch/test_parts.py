"""A part keeps whole lines, and is taken up again where it was left."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.builders import make_detections, make_frame
from vidpipe.apps.batch.parts import PartSink, Recovered, recover
from vidpipe.errors import SinkError
from vidpipe.types import FrameResult


def result(number: int) -> FrameResult:
    return FrameResult(replace(make_frame(), number=number, stream="unit-1"), make_detections())


def written(path: Path, numbers: range, recovered: Recovered | None = None) -> PartSink:
    sink = PartSink(path, "yard/a.mp4", recovered or Recovered())
    for number in numbers:
        sink.write(result(number))
    sink.close()
    return sink


def test_lines_bear_the_files_name(tmp_path: Path) -> None:
    path = tmp_path / "parts" / "0.jsonl.partial"
    sink = written(path, range(5))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["frame"] for line in lines] == list(range(5))
    assert {line["stream"] for line in lines} == {"yard/a.mp4"}
    assert (sink.lines, sink.size_bytes) == (5, path.stat().st_size)


@pytest.mark.parametrize(
    "tail",
    [b"", b'{"stream": "x", "fra', bytes(100), b"garbage\n", b'{"frame": 2, "error": null}\n'],
    ids=["whole", "cut", "zeros", "garbage", "repeated"],
)
def test_what_is_taken_up_is_what_an_unbroken_one_holds(tmp_path: Path, tail: bytes) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    written(whole, range(20))
    written(broken, range(8))
    with broken.open("ab") as file:
        file.write(tail)

    recovered = recover(broken)
    assert recovered.lines == 8
    sink = written(broken, range(8, 20), recovered)

    assert broken.read_bytes() == whole.read_bytes()
    assert (sink.lines, sink.size_bytes) == (20, whole.stat().st_size)


def test_nothing_is_recovered_from_nothing(tmp_path: Path) -> None:
    assert recover(tmp_path / "none") == Recovered()


def test_a_unit_without_lines_leaves_an_empty_part(tmp_path: Path) -> None:
    sink = written(tmp_path / "part", range(0))
    assert (tmp_path / "part").read_bytes() == b""
    assert sink.error is None


def test_a_full_disk_is_known_as_one(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    sink = PartSink(Path("/dev/full"), "a.mp4", Recovered(), clock=iter(range(0, 9000, 9)).__next__)
    with pytest.raises(SinkError, match="No space"):
        sink.write(result(0))
    assert sink.is_full
    assert sink.close() == []
