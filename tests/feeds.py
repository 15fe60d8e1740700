"""Cameras that speak HTTP, for tests: MJPEG in a multipart answer, and a live HLS playlist."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import av
import cv2

from tests.clips import scene_bgr
from vidpipe.runtime.supervisor import ThreadGroup

_SEGMENT_S = 0.48
_WINDOW = 4


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a client may go away at any time."""


@contextmanager
def _serving(answer: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
            """Say nothing."""

        def do_GET(self) -> None:
            answer(self)

    server = _Server(("127.0.0.1", 0), Handler)
    threads = ThreadGroup()
    threads.spawn("feed", lambda: server.serve_forever(poll_interval=0.01))
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        threads.join(5.0)


@contextmanager
def mjpeg_camera(
    *, frames: int | None = None, size_wh: tuple[int, int] = (96, 64), stands_still: bool = False
) -> Iterator[str]:
    """Serve MJPEG at 50 frames a second; yield its address.

    Args:
        frames: After so many the connection is closed; None: never.
        size_wh: Width and height in pixels.
        stands_still: Every picture is the first one.
    """
    ended = threading.Event()
    jpegs = [cv2.imencode(".jpg", scene_bgr(size_wh, n))[1].tobytes() for n in range(5)]

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Type", "multipart/x-mixed-replace; boundary=frame")
        request.end_headers()
        for number in itertools.count() if frames is None else range(frames):
            jpeg = jpegs[0 if stands_still else number % len(jpegs)]
            head = f"--frame\r\nContent-Type: image/jpeg\r\nContent-Length: {len(jpeg)}\r\n\r\n"
            request.wfile.write(head.encode() + jpeg + b"\r\n")
            if ended.wait(0.02):
                return

    with _serving(answer) as url:
        try:
            yield f"{url}/video"
        finally:
            ended.set()


@contextmanager
def hls_camera(folder: Path, *, segments: int = 40) -> Iterator[str]:
    """Serve a live playlist, a window that moves on with the clock; yield its address."""
    playlist = folder / "all.m3u8"
    with av.open(
        str(playlist),
        "w",
        format="hls",
        options={"hls_time": str(_SEGMENT_S), "hls_list_size": "0"},
    ) as out:
        stream = out.add_stream("libx264", rate=25, options={"preset": "ultrafast", "g": "12"})
        stream.width, stream.height, stream.pix_fmt = 96, 64, "yuv420p"
        for number in range(segments * 12):
            frame = av.VideoFrame.from_ndarray(scene_bgr((96, 64), number), format="bgr24")
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    names = [line for line in playlist.read_text().splitlines() if line.endswith(".ts")]
    started_at = time.monotonic()

    def answer(request: BaseHTTPRequestHandler) -> None:
        name = request.path.rpartition("/")[2]
        if name in names:
            data = (folder / name).read_bytes()
        else:
            first = min(int((time.monotonic() - started_at) / _SEGMENT_S), len(names) - 1)
            lines = ["#EXTM3U", "#EXT-X-VERSION:3", "#EXT-X-TARGETDURATION:1"]
            lines.append(f"#EXT-X-MEDIA-SEQUENCE:{first}")
            for segment in names[first : first + _WINDOW]:
                lines += [f"#EXTINF:{_SEGMENT_S},", segment]
            data = "\n".join([*lines, ""]).encode()
        request.send_response(200)
        kind = "video/mp2t" if name in names else "application/vnd.apple.mpegurl"
        request.send_header("Content-Type", kind)
        request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        request.wfile.write(data)

    with _serving(answer) as url:
        yield f"{url}/live.m3u8"
