"""The datagrams, as systemd's own socket would get them."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from vidpipe.apps.systemd import ServiceNotice


@contextmanager
def listening(address: str) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ours:
        ours.bind(address)
        ours.settimeout(5)
        yield ours


@pytest.mark.parametrize("is_abstract", [False, True])
def test_each_word_is_one_datagram(tmp_path: Path, *, is_abstract: bool) -> None:
    name = f"vidpipe-test-{os.getpid()}"
    bound = f"\0{name}" if is_abstract else str(tmp_path / "notify")
    told = f"@{name}" if is_abstract else bound
    with listening(bound) as manager:
        notice = ServiceNotice({"NOTIFY_SOCKET": told})
        notice.ready()
        notice.reloading()
        notice.alive()
        notice.stopping()
        notice.status("3 of 4\nstreams up at rtsp://bob:hunter2@cam/x")
        words = [manager.recv(4096).decode() for _ in range(5)]
    assert words[0] == "READY=1"
    first, second = words[1].split("\n")
    assert first == "RELOADING=1"
    assert second.partition("=")[0] == "MONOTONIC_USEC"
    assert int(second.partition("=")[2]) > 0
    assert words[2:4] == ["WATCHDOG=1", "STOPPING=1"]
    assert words[4] == "STATUS=3 of 4 streams up at rtsp://***@cam/x"


@pytest.mark.parametrize("address", ["", "/nowhere/at/all", "vsock:2:1234", "relative"])
def test_where_nobody_listens_nothing_happens(address: str) -> None:
    notice = ServiceNotice({"NOTIFY_SOCKET": address} if address else {})
    notice.ready()
    notice.status("x" * 100_000)


def test_a_manager_that_does_not_read_is_not_waited_for(tmp_path: Path) -> None:
    path = str(tmp_path / "notify")
    with listening(path):
        notice = ServiceNotice({"NOTIFY_SOCKET": path})
        for _ in range(5000):  # far more than its queue holds
            notice.alive()


@pytest.mark.parametrize(
    ("environ", "watchdog_s"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "30000000"}, 30.0),
        ({"WATCHDOG_USEC": "500000", "WATCHDOG_PID": str(os.getpid())}, 0.5),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
    ],
)
def test_the_watchdogs_patience_is_taken_from_the_environment(
    environ: dict[str, str], watchdog_s: float | None
) -> None:
    assert ServiceNotice({"NOTIFY_SOCKET": "/run/x", **environ}).watchdog_s == watchdog_s
