"""Inputs are found, named and told apart; the output is never among them."""

from __future__ import annotations

from pathlib import Path

import pytest

from vidpipe.apps.batch.discover import LEDGER_NAME, STATE_FOLDER, Discovery, discover
from vidpipe.apps.batch.kinds import Kind
from vidpipe.errors import UsageError


def made(folder: Path, *names: str) -> Path:
    """Make files with these names, and return their folder."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    return folder


def stems(found: Discovery) -> list[str]:
    return [file.stem for file in found.files]


def test_a_folder_is_looked_through_and_named_from_itself(tmp_path: Path) -> None:
    root = made(tmp_path / "in", "b.mp4", "yard/a.MKV", "yard/deep/пример.ts", "still.jpg")
    found = discover([str(root)], tmp_path / "out")
    assert stems(found) == ["b.mp4", "still.jpg", "yard/a.MKV", "yard/deep/пример.ts"]
    assert [file.kind for file in found.files].count(Kind.PICTURE) == 1
    assert {file.root for file in found.files} == {root}


def test_other_kinds_are_passed_over_and_told(tmp_path: Path) -> None:
    root = made(tmp_path / "in", "a.mp4", "notes.txt", "noending", ".hidden.mp4", "x.partial.mp4")
    found = discover([str(root)], tmp_path / "out")
    assert stems(found) == ["a.mp4"]
    assert {one.name: one.reason for one in found.skipped} == {
        "notes.txt": "another kind of file (.txt)",
        "noending": "another kind of file (no ending)",
        ".hidden.mp4": "hidden",
        "x.partial.mp4": "unfinished results",
    }


def test_a_file_that_is_named_is_meant_whatever_its_ending(tmp_path: Path) -> None:
    root = made(tmp_path / "in", "camera.bin")
    found = discover([str(root / "camera.bin")], tmp_path / "out")
    assert [(file.stem, file.kind) for file in found.files] == [("camera.bin", Kind.VIDEO)]


def test_the_output_folder_is_never_an_input(tmp_path: Path) -> None:
    root = made(tmp_path / "in", "a.mp4", "out/a.mp4.mp4", "out/b.mp4")
    found = discover([str(root)], root / "out")
    assert stems(found) == ["a.mp4"]
    with pytest.raises(UsageError, match="output folder"):
        discover([str(root / "out")], root / "out")
    with pytest.raises(UsageError, match="output folder"):
        discover([str(root)], root)


def test_results_of_another_run_are_no_inputs(tmp_path: Path) -> None:
    root = made(tmp_path / "in", "a.mp4", f"old/{STATE_FOLDER}/{LEDGER_NAME}", "old/a.mp4.mp4")
    found = discover([str(root)], tmp_path / "out")
    assert stems(found) == ["a.mp4"]
    assert [one.name for one in found.skipped] == ["old/"]


def test_a_pattern_names_from_its_fixed_part(tmp_path: Path) -> None:
    root = made(tmp_path / "in", "mon/a.mp4", "tue/a.mp4", "tue/b.mkv")
    found = discover([str(root / "*" / "*.mp4")], tmp_path / "out")
    assert stems(found) == ["mon/a.mp4", "tue/a.mp4"]
    found = discover([str(root / "**" / "*.mkv")], tmp_path / "out")
    assert stems(found) == ["tue/b.mkv"]


def test_inputs_that_would_share_a_name_are_told_apart(tmp_path: Path) -> None:
    first = made(tmp_path / "x" / "cam", "a.mp4", "only.mp4")
    second = made(tmp_path / "y" / "cam", "a.mp4")
    found = discover([str(first), str(second)], tmp_path / "out")
    assert stems(found) == ["only.mp4", "x/cam/a.mp4", "y/cam/a.mp4"]


def test_names_dont_depend_on_the_order_of_the_inputs(tmp_path: Path) -> None:
    inputs = [
        str(made(tmp_path / name, "a.mp4", "cam/a.mp4")) for name in ("cam", "dam", "cam/cam")
    ]
    forth, back = (discover(given, tmp_path / "out") for given in (inputs, inputs[::-1]))
    assert {file.path: file.stem for file in forth.files} == {
        file.path: file.stem for file in back.files
    }
    assert len(set(stems(forth))) == len(forth.files)


def test_a_file_that_is_given_twice_is_one_input(tmp_path: Path) -> None:
    root = made(tmp_path / "in", "a.mp4")
    (root / "link.mp4").symlink_to(root / "a.mp4")
    found = discover([str(root), str(root / "a.mp4")], tmp_path / "out")
    assert len(found.files) == 1


@pytest.mark.parametrize("given", ["gone.mp4", "no/*.mp4"])
def test_what_isnt_there_is_an_error(tmp_path: Path, given: str) -> None:
    with pytest.raises(UsageError):
        discover([str(tmp_path / given)], tmp_path / "out")
