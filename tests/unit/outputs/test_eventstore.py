from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import environment
from vidpipe.outputs.eventstore import Entry, EventStore, StoreError

MUCH = 10_000_000


def entries(count: int, *targets: str, first: int = 0, size: int = 20) -> list[Entry]:
    return [
        Entry(f"e{number}", "x" * size, targets or ("gate/mqtt",))
        for number in range(first, first + count)
    ]


def ids(store: EventStore, *targets: str, after: int = 0, count: int = 1000) -> list[str]:
    return [parcel.id for parcel in store.next(targets or ("gate/mqtt",), after, count)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out" / "outbox.db"


def test_events_come_out_in_order_for_their_targets_alone(path: Path) -> None:
    store = EventStore(path, MUCH)
    store.add(entries(3))
    store.add(entries(2, "gate/mqtt", "yard/webhook", first=3))
    assert ids(store) == ["e0", "e1", "e2", "e3", "e4"]
    assert ids(store, "yard/webhook") == ["e3", "e4"]
    assert ids(store, "gate/mqtt", "yard/webhook") == ["e0", "e1", "e2", "e3", "e3", "e4", "e4"]
    assert ids(store, "other/mqtt") == []
    first = store.next(("gate/mqtt",), 0, 2)
    assert ids(store, after=first[-1].seq) == ["e2", "e3", "e4"]
    store.close()


def test_an_event_goes_when_all_targets_have_it(path: Path) -> None:
    store = EventStore(path, MUCH)
    store.add(entries(2, "a/mqtt", "b/mqtt"))
    store.settle([("a/mqtt", "e0"), ("a/mqtt", "e0"), ("c/mqtt", "e1"), ("a/mqtt", "unknown")])
    assert ids(store, "a/mqtt") == ["e1"]
    assert ids(store, "b/mqtt") == ["e0", "e1"]
    store.settle([("b/mqtt", "e0")])
    assert [entry.id for entry in store.entries()] == ["e1"]
    assert store.waiting(("a/mqtt", "b/mqtt")) == 2
    store.close()


def test_an_event_that_is_there_is_not_added_twice(path: Path) -> None:
    store = EventStore(path, MUCH)
    store.add(entries(2))
    store.add(entries(3))
    assert ids(store) == ["e0", "e1", "e2"]
    store.close()


def test_what_was_added_survives_kill_9(path: Path) -> None:
    program = (
        "import sys, os, signal; from pathlib import Path\n"
        "from vidpipe.outputs.eventstore import Entry, EventStore\n"
        f"store = EventStore(Path({str(path)!r}), {MUCH})\n"
        "for n in range(100):\n"
        "    store.add([Entry(f'e{n}', 'body', ('gate/mqtt',))])\n"
        "store.settle([('gate/mqtt', 'e0')])\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], env=environment(), check=False)
    assert done.returncode == -signal.SIGKILL
    store = EventStore(path, MUCH)
    assert ids(store) == [f"e{number}" for number in range(1, 100)]
    store.close()


def test_the_oldest_give_way_and_the_files_stay_small(path: Path) -> None:
    limit = 1_000_000
    store = EventStore(path, limit)
    lost = 0
    for number in range(0, 6000, 50):
        lost += store.add(entries(50, first=number, size=500))["gate/mqtt"]
        size = sum(file.stat().st_size for file in path.parent.iterdir())
        assert size <= limit, number
    left = ids(store, count=10_000)
    assert lost + len(left) == 6000
    assert left == [f"e{number}" for number in range(lost, 6000)]
    assert len(left) > 500
    store.close()


def test_a_tiny_limit_keeps_some_of_the_newest(path: Path) -> None:
    store = EventStore(path, 1)
    store.add(entries(2000, size=500))
    left = ids(store, count=10_000)
    assert left
    assert left[-1] == "e1999"
    store.close()


def test_two_processes_share_a_file(path: Path) -> None:
    one, two = EventStore(path, MUCH), EventStore(path, MUCH)
    for number in range(20):
        one.add(entries(1, "a/mqtt", first=2 * number))
        two.add(entries(1, "b/mqtt", first=2 * number + 1))
    assert ids(one, "a/mqtt") == [f"e{number}" for number in range(0, 40, 2)]
    assert ids(two, "b/mqtt") == [f"e{number}" for number in range(1, 40, 2)]
    one.close()
    two.close()


@pytest.mark.parametrize("content", [b"this is no database, but a text" * 200, os.urandom(9000)])
def test_what_is_no_store_is_refused_and_left_alone(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(StoreError) as caught:
        EventStore(path, MUCH)
    assert caught.value.is_damaged
    assert path.read_bytes() == content


def test_another_program_s_database_is_refused(path: Path) -> None:
    path.parent.mkdir()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE events (what TEXT)")
    other.close()
    with pytest.raises(StoreError, match="another program") as caught:
        EventStore(path, MUCH)
    assert caught.value.is_damaged


def test_a_page_that_is_damaged_is_found_at_the_start(path: Path) -> None:
    store = EventStore(path, MUCH)
    store.add(entries(500, size=300))
    store.close()
    content = bytearray(path.read_bytes())
    content[8 * 4096 : 20 * 4096] = os.urandom(12 * 4096)
    path.write_bytes(content)
    with pytest.raises(StoreError) as caught:
        EventStore(path, MUCH)
    assert caught.value.is_damaged


def test_a_locked_file_is_not_damaged(path: Path) -> None:
    EventStore(path, MUCH).close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA locking_mode=EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreError, match="locked") as caught:
        EventStore(path, MUCH, lock_s=0.01)
    assert not caught.value.is_damaged
    other.close()


def test_a_folder_in_its_place_is_told(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(StoreError, match="unable to open") as caught:
        EventStore(path, MUCH)
    assert not caught.value.is_damaged


def test_a_file_that_is_taken_away_is_noticed(path: Path) -> None:
    store = EventStore(path, MUCH)
    store.add(entries(1))
    assert store.is_in_place
    path.unlink()
    assert not store.is_in_place
    assert ids(store) == ["e0"]
    store.close()
    memory = EventStore(None, MUCH)
    assert memory.is_in_place
    memory.close()
