"""What is asked of a run while it goes on, told to a run that does nothing."""

from __future__ import annotations

from collections.abc import Sequence

from tests.config_files import load, one_stream
from vidpipe.apps.controls import Controls
from vidpipe.apps.reload import Change
from vidpipe.config.schema import Config


class FakeRun:
    """Takes every change up; what couldn't begin is what the test says."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.wrongs: Sequence[str] = ()

    def apply(self, config: Config, change: Change) -> Sequence[str]:
        del config
        self.changes.append(change)
        return self.wrongs

    def begin_anew(self, stream: str) -> Sequence[str]:
        del stream
        return ()


def test_a_reload_tells_which_streams_could_not_begin() -> None:
    run = FakeRun()
    text = one_stream()
    controls = Controls(run, load(text), lambda: load(text))
    assert "failed" not in controls.reload()
    assert run.changes == []
    text = one_stream("weight: 2")
    run.wrongs = ["stream gate couldn't begin: frames of its former life haven't come back"]
    assert controls.reload() == {
        "added": [],
        "removed": [],
        "changed": ["gate"],
        "unchanged": [],
        "failed": run.wrongs,
    }
