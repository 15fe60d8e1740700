"""Figures in words that people read, the same on the sheet and in the report."""

from __future__ import annotations

from collections.abc import Mapping


def clock_text(seconds: float, *, is_fine: bool = False) -> str:
    """Return a time as ``0:07``, ``12:34`` or ``1:02:03``; fine: with tenths of a second."""
    is_before = seconds < 0
    tenths = round(abs(seconds) * 10) if is_fine else round(abs(seconds)) * 10
    whole, tenth = divmod(tenths, 10)
    minutes, second = divmod(whole, 60)
    hours, minute = divmod(minutes, 60)
    text = f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute}:{second:02d}"
    return ("-" if is_before and tenths else "") + text + (f".{tenth}" if is_fine else "")


def number_text(value: float) -> str:
    """Return a figure with thousands apart, and three digits of a small one."""
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}".replace(",", "\u202f")
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def counts_text(counts: Mapping[str, int], most: int = 3) -> str:
    """Return what is in a frame, ``3× person, car, 2 more``: the most frequent first."""
    return _listed(
        [label if count == 1 else f"{count}× {label}" for label, count in _ranked(counts)], most
    )


def totals_text(counts: Mapping[str, int], most: int = 3) -> str:
    """Return what was found in all, ``person 1 234, car 5``."""
    return _listed([f"{label} {number_text(count)}" for label, count in _ranked(counts)], most)


def _ranked(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _listed(words: list[str], most: int) -> str:
    hidden = len(words) - most
    return ", ".join(words[:most]) + (f", {hidden} more" if hidden > 0 else "")
