"""Pictures that somebody brings to a run, whose cameras go on meanwhile."""

from __future__ import annotations

import io
import json
import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.apps.test_server import serving, stopped, wait_ready
from tests.clips import ClipSpec, scene_bgr, write_clip
from tests.graphs import batchable, brittle, saved, ssd_rows
from tests.threads import running, wait_until
from tests.web import Reply, ask
from vidpipe import Pipeline
from vidpipe.server.detector import DetectError, DetectFault, DetectQuestion

SCHEDULES: dict[str, dict[str, Any]] = {
    "shared": {},
    "sync": {"call": "sync"},
    "independent": {"mode": "independent"},
    "independent and sync": {"mode": "independent", "call": "sync"},
    "batches": {"mode": "batched", "batch": {"size": 4, "timeout_ms": 20}},
    "batches that wait for long": {"mode": "batched", "batch": {"size": 16, "timeout_ms": 60000}},
    "adaptive": {"hint": "adaptive"},
}


def picture(kind: str = "PNG", number: int = 1, orientation: int = 1) -> bytes:
    """Return an image file."""
    exif = Image.Exif()
    exif[274] = orientation
    buffer = io.BytesIO()
    Image.fromarray(scene_bgr((96, 64), number)[..., ::-1]).save(buffer, kind, exif=exif)
    return buffer.getvalue()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a model whose box depends on the picture."""
    return saved(batchable(), tmp_path_factory.mktemp("model"))


def document(
    model: Path, folder: Path, keys: dict[str, Any] | None = None, **stream: Any
) -> dict[str, Any]:
    """Return a configuration of two files that play like cameras, for ever."""
    clip = write_clip(folder / "clip.mp4", ClipSpec(frames=50))
    each = {"source": str(clip), "loop": True, "realtime": True, **stream}
    return {
        "version": 1,
        "models": {"tiny": {"path": str(model), "decoder": "yolo-e2e", **(keys or {})}},
        "streams": [{"id": "gate", **each}, {"id": "dock", **each}],
    }


@contextmanager
def at_work(config: dict[str, Any]) -> Iterator[Pipeline]:
    """Run a configuration in this process."""
    pipeline = Pipeline(config)
    pipeline.start(with_results=False)
    try:
        yield pipeline
    finally:
        pipeline.close()


def detections_of_file(model: Path, folder: Path, image: bytes, name: str) -> Any:
    """Return the line that a run writes of an image file."""
    path = folder / name
    path.write_bytes(image)
    config = document(model, folder)
    output = {"type": "jsonl", "path": str(folder / f"{name}.jsonl")}
    config["streams"] = [{"id": "file", "source": str(path), "outputs": [output]}]
    Pipeline(config).run()
    (line,) = (folder / f"{name}.jsonl").read_text().splitlines()
    return json.loads(line)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_schedule_answers_while_its_cameras_go_on(
    schedule: str, model: Path, tmp_path: Path
) -> None:
    with at_work(document(model, tmp_path, SCHEDULES[schedule])) as pipeline:
        answers = [
            json.loads(pipeline.detector.detect(DetectQuestion(picture(number=number))))
            for number in (1, 2, 1)
        ]
        before = pipeline.stats()

        def go_on() -> bool:
            now = pipeline.stats()
            return all(now[s].processed >= before[s].processed + 5 for s in before)

        wait_until(go_on, "the cameras go on")
        assert list(pipeline.stats()) == ["gate", "dock"]
    first, second, again = answers
    assert list(first) == [
        *("stream", "frame", "pts", "time", "width", "height", "detections", "error", "model")
    ]
    assert (first["stream"], first["frame"], first["model"]) == (None, 0, "tiny")
    assert (first["width"], first["height"]) == (96, 64)
    (box,) = first["detections"]
    assert set(box) == {"label", "class_id", "score", "box", "track_id"}
    assert first == again
    assert first["detections"] != second["detections"]
    assert not pipeline.lost
    for stats in pipeline.stats().values():
        dropped = sum(stats.dropped.values())
        assert stats.captured == stats.processed + stats.passed + dropped + stats.in_flight


@pytest.mark.parametrize(
    ("kind", "orientation"), [("PNG", 1), ("JPEG", 1), ("JPEG", 6), ("WEBP", 1), ("BMP", 1)]
)
def test_the_answer_is_that_of_the_same_picture_as_a_file(
    model: Path, tmp_path: Path, kind: str, orientation: int
) -> None:
    image = picture(kind, orientation=orientation)
    with at_work(document(model, tmp_path)) as pipeline:
        answer = json.loads(pipeline.detector.detect(DetectQuestion(image)))
    line = detections_of_file(model, tmp_path, image, f"picture.{kind.lower()}")
    assert answer["detections"]
    assert {**answer, "stream": "file"} == {**line, "pts": None, "time": None, "model": "tiny"}


def test_a_flood_of_pictures_does_not_starve_the_cameras(model: Path, tmp_path: Path) -> None:
    with at_work(document(model, tmp_path)) as pipeline:
        is_over = threading.Event()
        waits_s: list[float] = []
        faults: list[DetectFault] = []

        def ask_on() -> None:
            while not is_over.is_set():
                began_at = time.monotonic()
                try:
                    pipeline.detector.detect(DetectQuestion(picture()))
                except DetectError as exc:
                    faults.append(exc.fault)
                else:
                    waits_s.append(time.monotonic() - began_at)

        with running(*[ask_on] * 6):
            before = pipeline.stats()

            def go_on() -> bool:
                now = pipeline.stats()
                return all(now[s].processed >= before[s].processed + 30 for s in before)

            try:
                wait_until(go_on, "the cameras go on")
            finally:
                is_over.set()
        assert waits_s
        assert set(faults) <= {DetectFault.FULL}


def test_questions_that_make_no_sense_are_refused(model: Path, tmp_path: Path) -> None:
    with at_work(document(model, tmp_path)) as pipeline:
        for question, fault, text in (
            (DetectQuestion(picture(), "tinny"), DetectFault.QUERY, "model is one of tiny"),
            (DetectQuestion(picture(), confidence=0.1), DetectFault.QUERY, "confidence of 0.4"),
            (DetectQuestion(b"hello"), DetectFault.KIND, "JPEG"),
            (DetectQuestion(b""), DetectFault.KIND, "JPEG"),
            (DetectQuestion(picture()[:60]), DetectFault.NO_IMAGE, "image"),
            (DetectQuestion(picture(), timeout_s=0.0), DetectFault.TIMEOUT, "time"),
        ):
            with pytest.raises(DetectError, match=text) as caught:
                pipeline.detector.detect(question)
            assert caught.value.fault is fault
        sure = json.loads(pipeline.detector.detect(DetectQuestion(picture(), confidence=0.99)))
        assert sure["detections"] == []
        assert sure["error"] is None


def test_of_two_models_one_has_to_be_named(model: Path, tmp_path: Path) -> None:
    row = [0, 1, 0.9, 0.25, 0.25, 0.5, 0.75]
    config = document(model, tmp_path)
    config["models"]["other"] = {"path": str(saved(ssd_rows([row]), tmp_path, "other"))}
    config["models"]["unused"] = {"path": str(tmp_path / "none.xml")}
    for stream, name in zip(config["streams"], ("tiny", "other"), strict=True):
        stream["model"] = name
    with at_work(config) as pipeline:
        for wrong in (None, "unused"):
            with pytest.raises(DetectError, match="model is one of tiny, other"):
                pipeline.detector.detect(DetectQuestion(picture(), wrong))
        answer = json.loads(pipeline.detector.detect(DetectQuestion(picture(), "other")))
        (found,) = answer["detections"]
        assert found["box"] == [24.0, 16.0, 48.0, 48.0]
        assert found["score"] == pytest.approx(0.9, abs=1e-4)


def test_an_inference_that_fails_is_told_and_the_next_one_works(tmp_path: Path) -> None:
    graph = saved(brittle(), tmp_path, "brittle")
    config = document(graph, tmp_path, {"decoder": "ssd"})
    white = io.BytesIO()
    Image.new("RGB", (64, 48), "white").save(white, "PNG")
    with at_work(config) as pipeline:
        with pytest.raises(DetectError) as caught:
            pipeline.detector.detect(DetectQuestion(white.getvalue()))
        assert caught.value.fault is DetectFault.FAILED
        assert json.loads(pipeline.detector.detect(DetectQuestion(picture())))["detections"]


def test_a_stop_tells_those_who_wait(model: Path, tmp_path: Path) -> None:
    pipeline = Pipeline(document(model, tmp_path))  # not started: nobody takes anything
    faults: list[DetectFault] = []

    def ask_one() -> None:
        with pytest.raises(DetectError) as caught:
            pipeline.detector.detect(DetectQuestion(picture(), timeout_s=30.0))
        faults.append(caught.value.fault)

    with running(ask_one):
        lanes = pipeline._engine.dispatchers()["tiny"]
        wait_until(lambda: lanes[0].waiting_ahead == 1, "it waits")
        pipeline.close()
    assert faults == [DetectFault.NOT_READY]


# ---- By HTTP, as a program has it --------------------------------------------------------------


def bring(url: str, body: bytes, query: str = "") -> Reply:
    return ask(f"{url}/api/detect{query}", method="POST", body=body, content_type="image/png")


@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_looks_at_pictures_by_http(model: Path, tmp_path: Path, workers: int) -> None:
    config = {**document(model, tmp_path), "server": {"port": 0}, "workers": workers}
    with serving(tmp_path, config) as (process, url):
        wait_ready(url)
        reply = bring(url, picture())
        assert reply.status == 200, reply.text
        again = bring(url, picture(), "?model=tiny&confidence=0.5")
        assert again.document == reply.document
        assert reply.document["model"] == "tiny"
        assert bring(url, b"hello").status == 415
        assert bring(url, picture()[:60]).status == 400
        assert bring(url, picture(), "?model=none").status == 422
        replies: list[Reply] = []
        with running(*[lambda: replies.append(bring(url, picture("JPEG", 3)))] * 8):
            pass
        assert {reply.status for reply in replies} == {200}
        assert len({reply.body for reply in replies}) == 1
        text = ask(f"{url}/metrics").text
        assert 'vidpipe_detect_requests_total{outcome="ok"} 10.0' in text
        assert "#" not in "".join(line for line in text.splitlines() if not line.startswith("#"))
        streams = ask(f"{url}/api/streams").document["streams"]
        assert [stream["id"] for stream in streams] == ["gate", "dock"]
        done = stopped(process)
    assert done.code == 0, done.err
    assert "Traceback" not in done.err
    assert math.isfinite(reply.document["detections"][0]["score"])
