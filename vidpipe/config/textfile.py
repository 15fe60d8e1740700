"""Reading a small text file whose content nobody vouches for."""

from __future__ import annotations

import re
from pathlib import Path

from vidpipe.errors import ConfigError, Fault

SIZE_MAX_BYTES = 4_000_000
"""A thousand streams with every key take a tenth of this."""

NOT_TEXT = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What YAML 1.2 (section 5.1) doesn't count as printable."""

UTF_16_OR_32 = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")


def read_text(path: Path) -> str:
    """Return a file's text, without a byte order mark.

    Raises:
        ConfigError: It can't be read, or isn't text; with the place where it stops being text.
    """
    try:
        with path.open("rb") as file:
            data = file.read(SIZE_MAX_BYTES + 1)
    except FileNotFoundError:
        raise _refused(show_name(path), "no such file") from None
    except IsADirectoryError:
        raise _refused(show_name(path), "is a folder; name the file in it") from None
    except PermissionError:
        raise _refused(show_name(path), "may not be read by this user") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a possible name"
        raise _refused(show_name(path), f"can't be read: {reason}") from None
    if len(data) > SIZE_MAX_BYTES:
        raise _refused(f"{show_name(path)}:1:1", f"is larger than {SIZE_MAX_BYTES // 1_000_000} MB")
    return decode_text(data, show_name(path))


def show_name(path: Path) -> str:
    """Return a path that a message can hold."""
    return "".join(char if char.isprintable() else "?" for char in str(path)[:300])


def decode_text(data: bytes, name: str) -> str:
    """Return the text in UTF-8 data; ``name`` is for the messages.

    Raises:
        ConfigError: It isn't UTF-8, or holds control characters.
    """
    if data.startswith(UTF_16_OR_32):
        raise _refused(f"{name}:1:1", "is UTF-16 or UTF-32; save it as UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8-sig", "replace")
        raise _refused(
            f"{name}:{_line_column(before)}", "is not text in UTF-8: is this the right file?"
        ) from None
    odd = NOT_TEXT.search(text)
    if odd:
        raise _refused(
            f"{name}:{_line_column(text[: odd.start()])}",
            f"holds the control character U+{ord(odd[0]):04X}: is this the right file?",
        )
    return text


def _line_column(before: str) -> str:
    return f"{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"


def _refused(place: str, message: str) -> ConfigError:
    return ConfigError([Fault(place=place, key="", message=message)])
