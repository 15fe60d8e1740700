"""The nearest of the allowed words, for messages that say what was probably meant."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterable

FEW = 16
"""Up to this many choices a message lists them all; more would hide what is wrong."""
COMPARED_MAX = 500
"""Comparing with thousands of names would take longer than all the rest."""


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?``, or nothing where no choice is near."""
    by_folded = {choice.casefold(): choice for choice in itertools.islice(choices, COMPARED_MAX)}
    # difflib is quadratic: nobody mistypes a thousand characters
    folded = word.casefold()[:100]
    near = difflib.get_close_matches(folded, by_folded, n=3, cutoff=0.6)
    # the same letters in another order (rstp) are the likeliest slip, and difflib doesn't know it
    near.sort(key=lambda choice: sorted(choice) != sorted(folded))
    return f"; did you mean '{by_folded[near[0]]}'?" if near else ""


def listed(choices: Iterable[str], intro: str = "; allowed here: ") -> str:
    """Return the choices as one phrase after ``intro``, or nothing where there are too many."""
    words = list(choices)
    return intro + ", ".join(words) if 0 < len(words) <= FEW else ""
