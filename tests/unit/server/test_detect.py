"""Pictures brought by HTTP, on their way in and out; what looks at them is the test's."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.browsers import Browser
from tests.servers import TOKENS, served
from tests.threads import running, wait_until
from tests.web import Reply, ask, connected, read_all
from vidpipe.server import detect as module
from vidpipe.server.detector import MOST_AT_ONCE, THREADS, DetectError, DetectFault, DetectQuestion


class FakeDetector:
    """Implements ``Detector``: notes what is asked, and answers when the test lets it."""

    def __init__(self) -> None:
        """Begin with nothing asked."""
        self.asked: list[DetectQuestion] = []
        self.error: Exception | None = None
        self.may_answer = threading.Event()
        self.may_answer.set()

    def detect(self, question: DetectQuestion) -> bytes:
        """Say how large the picture is."""
        self.asked.append(question)
        self.may_answer.wait(10.0)
        if self.error is not None:
            raise self.error
        return json.dumps({"detections": [], "bytes": len(question.image)}).encode()


@pytest.fixture
def detector() -> FakeDetector:
    """Return what looks at pictures."""
    return FakeDetector()


@pytest.fixture
def url(detector: FakeDetector) -> Iterator[str]:
    """Yield the address of a server that has it."""
    with served(detector=detector) as address:
        yield address


def bring(url: str, body: bytes = b"picture", query: str = "", **headers: str) -> Reply:
    fields = {"content_type": "image/jpeg", **headers}
    return ask(f"{url}/api/detect{query}", method="POST", body=body, **fields)


def counts(url: str) -> dict[str, float]:
    families = text_string_to_metric_families(ask(f"{url}/metrics").text)
    return {
        sample.labels["outcome"]: sample.value
        for family in families
        for sample in family.samples
        if sample.name == "vidpipe_detect_requests_total"
    }


def form(*parts: tuple[str, bytes], boundary: str = "xyz") -> tuple[bytes, str]:
    """Return a form's body and its content type."""
    body = b"".join(
        f"--{boundary}\r\nContent-Disposition: form-data; {head}\r\n\r\n".encode() + data + b"\r\n"
        for head, data in parts
    )
    return body + f"--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


def test_a_picture_is_looked_at(url: str, detector: FakeDetector) -> None:
    reply = bring(url, b"\xff\xd8\xff\x00", "?model=person&confidence=0.5")
    assert (reply.status, reply.document["bytes"]) == (200, 4)
    assert reply.headers["content-type"] == "application/json"
    (question,) = detector.asked
    assert (question.model, question.confidence) == ("person", 0.5)
    assert bring(url).status == 200
    assert (detector.asked[1].model, detector.asked[1].confidence) == (None, None)


def test_a_file_of_a_form_is_looked_at(url: str, detector: FakeDetector) -> None:
    picture = bytes(range(256)) * 4 + b"\r\n--xy\r\n\r\n"
    for parts in (
        [('name="image"; filename="a.jpg"', picture)],
        [('name="note"', b"hello"), ('name="f"; filename="a.jpg"', picture)],
        [('name="image"', picture)],
    ):
        body, kind = form(*parts)
        assert bring(url, body, content_type=kind).status == 200
        assert detector.asked[-1].image == picture


@pytest.mark.parametrize("cut", [0, 1, 5, 20, 60, 80, -1, -5, -12])
def test_a_broken_form_is_told(url: str, cut: int) -> None:
    body, kind = form(('name="image"; filename="a.jpg"', b"picture"))
    assert bring(url, body[:cut], content_type=kind).status in (400, 200)
    assert bring(url, body, content_type="multipart/form-data").status == 400
    assert bring(url, b"", content_type=kind).status == 400


@pytest.mark.parametrize(
    "parameters", [f"boundary*{'9' * 5000}=a", "boundary*=a; boundary*0=b", "boundary*0*=x''%zz"]
)
def test_a_form_whose_boundary_comes_in_odd_pieces_is_told(url: str, parameters: str) -> None:
    kind = f"multipart/form-data; {parameters}"
    assert bring(url, b"--a\r\n\r\nx\r\n--a--\r\n", content_type=kind).status == 400


@pytest.mark.parametrize("fault", DetectFault)
def test_each_fault_has_its_status_and_is_counted(
    url: str, detector: FakeDetector, fault: DetectFault
) -> None:
    detector.error = DetectError("why", fault)
    reply = bring(url)
    assert (reply.status, reply.document) == (fault.value, {"error": "why"})
    wait_until(lambda: counts(url)[fault.name.lower()] == 1, "it is counted")
    assert ("retry-after" in reply.headers) == (fault.value in (429, 503))


def test_what_became_of_the_pictures_is_counted_from_the_start(url: str) -> None:
    before = counts(url)
    assert set(before) == {"ok", *(fault.name.lower() for fault in DetectFault)}
    assert set(before.values()) == {0}
    for _ in range(3):
        bring(url)
    wait_until(lambda: counts(url)["ok"] == 3, "they are counted")
    text = ask(f"{url}/metrics").text
    assert "vidpipe_detect_seconds_count 3.0" in text
    assert "vidpipe_detect_busy 0.0" in text


@pytest.mark.parametrize("confidence", ["x", "", "-0.1", "1.1", "nan", "inf", "0,5"])
def test_a_confidence_is_a_number_from_0_to_1(url: str, confidence: str) -> None:
    assert bring(url, query=f"?confidence={confidence}").status == 422


def test_before_there_is_a_model_it_is_not_ready() -> None:
    with served() as url:
        reply = bring(url)
        assert reply.status == 503
        assert reply.headers["retry-after"]


def test_large_pictures_are_taken_and_larger_ones_are_not(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bring(url, bytes(5_000_000)).document["bytes"] == 5_000_000
    head = (
        "POST /api/detect HTTP/1.1\r\nHost: localhost\r\n"
        f"Content-Length: {module.MOST_IMAGE_BYTES + 1}\r\n\r\n"
    )
    with connected(url) as client:
        client.sendall(head.encode())
        assert read_all(client).startswith(b"HTTP/1.1 413 ")


def test_of_too_many_the_next_is_refused_before_its_picture_is_taken_in(
    url: str, detector: FakeDetector
) -> None:
    detector.may_answer.clear()
    replies: list[Reply] = []
    with running(*[lambda: replies.append(bring(url))] * MOST_AT_ONCE):
        wait_until(
            lambda: f"vidpipe_detect_busy {MOST_AT_ONCE}.0" in ask(f"{url}/metrics").text,
            "all are under way",
        )
        assert len(detector.asked) == THREADS
        refusal = bring(url)
        assert refusal.status == 429
        assert refusal.headers["retry-after"]
        head = b"POST /api/detect HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"
        with connected(url) as client:
            client.sendall(head)  # and no picture
            assert client.recv(100).startswith(b"HTTP/1.1 429 ")
        detector.may_answer.set()
    assert [reply.status for reply in replies] == [200] * MOST_AT_ONCE


def test_what_takes_too_long_is_not_waited_for(
    url: str, detector: FakeDetector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ANSWER_S", 0.1)
    monkeypatch.setattr(module, "_GRACE_S", 0.0)
    detector.may_answer.clear()
    assert bring(url).status == 504
    detector.may_answer.set()


def test_who_may_look_may_bring_pictures(detector: FakeDetector) -> None:
    with served(detector=detector, tokens=TOKENS) as url:
        assert bring(url).status == 401
        assert bring(url, authorization="Bearer look-at-it").status == 200
        browser = Browser(url)
        browser.log_in("look-at-it")
        assert browser.post("/api/detect").status == 200
        assert browser.post("/api/detect", origin="http://evil.example").status == 403


def test_it_is_no_page_to_look_at(url: str) -> None:
    assert ask(f"{url}/api/detect").status == 405


def test_a_fault_of_vidpipe_is_no_crash(url: str, detector: FakeDetector) -> None:
    error: Any = RuntimeError("a fault")
    detector.error = error
    assert bring(url).status == 500
    detector.error = None
    assert bring(url).status == 200
