"""The same reader against a real RTSP server that dies, falls silent, or asks for a password."""

from __future__ import annotations

import socket
import time

import pytest

from tests.rtsp import has_rtsp_server, rtsp_server
from vidpipe.config.address import with_credentials
from vidpipe.errors import SourceCause, SourceError
from vidpipe.interfaces import Reader
from vidpipe.sources.addresses import open_network
from vidpipe.sources.declared import VideoLimits

LIMITS = VideoLimits(open_timeout_s=5.0, read_timeout_s=1.0)
needs_server = pytest.mark.skipif(
    not has_rtsp_server(), reason="the system's python3 has no GStreamer RTSP server"
)


def cause_of_opening(url: str, open_timeout_s: float = 5.0) -> SourceCause:
    with pytest.raises(SourceError) as caught:
        open_network(url, limits=VideoLimits(open_timeout_s=open_timeout_s, read_timeout_s=1.0))
    assert "secret" not in str(caught.value)
    return caught.value.cause


def failure_while_reading(reader: Reader) -> tuple[SourceCause, float]:
    """Read on until the source fails; return why, and how long after the last picture."""
    last_at = time.monotonic()
    try:
        while True:
            assert reader.read() is not None
            last_at = time.monotonic()
    except SourceError as exc:
        return exc.cause, time.monotonic() - last_at
    finally:
        reader.close()


@needs_server
@pytest.mark.rtsp
@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_a_camera_is_live_and_its_frames_have_rising_times(transport: str) -> None:
    limits = VideoLimits(open_timeout_s=5.0, read_timeout_s=2.0, transport=transport)
    with rtsp_server() as server:
        reader = open_network(server.url(), limits=limits)
        frames = [reader.read() for _ in range(30)]
        reader.close()
    assert reader.info.is_live
    assert (reader.info.codec, reader.info.width, reader.info.height) == ("h264", 320, 240)
    times = [frame.pts_s for frame in frames if frame is not None and frame.pts_s is not None]
    assert len(times) == 30
    assert times == sorted(set(times))


@needs_server
@pytest.mark.rtsp
def test_a_camera_that_dies_is_lost_at_once() -> None:
    with rtsp_server() as server:
        reader = open_network(server.url(), limits=LIMITS)
        reader.read()
        server.kill()
        cause, waited_s = failure_while_reading(reader)
    assert cause is SourceCause.LOST
    assert waited_s < 1.0


@needs_server
@pytest.mark.rtsp
def test_a_camera_that_falls_silent_is_a_timeout_at_its_limit() -> None:
    with rtsp_server() as server:
        reader = open_network(server.url(), limits=LIMITS)
        reader.read()
        server.freeze()
        cause, waited_s = failure_while_reading(reader)
    assert cause is SourceCause.TIMEOUT
    assert 0.8 < waited_s < 5.0  # far below the thirty seconds that FFmpeg waits by itself


@needs_server
@pytest.mark.rtsp
def test_a_frozen_camera_is_given_up_while_opening() -> None:
    with rtsp_server() as server:
        server.freeze()
        assert cause_of_opening(server.url(userinfo="bob:secret"), 1.0) is SourceCause.TIMEOUT


@needs_server
@pytest.mark.rtsp
def test_a_wrong_path_is_not_found() -> None:
    with rtsp_server() as server:
        assert cause_of_opening(server.url("other")) is SourceCause.NOT_FOUND


@needs_server
@pytest.mark.rtsp
def test_only_the_right_password_opens() -> None:
    with rtsp_server("bob", "p@s/s%secret") as server:
        assert cause_of_opening(server.url()) is SourceCause.AUTHENTICATION
        wrong = with_credentials(server.url(), "bob", "secret")
        assert cause_of_opening(wrong) is SourceCause.AUTHENTICATION
        right = with_credentials(server.url(), "bob", "p@s/s%secret")
        reader = open_network(right, limits=LIMITS)
        assert reader.read() is not None
        reader.close()


def test_a_server_that_accepts_and_says_nothing_is_a_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        started_at = time.monotonic()
        cause = cause_of_opening(f"rtsp://bob:secret@127.0.0.1:{port}/x", 0.6)
        assert cause is SourceCause.TIMEOUT
        assert time.monotonic() - started_at < 0.6 + 0.6


def test_a_closed_port_refuses() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert cause_of_opening(f"rtsp://bob:secret@127.0.0.1:{port}/x") is SourceCause.REFUSED


def test_a_name_that_does_not_resolve_is_named_as_the_cause() -> None:
    assert cause_of_opening("rtsp://bob:secret@nope.invalid/x") is SourceCause.NAME_RESOLUTION
