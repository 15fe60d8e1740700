from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.fakes import FakeClock
from vidpipe.events import EventKind
from vidpipe.outputs.archive import Archive
from vidpipe.outputs.storage import Storage, StoragePolicy, free_bytes

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)
DAY_S = 86_400
TEMPLATE = "{stream}-{start}.mp4"


def put(folder: Path, name: str, *, age_s: float = DAY_S, size_bytes: int = 10) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size_bytes)
    changed_at = NOW.timestamp() - age_s
    os.utime(path, (changed_at, changed_at))
    return path


def storage_of(
    template: Path | str,
    policy: StoragePolicy,
    *,
    clock: FakeClock | None = None,
    segment_s: float | None = None,
    free: list[int] | None = None,
) -> Storage:
    return Storage(
        policy,
        Archive(str(template), stream="gate", segment_s=segment_s),
        stream="gate",
        clock=clock or FakeClock(),
        wall_clock=lambda: NOW,
        free=(lambda _: free[0]) if free is not None else free_bytes,
    )


def names_in(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


OTHERS = [
    "gate-20261101T000000Z.mkv",
    "gate-20261101T000000Z.mp4.bak",
    "gate-20261101T000000Z-copy.mp4",
    "gate-20261101T000000.mp4",
    "gate-2-20261101T000000Z.mp4",
    "xgate-20261101T000000Z.mp4",
    "Gate-20261101T000000Z.mp4",
    "gate.mp4",
    "holiday.mp4",
    ".gate-20261101T000000Z.mp4",
    "sub/gate-20261101T000000Z.mp4",
    "gate-２0261101T000000Z.mp4",
    "gate-20261101T000000Z.mp4\n",
]


def test_only_the_outputs_own_files_are_deleted(tmp_path: Path) -> None:
    for name in OTHERS:
        put(tmp_path, name, age_s=900 * DAY_S)
    for name in ("gate-20241101T000000Z.mp4", "gate-20241101T000000Z-2.mp4"):
        put(tmp_path, name, age_s=700 * DAY_S)
    (tmp_path / "gate-20231101T000000Z.mp4").mkdir()
    (tmp_path / "gate-20221101T000000Z.mp4").symlink_to(tmp_path / "holiday.mp4")
    storage_of(tmp_path / TEMPLATE, StoragePolicy(keep_days=1, keep_gb=1e-9)).tend()
    assert names_in(tmp_path) == {*OTHERS, "gate-20221101T000000Z.mp4"}
    assert (tmp_path / "gate-20231101T000000Z.mp4").is_dir()


def test_files_go_by_their_age(tmp_path: Path) -> None:
    put(tmp_path, "gate-20261128T110000Z.mp4", age_s=2 * DAY_S + 60)
    put(tmp_path, "gate-20261128T130000Z.mp4", age_s=2 * DAY_S - 60)
    # a copy: its name says that it is old, whatever the system says of it
    put(tmp_path, "gate-20261001T000000Z.mp4", age_s=60)
    storage_of(tmp_path / TEMPLATE, StoragePolicy(keep_days=2), segment_s=600).tend()
    assert names_in(tmp_path) == {"gate-20261128T130000Z.mp4"}


def test_the_oldest_files_go_until_the_rest_fits(tmp_path: Path) -> None:
    for hour in range(8):
        put(tmp_path, f"gate-2026113{0}T0{hour}0000Z.mp4", age_s=(9 - hour) * 3600, size_bytes=1000)
    storage_of(tmp_path / TEMPLATE, StoragePolicy(keep_gb=3.5e-6)).tend()
    assert names_in(tmp_path) == {f"gate-20261130T0{hour}0000Z.mp4" for hour in (5, 6, 7)}


def test_what_is_being_written_and_the_newest_stay(tmp_path: Path) -> None:
    put(tmp_path, "gate-20261130T080000Z.mp4", age_s=2, size_bytes=5000)
    put(tmp_path, "gate-20261130T090000Z.partial.mp4", age_s=900, size_bytes=5000)
    put(tmp_path, "gate-20261130T100000Z.mp4", age_s=100, size_bytes=5000)
    storage_of(tmp_path / TEMPLATE, StoragePolicy(keep_gb=1e-6)).tend()
    assert len(names_in(tmp_path)) == 2  # the last by time is the one that is two seconds old
    assert "gate-20261130T100000Z.mp4" not in names_in(tmp_path)


def test_what_a_killed_run_left_behind_goes_too(tmp_path: Path) -> None:
    put(tmp_path, "gate-20261101T000000Z.partial.mp4", age_s=20 * DAY_S)
    put(tmp_path, "gate-20261101T000000Z-2.partial.mp4", age_s=20 * DAY_S)
    storage_of(tmp_path / TEMPLATE, StoragePolicy(keep_days=7)).tend()
    assert names_in(tmp_path) == set()
    put(tmp_path, "gate-20261101T000000Z.jsonl.partial", age_s=20 * DAY_S)
    storage_of(tmp_path / "{stream}-{start}.jsonl", StoragePolicy(keep_days=7)).tend()
    assert names_in(tmp_path) == set()


def test_folders_made_for_the_files_go_with_the_last_one(tmp_path: Path) -> None:
    put(tmp_path, "a/gate/20261101T000000Z/x-20261101T000000Z.mp4", age_s=20 * DAY_S)
    put(tmp_path, "a/gate/20261102T000000Z/x-20261102T000000Z.mp4", age_s=20 * DAY_S)
    put(tmp_path, "a/gate/20261102T000000Z/mine.txt", age_s=20 * DAY_S)
    put(tmp_path, "a/dock/20261102T000000Z/x-20261102T000000Z.mp4", age_s=20 * DAY_S)
    template = tmp_path / "a" / "{stream}" / "{start}" / "x-{start}.mp4"
    storage_of(template, StoragePolicy(keep_days=7)).tend()
    assert names_in(tmp_path) == {
        "a/gate/20261102T000000Z/mine.txt",
        "a/dock/20261102T000000Z/x-20261102T000000Z.mp4",
    }
    assert not (tmp_path / "a/gate/20261101T000000Z").exists()


def test_a_name_with_special_characters_is_taken_by_the_letter(tmp_path: Path) -> None:
    put(tmp_path, "a+(1).gate-20261101T000000Z.mp4", age_s=20 * DAY_S)
    put(tmp_path, "aa1xgate-20261101T000000Z.mp4", age_s=20 * DAY_S)
    storage_of(tmp_path / "a+(1).{stream}-{start}.mp4", StoragePolicy(keep_days=7)).tend()
    assert names_in(tmp_path) == {"aa1xgate-20261101T000000Z.mp4"}


def test_a_folder_that_is_not_there_yet_is_no_fault(tmp_path: Path, log_lines: list[str]) -> None:
    storage_of(tmp_path / "no" / TEMPLATE, StoragePolicy(keep_days=7)).tend()
    assert log_lines == []


def test_a_full_disk_stops_the_writing_until_there_is_a_tenth_more_room(
    log_lines: list[str],
) -> None:
    clock, free = FakeClock(), [1_000_000]
    storage = storage_of("/x/" + TEMPLATE, StoragePolicy(min_free_gb=0.001), clock=clock, free=free)
    told: list[tuple[EventKind, str]] = []
    storage.tell(lambda kind, detail: told.append((kind, detail)))

    def has_room(bytes_free: int) -> bool:
        free[0] = bytes_free
        clock.advance(2)
        return storage.has_room()

    given = [1_000_000, 999_999, 1_000_000, 1_099_000, 1_100_000, 1_000_000, 900_000]
    answers = [has_room(bytes_free) for bytes_free in given]
    assert answers == [True, False, False, False, True, True, False]
    assert storage.is_low
    assert [kind for kind, _ in told] == [
        EventKind.DISK_LOW,
        EventKind.DISK_OK,
        EventKind.DISK_LOW,
    ]
    assert "min_free_gb is 0.001" in told[0][1]
    assert len(log_lines) == 3


def test_the_free_space_is_not_asked_for_with_every_frame() -> None:
    clock, asked = FakeClock(), []

    def free(folder: Path) -> int:
        asked.append(folder)
        return 0

    archive = Archive("/x/y/{stream}.mp4", stream="gate")
    storage = Storage(StoragePolicy(min_free_gb=1), archive, stream="gate", clock=clock, free=free)
    assert [storage.has_room() for _ in range(50)] == [False] * 50
    assert asked == [Path("/x/y")]


def test_a_disk_that_does_not_answer_changes_nothing(log_lines: list[str]) -> None:
    def free(folder: Path) -> int:
        raise OSError(5, "Input/output error", str(folder))

    clock = FakeClock()
    archive = Archive("/x/{stream}.mp4", stream="gate")
    storage = Storage(StoragePolicy(min_free_gb=1), archive, stream="gate", clock=clock, free=free)
    for _ in range(3):
        assert storage.has_room()
        clock.advance(60)
    assert len(log_lines) == 1


def test_the_space_of_a_folder_is_that_of_its_nearest_parent(tmp_path: Path) -> None:
    stats = os.statvfs(tmp_path)
    block = stats.f_frsize * 1_000_000
    assert free_bytes(tmp_path / "no" / "such") == pytest.approx(
        stats.f_bavail * stats.f_frsize, abs=block
    )
