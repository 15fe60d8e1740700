from __future__ import annotations

import pytest

from tests.config_files import fault_of, load, one_stream


def test_every_key_of_a_stream_is_understood() -> None:
    stream = load(
        one_stream(
            "name: 前門, model: person, detect_fps: 5, weight: 2,"
            " lane: {size: 2, overflow: drop-oldest, max_age_ms: 500},"
            " connect: {open_timeout_s: 1, read_timeout_s: 2, backoff_s: [1, 60], transport: udp,"
            " username: a, password: b}, loop: true, realtime: true, outputs: []"
        )
    ).streams[0]
    assert (stream.title, stream.detect_fps, stream.weight) == ("前門", 5.0, 2.0)
    assert (stream.lane.size, stream.lane.overflow, stream.lane.max_age_ms) == (
        2,
        "drop-oldest",
        500.0,
    )
    assert (stream.connect.read_timeout_s, stream.connect.backoff_s) == (2.0, (1.0, 60.0))
    assert (stream.connect.transport, stream.connect.username) == ("udp", "a")
    assert stream.loop
    assert stream.is_live


@pytest.mark.parametrize(
    ("keys", "key", "words"),
    [
        ("lane: {size: 0}", "lane.size", "at least 1"),
        ("lane: {size: 1025}", "lane.size", "at most 1024"),
        ("decode: keys", "decode", "did you mean 'key'"),
        ("connect: {frozen_s: -1}", "connect.frozen_s", "0"),
        ("connect: {tls: {verify: maybe}}", "connect.tls.verify", "true"),
        ("lane: {max_age_ms: 0}", "lane.max_age_ms", "greater than 0"),
        ("lane: {overflow: [block]}", "lane.overflow", "expected text, not a list"),
        ("connect: {open_timeout_s: 0}", "connect.open_timeout_s", "greater than 0"),
        ("connect: {read_timeout_s: 601}", "connect.read_timeout_s", "at most 600"),
        ("connect: {backoff_s: 5}", "connect.backoff_s", "[first, longest]"),
        ("connect: {backoff_s: [1, 2, 3]}", "connect.backoff_s", "[first, longest]"),
        ("connect: {backoff_s: [5, 1]}", "connect.backoff_s", "first <= longest"),
        ("connect: {backoff_s: [a, b]}", "connect.backoff_s", "expected a number, not 'a'"),
        ("connect: {transport: http}", "connect.transport", "expected one of tcp, udp"),
        ("connect: {password: [x]}", "connect.password", "expected text, not a list"),
        ("weight: 0", "weight", "greater than 0"),
        ("realtime: 1", "realtime", "expected true or false"),
        (f"name: {'x' * 201}", "name", "at most 200 characters"),
        ("outputs: {type: jsonl}", "outputs", "expected a list, not a mapping"),
        ("outpts: []", "outpts", "did you mean 'outputs'?"),
    ],
)
def test_a_wrong_value_is_refused_at_its_key(keys: str, key: str, words: str) -> None:
    fault = fault_of(one_stream(keys))
    assert fault.key == f"streams[0].{key}"
    assert words in fault.message
