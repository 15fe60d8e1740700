from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from vidpipe.outputs.naming import claim_path, open_temporary, path_from_template, publish

START = datetime(2026, 11, 30, 5, 0, 0, 123000, tzinfo=UTC)


def temporary_with(wanted: Path, text: str) -> Path:
    descriptor, path = open_temporary(wanted, is_suffix_last=True)
    os.write(descriptor, text.encode())
    os.close(descriptor)
    return path


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("out/{stream}-{start}.mp4", "out/gate-20261130T050000Z.mp4"),
        ("{n}/{stream}/{n}.jsonl", "7/gate/7.jsonl"),
        ("plain.mp4", "plain.mp4"),
        ("{other} {} 100% %d.mp4", "{other} {} 100% %d.mp4"),
    ],
)
def test_placeholders_are_filled_in_and_all_else_stays(template: str, expected: str) -> None:
    path = path_from_template(template, stream="gate", start=START, number=7)
    assert path == Path(expected)


def test_start_is_written_in_utc() -> None:
    local = START.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert path_from_template("{start}", stream="x", start=local, number=1) == Path(
        "20261130T050000Z"
    )


def test_folders_are_made(tmp_path: Path) -> None:
    path = temporary_with(tmp_path / "a" / "b" / "gate.mp4", "x")
    assert path == tmp_path / "a" / "b" / "gate.partial.mp4"


def test_a_file_in_the_folders_place_is_named_as_such(tmp_path: Path) -> None:
    (tmp_path / "out").touch()
    for wanted in (tmp_path / "out" / "a.mp4", tmp_path / "out" / "deep" / "a.mp4"):
        with pytest.raises(NotADirectoryError):
            open_temporary(wanted, is_suffix_last=True)


def test_a_stale_temporary_file_is_left_alone(tmp_path: Path) -> None:
    stale = temporary_with(tmp_path / "gate.mp4", "stale")
    fresh = temporary_with(tmp_path / "gate.mp4", "fresh")
    assert fresh != stale
    assert publish(fresh, tmp_path / "gate.mp4").read_text() == "fresh"
    assert stale.read_text() == "stale"


def test_an_existing_file_is_never_overwritten(tmp_path: Path) -> None:
    wanted = tmp_path / "gate.mp4"
    names = [publish(temporary_with(wanted, str(n)), wanted).name for n in range(3)]
    assert names == ["gate.mp4", "gate-2.mp4", "gate-3.mp4"]
    assert [(tmp_path / name).read_text() for name in names] == ["0", "1", "2"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)


def test_many_writers_of_one_name_all_keep_their_content(tmp_path: Path) -> None:
    wanted = tmp_path / "gate.mp4"

    def write(number: int) -> Path:
        return publish(temporary_with(wanted, str(number)), wanted)

    with ThreadPoolExecutor(8) as pool:
        paths = list(pool.map(write, range(40)))
    assert len(set(paths)) == 40
    assert [int(path.read_text()) for path in paths] == list(range(40))


def test_a_file_system_without_hard_links_is_served_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    wanted = tmp_path / "gate.mp4"
    names = [publish(temporary_with(wanted, str(n)), wanted).name for n in range(2)]
    assert names == ["gate.mp4", "gate-2.mp4"]
    assert (tmp_path / "gate.mp4").read_text() == "0"


def test_a_dangling_link_under_the_wanted_name_is_kept(tmp_path: Path) -> None:
    wanted = tmp_path / "gate.mp4"
    wanted.symlink_to(tmp_path / "nowhere.mp4")
    assert publish(temporary_with(wanted, "x"), wanted).name == "gate-2.mp4"
    assert wanted.is_symlink()


def test_a_claimed_name_is_the_next_free_one_for_everybody(tmp_path: Path) -> None:
    wanted = tmp_path / "out" / "gate.csv"
    assert claim_path(wanted) == wanted
    wanted.write_text("kept")
    with ThreadPoolExecutor(8) as pool:
        paths = set(pool.map(claim_path, [wanted] * 20))
    assert paths == {wanted.with_name(f"gate-{number}.csv") for number in range(2, 22)}
    assert all(path.read_text() == "" for path in paths)
    assert wanted.read_text() == "kept"
