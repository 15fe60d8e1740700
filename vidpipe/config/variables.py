"""``${VAR}`` and ``${VAR:-default}`` in the scalars of a file, from the environment or env_file.

Substitution comes after parsing, so that no value can break the file or add to it, and what is
put in is not looked at again. A ``$`` without ``{`` is itself; ``$${`` is a literal ``${``. As in a
shell, ``:-`` also holds for a variable that is set and empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from vidpipe.config.document import FaultLog, KeyPath, MapNode, Place, TextNode, show, text_of
from vidpipe.config.expand import input_path
from vidpipe.config.suggest import did_you_mean
from vidpipe.config.textfile import read_text, show_name
from vidpipe.errors import ConfigError

REFERENCE = re.compile(r"\$\$\{|\$\{([^{}]*)\}|\$\{")
INSIDE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", re.DOTALL)
ENV_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*")
DOUBLE_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"\s*(?:#.*)?')
SINGLE_QUOTED = re.compile(r"'([^']*)'\s*(?:#.*)?")
ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
SECRET_NAME = re.compile(r"(?i)pass|pwd|secret|token|key|cred")


class SubstitutionError(Exception):
    """A reference can't be replaced; the text says why."""


@dataclass(slots=True)
class Variables:
    """The variables that a file may use.

    Attributes:
        environ: The process's environment, which wins.
        from_file: What the ``env_file`` holds.
        file_name: Its name, for messages; None where there is none.
        secrets: The values put in so far whose variable is named like a secret.
    """

    environ: Mapping[str, str]
    from_file: Mapping[str, str] = field(default_factory=dict)
    file_name: str | None = None
    secrets: set[str] = field(default_factory=set)

    def substitute(self, text: str) -> str:
        """Return the text with its references replaced.

        Raises:
            SubstitutionError: A variable is missing, or a reference isn't well-formed.
        """
        return REFERENCE.sub(self._value, text)

    def _value(self, match: re.Match[str]) -> str:
        if match[0] == "$${":
            return "${"
        inside = INSIDE.fullmatch(match[1]) if match[1] is not None else None
        if inside is None:
            raise SubstitutionError(
                "a ${ is not closed or holds no plain name; the forms are ${NAME} and "
                "${NAME:-default}, and $${ stands for a ${ of the text"
            )
        name, default = inside[1], inside[2]
        value = self.environ.get(name, self.from_file.get(name))
        if value is None and default is None:
            raise SubstitutionError(self._missing(name))
        if default is not None and not value:
            return default
        if SECRET_NAME.search(name) and value:
            self.secrets.add(value)
        return value or ""

    def _missing(self, name: str) -> str:
        where = "in the environment"
        if self.file_name is not None:
            where += f" or in {self.file_name}"
        guess = did_you_mean(name, self.from_file)
        return f"the variable {show(name)} is not set {where}{guess}"

    def put_into(self, node: TextNode, path: KeyPath, faults: FaultLog) -> TextNode:
        """Return a scalar with its references replaced; what can't be is a fault."""
        if "${" not in node.text:
            return node
        try:
            text = self.substitute(node.text)
        except SubstitutionError as error:
            faults.block(node.place, path, str(error))
            return node
        has_value = any(match[0] != "$${" for match in REFERENCE.finditer(node.text))
        return replace(node, text=text, is_plain=node.is_plain or has_value)


def read_env_lines(text: str, name: str, faults: FaultLog) -> dict[str, str]:
    r"""Return the variables of an env_file: ``KEY=VALUE`` lines, quotes, comments, ``export``.

    In double quotes ``\n``, ``\t``, ``\r`` and an escaped character are understood; in single
    quotes all is literal; without quotes the value ends at a ``#`` after a space. The last of
    several wins.
    """
    variables: dict[str, str] = {}
    for number, line in _lines(text):
        match = ENV_LINE.fullmatch(line)
        value = _env_value(match[2]) if match else None
        if match is None or value is None:
            faults.add(
                Place(1, number, 1, name),
                (),
                "expected KEY=VALUE, a comment or nothing" if match is None else "a quote is open",
            )
        else:
            variables[match[1]] = value
    return variables


def read_env_file(root: MapNode, variables: Variables, folder: Path, faults: FaultLog) -> None:
    """Let the variables have what the file's ``env_file`` holds, if it names one."""
    node = root.get("env_file")
    text = text_of(node)
    if node is None or text is None:
        return
    try:
        text = variables.substitute(text)
    except SubstitutionError as error:
        faults.block(node.place, ("env_file",), str(error))
        return
    if not text.strip():
        return  # ${NAME:-}: there is none today
    path = Path(input_path(text, folder))
    variables.file_name = show_name(path)
    try:
        variables.from_file = read_env_lines(read_text(path), show_name(path), faults)
    except ConfigError as error:
        _refused(node.place, ("env_file",), error, faults)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, line


def _env_value(raw: str) -> str | None:
    if raw.startswith('"'):
        quoted = DOUBLE_QUOTED.fullmatch(raw)
        return re.sub(r"\\(.)", _unescaped, quoted[1]) if quoted else None
    if raw.startswith("'"):
        quoted = SINGLE_QUOTED.fullmatch(raw)
        return quoted[1] if quoted else None
    if raw.startswith("#"):
        return ""
    return re.split(r"\s#", raw, maxsplit=1)[0].rstrip()


def _unescaped(match: re.Match[str]) -> str:
    return ESCAPES.get(match[1], match[1])


def _refused(place: Place, path: KeyPath, error: ConfigError, faults: FaultLog) -> None:
    """Report that the env_file can't be used, at the key that names it."""
    for fault in error.faults:
        faults.block(place, path, f"{fault.place}: {fault.message}")
