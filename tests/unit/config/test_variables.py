from __future__ import annotations

from pathlib import Path

import pytest

from tests.config_files import MODELS, fault_of, faults_of, load, one_stream


def password_of(text: str, environ: dict[str, str], folder: Path = Path()) -> str:
    config = load(text, environ=environ, folder=folder)
    password = config.streams[0].connect.password
    assert password is not None
    return password.get_secret_value()


@pytest.mark.parametrize(
    "value",
    [
        "p$a%b",
        "a: b",
        "#x",
        "'",
        '"',
        "{}",
        "${HOME}",
        "$${X}",
        "true",
        "null",
        "0123",
        "a\nb",
        " x ",
    ],
)
def test_no_value_can_break_the_file_or_become_something_else(value: str) -> None:
    assert password_of(one_stream('connect: {password: "${P}"}'), {"P": value}) == value
    text = MODELS + "streams:\n- id: a\n  source: b.mp4\n  connect:\n    password: ${P}\n"
    assert password_of(text, {"P": value}) == value


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("a$b%c$", "a$b%c$"),
        ("$HOME", "$HOME"),
        ("$${A}", "${A}"),
        ("${A}${B}", "onetwo"),
        ("x-${A}-y", "x-one-y"),
        ("${NONE:-}", ""),
        ("${NONE:-a b}", "a b"),
        ("${EMPTY:-full}", "full"),
        ("${EMPTY}", ""),
        ("${A:-other}", "one"),
        ("${NONE:-a:-b}", "a:-b"),
    ],
)
def test_references_are_replaced_as_in_a_shell(written: str, expected: str) -> None:
    environ = {"A": "one", "B": "two", "EMPTY": ""}
    assert password_of(one_stream(f'connect: {{password: "{written}"}}'), environ) == expected


def test_a_variable_may_be_a_number_or_a_boolean() -> None:
    stream = load(
        one_stream('detect_fps: "${FPS}", lane: {size: "${N:-3}"}, loop: "${L}"'),
        environ={"FPS": "2.5", "L": "true"},
    ).streams[0]
    assert (stream.detect_fps, stream.lane.size, stream.loop) == (2.5, 3, True)


def test_a_variable_of_the_wrong_kind_is_refused_without_its_value() -> None:
    fault = fault_of(one_stream('detect_fps: "${FPS}"'), environ={"FPS": "topsecret"})
    assert fault.message == "expected a number, not '${FPS}'"


@pytest.mark.parametrize(
    "written", ["${", "${}", "${1A}", "${A B}", "${A-b}", "${A:-${B}}", "x${A"]
)
def test_a_reference_that_is_none_is_refused(written: str) -> None:
    fault = fault_of(one_stream(f'name: "{written}"'), environ={"A": "1", "B": "2"})
    assert fault.key == "streams[0].name"
    assert "${NAME:-default}" in fault.message


def test_a_missing_variable_is_named_once_and_nothing_else_is_said_of_its_value(
    tmp_path: Path,
) -> None:
    fault = fault_of(one_stream('detect_fps: "${NONE}"'))
    assert (fault.place, fault.key) == ("c.yml:4:44", "streams[0].detect_fps")
    assert fault.message == "the variable NONE is not set in the environment"
    (tmp_path / "s.env").write_text("GATE_PASWORD=x\n")
    text = "env_file: s.env\n" + one_stream('connect: {password: "${GATE_PASSWORD}"}')
    fault = fault_of(text, folder=tmp_path)
    assert f"or in {tmp_path / 's.env'}; did you mean 'GATE_PASWORD'?" in fault.message


def test_a_missing_variable_in_defaults_is_one_fault_for_all_streams() -> None:
    text = MODELS + (
        "defaults: {connect: {password: '${NONE}'}}\n"
        "streams: [{id: a, source: x}, {id: b, source: y}]\n"
    )
    assert fault_of(text).key == "defaults.connect.password"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("P=plain", "plain"),
        ("  export P = spaced ", "spaced"),
        ("P=a b # note", "a b"),
        ("P=a#b", "a#b"),
        ("P='a # $b \\n'", "a # $b \\n"),
        ('P="a\\n\\"b\\"" # note', 'a\n"b"'),
        ("P=", ""),
        ("P=a=b", "a=b"),
        ("P=1\nP=2", "2"),
        ("# no\n\nP=x\r", "x"),
    ],
)
def test_an_env_file_is_read_as_people_write_it(tmp_path: Path, line: str, expected: str) -> None:
    (tmp_path / "s.env").write_bytes(line.encode())
    text = "env_file: s.env\n" + one_stream('connect: {password: "${P}"}')
    assert password_of(text, {}, tmp_path) == expected


def test_the_environment_wins_over_the_env_file(tmp_path: Path) -> None:
    (tmp_path / "s.env").write_text("P=file\n")
    text = "env_file: ${WHERE}\n" + one_stream('connect: {password: "${P}"}')
    assert password_of(text, {"P": "environ", "WHERE": "s.env"}, tmp_path) == "environ"


def test_faults_of_an_env_file_have_their_line_and_show_no_content(tmp_path: Path) -> None:
    (tmp_path / "s.env").write_text("A=1\nhunter2\nB='hunter2\n")
    faults = faults_of("env_file: s.env\n" + one_stream(), folder=tmp_path)
    assert [fault.place for fault in faults] == [f"{tmp_path}/s.env:2:1", f"{tmp_path}/s.env:3:1"]
    assert "hunter2" not in str(faults)


def test_an_env_file_that_is_missing_is_a_fault_at_its_key() -> None:
    fault = fault_of("env_file: no.env\n" + one_stream())
    assert (fault.place, fault.key) == ("c.yml:1:11", "env_file")
    assert "no.env: no such file" in fault.message


def test_an_empty_env_file_name_is_none() -> None:
    assert load("env_file: ${E:-}\n" + one_stream()).env_file is None
