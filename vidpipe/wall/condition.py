"""What a tile says of its stream.

The same rules for a browser are ``condition.js``: a test compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass

LATE_S = 2.0
"""A picture older than this is late."""
GONE_S = 10.0
"""A picture older than this is no longer shown: it would pass for the present."""
UNLINKED_S = 3.0
"""The same, while who sends the pictures can't be reached."""

_WORDS = {
    "connecting": "Connecting",
    "stalled": "No signal",
    "backing-off": "No signal",
    "failed": "Failed",
    "ended": "Ended",
    "disabled": "Disabled",
}
_GRADES = {"disabled": "off", "ended": "off", "connecting": "slow"}
_SPARE = 3
"""A camera of few pictures a second is late after so many that didn't come."""


@dataclass(frozen=True, slots=True)
class Condition:
    """How one tile stands.

    Attributes:
        kind: ``live``, ``late``, ``frozen``, ``waiting``, ``gone``, ``unlinked``, or the stream's
            own state.
        word: What it says, in one or two words; empty while all is well.
        is_black: True if no picture may be seen.
        grade: How bad it is: ``good``, ``slow``, ``bad`` or ``off``.
    """

    kind: str
    word: str
    is_black: bool
    grade: str


def condition_of(
    state: str,
    age_s: float | None,
    *,
    is_frozen: bool = False,
    is_linked: bool = True,
    usual_s: float = 0.0,
) -> Condition:
    """Return how a tile stands.

    Args:
        state: The stream's, as ``/api/streams`` has it.
        age_s: The age of its newest picture, or None where there is none.
        is_frozen: Whether the source repeats one picture.
        is_linked: Whether who sends the pictures can be heard.
        usual_s: Seconds between two pictures, where that is long.
    """
    spare_s = _SPARE * usual_s
    if not is_linked and (age_s is None or age_s > UNLINKED_S + spare_s):
        return Condition("unlinked", "No connection", is_black=True, grade="bad")
    # What is opened again at once, as a recording that begins anew, has shown the present just now.
    is_blink = state == "connecting" and age_s is not None and age_s <= LATE_S
    if state in _WORDS and not is_blink:
        grade = _GRADES.get(state, "bad")
        return Condition(state, _WORDS[state], is_black=True, grade=grade)
    if age_s is None:
        return Condition("waiting", "Waiting", is_black=True, grade="slow")
    if age_s > GONE_S + spare_s:
        return Condition("gone", "No picture", is_black=True, grade="bad")
    if is_frozen:
        return Condition("frozen", "Frozen picture", is_black=False, grade="bad")
    if age_s > LATE_S + spare_s:
        return Condition("late", "Late", is_black=False, grade="slow")
    return Condition("live", "", is_black=False, grade="good")
