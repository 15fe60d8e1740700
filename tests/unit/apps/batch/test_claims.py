"""Results are kept from other inputs of the same name."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from vidpipe.apps.batch.claims import require_free_names
from vidpipe.apps.batch.discover import InputFile
from vidpipe.apps.batch.identity import Identity, identify
from vidpipe.apps.batch.kinds import Kind
from vidpipe.errors import UsageError


def made(folder: Path, content: bytes) -> InputFile:
    folder.mkdir(exist_ok=True)
    (folder / "a.mp4").write_bytes(content)
    return InputFile(folder / "a.mp4", "a.mp4", Kind.VIDEO, folder)


def known_by(file: InputFile) -> dict[str, tuple[Path, Identity]]:
    return {file.stem: (file.path, identify(file.path))}


@pytest.mark.parametrize("content", [b"two", b"longer than the first"])
def test_another_input_of_the_name_is_refused(tmp_path: Path, content: bytes) -> None:
    known = known_by(made(tmp_path / "one", b"one"))
    with pytest.raises(UsageError, match=r"one/a\.mp4"):
        require_free_names([made(tmp_path / "two", content)], known)


def test_one_that_has_changed_or_moved_or_was_copied_is_the_same(tmp_path: Path) -> None:
    first = made(tmp_path / "one", b"one")
    known = known_by(first)
    require_free_names([made(tmp_path / "two", b"one")], known)  # a copy
    require_free_names([made(tmp_path / "one", b"changed")], known)
    (tmp_path / "link").symlink_to(tmp_path / "one")
    linked = InputFile(tmp_path / "link" / "a.mp4", "a.mp4", Kind.VIDEO, tmp_path / "link")
    require_free_names([linked], known)
    shutil.rmtree(tmp_path / "one")
    require_free_names([made(tmp_path / "two", b"another, but the first is gone")], known)
