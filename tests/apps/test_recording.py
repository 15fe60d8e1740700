"""``vidpipe run`` with outputs of type record: real cameras, kill -9, a disk that fills."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import av
import pytest

from tests.coded import stored_in, write_clip
from tests.command import ended, started, vidpipe, write_config
from tests.graphs import saved, ssd_rows
from tests.rtsp import has_rtsp_server, rtsp_server
from tests.threads import running, wait_until

needs_rtsp = [
    pytest.mark.rtsp,
    pytest.mark.skipif(not has_rtsp_server(), reason="needs GStreamer's RTSP server"),
]


def recording(folder: Path, source: str, *outputs: dict[str, Any], **stream: Any) -> Path:
    """Return a configuration of one stream that is recorded."""
    model = saved(ssd_rows([[0, 1, 0.9, 0.25, 0.25, 0.5, 0.75]]), folder)
    document = {
        "models": {"tiny": {"path": str(model)}},
        "streams": [{"id": "gate", "source": source, "outputs": list(outputs), **stream}],
    }
    return write_config(folder, document)


def units_of(data: bytes) -> list[bytes]:
    """Return the units of a packet of H.264, whether lengths or start codes part them."""
    if data[:4] == b"\0\0\0\1" or data[:3] == b"\0\0\1":
        parts = data.replace(b"\0\0\0\1", b"\0\0\1").split(b"\0\0\1")
        return [part for part in parts if part]
    units, at = [], 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        units.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    return units


def pictures_of(data: bytes) -> bytes:
    """Return a packet's slices: parameter sets may stand in the header instead."""
    return b"".join(unit for unit in units_of(data) if unit[0] & 0x1F in (1, 5))


@pytest.mark.timeout(180)
@pytest.mark.parametrize("suffix", [pytest.param("mp4", marks=needs_rtsp)])
def test_a_camera_is_recorded_whole_while_its_frames_are_dropped(
    tmp_path: Path, suffix: str
) -> None:
    record = {"type": "record", "path": "out/{stream}-{start}." + suffix, "segment_s": 2}
    sent: list[bytes] = []
    with rtsp_server() as server:
        # most frames are too old for the model at once
        config = recording(tmp_path, server.url(), record, lane={"max_age_ms": 0.001})
        with started("run", config, cwd=tmp_path) as process:

            def watch() -> None:
                with av.open(server.url(), options={"rtsp_transport": "tcp"}, timeout=20) as camera:
                    for packet in camera.demux(video=0):
                        sent.append(bytes(packet))
                        if process.poll() is not None:
                            return

            with running(watch):
                folder = tmp_path / "out"
                wait_until(lambda: len([*folder.glob("*Z.mp4")]) >= 3, "three segments", 90)
                process.send_signal(signal.SIGINT)
                finished = ended(process)
    assert finished.code == 0, finished.err
    paths = sorted(folder.iterdir())
    assert all(path.name.endswith(f"Z.{suffix}") for path in paths)
    found = [stored_in(path) for path in paths]
    for path, one in zip(paths, found, strict=True):
        assert one.first_is_key
        assert one.decoded == len(one.data["video"])
        if path != paths[0]:  # a key frame every 12th of a second
            assert int(path.stem[-3:-1]) % 2 == 0
    got = [pictures_of(data) for one in found for data in one.data["video"]]
    other = [pictures_of(data) for data in sent]
    # two clients of one camera: each may have begun or ended sooner, and nothing else
    matcher = SequenceMatcher(None, [*map(hash, other)], [*map(hash, got)], autojunk=False)
    steps = [
        (what, range(*theirs), range(*ours))
        for what, *places in matcher.get_opcodes()
        for theirs, ours in [(places[:2], places[2:])]
    ]
    assert [what for what, *_ in steps].count("equal") == 1, steps
    assert sum(len(ours) for what, _, ours in steps if what == "equal") > 25
    assert " 0 processed" in finished.err or "dropped" in finished.err


@pytest.mark.timeout(120)
@pytest.mark.parametrize("suffix", ["mp4", "mkv"])
def test_a_run_that_is_killed_leaves_files_that_can_be_played(tmp_path: Path, suffix: str) -> None:
    clip = write_clip(tmp_path / "clip.mp4", frames=500)
    record = {"type": "record", "path": "out/{stream}-{n}." + suffix, "segment_s": 2}
    config = recording(tmp_path, str(clip), record, realtime=True)
    folder = tmp_path / "out"
    with started("run", config, cwd=tmp_path) as process:
        part = folder / f"gate-3.partial.{suffix}"
        wait_until(part.exists, "a third file", 60)
        wait_until(lambda: part.stat().st_size > 2000, "a second of it", 30)
        process.kill()
        process.wait()
    names = [path.name for path in sorted(folder.iterdir())]
    assert names == [f"gate-1.{suffix}", f"gate-2.{suffix}", f"gate-3.partial.{suffix}"]
    counts = [stored_in(folder / name).decoded for name in names]
    assert counts[:2] == [50, 50]
    assert counts[2] > 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 16 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("needs the right to mount a small disk")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.timeout(180)
def test_a_disk_that_fills_stops_the_recording_and_not_the_watching(
    tmp_path: Path, small_disk: Path
) -> None:
    clip = write_clip(tmp_path / "clip.mp4", frames=100)
    outputs: list[dict[str, Any]] = [
        {"type": kind, "path": f"disk/{{stream}}-{kind}-{{start}}.{suffix}", "min_free_gb": 0.008}
        for kind, suffix in (("record", "mp4"), ("video", "mp4"), ("jsonl", "jsonl"))
    ]
    free = {"type": "jsonl", "path": "all.jsonl"}
    config = recording(tmp_path, str(clip), *outputs, free, realtime=True, loop=True)
    log = tmp_path / "log"
    ballast = small_disk / "ballast"

    def said(words: str) -> int:
        return log.read_text().count(words) if log.exists() else 0

    document = config.read_text() + f"telemetry: {{log_file: {log}}}\n"
    config.write_text(document)
    with started("run", config, cwd=tmp_path) as process:
        lines = tmp_path / "all.jsonl"
        wait_until(lambda: len([*small_disk.glob("*partial*")]) == 2, "files", 60)
        ballast.write_bytes(b"x" * 10_000_000)
        wait_until(lambda: said("nothing is written there") == 3, "all three stop", 60)
        wait_until(lambda: not [*small_disk.glob("*partial*")], "their files are finished", 30)
        watched = lines.stat().st_size
        wait_until(lambda: lines.stat().st_size > watched, "it goes on watching", 30)
        ballast.unlink()
        wait_until(lambda: said("it goes on") == 3, "all three go on", 60)
        wait_until(lambda: len([*small_disk.glob("*partial*")]) == 2, "new files", 30)
        process.send_signal(signal.SIGINT)
        finished = ended(process)
    assert finished.code == 0, finished.err
    videos = [*small_disk.glob("*.mp4")]
    assert len(videos) == 4
    for path in videos:
        assert stored_in(path).decoded > 0


@pytest.mark.timeout(60)
def test_old_recordings_are_deleted_and_no_other_file(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.mp4", frames=50)
    folder = tmp_path / "out"
    folder.mkdir()
    old_s = time.time() - 40 * 86_400
    for name in ("gate-20261001T000000Z.mkv", "gate-20261001T000000Z.mp4", "gate-notes.mkv"):
        (folder / name).write_bytes(b"x")
        os.utime(folder / name, (old_s, old_s))
    record = {"type": "record", "path": "out/{stream}-{start}.mkv", "keep_days": 30}
    finished = vidpipe("run", recording(tmp_path, str(clip), record), cwd=tmp_path)
    assert finished.code == 0, finished.err
    assert not (folder / "gate-20261001T000000Z.mkv").exists()
    assert (folder / "gate-20261001T000000Z.mp4").exists()
    assert (folder / "gate-notes.mkv").exists()
    assert len([*folder.iterdir()]) == 3
