"""One broken input is a failure; a share that has gone is waited for."""

from __future__ import annotations

from pathlib import Path

from vidpipe.apps.batch.discover import InputFile
from vidpipe.apps.batch.kinds import Kind
from vidpipe.apps.batch.outage import Outage, OutagePolicy, Reach, can_be_read, is_gone


class World:
    """A share with a clock."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.root.mkdir(exist_ok=True)
        (root / "there.mp4").write_bytes(b"x")
        self.now_s = 0.0
        self.readable: set[str] = set()
        self.outage = Outage(
            OutagePolicy(first_s=1, most_s=4, give_up_s=20),
            lambda: self.now_s,
            lambda path: path.name in self.readable,
        )

    def file(self, name: str) -> InputFile:
        return InputFile(self.root / name, name, Kind.VIDEO, self.root)


def test_a_file_that_the_system_can_read_failed_by_itself(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.readable = {"a.mp4"}
    assert not world.outage.note_failure(world.file("a.mp4"))
    assert not world.outage.is_out


def test_a_success_clears_the_share_and_condemns_the_suspects(tmp_path: Path) -> None:
    world = World(tmp_path)
    assert world.outage.note_failure(world.file("a.mp4"))
    assert world.outage.note_failure(world.file("b.mp4"))
    assert [file.stem for file in world.outage.note_success()] == ["a.mp4", "b.mp4"]
    assert world.outage.look() == (Reach.WELL, [])


def test_three_in_a_row_are_an_outage_that_ends_when_one_can_be_read(tmp_path: Path) -> None:
    world = World(tmp_path)
    for name in ("a.mp4", "b.mp4", "c.mp4"):
        world.outage.note_failure(world.file(name))
    assert world.outage.is_out
    assert world.outage.look() == (Reach.OUT, [])
    world.readable = {"b.mp4"}
    assert world.outage.look() == (Reach.OUT, [])  # not yet time to look again
    world.now_s = 1.5
    reach, back = world.outage.look()
    assert reach is Reach.WELL
    assert [file.stem for file in back] == ["a.mp4", "b.mp4", "c.mp4"]
    assert not world.outage.is_out


def test_it_is_given_up_after_a_while(tmp_path: Path) -> None:
    world = World(tmp_path)
    for name in ("a.mp4", "b.mp4", "c.mp4"):
        world.outage.note_failure(world.file(name))
    seen = set()
    for second in range(30):
        world.now_s = float(second)
        seen.add(world.outage.look()[0])
    assert seen == {Reach.OUT, Reach.GONE}
    assert len(world.outage.suspects) == 3


def test_a_missing_root_is_an_outage_at_once(tmp_path: Path) -> None:
    world = World(tmp_path / "share")
    (tmp_path / "share" / "there.mp4").unlink()
    assert world.outage.note_failure(world.file("a.mp4"))
    assert world.outage.is_out  # a share that is taken away leaves its empty folder


def test_a_lone_file_that_was_deleted_fails(tmp_path: Path) -> None:
    world = World(tmp_path)
    assert world.outage.note_failure(world.file("a.mp4"))
    assert [file.stem for file in world.outage.settle()] == ["a.mp4"]
    assert not world.outage.is_out


def test_the_system_is_asked(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    assert can_be_read(tmp_path / "a")
    assert not can_be_read(tmp_path / "empty" / "b")
    (tmp_path / "empty").mkdir()
    assert not can_be_read(tmp_path / "empty" / "b")
    assert not is_gone(tmp_path)
    assert is_gone(tmp_path / "c")


def test_files_that_were_deleted_from_among_others_are_no_outage(tmp_path: Path) -> None:
    (tmp_path / "there.mp4").write_bytes(b"x")
    (tmp_path / "annex.mp4").symlink_to(tmp_path / "objects" / "deep" / "key")
    outage = Outage(OutagePolicy(), lambda: 0.0)
    for name in ("a.mp4", "b.mp4", "c.mp4", "annex.mp4"):
        file = InputFile(tmp_path / name, name, Kind.VIDEO, tmp_path)
        assert not outage.note_failure(file)
    assert not outage.is_out


def test_links_into_a_share_that_has_gone_are_an_outage(tmp_path: Path) -> None:
    (tmp_path / "mount").mkdir()
    outage = Outage(OutagePolicy(), lambda: 0.0)
    for name in ("a.mp4", "b.mp4", "c.mp4"):
        (tmp_path / name).symlink_to(tmp_path / "mount" / "cameras" / name)
        assert outage.note_failure(InputFile(tmp_path / name, name, Kind.VIDEO, tmp_path))
    assert outage.is_out
