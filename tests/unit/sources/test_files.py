from __future__ import annotations

import os
from pathlib import Path

import pytest

from vidpipe.errors import SourceCause, SourceError
from vidpipe.sources.files import file_error, require_file, shown


def failure_of(path: Path) -> SourceError:
    with pytest.raises(SourceError) as caught:
        require_file(path)
    return caught.value


def test_a_file_with_something_in_it_passes(tmp_path: Path) -> None:
    path = tmp_path / "clip.mp4"
    path.write_bytes(b"x")
    require_file(path)


def test_each_fault_of_a_path_is_named(tmp_path: Path) -> None:
    empty = tmp_path / "empty.mp4"
    empty.touch()
    assert failure_of(tmp_path).cause is SourceCause.FORMAT
    assert "directory" in str(failure_of(tmp_path))
    assert failure_of(empty).cause is SourceCause.FORMAT
    assert "empty" in str(failure_of(empty))
    for missing in (tmp_path / "no.mp4", empty / "below.mp4", tmp_path / "a\0b"):
        assert failure_of(missing).cause is SourceCause.NOT_FOUND


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_forbidden_directory_is_refused(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0)
    assert failure_of(locked / "clip.mp4").cause is SourceCause.REFUSED


def test_a_forbidden_file_is_refused() -> None:
    error = file_error(Path("clip.mp4"), PermissionError(13, "Permission denied"))
    assert error.cause is SourceCause.REFUSED
    assert "clip.mp4" in str(error)


def test_what_the_decoder_says_is_passed_on() -> None:
    error = file_error(Path("clip.mp4"), OSError(5, "x"), "Input/output error")
    assert error.cause is SourceCause.FORMAT
    assert "Input/output error" in str(error)


def test_a_name_in_no_encoding_can_be_written_to_any_log() -> None:
    text = shown(Path(os.fsdecode(b"caf\xe9 \xe6\x97\xa5\n.mp4")))
    assert text == "caf\\udce9 日\\n.mp4"
    text.encode()


def test_a_pipe_that_failed_is_not_opened_again(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    error = file_error(pipe, ValueError("no video"), "")  # would wait for a writer
    assert "not a video file" in str(error)


@pytest.mark.parametrize("reason", ["", "End of file"])
def test_an_mp4_that_ends_before_or_within_its_index_is_unfinished(
    tmp_path: Path, reason: str
) -> None:
    path = tmp_path / "clip.mp4"
    path.write_bytes(b"\0\0\0\x20ftypisom")
    assert "without its index" in str(file_error(path, ValueError("cut"), reason))
