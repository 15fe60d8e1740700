"""Parts become a result, whatever interrupts it."""

from __future__ import annotations

from pathlib import Path

import pytest

from vidpipe.apps.batch.folder import OutputFolder
from vidpipe.apps.batch.join import JoinError, join, keep_partial
from vidpipe.apps.batch.ledger import State, UnitRow
from vidpipe.apps.batch.plan import Unit

FILE = 7


def made(tmp_path: Path, *contents: bytes) -> tuple[OutputFolder, list[UnitRow]]:
    folder = OutputFolder(tmp_path / "out")
    rows = []
    for number, content in enumerate(contents):
        path = folder.part(FILE, number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        rows.append(UnitRow(Unit(number), State.DONE, content.count(b"\n"), len(content)))
    return folder, rows


@pytest.mark.parametrize("contents", [[b"a\n"], [b"a\n", b"", b"b\nc\n"], [b""], []])
def test_a_result_is_its_parts_in_order(tmp_path: Path, contents: list[bytes]) -> None:
    folder, rows = made(tmp_path, *contents)
    target = join(folder, FILE, "yard/a.mp4", rows)
    assert target == tmp_path / "out" / "yard" / "a.mp4.jsonl"
    assert target.read_bytes() == b"".join(contents)
    assert not folder.partial("yard/a.mp4").exists()


def test_it_can_be_repeated(tmp_path: Path) -> None:
    for contents in ([b"a\n"], [b"a\n", b"b\n"]):
        folder, rows = made(tmp_path, *contents)
        join(folder, FILE, "a.mp4", rows)
        folder.remove_parts(FILE)
        assert join(folder, FILE, "a.mp4", rows).read_bytes() == b"".join(contents)


def test_a_part_of_another_length_is_refused(tmp_path: Path) -> None:
    folder, rows = made(tmp_path, b"a\n", b"b\n")
    folder.part(FILE, 1).write_bytes(b"b\nmore\n")
    with pytest.raises(JoinError):
        join(folder, FILE, "a.mp4", rows)
    folder.part(FILE, 1).unlink()
    with pytest.raises(JoinError):
        join(folder, FILE, "a.mp4", rows)
    assert not folder.result("a.mp4").exists()


def test_what_there_is_of_a_broken_file_is_kept(tmp_path: Path) -> None:
    folder, rows = made(tmp_path, b"a\n", b"", b"c\n")
    kept = keep_partial(folder, FILE, "a.mp4", rows)
    assert kept == folder.partial("a.mp4")
    assert kept.read_bytes() == b"a\nc\n"
    folder, rows = made(tmp_path / "none", b"")
    assert keep_partial(folder, FILE, "a.mp4", rows) is None
