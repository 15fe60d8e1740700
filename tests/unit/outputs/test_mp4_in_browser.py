"""A real browser plays what is written: the right size, the right colours, the right moments."""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.builders import make_picture
from vidpipe.outputs.canvas import format_for
from vidpipe.outputs.mp4 import Mp4File
from vidpipe.types import ColorMatrix

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next((found for name in BROWSERS if (found := shutil.which(name))), None)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(BROWSER is None, reason="needs Chromium (Debian's package chromium)"),
]

BASE = Fraction(1, 12_800)
COLORS_BGR = [(200, 60, 40), (40, 200, 60), (60, 40, 200)]
TIMES_S = [0.0, 1.0, 1.2]
"""Uneven: the second colour is shown for a fifth of a second."""

PAGE = """<!doctype html><meta charset="utf-8"><script>
async function look(name, times) {
  const video = document.createElement('video');
  video.muted = true;
  const blob = await (await fetch('/' + name)).blob();
  await new Promise((done, failed) => {
    video.onloadeddata = done;
    video.onerror = () => failed(new Error(video.error.message));
    video.src = URL.createObjectURL(blob);
  });
  const canvas = document.createElement('canvas');
  canvas.width = video.videoWidth; canvas.height = video.videoHeight;
  const pen = canvas.getContext('2d', {willReadFrequently: true});
  const pixels = [];
  for (const time of times) {
    await new Promise(done => { video.onseeked = done; video.currentTime = time + 0.02; });
    // A busy browser says that it has sought before it shows the picture: look until it rests.
    let pixel = '', seen = 0;
    while (seen < 4) {
      await new Promise(done => setTimeout(done, 50));
      pen.drawImage(video, 0, 0);
      const now = pen.getImageData(canvas.width >> 1, canvas.height >> 1, 1, 1).data;
      const text = JSON.stringify([...now].slice(0, 3));
      seen = text === pixel ? seen + 1 : 0;
      pixel = text;
    }
    pixels.push(JSON.parse(pixel));
  }
  await new Promise((done, failed) => {
    video.onended = done;
    video.currentTime = 0; video.playbackRate = 4;
    video.play().catch(failed);
  });
  return {size: [video.videoWidth, video.videoHeight], duration: video.duration, pixels};
}
(async () => {
  let answer;
  try {
    answer = {};
    for (const name of NAMES) answer[name] = await look(name, TIMES);
  } catch (error) { answer = {error: String(error)}; }
  await fetch('/answer', {method: 'POST', body: JSON.stringify(answer)});
})();
</script>"""


def write_colors(path: Path, size: tuple[int, int], matrix: ColorMatrix, *, is_full: bool) -> Path:
    picture = make_picture(*size, matrix=matrix, is_full_range=is_full)
    file = Mp4File(path, format_for(picture), stream="x", time_base=BASE, rate_fps=25.0)
    width, height = file.canvas.content_wh
    for color, time_s in zip(COLORS_BGR, TIMES_S, strict=True):
        file.canvas.fill(0, 0, width + 1, height + 1, file.canvas.yuv(color))
        file.write(round(time_s / BASE), round(1 / BASE))
    return file.finish(round(1 / BASE))


@contextmanager
def served(folder: Path, page: str, answers: queue.Queue[dict[str, Any]]) -> Iterator[str]:
    """Serve a page and the files of a folder on the loopback address."""

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.strip("/")
            if name == "favicon.ico":
                self.send_error(404)
                return
            content = page.encode() if not name else (folder / name).read_bytes()
            self.send_response(200)
            self.send_header("Content-Type", "video/mp4" if name else "text/html")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_POST(self) -> None:
            answers.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def browse(url: str, profile: Path) -> subprocess.Popen[bytes]:
    """Start a browser without a window, in a process group of its own."""
    return subprocess.Popen(
        [
            *(str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--mute-audio"),
            *("--disable-dev-shm-usage", "--no-first-run", "--disable-extensions"),
            *("--disable-background-networking", "--disable-component-update"),
            *("--autoplay-policy=no-user-gesture-required", f"--user-data-dir={profile}", url),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def test_a_browser_shows_the_right_colours_at_the_right_moments(tmp_path: Path) -> None:
    videos = tmp_path / "videos"
    for matrix in (ColorMatrix.BT601, ColorMatrix.BT709):
        for is_full in (False, True):
            name = f"{matrix.name}-{'full' if is_full else 'limited'}.mp4"
            write_colors(videos / name, (321, 241), matrix, is_full=is_full)
    names = sorted(path.name for path in videos.iterdir())
    page = PAGE.replace("NAMES", json.dumps(names)).replace("TIMES", json.dumps(TIMES_S))
    answers: queue.Queue[dict[str, Any]] = queue.Queue()
    with served(videos, page, answers) as url:
        browser = browse(url, tmp_path / "profile")
        try:
            answer = answers.get(timeout=60)
        finally:
            os.killpg(browser.pid, signal.SIGKILL)
            browser.wait()
    assert sorted(answer) == names, answer
    for name, shown in answer.items():
        assert shown["size"] == [322, 242]
        assert shown["duration"] == pytest.approx(2.2, abs=0.01)
        for (blue, green, red), pixel in zip(COLORS_BGR, shown["pixels"], strict=True):
            difference = max(abs(pixel[0] - red), abs(pixel[1] - green), abs(pixel[2] - blue))
            assert difference <= 8, f"{name}: {pixel} for {(red, green, blue)}"
