"""A real RTMP server as a context manager, and an RTSP server that is pushed to."""

from __future__ import annotations

import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.threads import wait_until

_NGINX = Path("/usr/sbin/nginx")
_MODULE = Path("/usr/lib/nginx/modules/ngx_rtmp_module.so")
_CONFIG = """
load_module {module};
daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/error.log info;
events {{}}
rtmp {{ server {{ listen 127.0.0.1:{port}; application live {{
  live on; record all; record_path {folder}; record_unique on;
}} }} }}
"""
_PYTHON = Path("/usr/bin/python3")
_RECORDER = Path(__file__).with_name("rtsp_recorder.py")


def has_rtmp_server() -> bool:
    """Tell whether nginx and its module for RTMP are installed."""
    return _NGINX.exists() and _MODULE.exists()


@dataclass(frozen=True, slots=True)
class PushServer:
    """A running server that stores what it is pushed in a folder."""

    url: str
    port: int
    folder: Path
    process: subprocess.Popen[str]

    @property
    def files(self) -> list[Path]:
        """What it has stored, by age."""
        files = (*self.folder.glob("*.flv"), *self.folder.glob("*.h264"))
        return sorted(files, key=lambda path: path.stat().st_mtime)

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()
        self.process.wait()

    def freeze(self) -> None:
        """Stop it without closing its connections."""
        self.process.send_signal(signal.SIGSTOP)


def free_port() -> int:
    """Return a port of the loopback interface that nobody has."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 1):
            return True
    except OSError:
        return False


@contextmanager
def rtmp_server(folder: Path, *, port: int = 0) -> Iterator[PushServer]:
    """Run nginx; everything that is its lies in the folder."""
    folder.mkdir(exist_ok=True)
    port = port or free_port()
    config = folder / "nginx.conf"
    config.write_text(_CONFIG.format(module=_MODULE, folder=folder, port=port))
    command = [str(part) for part in (_NGINX, "-p", folder, "-c", config, "-e", folder / "log")]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            wait_until(lambda: _answers(port), "nginx answers")
            yield PushServer(f"rtmp://127.0.0.1:{port}/live/secret-key", port, folder, process)
        finally:
            process.kill()


@contextmanager
def rtsp_recorder(
    folder: Path, *, port: int = 0, login: tuple[str, ...] = ()
) -> Iterator[PushServer]:
    """Run GStreamer's RTSP server, which takes what is pushed, from anybody or by a login."""
    folder.mkdir(exist_ok=True)
    command = [str(part) for part in (_PYTHON, _RECORDER, port, folder / "got.h264", *login)]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            word, number = process.stdout.readline().split()
            assert word == "port"
            url = f"rtsp://127.0.0.1:{number}/push"
            yield PushServer(url, int(number), folder, process)
        finally:
            process.kill()
