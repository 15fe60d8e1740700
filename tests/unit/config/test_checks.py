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
    (fault,) = faults
    assert fault.message == "no stream has the id 'gatt'; did you mean 'gate'?"
    assert fault.key == "wall.groups.yard[1]"
    assert fault.place.startswith("c.yml:")


@pytest.mark.parametrize(
    ("groups", "key", "message"),
    [
        ("{yard: []}", "wall.groups.yard", "names no stream"),
        ("{yard: [gate, gate]}", "wall.groups.yard[1]", "'gate' is in this group already"),
    ],
)
def test_a_group_shows_every_stream_once(groups: str, key: str, message: str) -> None:
    (fault,) = faults_of(one_stream() + f"wall: {{groups: {groups}}}\n")
    assert (fault.key, fault.message) == (key, message)


@pytest.mark.parametrize("ident", ["Gate", "a b", "../x", "a/b", "", "é", "a" * 101, "${X}"])
def test_an_id_is_safe_in_a_path(ident: str) -> None:
    faults = faults_of(one_stream().replace("gate", f"'{ident}'"), environ={"X": "a/b"})
    assert {fault.key for fault in faults} == {"streams[0].id"}


@pytest.mark.parametrize(
    "server",
    [
        "{}",
        "{host: 127.0.0.1}",
        "{host: localhost}",
        "{host: '::1'}",
        "{host: 127.8.9.10, tokens: []}",
        "{host: 0.0.0.0, tokens: [{role: viewer, token: abc}]}",
        '{tokens: [{role: operator, token: "${NONE:-}"}]}',
    ],
)
def test_a_server_that_only_this_machine_reaches_or_that_asks_for_a_token_is_taken(
    server: str,
) -> None:
    assert load(one_stream() + f"server: {server}\n").server is not None


@pytest.mark.parametrize("host", ["0.0.0.0", "'::'", "192.168.1.5", "cameras.example", "127.1"])
@pytest.mark.parametrize(
    "tokens", ["", ", tokens: []", ', tokens: [{role: viewer, token: "${NONE:-}"}]']
)
def test_a_server_that_others_reach_needs_a_token(host: str, tokens: str) -> None:
    fault = fault_of(one_stream() + f"server: {{host: {host}{tokens}}}\n")
    assert fault.key == "server.host"
    assert fault.place == "c.yml:5:16"
    assert "add server.tokens" in fault.message


@pytest.mark.parametrize("source", ["device:0", "synthetic:people"])
def test_a_source_without_packets_can_not_be_recorded(source: str) -> None:
    text = MODELS + (
        f"streams: [{{id: a, source: '{source}', outputs: [{{type: record, path: x.mkv}}]}}]\n"
    )
    fault = fault_of(text)
    assert fault.key == "streams[0].outputs[0].type"
    assert "use type: video" in fault.message


KEPT_BESIDE = [
    ("out/{stream}-{start}.mp4", "out/{stream}-{start}-{n}.mp4", False),
    ("out/x-{start}-{n}.mp4", "out/x-{start}-7.mp4", False),
    ("out/{stream}-{start}.mp4", "out/{stream}-all-{start}.mp4", True),
    ("out/{start}-{stream}.mp4", "out/{start}-{stream}-2.mp4", True),
    ("out/{stream}-{start}.mp4", "out/{stream}-{start}.m4v", True),
]


@pytest.mark.parametrize(("kept", "other", "is_taken"), KEPT_BESIDE)
def test_what_deletes_old_files_must_not_mean_anothers(
    kept: str,
    other: str,
    is_taken: bool,  # noqa: FBT001 - a test's parameter
) -> None:
    outputs = f"{{type: record, path: '{kept}', keep_gb: 1}}, {{type: video, path: '{other}'}}"
    text = MODELS + f"streams: [{{id: a, source: x, outputs: [{outputs}]}}]\n"
    if is_taken:
        assert load(text).streams
    else:
        fault = fault_of(text)
        assert fault.key == "streams[0].outputs[0].path"
        assert "other names" in fault.message
