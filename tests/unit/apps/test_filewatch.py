from __future__ import annotations

from pathlib import Path

from vidpipe.apps.filewatch import FileWatch


def watch_of(path: Path, *others: Path) -> FileWatch:
    return FileWatch(path, lambda: others, 0.0)


def looks(watch: FileWatch, first_s: float, last_s: float) -> list[float]:
    """Look ten times a second; return when it had changed."""
    steps = range(int(first_s * 10), int(last_s * 10))
    return [step / 10 for step in steps if watch.has_changed(step / 10)]


def test_files_that_stay_are_no_news(tmp_path: Path) -> None:
    path = tmp_path / "c.yml"
    path.write_text("a")
    assert looks(watch_of(path), 0, 20) == []


def test_a_change_is_told_once_when_the_file_has_rested(tmp_path: Path) -> None:
    path = tmp_path / "c.yml"
    path.write_text("a")
    watch = watch_of(path)
    assert looks(watch, 0, 1) == []
    path.write_text("ab")
    (told,) = looks(watch, 1, 10)
    assert 2.0 <= told <= 3.0


def test_a_file_that_is_written_again_and_again_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "c.yml"
    path.write_text("a")
    watch = watch_of(path)
    for step in range(1, 10):
        path.write_text("a" * (step + 1))
        assert looks(watch, step * 0.5, step * 0.5 + 0.5) == []
    assert len(looks(watch, 5, 10)) == 1


def test_a_file_put_in_its_place_by_a_rename_is_another(tmp_path: Path) -> None:
    path, other = tmp_path / "c.yml", tmp_path / "new"
    path.write_text("a")
    watch = watch_of(path)
    looks(watch, 0, 1)
    other.write_text("b")
    other.replace(path)
    assert len(looks(watch, 1, 5)) == 1


def test_a_configuration_that_is_away_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "c.yml"
    path.write_text("a")
    watch = watch_of(path)
    path.unlink()
    assert looks(watch, 0, 10) == []
    path.write_text("abc")
    assert len(looks(watch, 10, 20)) == 1


def test_further_files_count_and_may_be_others_later(tmp_path: Path) -> None:
    path, secrets, labels = (tmp_path / name for name in ("c.yml", "s.env", "labels.txt"))
    for file in (path, secrets, labels):
        file.write_text("a")
    beside = [secrets]
    watch = FileWatch(path, lambda: beside, 0.0)
    looks(watch, 0, 1)
    secrets.write_text("ab")
    assert len(looks(watch, 1, 5)) == 1
    beside.append(labels)
    watch.settle()
    assert looks(watch, 5, 10) == [], "that there is one more is known"
    labels.unlink()
    assert len(looks(watch, 10, 15)) == 1
