from __future__ import annotations

import pytest

from tests.config_files import MODELS, fault_of, faults_of, load, one_stream


def two_paths(first: str, second: str, kind: str = "jsonl") -> str:
    return MODELS + (
        f"streams:\n- {{id: a, source: x, outputs: [{{type: {kind}, path: '{first}'}}]}}\n"
        f"- {{id: b, source: x, outputs: [{{type: {kind}, path: '{second}'}}]}}\n"
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("out/x.jsonl", "out/x.jsonl"),
        ("out/x.jsonl", "./out//x.jsonl"),
        ("out/{start}.jsonl", "out/{start}.jsonl"),
        ("out/{stream}.jsonl", "out/a.jsonl"),
        ("out/x-{n}.jsonl", "out/x-17.jsonl"),
        ("out/20261130T050000Z.jsonl", "out/{start}.jsonl"),
    ],
)
def test_two_outputs_may_not_write_the_same_file(first: str, second: str) -> None:
    fault = fault_of(two_paths(first, second))
    assert fault.key in ("streams[0].outputs[0].path", "streams[1].outputs[0].path")
    assert "would both write" in fault.message
    assert "{stream}" in fault.message


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("out/{stream}.jsonl", "out/{stream}.jsonl"),
        ("out/x-{n}.jsonl", "out/x-y.jsonl"),
        ("out/x.jsonl", "out/X.jsonl"),
    ],
)
def test_outputs_that_differ_are_accepted(first: str, second: str) -> None:
    assert len(load(two_paths(first, second)).streams) == 2


def test_two_outputs_of_one_stream_may_not_either() -> None:
    text = one_stream(
        "outputs: [{type: video, path: x.mp4}, {type: jsonl, path: '{stream}.mp4'},"
        " {type: jsonl, path: x.mp4}]"
    )
    fault = fault_of(text)
    assert fault.key == "streams[0].outputs[2].path"
    assert "two outputs of stream 'gate'" in fault.message


def test_a_path_in_defaults_needs_the_streams_id() -> None:
    text = MODELS + (
        "defaults: {outputs: [{type: jsonl, path: x.jsonl}]}\n"
        "streams: [{id: a, source: x}, {id: b, source: x}, {id: c, source: x}]\n"
    )
    faults = faults_of(text)
    assert {fault.place for fault in faults} == {"c.yml:3:42"}
    assert len(faults) == 1


def test_cross_checks_run_in_spite_of_other_faults() -> None:
    text = MODELS + (
        "workers: none\n"
        "streams:\n- {id: a, source: x, weight: heavy, model: persn}\n- {id: a, source: ''}\n"
        "- 5\n"
    )
    assert [fault.key for fault in faults_of(text)] == [
        "workers",
        "streams[0].weight",
        "streams[0].model",
        "streams[1].id",
        "streams[1].source",
        "streams[2]",
    ]


def test_groups_name_streams_that_exist() -> None:
    faults = faults_of(one_stream() + "wall: {groups: {yard: [gate, gatt]}}\n")
    assert "did you mean 'gate'?" in faults[-1].message
    assert faults[-1].key == "wall.groups.yard[1]"


@pytest.mark.parametrize("ident", ["Gate", "a b", "../x", "a/b", "", "é", "a" * 101, "${X}"])
def test_an_id_is_safe_in_a_path(ident: str) -> None:
    faults = faults_of(one_stream().replace("gate", f"'{ident}'"), environ={"X": "a/b"})
    assert {fault.key for fault in faults} == {"streams[0].id"}
