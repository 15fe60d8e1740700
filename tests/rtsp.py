"""A real RTSP server as a context manager, for tests marked ``rtsp``."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_PYTHON = Path("/usr/bin/python3")
_SCRIPT = Path(__file__).with_name("rtsp_server.py")
_BINDINGS = (
    "import gi; gi.require_version('GstRtspServer', '1.0'); "
    "from gi.repository import Gst, GstRtspServer; Gst.init(None); "
    "assert Gst.ElementFactory.find('x264enc') and Gst.ElementFactory.find('rtph264pay')"
)


@cache
def has_rtsp_server() -> bool:
    """Tell whether the system's python3 can serve RTSP by GStreamer."""
    if not _PYTHON.exists():
        return False
    check = subprocess.run([_PYTHON, "-c", _BINDINGS], check=False, capture_output=True)
    return check.returncode == 0


@dataclass(frozen=True, slots=True)
class Camera:
    """What a server shows: ``h264`` or ``h265``, width x height, where, and how much is lost."""

    codec: str = "h264"
    size: str = "320x240"
    path: str = "cam"
    loss: float = 0.0


@dataclass(frozen=True, slots=True)
class RtspServer:
    """A running server: a 320x240 picture at 25 frames a second under ``/cam``."""

    port: int
    process: subprocess.Popen[str]
    scheme: str = "rtsp"

    def url(self, path: str = "cam", userinfo: str = "") -> str:
        """Return an address on it; ``userinfo`` is ``user:password``, percent-encoded."""
        return f"{self.scheme}://{userinfo}{'@' if userinfo else ''}127.0.0.1:{self.port}/{path}"

    def kill(self) -> None:
        """End it at once: its connections are closed by the system."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()

    def thaw(self) -> None:
        """Let it go on."""
        self.process.send_signal(signal.SIGCONT)

    def freeze(self) -> None:
        """Stop it without closing its connections: a camera that has gone silent."""
        self.process.send_signal(signal.SIGSTOP)


@contextmanager
def rtsp_server(
    username: str = "",
    password: str = "",
    *,
    port: int = 0,
    camera: Camera | None = None,
    tls: Path | None = None,
) -> Iterator[RtspServer]:
    """Run a server on a port of the loopback interface; with a name, it asks for it.

    Args:
        username: Whom it lets in; empty for everybody.
        password: Theirs.
        port: 0 for any that is free.
        camera: What it shows.
        tls: A certificate and its key in one PEM file; None: it doesn't encrypt.
    """
    camera = camera or Camera()
    options = ["--codec", camera.codec, "--size", camera.size]
    options += ["--path", camera.path, "--loss", str(camera.loss)]
    options += ["--tls", str(tls)] if tls else []
    login = ["--", username, password] if username else []
    process = subprocess.Popen(
        [_PYTHON, _SCRIPT, *options, str(port), *login],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with process:
        try:
            assert process.stdout is not None
            word, number = process.stdout.readline().split()
            assert word == "port"
            yield RtspServer(int(number), process, "rtsps" if tls else "rtsp")
        finally:
            process.kill()
