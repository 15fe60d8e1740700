"""The same reader over HTTP: a real server on the loopback interface that can misbehave."""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.clips import ClipSpec, write_clip
from vidpipe.config.address import with_credentials
from vidpipe.errors import SourceCause, SourceError
from vidpipe.sources.addresses import open_network
from vidpipe.sources.declared import VideoLimits
from vidpipe.types import SourceKind

LIMITS = VideoLimits(open_timeout_s=2.0, read_timeout_s=1.0)


@dataclass
class Resource:
    """What the server gives, and how badly."""

    data: bytes = b""
    has_length: bool = True
    status: int = 200
    stop_after: int | None = None
    hangs: bool = False
    credentials: str | None = None
    released: threading.Event = field(default_factory=threading.Event)


class Handler(BaseHTTPRequestHandler):
    resource: Resource

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Say nothing."""

    def do_GET(self) -> None:
        resource = self.resource
        if resource.credentials is not None:
            token = base64.b64encode(resource.credentials.encode()).decode()
            if self.headers.get("Authorization") != f"Basic {token}":
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="x"')
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
        if resource.status != 200:
            self.send_error(resource.status)
            return
        start = int(self.headers.get("Range", "bytes=0-")[6:].split("-")[0])
        if resource.stop_after is not None and start >= resource.stop_after:
            self.close_connection = True
            return
        self._send(resource, start)

    def _send(self, resource: Resource, start: int) -> None:
        size = len(resource.data)
        self.send_response(206 if start and resource.has_length else 200)
        if resource.has_length:
            self.send_header("Accept-Ranges", "bytes")
            self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
            self.send_header("Content-Length", str(size - start))
        self.end_headers()
        try:
            self.wfile.write(resource.data[start : resource.stop_after])
            self.wfile.flush()
        except OSError:
            return
        if resource.hangs:
            resource.released.wait(10.0)
        self.close_connection = True


@contextmanager
def serving(resource: Resource) -> Iterator[str]:
    class Bound(Handler):
        pass

    Bound.resource = resource
    server = ThreadingHTTPServer(("127.0.0.1", 0), Bound)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/clip"
    finally:
        resource.released.set()
        server.shutdown()
        server.server_close()
        thread.join()


def read_until_error(url: str) -> tuple[int, SourceError | None, bool]:
    reader = open_network(url, limits=LIMITS)
    count = 0
    try:
        while reader.read() is not None:
            count += 1
    except SourceError as exc:
        return count, exc, reader.info.is_live
    finally:
        reader.close()
    return count, None, reader.info.is_live


def cause_of_opening(url: str, limits: VideoLimits = LIMITS) -> SourceCause:
    with pytest.raises(SourceError) as caught:
        open_network(url, limits=limits)
    assert "secret" not in str(caught.value)
    return caught.value.cause


@pytest.fixture
def mp4(tmp_path: Path) -> bytes:
    return write_clip(tmp_path / "clip.mp4", ClipSpec(100, (160, 120))).read_bytes()


@pytest.fixture
def ts(tmp_path: Path) -> bytes:
    return write_clip(tmp_path / "clip.ts", ClipSpec(100, (160, 120))).read_bytes()


def test_a_resource_with_a_length_is_a_recorded_file(mp4: bytes) -> None:
    with serving(Resource(mp4)) as url:
        assert read_until_error(url) == (100, None, False)
        reader = open_network(url, limits=LIMITS)
        assert reader.info.kind is SourceKind.NETWORK
        assert reader.info.frame_count == 100
        reader.close()


def test_a_stream_without_a_length_is_live_and_its_end_a_loss(ts: bytes) -> None:
    with serving(Resource(ts, has_length=False)) as url:
        count, error, is_live = read_until_error(url)
    assert is_live
    assert count == 100
    assert error is not None
    assert error.cause is SourceCause.LOST


def test_what_the_caller_says_of_being_live_counts(ts: bytes) -> None:
    with serving(Resource(ts)) as url:
        reader = open_network(url, is_live=True, limits=LIMITS)
        assert reader.info.is_live
        assert reader.info.duration_s is None
        reader.close()


def test_a_server_that_goes_away_leaves_an_incomplete_recording(tmp_path: Path) -> None:
    spec = ClipSpec(300, (320, 240), container={"movflags": "faststart"}, encoder={"g": "25"})
    data = write_clip(tmp_path / "clip.mp4", spec).read_bytes()
    with serving(Resource(data, stop_after=len(data) // 2)) as url:
        count, error, _ = read_until_error(url)
    assert 50 < count < 300
    assert error is not None
    assert error.cause in {SourceCause.INCOMPLETE, SourceCause.TIMEOUT}


def test_a_live_stream_that_falls_silent_is_a_timeout(ts: bytes) -> None:
    resource = Resource(ts, has_length=False, hangs=True)
    with serving(resource) as url:
        reader = open_network(url, limits=LIMITS)
        started_at = time.monotonic()
        for _ in range(100):
            assert reader.read() is not None
        with pytest.raises(SourceError) as caught:
            reader.read()
        reader.close()
    assert caught.value.cause is SourceCause.TIMEOUT
    assert time.monotonic() - started_at < 3.0


@pytest.mark.parametrize(
    ("status", "cause"),
    [
        (404, SourceCause.NOT_FOUND),
        (410, SourceCause.NOT_FOUND),
        (401, SourceCause.AUTHENTICATION),
        (403, SourceCause.AUTHENTICATION),
        (500, SourceCause.LOST),
    ],
)
def test_a_servers_answer_names_the_cause(status: int, cause: SourceCause) -> None:
    with serving(Resource(status=status)) as url:
        assert cause_of_opening(url) is cause


def test_credentials_with_special_characters_arrive(mp4: bytes) -> None:
    with serving(Resource(mp4, credentials="bob:p@s/s%:secret")) as url:
        assert cause_of_opening(with_credentials(url, "bob", "secret?")) is (
            SourceCause.AUTHENTICATION
        )
        reader = open_network(with_credentials(url, "bob", "p@s/s%:secret"), limits=LIMITS)
        assert reader.read() is not None
        reader.close()


def test_a_page_is_not_a_video() -> None:
    with serving(Resource(b"<html><body>Login</body></html>" * 20)) as url:
        assert cause_of_opening(url) is SourceCause.FORMAT


def test_a_silent_server_is_given_up_in_time() -> None:
    with serving(Resource(b"", has_length=False, hangs=True)) as url:
        started_at = time.monotonic()
        limits = VideoLimits(open_timeout_s=0.6)
        assert cause_of_opening(url, limits) is SourceCause.TIMEOUT
        assert time.monotonic() - started_at < 0.6 + 0.6


def test_a_refused_connection_and_an_unknown_name_are_told_apart() -> None:
    with serving(Resource()) as url:
        pass
    assert cause_of_opening(url.replace("//", "//bob:secret@")) is SourceCause.REFUSED
    assert cause_of_opening("http://bob:secret@nope.invalid/x") is SourceCause.NAME_RESOLUTION
