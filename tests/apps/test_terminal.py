"""`vidpipe run` on a terminal: the table fits, and the log file gets what the terminal shows."""

from __future__ import annotations

import fcntl
import os
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from tests.clips import ClipSpec, write_clip
from tests.command import environment, write_config
from tests.graphs import saved, ssd_rows

ROW = [0, 1, 0.9, 0.25, 0.25, 0.5, 0.75]
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def shown_on_terminal(*arguments: str | Path, cwd: Path, size: tuple[int, int]) -> tuple[int, str]:
    """Run `vidpipe ARGUMENTS` on a terminal of so many lines and columns."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
    environ = {**environment(), "TERM": "xterm", "NO_COLOR": "1"}
    for name in ("COLUMNS", "LINES"):
        environ.pop(name, None)
    process = subprocess.Popen(
        [sys.executable, "-m", "vidpipe", *map(str, arguments)],
        cwd=cwd,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    )
    os.close(theirs)
    parts = []
    try:
        while part := os.read(ours, 65536):
            parts.append(part)
    except OSError:
        pass  # the other side is closed
    finally:
        os.close(ours)
        code = process.wait(60)
    return code, _ESCAPES.sub("", b"".join(parts).decode("utf-8", "replace")).replace("\r", "\n")


@pytest.mark.parametrize("size", [(24, 80), (50, 132)])
def test_the_terminal_shows_tables_and_the_log_file_lines(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    clip = write_clip(tmp_path / "clip.mp4", ClipSpec(frames=50))
    streams = [
        {"id": f"stream-{n:02}", "source": str(clip), "loop": True, "realtime": True}
        for n in range(20)
    ]
    document = {
        "models": {"tiny": {"path": str(saved(ssd_rows([ROW]), tmp_path))}},
        "streams": streams,
        "telemetry": {"log_file": "run.log"},
    }
    config = write_config(tmp_path, document)
    code, text = shown_on_terminal("run", config, "--duration", "3", cwd=tmp_path, size=size)
    assert code == 0
    running, _, whole = text.partition("the whole run")
    assert "playing" in running
    assert "requests of tiny: " in running
    is_low = size[0] < 30
    assert ("… and " in running) == is_low
    assert ("p95 ms: decode " in running) == is_low
    table_lines = [
        line for line in running.splitlines() if "stream-" in line and "INFO" not in line
    ]
    assert table_lines
    assert max(map(len, table_lines)) <= size[1]
    assert whole.count("stream-") >= 20
    assert "stage, ms" in whole
    assert "stage decode: mean" not in text

    log = (tmp_path / "run.log").read_text()
    for n in range(20):
        assert f" stream-{n:02}: ended, " in log
    assert "stage decode: mean " in log
    assert "CPU" in log
