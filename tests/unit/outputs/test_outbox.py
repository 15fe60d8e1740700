from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command import environment
from tests.postroom import FakeEndpoint, courier, make_event, post_room
from tests.threads import wait_until
from vidpipe.outputs.courier import CourierState
from vidpipe.outputs.eventstore import EventStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out" / "outbox.db"


def names(first: int, last: int) -> list[str]:
    return [f"event-{number:06}" for number in range(first, last)]


def stored(path: Path) -> list[str]:
    store = EventStore(path, 10_000_000)
    try:
        return [entry.id for entry in store.entries()]
    finally:
        store.close()


def test_events_are_delivered_in_order_and_forgotten(path: Path) -> None:
    place = FakeEndpoint()
    with post_room(path, [courier(place)]) as room:
        for number in range(300):
            room.outbox.put(make_event(number))
        room.drain()
    assert place.taken == names(0, 300)
    assert json.loads(place.bodies[7])["frame"] == 7
    assert place.is_closed
    assert stored(path) == []


def test_every_target_gets_every_event_of_its_stream_however_the_others_do(path: Path) -> None:
    quick, away = FakeEndpoint(), FakeEndpoint(is_up=False)
    couriers = [courier(quick, "gate/mqtt"), courier(away, "gate/webhook")]
    with post_room(path, couriers) as room:
        for number in range(100):
            room.outbox.put(make_event(number))
        room.outbox.put(make_event(999, stream="another"))
        wait_until(lambda: len(quick.taken) == 100, "the one that works has all")
        away.is_up = True
        wait_until(lambda: len(away.taken) == 100, "the other has all")
    assert quick.taken == away.taken == names(0, 100)


def test_streams_share_a_courier_and_keep_their_order(path: Path) -> None:
    place = FakeEndpoint()
    shared = courier(place, "gate/mqtt")
    shared.targets = ("gate/mqtt", "yard/mqtt")
    targets_of = {"gate": ["gate/mqtt"], "yard": ["yard/mqtt"]}
    with post_room(path, [shared], targets_of=targets_of) as room:
        for number in range(100):
            room.outbox.put(make_event(number, stream="gate" if number % 3 else "yard"))
        room.drain()
    assert place.taken == names(0, 100)
    assert room.books.delivered == {"gate/mqtt": 66, "yard/mqtt": 34}


def test_what_is_left_at_the_end_is_delivered_by_the_next_start_with_the_same_id(
    path: Path,
) -> None:
    away = FakeEndpoint(is_up=False)
    one = courier(away)
    with post_room(path, [one]) as room:
        for number in range(50):
            room.outbox.put(make_event(number))
        wait_until(lambda: one.state is CourierState.DOWN, "it is away")
        room.drain()  # which doesn't wait for who is away
    assert room.outbox.left == 50
    back = FakeEndpoint()
    with post_room(path, [courier(back)]) as room:
        room.outbox.put(make_event(50))
        room.drain()
    assert back.taken == names(0, 51)
    assert room.outbox.left == 0


def test_what_is_refused_is_counted_and_does_not_hold_up_the_rest(path: Path) -> None:
    place = FakeEndpoint(refuses=frozenset(names(3, 5)))
    with post_room(path, [courier(place)]) as room:
        for number in range(10):
            room.outbox.put(make_event(number))
        room.drain()
    assert place.taken == names(0, 3) + names(5, 10)
    assert room.books.refused == [("gate/fake", name, "no") for name in names(3, 5)]
    assert stored(path) == []


def test_a_kill_9_loses_nothing_that_was_stored(path: Path) -> None:
    program = (
        "import os, signal, sys, threading\n"
        "from pathlib import Path\n"
        "from tests.postroom import FakeEndpoint, courier, make_event, post_room\n"
        f"path = Path({str(path)!r})\n"
        "away = FakeEndpoint(is_up=False)\n"
        "with post_room(path, [courier(away)]) as room:\n"
        "    for number in range(200):\n"
        "        room.outbox.put(make_event(number))\n"
        "    print('put', flush=True)\n"
        "    threading.Event().wait()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program],
        env=environment(),
        cwd=Path(__file__).parents[3],
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"put\n"
        wait_until(lambda: _count(path) == 200, "all are stored")
        process.send_signal(signal.SIGKILL)
    place = FakeEndpoint()
    with post_room(path, [courier(place)]) as room:
        room.drain()
    assert place.taken == names(0, 200)


def _count(path: Path) -> int:
    """Look into another process's outbox."""
    try:
        reader = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    except sqlite3.Error:
        return 0
    try:
        return int(reader.execute("SELECT count(*) FROM events").fetchone()[0])
    except sqlite3.Error:
        return 0
    finally:
        reader.close()


def test_a_full_outbox_loses_the_oldest_and_says_so(path: Path, log_lines: list[str]) -> None:
    away = FakeEndpoint(is_up=False)
    one = courier(away)
    with post_room(path, [one], max_bytes=300_000) as room:
        for number in range(3000):
            room.outbox.put(make_event(number))
            if number % 500 == 0:
                wait_until(lambda: not len(room.outbox._new), "it keeps up")
        wait_until(lambda: one.state is CourierState.DOWN, "it is away")
        room.drain()
    lost = room.books.lost["gate/fake"]
    assert lost > 0
    assert lost + room.outbox.left == 3000
    assert stored(path) == names(lost, 3000)
    assert any("the outbox is full" in line for line in log_lines)


def test_a_damaged_file_is_moved_aside_and_the_run_goes_on(
    path: Path, log_lines: list[str]
) -> None:
    path.parent.mkdir()
    path.write_bytes(os.urandom(20_000))
    place = FakeEndpoint()
    with post_room(path, [courier(place)]) as room:
        room.outbox.put(make_event(1))
        room.drain()
    assert place.taken == names(1, 2)
    (aside,) = path.parent.glob("outbox.db.damaged-*")
    assert aside.stat().st_size == 20_000
    assert any("it was moved to outbox.db.damaged-" in line for line in log_lines)
    assert room.outbox.lost_at_end == 0


def test_a_file_damaged_while_it_is_used_is_moved_aside(path: Path) -> None:
    away = FakeEndpoint(is_up=False)
    with post_room(path, [courier(away)]) as room:
        for number in range(500):
            room.outbox.put(make_event(number))
        wait_until(lambda: _count(path) == 500, "all are stored")
        with path.open("r+b") as file:
            file.write(os.urandom(4096))
            file.flush()
        for suffix in ("-wal", "-shm"):
            with path.with_name(path.name + suffix).open("r+b") as file:
                file.write(os.urandom(30_000))
        away.is_up = True
        for number in range(500, 600):
            room.outbox.put(make_event(number))
        wait_until(lambda: "event-000599" in away.taken, "new ones are delivered")
    assert away.taken == sorted(away.taken)
    assert list(path.parent.glob("outbox.db.damaged-*"))


@pytest.fixture
def locked(path: Path) -> Iterator[sqlite3.Connection]:
    """Hold an outbox in which an event waits, so that nobody else can use it."""
    one = courier(FakeEndpoint(is_up=False))
    with post_room(path, [one]) as room:
        room.outbox.put(make_event(0))
        wait_until(lambda: one.state is CourierState.DOWN, "it is away")
        room.drain()
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("PRAGMA locking_mode=EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    yield other
    other.close()


def test_a_locked_file_is_replaced_by_memory_until_it_can_be_used(
    path: Path, locked: sqlite3.Connection, log_lines: list[str]
) -> None:
    place = FakeEndpoint()
    with post_room(path, [courier(place)]) as room:
        room.outbox.put(make_event(1))
        wait_until(lambda: place.taken == names(1, 2), "it is delivered all the same")
        place.is_up = False
        room.outbox.put(make_event(2))
        locked.close()
        wait_until(
            lambda: any("can be used again" in line for line in log_lines), "the file is back"
        )
        place.is_up = True
        wait_until(lambda: len(place.taken) == 3, "the file's own and the rest are delivered")
    assert sorted(place.taken) == names(0, 3)
    assert sum("can't be used" in line for line in log_lines) == 1
    assert stored(path) == []


def test_what_memory_alone_could_keep_is_told_as_lost(
    path: Path, locked: sqlite3.Connection
) -> None:
    one = courier(FakeEndpoint(is_up=False))
    with post_room(path, [one]) as room:
        room.outbox.put(make_event(1))
        wait_until(lambda: one.state is CourierState.DOWN, "it is away")
        room.drain()
    assert (room.outbox.left, room.outbox.lost_at_end) == (0, 1)


def test_a_file_that_is_taken_away_is_made_anew_with_all_that_waited(path: Path) -> None:
    away = FakeEndpoint(is_up=False)
    one = courier(away)
    with post_room(path, [one]) as room:
        for number in range(20):
            room.outbox.put(make_event(number))
        wait_until(lambda: _count(path) == 20, "all are stored")
        for file in path.parent.iterdir():
            file.unlink()
        room.outbox.put(make_event(20))
        wait_until(lambda: _count(path) == 21, "all are stored again")
    assert room.outbox.left == 21
    assert stored(path) == names(0, 21)


def test_a_storm_that_the_disk_cannot_follow_is_counted(path: Path) -> None:
    place = FakeEndpoint(is_up=False)
    with post_room(path, [courier(place)]) as room:
        for number in range(20_000):
            room.outbox.put(make_event(number))
    assert room.books.lost["gate/fake"] + room.outbox.left == 20_000
    assert stored(path)[-1] == "event-019999"


def test_put_after_the_end_is_ignored(path: Path) -> None:
    with post_room(path, [courier(FakeEndpoint())]) as room:
        pass
    room.outbox.put(make_event())
    assert room.outbox.left == 0
