"""How a tile stands in each situation: one table for the rules in Python and those in the page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ConditionCase:
    """One situation, and what a tile is to say of it."""

    title: str
    state: str
    age_s: float | None
    kind: str
    word: str
    grade: str
    is_frozen: bool = False
    is_linked: bool = True
    usual_s: float = 0.0

    @property
    def is_black(self) -> bool:
        """Whether no picture may be seen."""
        return self.kind not in ("live", "late", "frozen")


CASES = (
    ConditionCase("live", "live", 0.1, "live", "", "good"),
    ConditionCase("a recording", "playing", 0.1, "live", "", "good"),
    ConditionCase("at the limit", "live", 2.0, "live", "", "good"),
    ConditionCase("late", "live", 2.1, "late", "Late", "slow"),
    ConditionCase("late for long", "live", 10.0, "late", "Late", "slow"),
    ConditionCase("the past", "live", 10.1, "gone", "No picture", "bad"),
    ConditionCase("no picture yet", "live", None, "waiting", "Waiting", "slow"),
    ConditionCase("slow camera", "live", 4.0, "live", "", "good", usual_s=2.0),
    ConditionCase("slow and late", "live", 8.1, "late", "Late", "slow", usual_s=2.0),
    ConditionCase("slow and gone", "live", 16.1, "gone", "No picture", "bad", usual_s=2.0),
    ConditionCase("frozen", "live", 0.1, "frozen", "Frozen picture", "bad", is_frozen=True),
    ConditionCase("frozen, gone", "live", 11.0, "gone", "No picture", "bad", is_frozen=True),
    ConditionCase("connecting", "connecting", None, "connecting", "Connecting", "slow"),
    ConditionCase("opened again at once", "connecting", 1.9, "live", "", "good"),
    ConditionCase("opened again", "connecting", 2.1, "connecting", "Connecting", "slow"),
    ConditionCase("stalled", "stalled", 1.0, "stalled", "No signal", "bad"),
    ConditionCase("resting", "backing-off", 1.0, "backing-off", "No signal", "bad"),
    ConditionCase("failed", "failed", None, "failed", "Failed", "bad"),
    ConditionCase("ended", "ended", 0.5, "ended", "Ended", "off"),
    ConditionCase("disabled", "disabled", 0.5, "disabled", "Disabled", "off"),
    ConditionCase("disabled, frozen", "disabled", 9, "disabled", "Disabled", "off", is_frozen=True),
    ConditionCase("a short break", "live", 2.9, "late", "Late", "slow", is_linked=False),
    ConditionCase("no server", "live", 3.1, "unlinked", "No connection", "bad", is_linked=False),
    ConditionCase(
        "no server, none", "live", None, "unlinked", "No connection", "bad", is_linked=False
    ),
    ConditionCase(
        "no server, off",
        "disabled",
        None,
        "unlinked",
        "No connection",
        "bad",
        is_linked=False,
    ),
)
