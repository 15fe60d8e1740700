from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.graphs import saved, ssd_rows
from vidpipe.inference.choices import override_lines, override_records
from vidpipe.inference.model import compile_detector
from vidpipe.inference.settings import DetectorSettings, Precision, PropertyValue

ROW = [0, 1, 0.9, 0, 0, 1, 1]


def records(tmp_path: Path, **settings: object) -> dict[str, dict[str, object]]:
    path = saved(ssd_rows([ROW]), tmp_path)
    detector = compile_detector(path, DetectorSettings("gate", **settings))  # type: ignore[arg-type] # by name
    return override_records(detector)


def test_without_overrides_nothing_is_asked(tmp_path: Path) -> None:
    assert records(tmp_path) == {}


def test_what_the_hint_alone_would_choose_is_found_out(tmp_path: Path) -> None:
    alone = compile_detector(saved(ssd_rows([ROW]), tmp_path), DetectorSettings("gate")).answers()
    found = records(tmp_path, threads=1, is_pinned=True)
    assert found == {
        "threads": {
            "value": 1,
            "hint": "throughput",
            "chosen": alone["inference_num_threads"],
            "runtime": "1",
        },
        "pinning": {"value": True, "hint": "throughput", "chosen": "False", "runtime": "True"},
    }


def test_properties_and_precision_are_overrides_too(tmp_path: Path) -> None:
    properties: dict[str, PropertyValue] = {"CPU_DENORMALS_OPTIMIZATION": True}
    with ThreadPoolExecutor(1) as pool:
        # Whoever compiles with this has no numbers below 1e-308 from then on: not this thread.
        found = pool.submit(
            records, tmp_path, precision=Precision.F32, properties=properties
        ).result()
    assert list(found) == ["precision", "properties.CPU_DENORMALS_OPTIMIZATION"]
    assert found["properties.CPU_DENORMALS_OPTIMIZATION"]["runtime"] == "True"


@pytest.mark.parametrize(
    ("value", "chosen", "runtime", "words"),
    [
        (4, "2", "4", "num_streams: hint latency would choose 2; 4 is kept"),
        (4, "2", "3", "would choose 2; 4 is kept, but the device made 3 of it"),
        (4, "4", "4", "num_streams: 4 is what hint latency would choose anyway"),
        (4, None, None, "num_streams: 4 is kept, in place of what hint latency would choose"),
    ],
)
def test_an_override_is_told_with_the_hint(
    value: int, chosen: str | None, runtime: str | None, words: str
) -> None:
    record = {"value": value, "hint": "latency", "chosen": chosen, "runtime": runtime}
    (line,) = override_lines("gate", {"num_streams": record})
    assert line.startswith("model gate: num_streams: ")
    assert line.endswith(words.removeprefix("num_streams: "))


@pytest.mark.parametrize(
    ("value", "runtime", "is_kept"),
    [
        (True, "YES", True),
        (True, "1", True),
        (False, "NO", True),
        (False, "0", True),
        ("true", "YES", True),
        (2, "2.0", True),
        ("2", "2", True),
        (True, "NO", False),
        (False, "YES", False),
        (2, "1", False),
        ("f16", "f32", False),
    ],
)
def test_a_value_in_other_words_is_the_same(
    value: PropertyValue, runtime: str, *, is_kept: bool
) -> None:
    record = {"value": value, "hint": "latency", "chosen": "other", "runtime": runtime}
    (line,) = override_lines("gate", {"properties.X": record})
    assert ("but the device made" not in line) is is_kept
    (line,) = override_lines("gate", {"properties.X": record | {"chosen": runtime}})
    assert ("is what hint latency would choose anyway" in line) is is_kept


def test_perf_count_that_was_taken_is_no_alarm(tmp_path: Path) -> None:
    found = records(tmp_path, properties={"PERF_COUNT": True})
    assert found["properties.PERF_COUNT"]["runtime"] == "YES"
    assert "but the device" not in override_lines("gate", found)[0]
