"""Text from outside on a page of one's own: escaped, and without what HTML can't hold."""

from __future__ import annotations

from html import escape


def escaped(text: str, *, keeps_lines: bool = False) -> str:
    """Return a text for a page, also inside an attribute's quotes.

    Args:
        text: Any text.
        keeps_lines: Line breaks stay; anything else that can't be printed becomes a space.
    """
    return escape(
        "".join(
            char if char.isprintable() or (keeps_lines and char == "\n") else " " for char in text
        )
    )
