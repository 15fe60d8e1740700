from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path

import av
import pytest

from tests.builders import make_picture
from vidpipe.errors import SinkError
from vidpipe.outputs import growing
from vidpipe.outputs.canvas import format_for, paint_picture
from vidpipe.outputs.mp4 import Mp4File
from vidpipe.types import ColorMatrix

ROOT = Path(__file__).parents[3]
BASE = Fraction(1, 12_800)


def new_file(path: Path, size: tuple[int, int] = (64, 48)) -> Mp4File:
    picture = make_picture(*size)
    return Mp4File(path, format_for(picture), stream="gate", time_base=BASE, rate_fps=25.0)


def write_lumas(file: Mp4File, lumas: list[int], gap: int = 512) -> None:
    for number, luma in enumerate(lumas):
        file.canvas.y[:] = luma
        file.canvas.u[:] = file.canvas.v[:] = 128
        file.write(number * gap, gap)


def timestamps_of(path: Path) -> list[int | None]:
    with av.open(str(path)) as container:
        return [packet.pts for packet in container.demux(video=0) if packet.size]


def test_what_is_drawn_is_what_is_decoded_frame_by_frame(tmp_path: Path) -> None:
    file = new_file(tmp_path / "gate.mp4")
    lumas = [40 + 3 * number for number in range(50)]
    write_lumas(file, lumas)
    path = file.finish(512)
    with av.open(str(path)) as container:
        decoded = [int(frame.to_ndarray()[:48].mean()) for frame in container.decode(video=0)]
    assert len(decoded) == 50
    assert max(abs(a - b) for a, b in zip(decoded, lumas, strict=True)) <= 3


def test_it_is_h264_in_yuv420p_with_a_jump_point_every_few_seconds(tmp_path: Path) -> None:
    file = new_file(tmp_path / "gate.mp4")
    write_lumas(file, [100] * 250)
    with av.open(str(file.finish(512))) as container:
        video = container.streams.video[0]
        assert video.codec_context.name == "h264"
        assert video.codec_context.pix_fmt == "yuv420p"
        assert video.frames == 250
        keys = [p.pts for p in container.demux(video) if p.size and p.is_keyframe]
    assert keys == [0, 4 * 12_800, 8 * 12_800]


@pytest.mark.parametrize(
    ("matrix", "expected"),
    [(ColorMatrix.BT601, 6), (ColorMatrix.BT709, 1), (ColorMatrix.BT2020, 9)],
)
@pytest.mark.parametrize("is_full_range", [False, True])
def test_colours_are_tagged_as_they_are(
    tmp_path: Path,
    matrix: ColorMatrix,
    expected: int,
    is_full_range: bool,  # noqa: FBT001 - a test's parameter
) -> None:
    picture = make_picture(matrix=matrix, is_full_range=is_full_range)
    file = Mp4File(
        tmp_path / "x.mp4", format_for(picture), stream="x", time_base=BASE, rate_fps=25.0
    )
    paint_picture(file.canvas, picture)
    file.write(0, 512)
    with av.open(str(file.finish(512))) as container:
        frame = next(container.decode(video=0))
    assert frame.colorspace == expected
    assert frame.color_range == (2 if is_full_range else 1)


def test_a_late_start_is_kept(tmp_path: Path) -> None:
    file = new_file(tmp_path / "gate.mp4")
    for number in range(3):
        file.write(19_200 + 512 * number, 512)
    assert timestamps_of(file.finish(512)) == [19_200, 19_712, 20_224]


def test_uneven_times_stay_and_the_last_frame_is_shown_as_told(tmp_path: Path) -> None:
    file = new_file(tmp_path / "gate.mp4")
    times = [0, 100, 5_000, 5_001, 70_000]
    for ticks in times:
        file.write(ticks, 1_000)
    path = file.finish(1_000)
    assert timestamps_of(path) == times
    with av.open(str(path)) as container:
        assert container.streams.video[0].duration == 71_000


@pytest.mark.parametrize("size", [(2, 2), (2, 400), (322, 242), (1918, 4)])
def test_any_even_size_is_encoded(tmp_path: Path, size: tuple[int, int]) -> None:
    file = new_file(tmp_path / "gate.mp4", size)
    file.write(0, 512)
    with av.open(str(file.finish(512))) as container:
        frame = next(container.decode(video=0))
    assert (frame.width, frame.height) == size


def test_a_size_beyond_h264_is_an_error_with_a_way_out(tmp_path: Path) -> None:
    with pytest.raises(SinkError, match=r"stream gate.*scale"):
        new_file(tmp_path / "gate.mp4", (20_000, 2))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a:b.mp4", "100%d.mp4", "мой файл.mp4", "-x.mp4", "a?b#c.mp4"])
def test_a_name_is_a_name_and_no_address(tmp_path: Path, name: str) -> None:
    file = new_file(tmp_path / name)
    file.write(0, 512)
    assert file.finish(512) == tmp_path / name


def test_a_file_that_lost_frames_is_not_given_its_name(tmp_path: Path) -> None:
    file = new_file(tmp_path / "gate.mp4")
    write_lumas(file, [100] * 10)
    file.frame_count += 1
    with pytest.raises(SinkError, match=r"gate\.partial\.mp4.*10 of 11"):
        file.finish(512)
    assert [path.name for path in tmp_path.iterdir()] == ["gate.partial.mp4"]


@pytest.mark.parametrize("missing", [0, 1])
def test_a_large_file_is_checked_by_its_index_and_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: int
) -> None:
    monkeypatch.setattr(growing, "_CHECKED_WHOLE_FRAMES", 5)
    file = new_file(tmp_path / "gate.mp4")
    write_lumas(file, [100] * 10)
    file.frame_count += missing
    with pytest.raises(SinkError) if missing else nullcontext():
        file.finish(512)
    assert (tmp_path / "gate.mp4").exists() == (not missing)


WRITER = """
import os, resource, signal, sys
from fractions import Fraction
from pathlib import Path
import numpy as np
from tests.builders import make_picture
from vidpipe.errors import SinkError
from vidpipe.outputs.canvas import format_for
from vidpipe.outputs.mp4 import Mp4File
picture = make_picture(320, 240)
file = Mp4File(Path(sys.argv[1]), format_for(picture), stream="gate",
               time_base=Fraction(1, 12800), rate_fps=25.0)
noise = np.random.default_rng(0).integers(0, 256, (240, 320), np.uint8)
def write(count):
    for number in range(count):
        file.canvas.y[:] = np.roll(noise, 3 * number, 1)
        file.write(512 * number, 512)
"""
KILLED = WRITER + "write(250)\nos.kill(os.getpid(), signal.SIGKILL)\n"
FULL_DISK = (
    WRITER
    + """
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
try:
    write(500)
    file.finish(512)
except SinkError as exc:
    sys.stdout.write(str(exc))
    file.abandon()
else:
    sys.exit("no error")
"""
)


def run(program: str, path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, str(path)],
        check=False,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )


def test_a_killed_run_leaves_all_but_the_last_second(tmp_path: Path) -> None:
    assert run(KILLED, tmp_path / "gate.mp4").returncode == -signal.SIGKILL
    left = tmp_path / "gate.partial.mp4"
    assert [path.name for path in tmp_path.iterdir()] == [left.name]
    with av.open(str(left)) as container:
        times = [float((frame.pts or 0) * BASE) for frame in container.decode(video=0)]
    assert times == [number / 25 for number in range(len(times))]
    assert times[-1] >= 10.0 - 0.04 - 1.1


def test_a_full_disk_is_a_sink_error_and_what_was_written_plays(tmp_path: Path) -> None:
    done = run(FULL_DISK, tmp_path / "gate.mp4")
    assert done.returncode == 0, done.stderr
    assert "stream gate" in done.stdout
    assert "File too large" in done.stdout
    assert "gate.partial.mp4" in done.stdout
    with av.open(str(tmp_path / "gate.partial.mp4")) as container:
        assert sum(1 for _ in container.decode(video=0)) in (25, 50, 75, 100, 125, 150)


def test_the_encoder_prints_nothing(tmp_path: Path) -> None:
    done = run(WRITER + "write(30)\nfile.finish(512)\n", tmp_path / "gate.mp4")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
