from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.builders import make_detections, make_frame, make_result
from tests.fakes import FakeClock
from vidpipe.errors import SinkError
from vidpipe.outputs.jsonl import JsonlMode, JsonlSink
from vidpipe.types import Verdict

ROOT = Path(__file__).parents[3]
MODES = pytest.mark.parametrize("mode", list(JsonlMode))


def sink_to(
    path: Path, mode: JsonlMode, clock: FakeClock | None = None, stream: str = "gate"
) -> JsonlSink:
    return JsonlSink(
        str(path),
        mode,
        stream=stream,
        clock=clock or FakeClock(),
        wall_clock=lambda: datetime(2026, 1, 1, tzinfo=UTC),
    )


def lines_of(path: Path) -> list[dict[str, Any]]:
    content = path.read_bytes()
    assert content.endswith(b"\n")
    return [json.loads(line) for line in content.splitlines()]


@MODES
def test_every_result_has_its_line_in_order(tmp_path: Path, mode: JsonlMode) -> None:
    path = tmp_path / "new" / "gate.jsonl"
    sink = sink_to(path, mode)
    for number in range(1000):
        sink.write(make_result(number, make_detections((0, 0, 9, 9))))
    assert sink.close() == [str(path)]
    assert [line["frame"] for line in lines_of(path)] == list(range(1000))
    assert [item.name for item in path.parent.iterdir()] == ["gate.jsonl"]


@MODES
def test_no_frame_leaves_no_file(tmp_path: Path, mode: JsonlMode) -> None:
    sink = sink_to(tmp_path / "gate.jsonl", mode)
    sink.write(make_result(verdict=Verdict.PASSED))
    assert sink.close() == []
    assert sink.close() == []
    assert list(tmp_path.iterdir()) == []


@MODES
def test_passed_frames_have_no_line(tmp_path: Path, mode: JsonlMode) -> None:
    sink = sink_to(tmp_path / "gate.jsonl", mode)
    sink.write(make_result(0))
    sink.write(make_result(1, verdict=Verdict.PASSED))
    sink.write(make_result(2, verdict=Verdict.FAILED, error="no answer"))
    sink.close()
    assert [line["frame"] for line in lines_of(tmp_path / "gate.jsonl")] == [0, 2]


def test_placeholders_take_the_first_frames_time(tmp_path: Path) -> None:
    sink = sink_to(tmp_path / "{stream}-{start}-{n}.jsonl", JsonlMode.FINISH)
    sink.write(make_result(frame=make_frame(time=datetime(2026, 11, 30, 5, tzinfo=UTC))))
    assert Path(sink.close()[0]).name == "gate-20261130T050000Z-1.jsonl"


def test_a_recorded_sources_file_has_no_name_before_its_end(tmp_path: Path) -> None:
    sink = sink_to(tmp_path / "gate.jsonl", JsonlMode.FINISH)
    sink.write(make_result())
    assert [path.name for path in tmp_path.iterdir()] == ["gate.jsonl.partial"]
    sink.close()


def test_a_finished_file_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "gate.jsonl").write_text("old\n")
    (tmp_path / "gate.jsonl.partial").write_text("stale")
    sink = sink_to(tmp_path / "gate.jsonl", JsonlMode.FINISH)
    sink.write(make_result())
    assert [Path(path).name for path in sink.close()] == ["gate-2.jsonl"]
    assert (tmp_path / "gate.jsonl").read_text() == "old\n"
    assert (tmp_path / "gate.jsonl.partial").read_text() == "stale"


def test_a_live_file_is_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "gate.jsonl"
    for number in range(3):
        sink = sink_to(path, JsonlMode.APPEND)
        sink.write(make_result(number))
        assert sink.close() == [str(path)]
    assert [line["frame"] for line in lines_of(path)] == [0, 1, 2]


def test_a_live_line_can_be_read_as_soon_as_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "gate.jsonl"
    sink = sink_to(path, JsonlMode.APPEND)
    sink.write(make_result(0))
    assert len(lines_of(path)) == 1
    sink.close()


@pytest.mark.parametrize(
    ("before", "kept"),
    [
        (b'{"frame": 0}\n{"fra', b'{"frame": 0}\n'),
        (b'{"fra', b""),
        (b'{"frame": 0}\n' + b"x" * 200_000, b'{"frame": 0}\n'),
        (b'{"frame": 0}\n', b'{"frame": 0}\n'),
    ],
)
def test_a_line_that_a_crash_cut_off_is_removed_and_said(
    tmp_path: Path, log_lines: list[str], before: bytes, kept: bytes
) -> None:
    path = tmp_path / "gate.jsonl"
    path.write_bytes(before)
    sink = sink_to(path, JsonlMode.APPEND)
    sink.write(make_result(7))
    sink.close()
    assert path.read_bytes().startswith(kept + b'{"stream"')
    assert lines_of(path)[-1]["frame"] == 7
    said = [line for line in log_lines if " jsonl written: " not in line]
    assert bool(said) == (before != kept)


def test_two_streams_may_append_to_one_file(tmp_path: Path) -> None:
    path = tmp_path / "all.jsonl"
    first, second = (sink_to(path, JsonlMode.APPEND, stream=name) for name in ("a", "b"))
    for number in range(50):
        first.write(make_result(frame=make_frame(number, stream="a")))
        second.write(make_result(frame=make_frame(number, stream="b")))
    first.close()
    second.close()
    assert len(lines_of(path)) == 100


def test_a_live_file_is_synced_about_once_a_second(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[float] = []
    monkeypatch.setattr(os, "fdatasync", lambda _: synced.append(clock.now_s))
    sink = sink_to(tmp_path / "gate.jsonl", JsonlMode.APPEND, clock)
    for number in range(100):
        sink.write(make_result(number))
        clock.advance(0.04)
    sink.close()
    assert len(synced) == 3


@pytest.mark.parametrize("fate", ["renamed", "deleted", "folder deleted"])
def test_a_live_file_that_is_taken_away_begins_anew(tmp_path: Path, fate: str) -> None:
    folder = tmp_path / "out"
    path, clock = folder / "gate.jsonl", FakeClock()
    sink = sink_to(path, JsonlMode.APPEND, clock)
    sink.write(make_result(0))
    if fate == "renamed":  # as logrotate does
        path.rename(folder / "gate.jsonl.1")
    else:
        path.unlink()
    if fate == "folder deleted":
        folder.rmdir()
    clock.advance(1.5)
    sink.write(make_result(1))  # finds out
    sink.write(make_result(2))
    assert sink.close() == [str(path)]
    assert [line["frame"] for line in lines_of(path)] == [2]
    if fate == "renamed":
        assert [line["frame"] for line in lines_of(folder / "gate.jsonl.1")] == [0, 1]


@MODES
def test_a_folder_that_can_not_be_made_is_a_sink_error(tmp_path: Path, mode: JsonlMode) -> None:
    (tmp_path / "file").touch()
    sink = sink_to(tmp_path / "file" / "{stream}.jsonl", mode)
    with pytest.raises(SinkError, match=r"stream gate: .*gate\.jsonl"):
        sink.write(make_result())
    sink.write(make_result())
    assert sink.close() == []


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from tests.builders import make_result
from vidpipe.errors import SinkError
from vidpipe.outputs.jsonl import JsonlMode, JsonlSink
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
sink = JsonlSink(sys.argv[1], JsonlMode(sys.argv[2]), stream="gate")
try:
    for number in range(5000):
        sink.write(make_result(number))
except SinkError as exc:
    sys.stdout.write(str(exc))
    assert sink.close() == []
else:
    sys.exit("no error")
"""


@MODES
def test_a_full_disk_is_a_sink_error_and_leaves_whole_lines(
    tmp_path: Path, mode: JsonlMode
) -> None:
    path = tmp_path / "gate.jsonl"
    run = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(path), mode.value],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert "stream gate" in run.stdout
    assert "File too large" in run.stdout
    left = path if mode is JsonlMode.APPEND else path.with_name("gate.jsonl.partial")
    assert [line["frame"] for line in lines_of(left)][:3] == [0, 1, 2]


KILLED = """
import os, signal, sys
from tests.builders import make_result
from vidpipe.outputs.jsonl import JsonlMode, JsonlSink
sink = JsonlSink(sys.argv[1], JsonlMode.APPEND, stream="gate")
for number in range(500):
    sink.write(make_result(number))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_live_run_has_lost_no_line(tmp_path: Path) -> None:
    path = tmp_path / "gate.jsonl"
    run = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False, cwd=ROOT)
    assert run.returncode == -signal.SIGKILL
    assert len(lines_of(path)) == 500


def test_a_live_file_is_cut_at_the_boundaries_of_the_clock(tmp_path: Path) -> None:
    sink = JsonlSink(
        str(tmp_path / "{stream}-{start}.jsonl"), JsonlMode.APPEND, stream="gate", segment_s=600
    )
    begin = datetime(2026, 11, 30, 5, 9, 59, tzinfo=UTC)
    for number in range(4):
        moment = begin + timedelta(seconds=number / 2)
        sink.write(make_result(frame=make_frame(number, time=moment)))
    names = ["gate-20261130T050959Z.jsonl", "gate-20261130T051000Z.jsonl"]
    assert sink.close() == [str(tmp_path / name) for name in names]
    frames = [[line["frame"] for line in lines_of(tmp_path / name)] for name in names]
    assert frames == [[0, 1], [2, 3]]
    assert sink.close() == []
