from __future__ import annotations

from vidpipe.config.suggest import did_you_mean, listed


def test_the_nearest_choice_is_named_whatever_its_case() -> None:
    assert did_you_mean("confidnce", ["confidence", "classes"]) == "; did you mean 'confidence'?"
    assert did_you_mean("GATE", ["gate"]) == "; did you mean 'gate'?"
    assert did_you_mean("rstp", ["rtp", "rtsp", "rtmp"]) == "; did you mean 'rtsp'?"


def test_nothing_is_said_where_nothing_is_near() -> None:
    assert did_you_mean("zebra", ["gate", "yard"]) == ""
    assert did_you_mean("x" * 100_000, ["gate"]) == ""
    assert did_you_mean("gate", []) == ""


def test_choices_are_listed_if_they_are_few() -> None:
    assert listed(["a", "b"], "; one of: ") == "; one of: a, b"
    assert listed(str(n) for n in range(100)) == ""
    assert listed([]) == ""
