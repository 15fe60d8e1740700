"""How a scalar of the file becomes a value: the field says what it wants, the text is read so.

A configuration hands every scalar to its field as ``Written`` text. A number field reads it as a
number, a text field takes it as it stands: ``password: 0123`` is the four characters, ``name: no``
the two, and no date, octal or sexagesimal number ever appears by surprise. Numbers and booleans
may also be given as such, where a configuration is built in code.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator, Field, SecretStr
from pydantic_core import PydanticCustomError

NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
LEADING_ZERO = re.compile(r"[-+]?0[0-9]+")
NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
FLAGS = {"true": True, "false": False, "yes": True, "no": False, "on": True, "off": False}
"""YAML 1.1 and 1.2 together; none of these words could mean anything else in a boolean's place."""
TRUE_OR_FALSE = re.compile("|".join(FLAGS), re.IGNORECASE)
DIGITS_MAX = 18
"""Whole numbers of more digits are mistakes, and slow to convert."""


class Written(str):
    """A scalar's text with what a message may show of it.

    Attributes:
        shown: The text before substitution, so that no message holds a value of the environment.
        is_plain: True if it may be read as a number or boolean: without quotes, or substituted.
    """

    __slots__ = ("is_plain", "shown")

    def __new__(cls, text: str, *, shown: str, is_plain: bool) -> Written:
        """Keep the text and what belongs to it."""
        written = super().__new__(cls, text)
        written.shown = shown
        written.is_plain = is_plain
        return written

    shown: str
    is_plain: bool


def fault(message: str) -> PydanticCustomError:
    """Return an error whose text reaches the user as it is."""
    return PydanticCustomError("vidpipe", "{message}", {"message": message})


def described(value: object) -> str:
    """Name a value for a message, without showing more of it than may be shown."""
    if isinstance(value, Written):
        return f"'{value.shown}'"
    kinds = {dict: "a mapping", list: "a list", tuple: "a list", str: "text", bool: "a boolean"}
    return kinds.get(type(value), "nothing" if value is None else f"a {type(value).__name__}")


def _unquote(value: object, wanted: re.Pattern[str]) -> str:
    quoted = isinstance(value, Written) and not value.is_plain and wanted.fullmatch(value.strip())
    return " in quotes: take them away" if quoted else ""


def number(value: object) -> object:
    """Read a finite number; for a ``BeforeValidator``."""
    if isinstance(value, Written) and value.is_plain:
        text = value.strip()
        if NOT_FINITE.fullmatch(text):
            raise fault("expected a finite number")
        if LEADING_ZERO.fullmatch(text):
            raise fault(
                f"'{value.shown}' could be octal or decimal: write it without its leading zeros"
            )
        if NUMBER.fullmatch(text):
            value = float(text)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise fault(f"expected a number, not {described(value)}{_unquote(value, NUMBER)}")
    try:
        as_float = float(value)
    except OverflowError:
        as_float = math.inf
    if not math.isfinite(as_float):
        raise fault("expected a finite number")
    return as_float


def whole(value: object) -> object:
    """Read a whole number; for a ``BeforeValidator``."""
    if isinstance(value, Written):
        read = number(value)
        text = value.strip()
        if not re.fullmatch(r"[-+]?[0-9]+", text):
            raise fault(f"expected a whole number, not {described(value)}")
        if len(text) > DIGITS_MAX:
            raise fault(f"the number '{value.shown}' is too large")
        return int(text) if isinstance(read, float) else read
    if isinstance(value, bool) or not isinstance(value, int):
        raise fault(f"expected a whole number, not {described(value)}")
    return value


def flag(value: object) -> object:
    """Read true or false; for a ``BeforeValidator``."""
    if isinstance(value, Written) and value.is_plain:
        value = FLAGS.get(value.strip().lower(), value)
    if not isinstance(value, bool):
        raise fault(
            f"expected true or false, not {described(value)}{_unquote(value, TRUE_OR_FALSE)}"
        )
    return value


def text(value: object) -> object:
    """Take a scalar as the text that was written; for a ``BeforeValidator``."""
    if isinstance(value, Path):
        return str(value)
    if not isinstance(value, str):
        raise fault(f"expected text, not {described(value)}")
    if "\0" in value:
        raise fault("holds a NUL character")
    return str(value)


def filled_text(value: object) -> object:
    """Take text that isn't empty or blank; for a ``BeforeValidator``."""
    taken = text(value)
    if not str(taken).strip():
        shown = f" ('{value.shown}')" if isinstance(value, Written) and value.shown else ""
        raise fault(f"is empty{shown}: give it a value, or leave the key out")
    return taken


def file_path(value: object) -> object:
    """Take a path, with ``~`` as the user's home; for a ``BeforeValidator``."""
    return Path(os.path.expanduser(str(filled_text(value))))  # noqa: PTH111 (Path's raises without a home)


def any_scalar(value: object) -> Any:
    """Read a scalar by its looks, as for a device's property; for a ``BeforeValidator``."""
    if not isinstance(value, str | int | float):
        raise fault(f"expected text, a number, or true or false, not {described(value)}")
    if not isinstance(value, Written):
        return value
    plain = value.strip() if value.is_plain else ""
    if plain in ("true", "True", "TRUE", "false", "False", "FALSE"):
        return plain.lower() == "true"
    if LEADING_ZERO.fullmatch(plain) or not NUMBER.fullmatch(plain):
        return str(value)
    return whole(value) if plain.lstrip("+-").isdigit() else number(value)


def any_value(value: object) -> Any:
    """Read lists and mappings of scalars, each by its looks; what is empty is None."""
    if isinstance(value, Mapping):
        return {str(key): any_value(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [any_value(inner) for inner in value]
    return None if value is None else any_scalar(value)


AS_NUMBER = BeforeValidator(number)
AS_WHOLE = BeforeValidator(whole)
AS_FLAG = BeforeValidator(flag)
AS_TEXT = BeforeValidator(text)
AS_FILLED = BeforeValidator(filled_text)
AS_PATH = BeforeValidator(file_path)
AS_SCALAR = BeforeValidator(any_scalar)

UserName: TypeAlias = Annotated[
    str | None,
    Field(repr=False, description="The user as raw text; wins over the URL's own."),
    AS_TEXT,
]
Password: TypeAlias = Annotated[
    SecretStr | None,
    Field(description="The password as raw text; wins over the URL's own."),
    AS_TEXT,
]
