from __future__ import annotations

import sys
from pathlib import Path
from typing import Protocol

import pytest

from tests.packages import install
from vidpipe.errors import PluginError
from vidpipe.runtime.plugins import SINKS, SOURCES, lacking, load_plugin, plugin_names


class Speaker(Protocol):
    @property
    def language(self) -> str: ...

    def speak(self, text: str) -> str: ...


class Callee(Protocol):
    def __call__(self, text: str) -> str: ...


class Parrot:
    language = "any"

    def speak(self, text: str) -> str:
        return text


GOOD = """
class Parrot:
    language = 'any'
    def speak(self, text): return text

PARROT = Parrot()
"""


def test_without_packages_there_are_no_names() -> None:
    assert plugin_names(SOURCES) == ()
    with pytest.raises(PluginError, match="no installed package offers 'parrot'"):
        load_plugin(SOURCES, "parrot", Speaker)


def test_names_are_known_without_an_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(
        tmp_path,
        monkeypatch,
        modules={"acme": "raise RuntimeError('imported')"},
        entry_points={SOURCES: {"parrot": "acme:A", "cat": "acme:B"}, "others": {"x": "acme"}},
    )
    assert plugin_names(SOURCES) == ("cat", "parrot")
    assert plugin_names(SINKS) == ()
    assert "acme" not in sys.modules


def test_a_plugin_is_loaded_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(
        tmp_path,
        monkeypatch,
        modules={"acme": GOOD},
        entry_points={SOURCES: {"parrot": "acme:PARROT"}},
    )
    parrot = load_plugin(SOURCES, "parrot", Speaker)
    assert type(parrot).__name__ == "Parrot"
    assert load_plugin(SOURCES, "parrot", Speaker) is parrot


def test_a_module_may_be_a_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(
        tmp_path,
        monkeypatch,
        modules={"acme": "language = 'en'\ndef speak(text): return text\n"},
        entry_points={SOURCES: {"parrot": "acme"}},
    )
    assert load_plugin(SOURCES, "parrot", Speaker) is sys.modules["acme"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import no_such_module_at_all", "ModuleNotFoundError: No module named 'no_such_module"),
        ("raise RuntimeError('rtsp://user:hunter22@host/')", r"RuntimeError: rtsp://\*\*\*@host/"),
        ("import sys\nsys.exit('goodbye')", "SystemExit: goodbye"),
        ("def broken(:", "SyntaxError"),
        ("x = 1", "AttributeError.*PARROT"),
        ("PARROT = 5", "is no Speaker: it has no language, no speak()"),
        ("class PARROT:\n    language = speak = 'x'", r"it has no speak\(\)"),
    ],
)
def test_what_is_wrong_with_a_package_is_said_with_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, words: str
) -> None:
    install(
        tmp_path,
        monkeypatch,
        modules={"acme": text},
        entry_points={SOURCES: {"parrot": "acme:PARROT"}},
    )
    with pytest.raises(PluginError, match=words) as caught:
        load_plugin(SOURCES, "parrot", Speaker)
    assert "the plugin parrot (acme:PARROT, of the package acme-things 1.2)" in str(caught.value)
    assert "hunter22" not in str(caught.value)


def test_two_packages_with_one_name_are_both_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package, module in (("one-thing", "one"), ("other-thing", "other")):
        install(
            tmp_path,
            monkeypatch,
            package=package,
            modules={module: GOOD},
            entry_points={SOURCES: {"parrot": f"{module}:PARROT"}},
        )
    assert plugin_names(SOURCES) == ("parrot",)
    with pytest.raises(PluginError, match=r"one-thing 1\.2 and other-thing 1\.2 both offer"):
        load_plugin(SOURCES, "parrot", Speaker)


def test_a_package_whose_metadata_can_not_be_read_harms_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package, module in (("one-thing", "one"), ("other-thing", "other")):
        install(
            tmp_path,
            monkeypatch,
            package=package,
            modules={module: GOOD},
            entry_points={SOURCES: {module: f"{module}:PARROT"}},
        )
    broken = tmp_path / "site-one-thing" / "one_thing-1.2.dist-info" / "entry_points.txt"
    broken.write_bytes(b"\xff\xfe no text at all")
    assert plugin_names(SOURCES) == ("other",)


def test_the_first_of_two_copies_on_the_path_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("below", "above"):
        install(
            tmp_path / folder,
            monkeypatch,
            modules={"acme": GOOD},
            entry_points={SOURCES: {f"parrot-{folder}": "acme:PARROT"}},
        )
    assert plugin_names(SOURCES) == ("parrot-above",)


def test_a_copy_that_adds_nothing_any_more_hides_an_older_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, entries in (("below", {SOURCES: {"parrot": "acme:PARROT"}}), ("above", {})):
        install(tmp_path / folder, monkeypatch, modules={"acme": GOOD}, entry_points=entries)
    assert plugin_names(SOURCES) == ()


def test_members_are_compared_by_name_and_kind() -> None:
    assert lacking(Parrot(), Speaker) == []
    assert lacking(Parrot, Speaker) == []
    assert lacking(object(), Speaker) == ["language", "speak()"]
    assert lacking(len, Callee) == []
    assert lacking(5, Callee) == ["call"]
