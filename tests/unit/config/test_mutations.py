"""A valid file, changed at random: it is accepted, or refused with its place; nothing else."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vidpipe
from tests.command import vidpipe as command
from vidpipe.config.load import load_config_text
from vidpipe.errors import ConfigError

REFERENCE = (Path(vidpipe.__file__).parents[1] / "configs" / "reference.yml").read_text()
LINES = [line.partition("  #")[0] for line in REFERENCE.splitlines() if line.strip()[:1] != "#"]
ENVIRON = {"GATE_USER": "admin", "GATE_PASSWORD": "hunter2-mutated"}
PLACE = re.compile(r"c\.yml:[0-9]+:[0-9]+|--set .*|\S*\.env:[0-9]+:[0-9]+", re.DOTALL)

ODD_TEXTS = [
    "* &a",
    "&a *a",
    "!x",
    "!!float",
    ">",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "- ",
    "? ",
    "#",
    "'",
    '"',
    "%",
    "@",
    "`",
    "<<: *a",
    "---",
    "...",
    "~",
    "null",
    "yes",
    "010",
    "1e999",
    ".nan",
    "2026-11-30",
    "-1",
    "0",
    "1",
    "true",
    "auto",
    "type",
    "id",
    "${",
    "${}",
    "${GATE_PASSWORD}",
    "$${",
    "${NONE}",
    "${NONE:-}",
    "*.mp4",
    "**",
    "rtsp://u:hunter2-mutated@h/x",
    "rstp://x",
    "file://x",
    "device:x",
    "/dev/null",
    "..",
    "{stream}",
    "{x}",
    "é",
    "🎥",
    "[[[[[[",
    "{a: {a: {a: ",
    "\t",
    "\x00",
    "\x1b",
    "\ufeff",
    "\u2028",
    "�",
    "\\x00",
]
ODD = st.sampled_from([*ODD_TEXTS, "|", "9" * 40, "x" * 3000])
ANY = st.one_of(ODD, st.text(max_size=8))
WHERE = st.integers(0, len(LINES) - 1)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    lines = list(LINES)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(WHERE) % len(lines)
        line = lines[at]
        key, colon, _ = line.partition(": ")
        kind = draw(st.sampled_from(["value", "key", "cut", "insert", "drop", "repeat", "indent"]))
        if kind == "value":
            lines[at] = f"{key}{colon}{draw(ANY)}"
        elif kind == "key":
            lines[at] = line.replace(key.strip("- "), draw(ANY), 1)
        elif kind == "cut":
            lines[at] = line[: draw(st.integers(0, len(line)))]
        elif kind == "insert":
            column = draw(st.integers(0, len(line)))
            lines[at] = line[:column] + draw(ANY) + line[column:]
        elif kind == "drop" and len(lines) > 1:
            del lines[at]
        elif kind == "repeat":
            lines.insert(draw(WHERE) % len(lines), line)
        else:
            lines[at] = " " * draw(st.integers(0, 9)) + line.lstrip()
    return "\n".join(lines)


def check(text: str, overrides: list[str]) -> None:
    error: ConfigError | None = None
    try:
        config = load_config_text(text, overrides, ENVIRON, name="c.yml")
    except ConfigError as refused:
        error = refused
    else:
        assert "hunter2" not in repr(config)
        return
    assert error.faults
    assert "hunter2" not in str(error)
    assert "expected something else" not in str(error)  # what has no words of its own yet
    for fault in error.faults:
        assert PLACE.fullmatch(fault.place), fault
        assert fault.message


def test_the_file_that_is_mutated_is_valid() -> None:
    assert len(load_config_text("\n".join(LINES), (), ENVIRON).streams) == 4


@settings(max_examples=300, deadline=None)
@given(mutated())
def test_a_mutated_file_is_accepted_or_refused_with_its_place(text: str) -> None:
    check(text, [])


@settings(max_examples=100, deadline=None)
@given(
    st.one_of(
        st.text(max_size=30),
        st.tuples(
            st.sampled_from(
                ["models.person", "streams.gate", "streams[1].lane", "streams", "version", "wall"]
            ),
            st.sampled_from(["", ".x", ".size", ".hint", "[0]", ".0.outputs[0].path", "."]),
            ANY,
        ).map(lambda parts: f"{parts[0]}{parts[1]}={parts[2]}"),
    )
)
def test_any_override_is_accepted_or_refused_by_name(override: str) -> None:
    check("\n".join(LINES), [override])


@pytest.mark.slow
@pytest.mark.timeout(3600)
@settings(max_examples=10_000, deadline=None)
@given(mutated())
def test_ten_thousand_mutated_files_are_accepted_or_refused_with_their_places(text: str) -> None:
    check(text, [])


def check_by_command(text: str) -> None:
    """Have the command line look at a mutated file."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "c.yml").write_bytes(text.encode("utf-8", "surrogatepass"))
        done = command("check", "--no-probe", "c.yml", cwd=Path(folder), environ=ENVIRON)
    assert done.code in (0, 1, 2), done.err
    assert "Traceback" not in done.err
    assert "hunter2" not in done.out + done.err
    if done.code == 2:
        assert re.search(r"c\.yml:[0-9]+:[0-9]+: |\.env:[0-9]+:[0-9]+: |model ", done.err), done.err


@settings(max_examples=5, deadline=None, derandomize=True)
@given(mutated())
def test_the_command_line_says_the_same_of_a_few(text: str) -> None:
    check_by_command(text)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@settings(max_examples=50, deadline=None)
@given(mutated())
def test_the_command_line_says_the_same_of_fifty(text: str) -> None:
    check_by_command(text)
