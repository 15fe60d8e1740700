"""vidpipe in somebody's own program: results taken or called back, ends of every kind, failures."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from loguru import logger

import vidpipe
from tests.clips import write_clip
from tests.command import ROOT, environment
from tests.graphs import brittle, saved, ssd_rows
from tests.packages import install
from tests.threads import running, wait_until
from vidpipe import (
    Config,
    ConfigError,
    FrameResult,
    ModelError,
    Pipeline,
    Sink,
    SinkRequest,
    UsageError,
    VidpipeError,
    bgr_from_picture,
    load_config,
)
from vidpipe.types import NO_PICTURE, Verdict

ROW = [0, 1, 0.9, 0.25, 0.25, 0.5, 0.75]
FRAMES = 60
SCENE = f"synthetic:people?size=160x120&frames={FRAMES}"
ENDLESS = "synthetic:people?size=160x120"


@pytest.fixture(autouse=True)
def no_thread_of_vidpipe_s_is_left() -> Iterator[None]:
    """Not even those that a native call might hold: none does here."""
    yield
    wait_until(lambda: vidpipe_threads() == [], "the end of all threads", 5)


def vidpipe_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("vp-")]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return saved(ssd_rows([ROW]), tmp_path)


def document(model: Path, *sources: str, **stream: Any) -> dict[str, Any]:
    return {
        "version": 1,
        "models": {"tiny": {"path": model, "labels": ["nothing", "person"]}},
        "defaults": stream,
        "streams": [{"id": f"s{n}", "source": source} for n, source in enumerate(sources)],
    }


def numbers(results: list[FrameResult], stream: str = "s0") -> list[int]:
    return [one.frame.number for one in results if one.frame.stream == stream]


# ---- Taking the results ------------------------------------------------------------------------


def test_a_loop_gets_every_frame_of_every_file_once_and_in_order(model: Path) -> None:
    pipeline = Pipeline(document(model, SCENE, SCENE, SCENE))
    results = list(pipeline)
    assert len(results) == 3 * FRAMES
    for stream in ("s0", "s1", "s2"):
        assert numbers(results, stream) == list(range(FRAMES))
    assert {one.verdict for one in results} == {Verdict.DETECTED}
    assert (pipeline.exit_code, pipeline.failures, pipeline.lost) == (0, [], [])
    stats = pipeline.stats()["s0"]
    assert (stats.captured, stats.processed, stats.in_flight) == (FRAMES, FRAMES, 0)
    assert stats.sink_losses == {}
    pipeline.raise_for_failures()
    with pytest.raises(UsageError, match="closed"):
        iter(pipeline)


def test_a_result_has_the_frame_with_its_pixels_and_what_was_found(model: Path) -> None:
    result = next(iter(Pipeline(document(model, SCENE))))
    assert bgr_from_picture(result.frame.picture).shape == (120, 160, 3)
    assert result.detections.boxes_xyxy == pytest.approx(np.array([[40, 30, 80, 90]]), abs=0.5)
    for array in (result.detections.boxes_xyxy, result.detections.scores, result.frame.picture.y):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_a_configuration_may_be_a_path_a_text_a_mapping_or_a_config(
    tmp_path: Path, model: Path
) -> None:
    data = document(model, SCENE)
    data["models"]["tiny"]["path"] = str(model)
    path = tmp_path / "c.yml"
    path.write_text(yaml.safe_dump(data))
    given: list[Path | str | dict[str, Any] | Config] = [
        *(path, str(path), yaml.safe_dump(data), json.dumps(data), data, load_config(path))
    ]
    configs = [Pipeline(one).config for one in given]
    assert all(config == configs[0] for config in configs)


def test_what_is_wrong_is_raised_before_anything_runs(tmp_path: Path, model: Path) -> None:
    data = document(model, SCENE)
    data["streams"][0]["wait"] = 1
    with pytest.raises(ConfigError, match=r"streams\[0\]\.wait: unknown key"):
        Pipeline(data)
    with pytest.raises(ConfigError, match=r"no-such\.yml"):
        Pipeline(tmp_path / "no-such.yml")
    with pytest.raises(ModelError, match=r"none\.xml"):
        Pipeline(document(tmp_path / "none.xml", SCENE))


def test_a_config_that_was_made_in_a_program_is_looked_at_too(model: Path) -> None:
    config = Pipeline(document(model, SCENE)).config
    (stream,) = config.streams
    twice = config.model_copy(update={"streams": (stream, stream)})
    with pytest.raises(ConfigError, match="another stream has it, too"):
        Pipeline(twice)
    other = stream.model_copy(update={"model": "none"})
    with pytest.raises(ConfigError, match="no model is called 'none'"):
        Pipeline(config.model_copy(update={"streams": (other,)}))


def test_a_file_waits_for_a_slow_loop_and_loses_nothing(tmp_path: Path, model: Path) -> None:
    frames = 300
    source = SCENE.replace(f"frames={FRAMES}", f"frames={frames}")
    outputs = [{"type": "jsonl", "path": str(tmp_path / "{stream}.jsonl")}]
    with Pipeline(document(model, source, outputs=outputs)) as pipeline:
        results = iter(pipeline)
        first = next(results)
        settled: list[int] = []

        def has_settled() -> bool:
            settled.append(pipeline.stats()["s0"].captured)
            return len(settled) > 100 and settled[-100] == settled[-1]

        wait_until(has_settled, "the source to wait", 30)
        assert settled[-1] < 60  # lanes, window and what is held for the loop
        assert numbers([first, *results]) == list(range(frames))
    assert pipeline.stats()["s0"].sink_losses == {}
    assert pipeline.files == [tmp_path / "s0.jsonl"]
    assert len((tmp_path / "s0.jsonl").read_text().splitlines()) == frames


def test_a_live_stream_gives_a_slow_loop_its_newest_and_counts_the_rest(model: Path) -> None:
    with Pipeline(document(model, ENDLESS, realtime=True)) as pipeline:
        results = iter(pipeline)
        found = [next(results)]
        for _ in range(4):
            before = pipeline.stats()["s0"].processed
            wait_until(lambda b=before: pipeline.stats()["s0"].processed > b + 8, "results", 30)  # type: ignore[misc] # the loop's own
            done = pipeline.stats()["s0"].processed
            found.append(next(results))
            assert found[-1].frame.number >= done - 8
    assert numbers(found) == sorted(numbers(found))
    stats = pipeline.stats()["s0"]
    assert stats.sink_losses["results"] > 8
    assert stats.captured == stats.processed + sum(stats.dropped.values())
    assert pipeline.exit_code == 0


def test_a_loop_may_be_left_and_gone_on_with(model: Path) -> None:
    with Pipeline(document(model, SCENE)) as pipeline:
        found = []
        for result in pipeline:
            found.append(result)
            if len(found) == 10:
                break
        found += list(pipeline)
        assert list(pipeline) == []
    assert numbers(found) == list(range(FRAMES))


def test_a_loop_that_started_the_pipeline_closes_it_when_it_is_left(model: Path) -> None:
    pipeline = Pipeline(document(model, ENDLESS))
    for _ in pipeline:
        break
    assert vidpipe_threads() == []
    assert pipeline.exit_code == 0
    assert pipeline.stats()["s0"].in_flight == 0


def test_an_exception_in_the_loop_closes_it_and_its_files_are_whole(
    tmp_path: Path, model: Path
) -> None:
    outputs = [{"type": "jsonl", "path": str(tmp_path / "{stream}.jsonl")}]
    pipeline = Pipeline(document(model, ENDLESS, outputs=outputs))

    def consume() -> None:
        with pipeline:
            for result in pipeline:
                if result.frame.number == 20:
                    raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        consume()
    assert len((tmp_path / "s0.jsonl").read_text().splitlines()) > 20
    assert not list(tmp_path.glob("*.partial"))


def test_without_pictures_the_pixels_are_let_go(model: Path) -> None:
    results = list(Pipeline(document(model, SCENE), with_pictures=False))
    assert numbers(results) == list(range(FRAMES))
    assert all(one.frame.picture is NO_PICTURE for one in results)
    assert results[0].frame.size_wh == (160, 120)


def test_frames_that_the_model_was_not_asked_about_come_only_if_they_are_wanted(
    model: Path,
) -> None:
    asked = list(Pipeline(document(model, SCENE, detect_fps=5)))
    assert {one.verdict for one in asked} == {Verdict.DETECTED}
    assert 5 < len(asked) < FRAMES / 2
    every = list(Pipeline(document(model, SCENE, detect_fps=5), with_passed=True))
    assert numbers(every) == list(range(FRAMES))
    assert {one.verdict for one in every} == {Verdict.DETECTED, Verdict.PASSED}


WHITE = """
import numpy as np
from vidpipe import Decoded, SourceInfo, SourceKind, picture_from_bgr

is_live = False

class Reader:
    info = SourceInfo(SourceKind.PLUGIN, False, "drawn", 64, 48, rate_fps=25.0)

    def __init__(self):
        self.shades = [90, 90, 255, 90]

    def read(self):
        if not self.shades:
            return None
        bgr = np.full((48, 64, 3), self.shades.pop(0), np.uint8)
        return Decoded(picture_from_bgr(bgr), (3 - len(self.shades)) / 25)

    def close(self):
        pass

def open(request):
    return Reader()
"""


def test_a_frame_that_fails_is_a_result_with_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(
        tmp_path,
        monkeypatch,
        modules={"acme": WHITE},
        entry_points={"vidpipe.sources": {"white": "acme"}},
    )
    pipeline = Pipeline(document(saved(brittle(), tmp_path), "white:x"))
    results = list(pipeline)
    assert numbers(results) == [0, 1, 2, 3]
    assert [one.verdict is Verdict.FAILED for one in results] == [False, False, True, False]
    assert results[2].error
    assert len(results[2].detections) == 0
    assert [str(one) for one in pipeline.failures] == ["s0 model: frames that failed: 1"]
    assert pipeline.exit_code == 1


# ---- Being called ------------------------------------------------------------------------------


def test_a_callback_is_called_on_one_thread_with_one_result_at_a_time(model: Path) -> None:
    results: list[FrameResult] = []
    threads = set()
    inside = threading.Lock()

    def on_result(result: FrameResult) -> None:
        assert inside.acquire(blocking=False)
        threads.add(threading.get_ident())
        results.append(result)
        inside.release()

    Pipeline(document(model, SCENE, SCENE), on_result).run()
    assert numbers(results, "s0") == numbers(results, "s1") == list(range(FRAMES))
    assert len(threads) == 1
    assert threading.get_ident() not in threads


def test_what_a_callback_raises_ends_the_run_and_is_raised_where_one_waits(model: Path) -> None:
    calls = []

    def on_result(result: FrameResult) -> None:
        calls.append(result.frame.number)
        raise LookupError("a bug of one's own")

    with pytest.raises(LookupError, match="of one's own"):
        Pipeline(document(model, ENDLESS), on_result).run()
    pipeline = Pipeline(document(model, ENDLESS), on_result)
    with pytest.raises(LookupError), pipeline:
        wait_until(lambda: pipeline.is_done, "its end", 30)
    assert calls == [0, 0]
    assert [failure.part for failure in pipeline.failures] == ["on_result"]
    assert pipeline.exit_code == 1


def test_the_outputs_alone_need_nobody_to_take_results(tmp_path: Path, model: Path) -> None:
    outputs = [{"type": "jsonl", "path": str(tmp_path / "{stream}.jsonl")}]
    pipeline = Pipeline(document(model, SCENE, outputs=outputs))
    pipeline.run()
    assert pipeline.files == [tmp_path / "s0.jsonl"]
    pipeline = Pipeline(document(model, ENDLESS))
    pipeline.run(duration_s=0.3)
    assert pipeline.exit_code == 0
    assert pipeline.stats()["s0"].captured > 0


def test_a_callback_gets_what_is_on_its_way_when_the_run_is_closed(
    tmp_path: Path, model: Path
) -> None:
    outputs = [{"type": "jsonl", "path": str(tmp_path / "{stream}.jsonl")}]
    results: list[FrameResult] = []
    with Pipeline(document(model, ENDLESS, outputs=outputs), results.append) as pipeline:
        assert not pipeline.wait(0.2)
    lines = (tmp_path / "s0.jsonl").read_text().splitlines()
    assert numbers(results) == list(range(len(lines)))
    assert pipeline.stats()["s0"].sink_losses == {}


def test_a_callback_may_close_its_pipeline(model: Path) -> None:
    pipelines: list[Pipeline] = []

    def on_result(result: FrameResult) -> None:
        if result.frame.number == 5:
            pipelines[0].close()

    pipelines.append(Pipeline(document(model, ENDLESS), on_result))
    pipelines[0].start()
    assert pipelines[0].wait(30)
    pipelines[0].close()
    assert pipelines[0].exit_code == 0


def test_a_close_and_a_close_by_the_callback_do_not_wait_for_one_another(model: Path) -> None:
    pipelines: list[Pipeline] = []
    reached = threading.Event()

    def on_result(result: FrameResult) -> None:
        if result.frame.number == 5:
            reached.set()
            wait_until(lambda: pipelines[0]._closer is not None, "the other close", 30)
            pipelines[0].close()

    pipelines.append(Pipeline(document(model, ENDLESS), on_result))
    pipelines[0].start()
    assert reached.wait(30)
    pipelines[0].close(5)
    assert pipelines[0].lost == []


def test_a_wait_is_over_once_the_last_result_has_been_seen_to(model: Path) -> None:
    gate = threading.Event()
    seen: list[int] = []

    def on_result(result: FrameResult) -> None:
        if result.frame.number == FRAMES - 1:
            gate.wait()
        seen.append(result.frame.number)

    with Pipeline(document(model, SCENE), on_result) as pipeline:
        wait_until(lambda: pipeline.is_done, "the end of the stream", 30)
        assert not pipeline.wait(0.05)
        gate.set()
        assert pipeline.wait()
        assert seen == list(range(FRAMES))


def test_a_callback_that_hangs_does_not_hold_the_close(model: Path) -> None:
    gate, reached = threading.Event(), threading.Event()

    def on_result(_: FrameResult) -> None:
        reached.set()
        gate.wait()

    pipeline = Pipeline(document(model, ENDLESS), on_result)
    pipeline.start()
    assert reached.wait(30)
    wait_until(lambda: pipeline.stats()["s0"].processed > 8, "its sink to wait for it", 30)
    pipeline.close(0.2)
    assert "vp-results did not end" in pipeline.lost
    assert not any("vp-results-s0" in text for text in pipeline.lost)  # its sink was let go
    assert pipeline.exit_code == 3
    with pytest.raises(vidpipe.StopForcedError, match="vp-results"):
        pipeline.raise_for_failures()
    gate.set()


# ---- Ends --------------------------------------------------------------------------------------


def test_a_stop_lets_what_was_captured_be_delivered(model: Path) -> None:
    with Pipeline(document(model, ENDLESS, ENDLESS)) as pipeline:
        results = []
        for result in pipeline:
            results.append(result)
            if len(results) == 30:
                pipeline.stop()
                pipeline.stop()
    stats = pipeline.stats()
    for stream in ("s0", "s1"):
        assert numbers(results, stream) == list(range(stats[stream].processed))
        assert stats[stream].sink_losses == {}
    assert pipeline.exit_code == 0


def test_a_signal_handler_may_stop_a_loop_wherever_it_is(model: Path) -> None:
    before = signal.getsignal(signal.SIGUSR1)
    pipeline = Pipeline(document(model, ENDLESS, realtime=True))
    main = threading.main_thread().ident
    assert main == threading.get_ident()
    signal.signal(signal.SIGUSR1, lambda *_: pipeline.stop())
    try:
        count = 0
        for count, _ in enumerate(pipeline, start=1):
            # comes while the loop waits for its next result, more often than not
            if count == 3:
                timer = threading.Timer(0.02, signal.pthread_kill, (main, signal.SIGUSR1))
                timer.start()
        timer.join()
        assert count >= 3
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert pipeline.exit_code == 0


def test_a_pipeline_installs_no_signal_handler(model: Path) -> None:
    numbers_of = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers_of]
    with Pipeline(document(model, SCENE)) as pipeline:
        assert [signal.getsignal(number) for number in numbers_of] == before
        assert len(list(pipeline)) == FRAMES


def test_a_close_from_another_thread_ends_the_loop(model: Path) -> None:
    pipeline = Pipeline(document(model, ENDLESS))
    pipeline.start()
    has_begun = threading.Event()
    counts = []

    def consume() -> None:
        for count, _ in enumerate(pipeline):
            has_begun.set()
            counts.append(count)

    with running(consume):
        has_begun.wait()
        with running(pipeline.close, pipeline.close):
            pass
    assert pipeline.stats()["s0"].in_flight == 0
    assert pipeline.exit_code == 0


def test_a_pipeline_runs_once(model: Path) -> None:
    pipeline = Pipeline(document(model, SCENE))
    pipeline.run()
    for again in (pipeline.start, pipeline.run, pipeline.__enter__):
        with pytest.raises(UsageError, match="runs once"):
            again()
    pipeline.close()


def test_a_pipeline_that_never_ran_is_closed_at_once(model: Path) -> None:
    pipeline = Pipeline(document(model, SCENE))
    pipeline.close()
    pipeline.close()
    with pytest.raises(UsageError):
        pipeline.start()
    assert pipeline.exit_code == 0


def test_a_pipeline_that_is_let_go_without_a_close_ends(tmp_path: Path, model: Path) -> None:
    output = {"type": "jsonl", "path": str(tmp_path / "{stream}.jsonl")}
    pipeline = Pipeline(document(model, ENDLESS, outputs=[output]))
    pipeline.start()
    next(iter(pipeline))
    assert vidpipe_threads()
    del pipeline
    wait_until(lambda: vidpipe_threads() == [], "the end of all threads", 15)
    assert (tmp_path / "s0.jsonl").is_file()


@pytest.mark.parametrize("given", ["", ", on_result=id"])
def test_a_program_ends_that_closes_nothing(tmp_path: Path, model: Path, given: str) -> None:
    path = tmp_path / "cameras.json"
    path.write_text(json.dumps(document(model, ENDLESS), default=str))
    program = f"from vidpipe import Pipeline; p = Pipeline({str(path)!r}{given}); p.start(); 1 / 0"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith("ZeroDivisionError: division by zero")


def test_results_that_go_elsewhere_can_not_be_iterated(model: Path) -> None:
    with pytest.raises(UsageError, match="on_result"):
        iter(Pipeline(document(model, SCENE), print))
    pipeline = Pipeline(document(model, SCENE))
    pipeline.start(with_results=False)
    with pytest.raises(UsageError, match="no results"):
        iter(pipeline)
    assert pipeline.wait(30)
    pipeline.close()


def test_several_pipelines_run_at_once_in_one_process(model: Path) -> None:
    counts: dict[int, int] = {}

    def run(number: int) -> Callable[[], None]:
        def work() -> None:
            counts[number] = len(list(Pipeline(document(model, SCENE))))

        return work

    with running(*(run(number) for number in range(4))):
        pass
    assert counts == dict.fromkeys(range(4), FRAMES)


def test_a_thread_of_vidpipe_s_that_dies_ends_the_loop_with_an_error(model: Path) -> None:
    pipeline = Pipeline(document(model, ENDLESS))

    def consume() -> None:
        for result in pipeline:
            if result.frame.number == 3:
                pipeline._engine.outcome.crash("vp-work-0", ZeroDivisionError("oh"))

    with pytest.raises(VidpipeError, match="vp-work-0: ZeroDivisionError: oh"):
        consume()
    assert vidpipe_threads() == []
    assert pipeline.exit_code == 1


# ---- Failures and outputs ----------------------------------------------------------------------


def test_a_stream_that_fails_stops_no_other_and_is_named(tmp_path: Path, model: Path) -> None:
    clip = write_clip(tmp_path / "a.mp4")
    pipeline = Pipeline(document(model, str(clip), str(tmp_path / "none.mp4")))
    results = list(pipeline)
    assert numbers(results) == list(range(10))
    assert [(one.stream, one.part) for one in pipeline.failures] == [("s1", "source")]
    assert pipeline.exit_code == 1
    assert pipeline.reports()["s1"].error
    with pytest.raises(VidpipeError, match=r"s1 source: there is no file .*none\.mp4"):
        pipeline.raise_for_failures()


class Collecting:
    """A sink of one's own."""

    needs_picture = False

    def __init__(self, request: SinkRequest) -> None:
        self.request = request
        self.numbers: list[int] = []
        self.threads: set[str] = set()

    def write(self, result: FrameResult) -> None:
        self.numbers.append(result.frame.number)
        self.threads.add(threading.current_thread().name)

    def close(self) -> list[str]:
        return [f"{self.request.stream}.things"]


def test_sinks_of_one_s_own_are_made_for_every_stream(model: Path) -> None:
    made: list[Collecting] = []

    def collect(request: SinkRequest) -> Sink:
        made.append(Collecting(request))
        return made[-1]

    data = document(model, SCENE, SCENE)
    data["streams"][0]["name"] = "Front gate"
    pipeline = Pipeline(data, sinks=[collect, Collecting])
    pipeline.run()
    assert [(sink.request.stream, sink.request.title) for sink in made] == [
        ("s0", "Front gate"),
        ("s1", "s1"),
    ]
    assert all(sink.numbers == list(range(FRAMES)) for sink in made)
    assert made[0].threads == {"vp-collect-s0"}
    assert [path.name for path in pipeline.files] == [
        *("s0.things", "s0.things", "s1.things", "s1.things")
    ]


def test_the_files_are_listed_as_a_person_would(model: Path) -> None:
    names = ["b-1.jpg", "a-10.jpg", "a-2.jpg", "a-2-x.jpg"]

    class Lister:
        needs_picture = False

        def __init__(self, request: SinkRequest) -> None:
            del request

        def write(self, result: FrameResult) -> None:
            del result

        def close(self) -> list[str]:
            return names

    pipeline = Pipeline(document(model, SCENE), sinks=[Lister])
    pipeline.run()
    listed = [path.name for path in pipeline.files]
    assert listed == ["a-2-x.jpg", "a-2.jpg", "a-10.jpg", "b-1.jpg"]


def test_a_sink_of_one_s_own_that_fails_is_left_out_alone(model: Path) -> None:
    class Failing(Collecting):
        def write(self, result: FrameResult) -> None:
            raise ZeroDivisionError("oh")

    pipeline = Pipeline(document(model, SCENE), sinks=[Failing])
    assert numbers(list(pipeline)) == list(range(FRAMES))
    assert [str(one) for one in pipeline.failures] == ["s0 Failing: ZeroDivisionError: oh"]
    assert pipeline.stats()["s0"].sink_losses == {"Failing": FRAMES}


def test_a_sink_that_refuses_keeps_the_run_from_starting(model: Path) -> None:
    def refuse(request: SinkRequest) -> Sink:
        raise ValueError(f"no sink for {request.stream}")

    with pytest.raises(ConfigError, match="no sink for s0"):
        Pipeline(document(model, SCENE), print, sinks=[refuse]).run()


def test_no_log_line_shows_the_values_of_variables(model: Path) -> None:
    class Failing(Collecting):
        def write(self, result: FrameResult) -> None:
            password = "hunter" + "22"
            raise ZeroDivisionError(len(password))

    def fail(result: FrameResult) -> None:
        Failing.write(collecting, result)

    collecting = Failing(SinkRequest("s0", "s0", is_live=False))
    lines: list[str] = []
    # as loguru's own handler is: with the values of variables in tracebacks
    number = logger.add(lambda line: lines.append(str(line)), level=0, diagnose=True)
    try:
        Pipeline(document(model, SCENE), sinks=[Failing]).run()
        with pytest.raises(ZeroDivisionError):
            Pipeline(document(model, SCENE), fail).run()
        pipeline = Pipeline(document(model, SCENE))
        pipeline._engine.outcome.crash("vp-x", _caught(collecting.write))
        pipeline.close()
    finally:
        logger.remove(number)
    text = "".join(lines)
    assert text.count("Traceback") >= 2
    assert "hunter22" not in text


def _caught(write: Callable[[Any], None]) -> Exception:
    try:
        write(None)
    except ZeroDivisionError as exc:
        return exc
    raise AssertionError


def test_a_second_interrupt_hurries_a_close_and_leaves_no_thread(model: Path) -> None:
    gate, reached = threading.Event(), threading.Event()

    class Held(Collecting):
        def write(self, result: FrameResult) -> None:
            reached.set()
            gate.wait()

    pipeline = Pipeline(document(model, ENDLESS), sinks=[Held])
    pipeline.start(with_results=False)
    assert reached.wait(30)
    me = threading.get_ident()
    # not the default where tests run in the background
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.2, signal.pthread_kill, (me, signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            pipeline.close(600)
    finally:
        gate.set()
        timer.join()
        signal.signal(signal.SIGINT, before)
    assert pipeline.exit_code == 3


# ---- The public API ----------------------------------------------------------------------------


def test_every_public_name_can_be_imported_and_is_typed() -> None:
    text = Path(vidpipe.__file__).read_text("utf-8")
    typed = set(re.findall(r"^ +(\w+),$", text, re.MULTILINE))
    for names in re.findall(r"^    from vidpipe\.[\w.]+ import ([\w, ]+)$", text, re.MULTILINE):
        typed |= set(names.split(", "))
    assert typed == set(vidpipe.__all__) - {"__version__"}
    for name in vidpipe.__all__:
        assert getattr(vidpipe, name) is not None
        assert name in dir(vidpipe)
    with pytest.raises(AttributeError, match="no attribute 'Pipelines'"):
        vidpipe.Pipelines  # type: ignore[attr-defined] # noqa: B018 - there is no such name


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = ("openvino", "cv2", "av", "numpy", "pydantic", "yaml", "loguru")
    program = (
        "import sys, vidpipe; vidpipe.ConfigError, vidpipe.__version__; "
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"


def python_of(page: str) -> str:
    """Return the first block of Python in a page."""
    found = re.search(r"```python\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL)
    assert found
    return found[1]


def test_the_examples_and_samples_are_typed(tmp_path: Path) -> None:
    programs = {"readme": python_of("README.md"), "page": python_of("docs/library.md")}
    for file in ROOT.glob("samples/*/run.py"):
        programs[file.parent.name.replace("-", "_")] = file.read_text("utf-8")
    for name, text in programs.items():
        (tmp_path / f"{name}_example.py").write_text(text)
    package = ROOT / "samples" / "plugin-package" / "src" / "vidpipe_slideshow"
    shutil.copytree(package, tmp_path / package.name)
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", *sorted(tmp_path.iterdir())],
        cwd=ROOT,  # with the project's own settings: strict
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout
    assert len(programs) >= 5


def test_the_example_of_the_readme_runs(tmp_path: Path, model: Path) -> None:
    program = python_of("README.md")
    assert len(program.splitlines()) <= 11
    data = document(model, SCENE, str(tmp_path / "none.mp4"))
    data["models"]["tiny"]["path"] = str(model)
    (tmp_path / "cameras.yml").write_text(yaml.safe_dump(data))
    done = subprocess.run(
        [sys.executable, "-c", program.replace("people > 2", "people > 0")],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "s0 0.0 1 (120, 160, 3)"
    assert len(lines) == FRAMES + 1
    assert lines[-1].startswith("s1 source: there is no file")
