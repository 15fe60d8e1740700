"""`vidpipe run` with a server: asked while it runs, and stopped while somebody is connected."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.clips import ClipSpec, write_clip
from tests.command import Finished, ended, started, vidpipe, write_config
from tests.graphs import saved, ssd_rows
from tests.threads import wait_until
from tests.web import ask, connected
from vidpipe.runtime.durations import Stage

ROW = [0, 1, 0.9, 0.25, 0.25, 0.5, 0.75]


def document(folder: Path, **keys: Any) -> dict[str, Any]:
    """Return a configuration of two files that play like cameras, for ever."""
    clip = write_clip(folder / "clip.mp4", ClipSpec(frames=50))
    stream = {"source": str(clip), "loop": True, "realtime": True}
    outputs = [{"type": "jsonl", "path": "out/{stream}.jsonl"}]
    return {
        "models": {"tiny": {"path": str(saved(ssd_rows([ROW]), folder))}},
        "defaults": {"outputs": outputs},
        "streams": [{"id": "gate", **stream}, {"id": "dock", "name": "The dock", **stream}],
        "server": {"port": 0},
        **keys,
    }


@contextmanager
def serving(folder: Path, config: dict[str, Any]) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a configuration, and yield its process and the server's address from the log."""
    with started("run", write_config(folder, config), cwd=folder) as process:
        yield process, address_from(process)


def address_from(process: subprocess.Popen[str]) -> str:
    """Return the address that the log says."""
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.search(r"the server listens on (\S+)$", line.rstrip()):
            return found[1]
    raise AssertionError("no address is said")


def samples_of(url: str) -> dict[tuple[str, ...], float]:
    """Return a scrape: values by name and labels' values."""
    text = ask(f"{url}/metrics").text
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def wait_ready(url: str) -> None:
    """Wait until the run says that it is ready."""
    wait_until(lambda: ask(f"{url}/readyz").status == 200, "it is ready", 60.0)


def stopped(process: subprocess.Popen[str]) -> Finished:
    """Stop a run by its signal, and return how it ended."""
    process.send_signal(signal.SIGTERM)
    return ended(process)


def test_a_run_is_seen_while_it_runs(tmp_path: Path) -> None:
    with serving(tmp_path, document(tmp_path)) as (process, url):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", url)
        assert ask(f"{url}/healthz").status == 200
        wait_ready(url)
        first = samples_of(url)
        last = first

        def has_moved() -> bool:
            nonlocal last
            now = samples_of(url)
            for name, value in last.items():
                if name[0].endswith(("_total", "_count", "_sum", "_bucket")):
                    assert now[name] >= value, name
            last = now
            processed = ("vidpipe_frames_processed_total", "gate")
            return now[processed] >= first[processed] + 25

        wait_until(has_moved, "frames go on being processed")
        for stream in ("gate", "dock"):
            ends = ("processed", "passed")
            done = sum(last[f"vidpipe_frames_{end}_total", stream] for end in ends)
            assert last["vidpipe_frames_captured_total", stream] == (
                done
                + last["vidpipe_frames_in_flight", stream]
                + sum(
                    v
                    for k, v in last.items()
                    if k[0] == "vidpipe_frames_dropped_total" and stream in k
                )
            )
            assert last["vidpipe_stream_up", stream] == 1
            assert last["vidpipe_frame_age_seconds_count", stream] > 0
        for stage in Stage:
            assert last["vidpipe_stage_seconds_count", stage.value] > 0, stage
        assert sum(last["vidpipe_requests", "tiny", s] for s in ("free", "running", "parked")) > 0
        gate, dock = ask(f"{url}/api/streams").document["streams"]
        assert (gate["id"], gate["state"], dock["name"]) == ("gate", "playing", "The dock")
        assert gate["fps_out"] == pytest.approx(25, abs=10)
        done_run = stopped(process)
    assert done_run.code == 0, done_run.err
    assert re.search(
        r"stage infer: mean \S+, p50 \S+, p95 \S+, p99 \S+ ms, \d+ frames", done_run.err
    )
    assert re.search(r"0 errors; CPU \d+ % on average", done_run.err)


def test_a_stop_waits_for_no_open_connection(tmp_path: Path) -> None:
    with serving(tmp_path, document(tmp_path)) as (process, url):
        wait_ready(url)
        with connected(url) as idle, connected(url) as slow, connected(url) as greedy:
            idle.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            slow.sendall(b"GET /healthz HTTP/1.1\r\nHo")
            greedy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            greedy.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100)
            began_at = time.monotonic()
            done = stopped(process)
            assert time.monotonic() - began_at < 10
    assert done.code == 0, done.err
    assert "Traceback" not in done.err


def test_a_port_in_use_ends_it_before_it_starts(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        config = write_config(tmp_path, document(tmp_path, server={"port": port}))
        done = vidpipe("run", config, cwd=tmp_path)
    assert done.code == 2
    assert f"vidpipe: server.port: 127.0.0.1:{port} is already in use" in done.err
    assert not (tmp_path / "out").exists()


def test_another_address_without_a_token_is_refused_with_its_place(tmp_path: Path) -> None:
    config = write_config(tmp_path, document(tmp_path, server={"host": "0.0.0.0"}))
    done = vidpipe("run", config, cwd=tmp_path)
    assert done.code == 2
    assert re.search(r"config\.yml:\d+:\d+: server\.host: .*add server\.tokens", done.err)


def test_a_token_is_asked_for_and_never_logged(tmp_path: Path) -> None:
    server = {
        "host": "0.0.0.0",
        "port": 0,
        "tokens": [{"role": "viewer", "token": "${TOKEN}"}],
    }
    config = write_config(tmp_path, document(tmp_path, server=server))
    secret = "very-secret-token"
    with started("run", config, cwd=tmp_path, environ={"TOKEN": secret}) as process:
        url = address_from(process).replace("0.0.0.0", "127.0.0.1")
        assert ask(f"{url}/healthz").status == 200
        assert ask(f"{url}/metrics").status == 401
        assert ask(f"{url}/metrics", authorization=f"Bearer {secret}").status == 200
        done = stopped(process)
    assert secret not in done.err


def test_the_log_file_holds_the_closing_summary(tmp_path: Path) -> None:
    config = document(tmp_path, telemetry={"log_file": "run.log"})
    del config["server"]
    assert vidpipe("run", write_config(tmp_path, config), "--duration", "1", cwd=tmp_path).code == 0
    text = (tmp_path / "run.log").read_text()
    assert "gate: ended, " in text
    assert "stage decode: mean " in text
