from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from fractions import Fraction
from itertools import count
from pathlib import Path

import av
import numpy as np
import pytest

from tests.builders import make_detections, make_frame, make_picture, make_source
from tests.rtmp import PushServer, free_port, has_rtmp_server, rtmp_server, rtsp_recorder
from tests.rtsp import has_rtsp_server
from tests.threads import wait_until
from vidpipe.errors import SinkError
from vidpipe.outputs.annotate import Annotator
from vidpipe.outputs.fonts import FontShelf
from vidpipe.outputs.glyphs import Typesetter
from vidpipe.outputs.link import Address
from vidpipe.outputs.push import PushOptions, PushSink
from vidpipe.types import FrameResult

LIVE = make_source(is_live=True, time_base=Fraction(1, 90_000))
Serve = Callable[..., AbstractContextManager[PushServer]]
SERVERS = [
    pytest.param(
        rtmp_server,
        marks=pytest.mark.skipif(not has_rtmp_server(), reason="needs nginx's RTMP module"),
        id="rtmp",
    ),
    pytest.param(
        rtsp_recorder,
        marks=[
            pytest.mark.rtsp,
            pytest.mark.skipif(not has_rtsp_server(), reason="needs GStreamer's RTSP server"),
        ],
        id="rtsp",
    ),
]


def sink_to(url: str, **options: object) -> PushSink:
    asked = PushOptions(url, **options)  # type: ignore[arg-type]  # a test's short form
    return PushSink(asked, Annotator(Typesetter(FontShelf([]))), stream="gate")


def results() -> Iterator[FrameResult]:
    """Yield results for ever, with a box."""
    for number in count():
        picture = make_picture(320, 240, luma=100)
        frame = make_frame(number, captured_at=number / 25, source=LIVE, picture=picture)
        yield FrameResult(frame, make_detections((100, 100, 200, 200)))


def push_until(
    sink: PushSink, source: Iterator[FrameResult], is_met: Callable[[], bool], limit_s: float = 60
) -> int:
    """Push at a pace until something is so; return how many were pushed."""
    until = time.monotonic() + limit_s
    for pushed in count(1):
        sink.write(next(source))
        if is_met():
            return pushed
        assert time.monotonic() < until
        time.sleep(0.002)  # a camera's pace, quicker: the server is another process
    raise AssertionError


def pictures_in(path: Path) -> int:
    """Count the pictures that can be decoded; check that the box is in the first."""
    with av.open(str(path)) as container:
        pictures = list(container.decode(video=0))
    first = pictures[0].to_ndarray(format="bgr24")
    assert np.abs(first[150, 100].astype(int) - first[20, 250].astype(int)).max() > 60
    return len(pictures)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("serve", SERVERS)
def test_a_server_gets_annotated_pictures_and_after_its_restart_again(
    tmp_path: Path, serve: Serve
) -> None:
    source = results()
    with serve(tmp_path / "a") as server:
        sink = sink_to(server.url)
        push_until(sink, source, lambda: sink.connections > 0)
        for _ in range(100):
            sink.write(next(source))
            time.sleep(0.005)
        wait_until(lambda: any(path.stat().st_size > 1000 for path in server.files), "a file")
        server.kill()
    push_until(sink, source, lambda: sink.take_losses() > 0)
    with serve(tmp_path / "b", port=server.port) as again:
        push_until(sink, source, lambda: sink.connections > 1)
        for _ in range(50):
            sink.write(next(source))
            time.sleep(0.005)
        assert sink.close() == []
        stored = again.files
    assert pictures_in(server.files[-1]) > 0
    assert stored


@pytest.mark.timeout(120)
@pytest.mark.parametrize("serve", SERVERS)
def test_a_server_that_hangs_holds_neither_the_frames_nor_the_stop(
    tmp_path: Path, serve: Serve
) -> None:
    source = results()
    with serve(tmp_path / "a") as server:
        sink = sink_to(server.url)
        push_until(sink, source, lambda: sink.connections > 0)
        server.freeze()
        longest_s = 0.0
        for _ in range(200):
            began = time.monotonic()
            sink.write(next(source))
            longest_s = max(longest_s, time.monotonic() - began)
        assert longest_s < 5
        sink.close()
        server.kill()  # what was left behind ends now


@pytest.mark.rtsp
@pytest.mark.timeout(120)
@pytest.mark.skipif(not has_rtsp_server(), reason="needs GStreamer's RTSP server")
def test_a_server_that_asks_for_a_password_gets_it_and_no_log_does(
    tmp_path: Path, log_lines: list[str]
) -> None:
    source = results()
    with rtsp_recorder(tmp_path / "a", login=("viewer", "p@ss/w:rd")) as server:
        place = server.url.removeprefix("rtsp://")
        wrong = sink_to(f"rtsp://viewer:hunter2@{place}")
        sink = sink_to(f"rtsp://viewer:p%40ss%2Fw%3Ard@{place}")
        push_until(sink, source, lambda: sink.connections > 0)
        wrong.write(next(source))
        wait_until(lambda: any("can't be reached" in line for line in log_lines), "a refusal")
        assert sink.close() == []
        with pytest.raises(SinkError, match="never reached"):
            wrong.close()
    said = "".join(log_lines)
    assert not [word for word in ("hunter2", "p%40ss", "p@ss") if word in said]


def test_a_server_that_is_not_there_costs_results_and_is_an_error_at_the_end(
    log_lines: list[str],
) -> None:
    url = f"rtmp://user:hunter2@127.0.0.1:{free_port()}/live/secret-key"
    sink = sink_to(url)
    source = results()
    lost = 0
    for _ in range(20):
        sink.write(next(source))
        lost += sink.take_losses()
    assert lost == 20
    with pytest.raises(SinkError, match="was never reached") as caught:
        sink.close()
    said = "".join([*log_lines, str(caught.value), repr(PushOptions(url)), repr(Address(url))])
    assert "hunter2" not in said
    assert "secret-key" not in said
    assert sink.close() == []


def test_no_result_needs_no_server() -> None:
    assert sink_to("rtsp://127.0.0.1:1/x").close() == []
