"""``vidpipe run`` as an operator has it: real files, real faults, signals, exit codes."""

from __future__ import annotations

import json
import re
import signal
import socket
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from tests.clips import ClipSpec, cut, write_clip
from tests.command import ended, started, vidpipe, write_config
from tests.graphs import brittle, saved, ssd_rows
from tests.threads import wait_until

KEYS = ["stream", "frame", "pts", "time", "width", "height", "detections", "error"]
ROW = [0, 1, 0.9, 0.25, 0.25, 0.5, 0.75]


def document(model: Path, *sources: str | Path, **keys: Any) -> dict[str, Any]:
    """Return a configuration that writes a video and JSON Lines for each source."""
    outputs = [
        {"type": "video", "path": "out/{stream}.mp4"},
        {"type": "jsonl", "path": "out/{stream}.jsonl"},
    ]
    streams = [{"id": f"s{n}", "source": str(source)} for n, source in enumerate(sources)]
    return {
        "models": {"tiny": {"path": str(model)}},
        "defaults": {"outputs": outputs},
        "streams": streams,
        **keys,
    }


def lines(path: Path) -> list[dict[str, Any]]:
    """Return a file's lines, every one of them whole."""
    text = path.read_text("utf-8")
    assert text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def picture_count(path: Path) -> int:
    """Count the pictures that a player would show."""
    with av.open(str(path)) as container:
        return sum(1 for _ in container.decode(video=0))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return saved(ssd_rows([ROW]), tmp_path)


def test_every_frame_of_every_file_gets_a_line_and_a_picture(tmp_path: Path, model: Path) -> None:
    clips = [write_clip(tmp_path / f"clip {n} ä.mp4", ClipSpec(frames=40 + n)) for n in range(4)]

    done = vidpipe("run", write_config(tmp_path, document(model, *clips)), cwd=tmp_path)

    assert done.code == 0, done.err
    assert done.out == ""
    for n in range(4):
        written = lines(tmp_path / "out" / f"s{n}.jsonl")
        assert [line["frame"] for line in written] == list(range(40 + n))
        assert [list(line) for line in written] == [KEYS] * (40 + n)
        assert written[1]["pts"] == pytest.approx(0.04)
        assert written[0]["detections"] == [
            {
                "label": "class-1",
                "class_id": 1,
                "score": pytest.approx(0.9, abs=1e-3),
                "box": [16.0, 12.0, 32.0, 36.0],
                "track_id": None,
            }
        ]
        assert picture_count(tmp_path / "out" / f"s{n}.mp4") == 40 + n


def test_a_second_run_overwrites_nothing(tmp_path: Path, model: Path) -> None:
    clip = write_clip(tmp_path / "a.mp4")
    config = write_config(tmp_path, document(model, clip))
    assert vidpipe("run", config, cwd=tmp_path).code == 0
    before = (tmp_path / "out" / "s0.jsonl").read_bytes()
    assert vidpipe("run", config, cwd=tmp_path).code == 0
    assert (tmp_path / "out" / "s0.jsonl").read_bytes() == before
    assert len(list((tmp_path / "out").glob("*.jsonl"))) == 2


def test_sources_that_fail_harm_no_other(tmp_path: Path, model: Path) -> None:
    clip = write_clip(tmp_path / "whole.mp4", ClipSpec(frames=50))
    faststart = ClipSpec(frames=50, container={"movflags": "faststart"})
    half = cut(write_clip(tmp_path / "half.mp4", faststart), 0.7)
    text = tmp_path / "text.mp4"
    text.write_text("no video at all\n" * 100)
    config = write_config(tmp_path, document(model, clip, tmp_path / "none.mp4", half, text, clip))

    done = vidpipe("run", config, cwd=tmp_path)

    assert done.code == 1
    assert len(lines(tmp_path / "out" / "s0.jsonl")) == 50
    assert len(lines(tmp_path / "out" / "s4.jsonl")) == 50
    assert 10 < len(lines(tmp_path / "out" / "s2.jsonl")) < 50
    assert not list((tmp_path / "out").glob("s1*"))
    assert re.search(r"s1 source: there is no file .*none\.mp4", done.err)
    assert re.search(r"s2 source: .* is incomplete: ", done.err)
    assert re.search(r"s3 source: .*text\.mp4", done.err)
    assert "Traceback" not in done.err


def test_a_failed_inference_is_one_error_and_no_hole(tmp_path: Path) -> None:
    model = saved(brittle(), tmp_path)
    clip = write_grey_clip(tmp_path / "one-white.mp4", 1000, lambda n: 255 if n == 600 else 90)
    plain = write_grey_clip(tmp_path / "plain.mp4", 1000, lambda _: 90)
    config = write_config(tmp_path, document(model, clip, plain))

    done = vidpipe("run", config, cwd=tmp_path)

    assert done.code == 1
    written = lines(tmp_path / "out" / "s0.jsonl")
    assert [line["frame"] for line in written] == list(range(1000))
    failed = [line["frame"] for line in written if line["error"]]
    assert failed == [600]
    assert written[600]["detections"] == []
    assert all(len(line["detections"]) == 1 for line in written if not line["error"])
    assert all(line["error"] is None for line in lines(tmp_path / "out" / "s1.jsonl"))
    assert picture_count(tmp_path / "out" / "s0.mp4") == 1000


def test_an_output_that_fails_harms_no_other(tmp_path: Path, model: Path) -> None:
    clip = write_clip(tmp_path / "a.mp4", ClipSpec(frames=50))
    (tmp_path / "blocked").write_text("a file where a folder should be")
    config = document(model, clip, clip)
    config["streams"][0]["outputs"] = [
        {"type": "jsonl", "path": "blocked/s0.jsonl"},
        {"type": "video", "path": "out/s0.mp4"},
    ]

    done = vidpipe("run", write_config(tmp_path, config), cwd=tmp_path)

    assert done.code == 1
    assert picture_count(tmp_path / "out" / "s0.mp4") == 50
    assert len(lines(tmp_path / "out" / "s1.jsonl")) == 50
    assert len(re.findall(r"ERROR .*output jsonl failed", done.err)) == 1


@pytest.mark.parametrize("after", [1, 40, 200])
def test_sigterm_leaves_whole_files(tmp_path: Path, model: Path, after: int) -> None:
    sources = ["synthetic:people?size=320x240"] * 4
    config = write_config(tmp_path, document(model, *sources))
    with started("run", config, cwd=tmp_path) as process:
        parts = [tmp_path / "out" / f"s{n}.jsonl.partial" for n in range(4)]
        wait_until(
            lambda: all(p.exists() and p.read_bytes().count(b"\n") >= after for p in parts),
            "some lines of each stream",
            timeout_s=60,
        )
        process.send_signal(signal.SIGTERM)
        done = ended(process)

    assert done.code == 0, done.err
    for n in range(4):
        written = lines(tmp_path / "out" / f"s{n}.jsonl")
        assert [line["frame"] for line in written] == list(range(len(written)))
        assert picture_count(tmp_path / "out" / f"s{n}.mp4") == len(written)
    assert not list((tmp_path / "out").glob("*partial*"))


def test_a_stop_does_not_wait_for_an_open_that_hangs(tmp_path: Path, model: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        config = document(
            model, write_clip(tmp_path / "a.mp4"), f"rtsp://user:secret1@127.0.0.1:{port}/cam"
        )
        config["streams"][1]["connect"] = {"open_timeout_s": 60, "read_timeout_s": 60}
        with started("run", write_config(tmp_path, config), cwd=tmp_path) as process:
            wait_until((tmp_path / "out" / "s0.jsonl").exists, "the file's result", timeout_s=30)
            process.send_signal(signal.SIGINT)
            done = ended(process, timeout_s=10)

    # The file is done and nothing is lost, but this camera never was up.
    assert done.code == 1, done.err
    assert len(lines(tmp_path / "out" / "s0.jsonl")) == 10
    assert "secret1" not in done.err
    assert "lost by the stop" not in done.err


def test_a_duration_ends_a_run(tmp_path: Path, model: Path) -> None:
    config = write_config(tmp_path, document(model, "synthetic:people?size=320x240"))
    done = vidpipe("run", config, "--duration", "1.5", cwd=tmp_path)
    assert done.code == 0, done.err
    assert picture_count(tmp_path / "out" / "s0.mp4") == len(lines(tmp_path / "out" / "s0.jsonl"))


@pytest.mark.parametrize("seconds", ["0", "0.001"])
def test_a_duration_of_nothing_is_over_at_once(tmp_path: Path, model: Path, seconds: str) -> None:
    config = write_config(tmp_path, document(model, "synthetic:people?size=320x240"))
    done = vidpipe("run", config, "--duration", seconds, cwd=tmp_path)
    assert done.code == 0, done.err
    assert not list(tmp_path.rglob("*partial*"))


def test_detect_fps_passes_frames_to_the_pictures_alone(tmp_path: Path, model: Path) -> None:
    clip = write_clip(tmp_path / "a.mp4", ClipSpec(frames=100))
    config = document(model, clip)
    config["streams"][0]["detect_fps"] = 5

    done = vidpipe("run", write_config(tmp_path, config), cwd=tmp_path)

    assert done.code == 0, done.err
    written = lines(tmp_path / "out" / "s0.jsonl")
    assert [line["frame"] for line in written] == list(range(0, 100, 5))
    assert picture_count(tmp_path / "out" / "s0.mp4") == 100
    assert re.search(
        r"s0: ended, 100 frames captured, 20 processed, 80 passed, 0 dropped", done.err
    )


def test_a_loop_counts_on_and_its_time_goes_on(tmp_path: Path, model: Path) -> None:
    config = document(model, write_clip(tmp_path / "a.mp4"))
    config["streams"][0]["loop"] = True
    with started("run", write_config(tmp_path, config), cwd=tmp_path) as process:
        part = tmp_path / "out" / "s0.jsonl.partial"
        wait_until(
            lambda: part.exists() and part.read_bytes().count(b"\n") > 35, "three rounds", 30
        )
        process.send_signal(signal.SIGTERM)
        done = ended(process)
    assert done.code == 0, done.err
    written = lines(tmp_path / "out" / "s0.jsonl")
    assert [line["frame"] for line in written] == list(range(len(written)))
    assert [line["pts"] for line in written] == pytest.approx(
        [frame * 0.04 for frame in range(len(written))]
    )


def test_realtime_plays_a_file_as_a_camera_would(tmp_path: Path, model: Path) -> None:
    config = document(model, write_clip(tmp_path / "a.mp4", ClipSpec(frames=50)))
    config["streams"][0]["realtime"] = True
    done = vidpipe("run", write_config(tmp_path, config), cwd=tmp_path)
    assert done.code == 0, done.err
    found = re.search(r"s0: ended, 50 frames captured, (\d+) processed.* ([0-9.]+) fps", done.err)
    assert found
    assert int(found[1]) > 40
    assert float(found[2]) < 30


def test_faults_of_the_file_are_all_told_with_their_places(tmp_path: Path, model: Path) -> None:
    config = tmp_path / "config.yml"
    config.write_text(
        f"version: 1\nmodels: {{tiny: {{path: {model}, confidense: 0.5}}}}\n"
        "streams:\n  - {id: A b, source: x.mp4}\n  - {id: c, source: x.mp4, weight: heavy}\n"
    )
    done = vidpipe("run", config, cwd=tmp_path)
    assert done.code == 2
    for place in ("config.yml:2:", "config.yml:4:", "config.yml:5:"):
        assert place in done.err
    assert "confidence" in done.err
    assert not (tmp_path / "out").exists()


def test_a_model_that_can_not_be_used_is_told_before_anything_runs(tmp_path: Path) -> None:
    config = write_config(tmp_path, document(tmp_path / "none.xml", "synthetic:blank"))
    done = vidpipe("run", config, cwd=tmp_path)
    assert done.code == 2
    assert "none.xml" in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize("workers", [1, 2])
def test_a_model_that_the_zoo_does_not_have_is_told_by_its_own_name(
    tmp_path: Path, model: Path, workers: int
) -> None:
    config = document(model, "synthetic:people", "synthetic:people") | {"workers": workers}
    config["models"]["tiny"] = {"zoo": "person-ssdlit"}
    done = vidpipe("run", write_config(tmp_path, config), cwd=tmp_path)
    assert done.code == 2
    assert done.err.startswith("vidpipe: model tiny: the zoo has no model 'person-ssdlit': ")
    assert "did you mean person-ssdlite?" in done.err


def test_a_file_of_labels_that_can_not_be_read_is_told_in_plain_words(
    tmp_path: Path, model: Path
) -> None:
    config = document(model, "synthetic:people")
    (tmp_path / "names.txt").write_bytes(b"\xff\xfe\x00\x80")
    config["models"]["tiny"]["labels"] = "names.txt"
    done = vidpipe("run", write_config(tmp_path, config), cwd=tmp_path)
    assert done.code == 2
    assert done.err.startswith("vidpipe: model tiny: labels file")
    assert "it is not UTF-8 text" in done.err
    assert "codec" not in done.err


def test_a_blank_line_among_the_labels_keeps_the_place_of_the_others(
    tmp_path: Path, model: Path
) -> None:
    config = document(model, "synthetic:blank?size=64x64&frames=1")
    (tmp_path / "names.txt").write_text("\nperson\ncar\n", "utf-8")
    config["models"]["tiny"]["labels"] = "names.txt"
    config["models"]["tiny"]["classes"] = ["person"]
    done = vidpipe("run", write_config(tmp_path, config), cwd=tmp_path)
    assert done.code == 0, done.err
    (line,) = lines(tmp_path / "out" / "s0.jsonl")
    assert [found["label"] for found in line["detections"]] == ["person"]


def test_the_log_file_has_what_standard_error_has(tmp_path: Path, model: Path) -> None:
    config = document(model, write_clip(tmp_path / "a.mp4"))
    config["telemetry"] = {"log_file": "logs/vidpipe.log"}
    done = vidpipe("run", write_config(tmp_path, config), cwd=tmp_path)
    assert done.code == 0
    assert (tmp_path / "logs" / "vidpipe.log").read_text("utf-8") == done.err


def write_grey_clip(path: Path, frames: int, luma: Callable[[int], int]) -> Path:
    """Write a clip of even pictures."""
    with av.open(str(path), "w") as out:
        stream = out.add_stream("libx264", rate=25, options={"preset": "ultrafast"})
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for number in range(frames):
            planes = np.full((72, 64), 128, np.uint8)
            planes[:48] = luma(number)
            frame = av.VideoFrame.from_ndarray(planes, format="yuv420p")
            frame.pts, frame.time_base = number, Fraction(1, 25)
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    return path
