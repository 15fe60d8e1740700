"""An input that can't be read is judged by what becomes of the others."""

from __future__ import annotations

from pathlib import Path

from vidpipe.apps.batch.discover import InputFile
from vidpipe.apps.batch.kinds import Kind
from vidpipe.apps.batch.outage import Outage, OutagePolicy
from vidpipe.apps.batch.suspects import Judgement, Suspect, Suspects, is_passing
from vidpipe.errors import SourceCause


def suspects(readable: set[str]) -> Suspects:
    return Suspects(Outage(OutagePolicy(), lambda: 0.0, lambda path: path.name in readable))


def suspect(name: str, root: Path) -> Suspect:
    return Suspect(InputFile(root / name, name, Kind.VIDEO, root), f"{name} is odd", None)


def test_one_that_can_be_read_has_failed_by_itself(tmp_path: Path) -> None:
    judged = suspects({"a.mp4"}).judge(suspect("a.mp4", tmp_path), is_passing=False)
    assert judged is Judgement.FAILED


def test_one_that_was_away_is_tried_again_but_not_for_ever(tmp_path: Path) -> None:
    among = suspects({"a.mp4"})
    judged = [among.judge(suspect("a.mp4", tmp_path), is_passing=True) for _ in range(3)]
    assert judged == [Judgement.AGAIN, Judgement.AGAIN, Judgement.FAILED]


def test_one_that_cant_be_read_waits_for_the_others(tmp_path: Path) -> None:
    (tmp_path / "there.mp4").write_bytes(b"x")
    among = suspects(set())
    assert among.judge(suspect("a.mp4", tmp_path), is_passing=True) is Judgement.WAIT
    assert among.names == "a.mp4"
    (condemned,) = among.clear()
    assert condemned.error == "a.mp4 is odd"
    assert among.clear() == []


def test_words_and_causes_tell_what_may_pass() -> None:
    assert is_passing("gone", SourceCause.NOT_FOUND)
    assert is_passing("a is incomplete: reading broke off: I/O error", SourceCause.INCOMPLETE)
    assert not is_passing("a is incomplete: 3 packets damaged", SourceCause.INCOMPLETE)
