"""Processors as the kernel lists them, and as this process may use them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from vidpipe.apps.topology import numa_nodes


def system(folder: Path, nodes: Mapping[int, str], cores: Sequence[str]) -> Path:
    """Write what the kernel would tell of a machine."""
    for number, listed in nodes.items():
        (folder / "node" / f"node{number}").mkdir(parents=True)
        (folder / "node" / f"node{number}" / "cpulist").write_text(f"{listed}\n")
    for core in cores:
        for thread in core.split(","):
            topology = folder / "cpu" / f"cpu{thread}" / "topology"
            topology.mkdir(parents=True)
            (topology / "thread_siblings_list").write_text(f"{core}\n")
    return folder


def test_hardware_threads_are_one_core_and_nodes_come_in_order(tmp_path: Path) -> None:
    told = system(
        tmp_path,
        {10: "3,7", 2: "1-2,5-6", 0: "0,4"},
        ["0,4", "1,5", "2,6", "3,7"],
    )
    assert numa_nodes(range(8), told) == (((0, 4),), ((1, 5), (2, 6)), ((3, 7),))


def test_what_a_process_may_not_use_is_not_there(tmp_path: Path) -> None:
    told = system(tmp_path, {0: "0-3", 1: "4-7"}, ["0,1", "2,3", "4,5", "6,7"])
    assert numa_nodes({1, 2, 3}, told) == (((1,), (2, 3)),)


def test_a_node_of_memory_alone_is_none(tmp_path: Path) -> None:
    assert numa_nodes({0, 1}, system(tmp_path, {0: "0-1", 1: ""}, [])) == (((0,), (1,)),)


def test_a_kernel_that_tells_nothing_has_one_node(tmp_path: Path) -> None:
    assert numa_nodes({3, 1}, tmp_path) == (((1,), (3,)),)


def test_processors_that_no_node_lists_are_not_lost(tmp_path: Path) -> None:
    told = system(tmp_path, {0: "0-1", 1: "not a list"}, [])
    assert numa_nodes({0, 1, 2}, told) == (((0,), (1,)), ((2,),))


def test_this_machine_has_the_processors_of_this_process() -> None:
    found = [number for node in numa_nodes() for core in node for number in core]
    assert sorted(found) == sorted(os.sched_getaffinity(0))
