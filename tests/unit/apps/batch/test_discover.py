"""Inputs are found, named and told apart; the output is never among them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
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
    assert stems(found) == ["a.mp4"]
    assert [(one.name, one.reason) for one in found.skipped] == [
        ("link.mp4", "the same file as a.mp4")
    ]


def test_names_never_lead_out_of_the_output_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(tmp_path, "x.mp4", "here/x.mp4", "here/deep/y.mp4")
    monkeypatch.chdir(tmp_path / "here")
    assert stems(discover(["../x.mp4", "x.mp4"], Path("out"))) == [
        "here/x.mp4",
        f"{tmp_path.name}/x.mp4",
    ]
    assert stems(discover(["../*.mp4", "../here/../x.mp4"], Path("out"))) == ["x.mp4"]
    assert stems(discover(["*/../../x.mp4"], Path("out"))) == ["x.mp4"]
    assert stems(discover([".."], Path("out"))) == ["here/deep/y.mp4", "here/x.mp4", "x.mp4"]


def test_a_folder_whose_name_looks_like_a_pattern_is_itself(tmp_path: Path) -> None:
    root = made(tmp_path / "rec[1]", "a.mp4", "b[2].mp4")
    made(tmp_path / "rec1", "other.mp4")
    assert stems(discover([str(root / "*.mp4")], tmp_path / "out")) == ["a.mp4", "b[2].mp4"]
    with pytest.raises(UsageError, match="there is no file"):
        discover([str(root / "gone.mp4")], tmp_path / "out")


def test_a_pattern_finds_no_results_of_another_run(tmp_path: Path) -> None:
    made(tmp_path / "in", "a.mp4", f"old/{STATE_FOLDER}/{LEDGER_NAME}", "old/deep/a.mp4.mp4")
    for pattern in ("in/*", "in/**/*.mp4", "in/*/*/*.mp4", "in/a*"):
        if pattern != "in/*/*/*.mp4":
            assert stems(discover([str(tmp_path / pattern)], tmp_path / "out")) == ["a.mp4"]
    assert not discover([str(tmp_path / "in/*/*/*.mp4")], tmp_path / "out").files


def test_the_output_folder_is_passed_over_where_a_shell_has_named_it_too(tmp_path: Path) -> None:
    root = made(tmp_path / "in", "a.mp4", f"out/{STATE_FOLDER}/{LEDGER_NAME}", "out/a.mp4.mp4")
    given = [str(path) for path in sorted(root.iterdir())]
    found = discover(given, root / "out")
    assert stems(found) == ["a.mp4"]
    assert [one.reason for one in found.skipped] == ["the output folder"]
    with pytest.raises(UsageError, match="output folder"):
        discover([str(root / "out")], root / "out")


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    root = made(tmp_path / "in", "a.mp4")
    os.mkfifo(root / "pipe.mp4")
    (root / "to-pipe.mp4").symlink_to(root / "pipe.mp4")
    (root / "loop.mp4").symlink_to(root / "loop.mp4")
    (root / "nowhere.mp4").symlink_to(root / "gone.mp4")
    found = discover([str(root)], tmp_path / "out")
    # A link that leads nowhere is a failure of its own.
    assert stems(found) == ["a.mp4", "loop.mp4", "nowhere.mp4"]
    assert {one.name: one.reason for one in found.skipped} == {
        "pipe.mp4": "no regular file",
        "to-pipe.mp4": "no regular file",
    }
    with pytest.raises(UsageError, match="no regular file"):
        discover([str(root / "pipe.mp4")], tmp_path / "out")


def test_an_address_is_refused_without_its_password(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is an address") as caught:
        discover(["rtsp://viewer:geheim@camera-1/1"], tmp_path / "out")
    assert "geheim" not in str(caught.value)


def test_a_name_that_cant_be_looked_at_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="can't be looked at"):
        discover([str(tmp_path / ("a" * 300))], tmp_path / "out")


@pytest.fixture
def closed_folder() -> Iterator[Path]:
    """Yield a folder with one file, and another folder that may not be looked into."""
    with tempfile.TemporaryDirectory() as name:
        root = made(Path(name), "a.mp4", "closed/b.mp4")
        root.chmod(0o755)
        (root / "closed").chmod(0o000)
        is_root = os.geteuid() == 0
        if is_root:
            os.seteuid(65534)
        try:
            yield root
        finally:
            if is_root:
                os.seteuid(0)
            (root / "closed").chmod(0o755)


def test_a_folder_that_may_not_be_looked_into_is_a_fault_and_no_end(closed_folder: Path) -> None:
    found = discover([str(closed_folder)], closed_folder / "out")
    assert stems(found) == ["a.mp4"]
    (one,) = found.skipped
    assert one.name == "closed"
    assert one.is_fault


@pytest.mark.parametrize("given", ["gone.mp4", "no/*.mp4"])
def test_what_isnt_there_is_an_error(tmp_path: Path, given: str) -> None:
    with pytest.raises(UsageError):
        discover([str(tmp_path / given)], tmp_path / "out")
