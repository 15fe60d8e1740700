from __future__ import annotations

from pathlib import Path

import pytest

from vidpipe.errors import ModelError
from vidpipe.inference.labels import LabelTable, carried_labels, read_labels


@pytest.mark.parametrize(
    ("labels", "background_id", "expected"),
    [
        (("a", "b"), None, {0: "a", 1: "b", 2: "class-2"}),
        (("a", "b"), 0, {0: "class-0", 1: "a", 2: "b"}),
        (("background", "a", "b"), 0, {0: "background", 1: "a", 2: "b"}),
        (("Background", "a"), None, {0: "Background", 1: "a"}),
        (("a", "b"), -1, {0: "a", 1: "b"}),
        (("background", "a", "b"), -1, {0: "a", 1: "b"}),
        ({3: "a", 7: "b"}, 0, {3: "a", 7: "b", 4: "class-4"}),
        ((), 0, {1: "class-1"}),
        (("", "b"), None, {0: "class-0", 1: "b"}),
    ],
)
def test_a_list_begins_at_the_first_class_that_is_not_the_background(
    labels: tuple[str, ...] | dict[int, str], background_id: int | None, expected: dict[int, str]
) -> None:
    table = LabelTable(labels, background_id=background_id)
    assert {key: table.name(key) for key in expected} == expected


def test_all_ids_of_a_name_are_kept() -> None:
    table = LabelTable(("car", "person", "car"))
    assert table.kept_ids(("car",), "m") == frozenset({0, 2})
    assert table.kept_ids((), "m") is None
    assert table.kept_ids(("class-9",), "m") == frozenset({9})


@pytest.mark.parametrize(
    ("labels", "said"),
    [(("person", "car"), "did you mean 'person'"), ((), "carries no labels")],
)
def test_a_class_that_is_no_label_is_an_error_that_helps(
    labels: tuple[str, ...], said: str
) -> None:
    with pytest.raises(ModelError, match=said):
        LabelTable(labels).kept_ids(("persn",), "m")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('["traffic light", "Größe"]', ("traffic light", "Größe")),
        ("person car", ("person", "car")),
        ("", ()),
        ("7", ("7",)),
    ],
)
def test_a_file_carries_its_labels_as_a_json_list_or_as_words(
    text: str, expected: tuple[str, ...]
) -> None:
    assert carried_labels({"labels": text} if text else {}) == expected


def test_a_labels_file_has_one_name_a_line(tmp_path: Path) -> None:
    path = tmp_path / "names.txt"
    path.write_bytes("\ufeffперсона\r\ntraffic light\r\n\r\n".encode())
    assert read_labels(path) == ("персона", "traffic light")


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xff\xfe\x00\x80"])
def test_a_labels_file_without_names_is_an_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "names.txt"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"names\.txt"):
        read_labels(path)


def test_a_missing_labels_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="No such file"):
        read_labels(tmp_path / "none.txt")
