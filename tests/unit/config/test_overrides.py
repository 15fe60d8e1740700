from __future__ import annotations

import pytest

from tests.config_files import MODELS, fault_of, faults_of, load, one_stream

TWO = MODELS + "streams: [{id: gate, source: a.mp4}, {id: '1', source: b.mp4, lane: {size: 3}}]\n"


def test_a_value_is_put_at_its_dotted_key() -> None:
    config = load(
        TWO,
        [
            "models.person.hint=latency",
            "streams.gate.detect_fps=5",
            "streams[0].lane.size = 7",
            "streams.0.name=a = b",
            "defaults.connect={transport: udp}",
            "models.person.properties.NUM_STREAMS=2",
            "shutdown_timeout_s=${T}",
        ],
        {"T": "3"},
    )
    gate = config.streams[0]
    assert config.models["person"].hint == "latency"
    assert config.models["person"].properties == {"NUM_STREAMS": 2}
    assert (gate.detect_fps, gate.lane.size, gate.connect.transport) == (5.0, 7, "udp")
    assert config.shutdown_timeout_s == 3.0


def test_an_id_goes_before_an_index() -> None:
    assert load(TWO, ["streams.1.weight=2"]).streams[1].weight == 2.0
    assert load(TWO, ["streams.0.weight=2"]).streams[0].weight == 2.0


def test_the_last_override_wins_and_an_empty_one_removes() -> None:
    config = load(TWO, ["streams.gate.weight=2", "streams.gate.weight=3", "streams.1.lane="])
    assert (config.streams[0].weight, config.streams[1].lane.size) == (3.0, None)


def test_a_models_name_may_hold_dots() -> None:
    text = one_stream().replace("person:", "yolo.v8:")
    assert load(text, ["models.yolo.v8.iou=0.3"]).models["yolo.v8"].iou == 0.3


@pytest.mark.parametrize(
    ("override", "place", "words"),
    [
        ("workers", "--set workers", "expected KEY=VALUE"),
        ("=5", "--set ", "dotted key"),
        ("a..b=5", "--set a..b", "dotted key"),
        ("streams.gat.weight=5", "--set streams.gat.weight", "did you mean 'gate'?"),
        ("streams[7].weight=5", "--set streams[7].weight", "only 2 items"),
        ("streams.gate.id.x=5", "--set streams.gate.id.x", "plain value"),
        ("version.x=1", "--set version.x", "plain value"),
        ("workers=[1", "--set workers", "can't be read"),
        ("workers=*x", "--set workers", "can't be read"),
        ("workers=\x00", "--set workers", "can't be read"),
        ("workers={a: 1, a: 2}", "--set workers", "given twice"),
        (".".join("a" * 40) + "=1", "--set a.a", "so deep"),
        ("streams.gate.waight=5", "--set streams.gate.waight", "did you mean 'weight'?"),
        ("streams.gate.weight=x", "--set streams.gate.weight", "expected a number, not 'x'"),
        ("streams.gate.lane=[]", "--set streams.gate.lane", "expected a mapping"),
    ],
)
def test_what_is_wrong_with_an_override_names_it(override: str, place: str, words: str) -> None:
    fault = fault_of(TWO, [override])
    assert fault.place.startswith(place)
    assert words in fault.message


def test_faults_of_overrides_follow_those_of_the_file_in_their_order() -> None:
    faults = faults_of(one_stream("wait: 1"), ["workers=b", "shutdown_timeout_s=a"])
    assert [fault.place for fault in faults] == [
        "c.yml:4:32",
        "--set workers",
        "--set shutdown_timeout_s",
    ]


def test_the_value_of_an_override_is_not_shown_with_its_key() -> None:
    fault = fault_of(TWO, ["streams.gate.connect.pasword=hunter2"])
    assert "hunter2" not in str(fault)


def test_a_key_that_was_given_is_not_told_twice() -> None:
    told = str(fault_of(TWO, ["models.person.confidence=x"]))
    assert told == "--set models.person.confidence: expected a number, not 'x'"
    other = str(fault_of(TWO, ["streams.gate.weight=x"]))
    assert other.startswith("--set streams.gate.weight: streams[0].weight: expected")
