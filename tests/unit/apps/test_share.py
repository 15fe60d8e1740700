"""Who gets which streams and which cores."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidpipe.apps.share import (
    StreamLoad,
    WorkerShare,
    load_of,
    reassigned,
    share_cores,
    share_streams,
    shares,
    worker_count,
)
from vidpipe.apps.topology import Node
from vidpipe.config.load import load_config_mapping
from vidpipe.config.schema import Config
from vidpipe.config.stream import StreamConfig
from vidpipe.errors import UsageError


def node(first: int, cores: int, *, threads: int = 1) -> Node:
    """Return a node whose processors are numbered on from the first."""
    return tuple(
        tuple(first + core * threads + thread for thread in range(threads)) for core in range(cores)
    )


def loads(count: int, model: str = "m", cost: float = 1.0, fps: float = 25.0) -> list[StreamLoad]:
    return [StreamLoad(f"{model}{number}", model, cost, fps) for number in range(count)]


def sizes(parts: Sequence[Sequence[object]]) -> list[int]:
    return [len(part) for part in parts]


# --- Streams


def test_equal_streams_are_spread_evenly() -> None:
    assert sorted(sizes(share_streams(loads(10), [1, 1, 1, 1]))) == [2, 2, 3, 3]


def test_the_order_of_the_configuration_is_kept_within_a_worker() -> None:
    for part in share_streams(loads(9), [1, 1]):
        assert list(part) == sorted(part)


def test_a_worker_of_more_cores_gets_more() -> None:
    assert sizes(share_streams(loads(9), [2, 1])) == [6, 3]


def test_streams_of_one_model_stay_together() -> None:
    mixed = [load for pair in zip(loads(4, "a"), loads(4, "b"), strict=True) for load in pair]
    parts = share_streams(mixed, [1, 1])
    assert [{name[0] for name in part} for part in parts] == [{"a"}, {"b"}]


def test_a_model_is_split_rather_than_a_worker_overloaded() -> None:
    parts = share_streams(loads(6, "a") + loads(2, "b"), [1, 1])
    assert sizes(parts) == [4, 4]


def test_heavy_streams_go_apart() -> None:
    heavy = [StreamLoad(name, "m", 10.0) for name in ("x", "y")]
    parts = share_streams([*heavy, *loads(10)], [1, 1])
    assert ["x" in part for part in parts] != ["y" in part for part in parts]
    assert sizes(parts) == [6, 6]


@given(
    costs=st.lists(
        st.tuples(st.sampled_from("abc"), st.floats(0.01, 1000)), min_size=1, max_size=30
    ),
    data=st.data(),
)
def test_everybody_gets_something_and_everything_is_given_once(
    costs: list[tuple[str, float]], data: st.DataObject
) -> None:
    given_loads = [StreamLoad(f"s{n}", model, cost) for n, (model, cost) in enumerate(costs)]
    count = data.draw(st.integers(1, len(costs)))
    strengths = data.draw(st.lists(st.integers(1, 64), min_size=count, max_size=count))
    parts = share_streams(given_loads, strengths)
    assert len(parts) == count
    assert all(parts)
    assert sorted(name for part in parts for name in part) == sorted(x.stream for x in given_loads)


# --- What a stream costs


def stream(**keys: object) -> StreamConfig:
    return StreamConfig.model_validate({"id": "a", "source": "rtsp://h/x", **keys})


def test_fewer_detections_cost_less_and_more_weight_costs_more() -> None:
    assert load_of(stream(detect_fps=2)).cost < load_of(stream()).cost
    assert load_of(stream(weight=3)).cost > load_of(stream()).cost


def test_a_file_takes_what_it_gets_but_not_when_it_is_played_like_a_camera() -> None:
    assert load_of(stream(source="a.mp4")).fps == math.inf
    assert load_of(stream(source="a.mp4")).cost > load_of(stream()).cost
    assert load_of(stream(source="a.mp4", realtime=True)) == load_of(stream())


# --- How many


@pytest.mark.parametrize(
    ("nodes", "streams", "fps", "count"),
    [
        ([node(0, 2)], 16, math.inf, 1),  # one node, few cores
        ([node(0, 31)], 64, math.inf, 1),
        ([node(0, 64)], 64, math.inf, 4),  # the lock of the interpreter
        ([node(0, 64)], 64, 25.0, 2),  # 1600 frames a second
        ([node(0, 64)], 8, 25.0, 1),
        ([node(0, 8), node(8, 8)], 8, 25.0, 2),  # a node a worker
        ([node(0, 64), node(64, 64)], 400, 25.0, 8),
        ([node(0, 8), node(8, 8)], 1, math.inf, 1),  # no worker without a stream
    ],
)
def test_auto_follows_the_machine_and_the_streams(
    nodes: list[Node], streams: int, fps: float, count: int
) -> None:
    assert worker_count("auto", loads(streams, fps=fps), nodes) == count


def test_there_are_no_more_workers_than_streams() -> None:
    assert worker_count(5, loads(3), [node(0, 8)]) == 3
    assert worker_count(2, loads(3), [node(0, 8)]) == 2


# --- Cores


def test_a_worker_for_each_node_gets_that_node() -> None:
    nodes = [node(0, 4, threads=2), node(8, 4, threads=2)]
    assert share_cores(nodes, 2) == nodes


def test_fewer_workers_than_nodes_get_whole_nodes() -> None:
    nodes = [node(0, 2), node(2, 2), node(4, 2), node(6, 2)]
    assert share_cores(nodes, 2) == [nodes[0] + nodes[1], nodes[2] + nodes[3]]


def test_more_workers_than_nodes_split_nodes_and_no_core() -> None:
    nodes = [node(0, 6, threads=2), node(12, 3, threads=2)]
    parts = share_cores(nodes, 3)
    assert parts == [nodes[0][:3], nodes[0][3:], nodes[1]]


def test_more_workers_than_cores_share_them() -> None:
    assert share_cores([node(0, 2)], 5) == [((0,),), ((1,),), ((0,),), ((1,),), ((0,),)]


@given(
    cores=st.lists(st.integers(1, 40), min_size=1, max_size=8),
    threads=st.integers(1, 4),
    workers=st.integers(1, 40),
)
def test_every_core_is_used_by_one_worker_where_there_are_enough(
    cores: list[int], threads: int, workers: int
) -> None:
    nodes, first = [], 0
    for count in cores:
        nodes.append(node(first, count, threads=threads))
        first += count * threads
    parts = share_cores(nodes, workers)
    assert len(parts) == workers
    assert all(parts)
    if workers <= sum(cores):
        assert sorted(core for part in parts for core in part) == [c for n in nodes for c in n]


# --- Together


def test_a_configuration_becomes_shares() -> None:
    config = load_config_mapping(
        {
            "version": 1,
            "models": {"m": {"path": "m.xml"}},
            "streams": [{"id": f"s{n}", "source": "rtsp://h/x"} for n in range(5)],
            "workers": 2,
        }
    )
    parts = shares(config, [node(0, 2, threads=2)])
    assert [part.number for part in parts] == [1, 2]
    assert [part.processors for part in parts] == [(0, 1), (2, 3)]
    assert sorted(sizes([part.streams for part in parts])) == [2, 3]


def test_a_share_is_told_in_a_line() -> None:
    assert str(WorkerShare(1, ("gate",), (0, 1, 2, 8, 10, 11))) == (
        "processors 0-2,8,10-11, 1 stream (gate)"
    )
    many = WorkerShare(1, tuple(f"s{n}" for n in range(10)), (3,))
    assert str(many) == "processors 3, 10 streams (s0, s1, s2, s3, s4, s5, s6, s7 and 2 more)"


# --- Another configuration


def cameras(*names: str, **keys: object) -> Config:
    streams = [{"id": name, "source": "rtsp://cam/x", **keys} for name in names]
    models = {"m": {"path": "m.xml"}}
    return load_config_mapping({"version": 1, "models": models, "streams": streams})


NOW = [WorkerShare(1, ("a", "b"), (0,)), WorkerShare(2, ("c",), (1,))]


def test_streams_that_stay_stay_where_they_are() -> None:
    parts = reassigned(cameras("c", "b", "a"), NOW, {1, 2})
    assert [part.streams for part in parts] == [("b", "a"), ("c",)]
    assert [part.processors for part in parts] == [(0,), (1,)]


def test_streams_that_come_go_to_the_least_laden() -> None:
    parts = reassigned(cameras("a", "b", "c", "d", "e"), NOW, {1, 2})
    assert [part.streams for part in parts] == [("a", "b", "e"), ("c", "d")]
    parts = reassigned(cameras("c", "d", "e"), NOW, {1, 2})
    assert [part.streams for part in parts] == [("d", "e"), ("c",)]


def test_a_worker_that_has_ended_gets_no_more() -> None:
    parts = reassigned(cameras("a", "b", "c", "d"), NOW, {1})
    assert [part.streams for part in parts] == [("a", "b", "d"), ("c",)]
    with pytest.raises(UsageError, match="no worker is left"):
        reassigned(cameras("a", "d"), NOW, set())
    assert reassigned(cameras("a"), NOW, set())[0].streams == ("a",)


def test_what_is_disabled_weighs_nothing() -> None:
    config = cameras("a", "b", "c", "d")
    off = tuple(s.model_copy(update={"enabled": s.id not in ("a", "b")}) for s in config.streams)
    parts = reassigned(config.model_copy(update={"streams": off}), NOW, {1, 2})
    assert [part.streams for part in parts] == [("a", "b", "d"), ("c",)]
