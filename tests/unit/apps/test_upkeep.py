from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.config_files import load, one_stream
from tests.threads import wait_until
from vidpipe.apps.deployment import Deployment
from vidpipe.apps.systemd import ServiceNotice
from vidpipe.apps.upkeep import ConfigSource, Upkeep, status_line
from vidpipe.config.schema import Config
from vidpipe.errors import ConfigError, Fault
from vidpipe.runtime.meters import StreamStats
from vidpipe.types import CaptureReport, StreamState


def report(state: StreamState) -> CaptureReport:
    return CaptureReport(state, "", has_been_up=True, error=None, info=None)


class FakeRun:
    """A run that does nothing but answer, and be reloaded."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.revision = 0
        self.reloads = 0
        self.answers = True
        self.gate: threading.Event | None = None
        self.error: Exception | None = None

    def reload(self) -> Mapping[str, Sequence[str]]:
        self.reloads += 1
        if self.gate is not None:
            self.gate.wait()
        if self.error is not None:
            raise self.error
        return {}

    def has_pulse(self) -> bool:
        return self.answers

    def stats(self) -> Mapping[str, StreamStats]:
        return {}

    def reports(self) -> Mapping[str, CaptureReport]:
        return {"gate": report(StreamState.LIVE)}

    def switches(self) -> Mapping[str, int]:
        return {}

    def models(self, *, compares: bool = True) -> Mapping[str, Mapping[str, Any]]:
        return {}


class Bench:
    def __init__(self, folder: Path, watchdog_us: str = "3000000") -> None:
        self.config = load(one_stream())
        self.run = FakeRun(self.config)
        self.hangups = 0
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.manager.bind(str(folder / "notify"))
        self.manager.settimeout(0)
        self.notice = ServiceNotice(
            {"NOTIFY_SOCKET": str(folder / "notify"), "WATCHDOG_USEC": watchdog_us}
        )

    def upkeep(self, source: ConfigSource | None = None) -> Upkeep:
        return Upkeep(self.run, Deployment(self.config), source, self.notice, self._take_hangup)

    def words(self) -> list[str]:
        found: list[str] = []
        try:
            while True:
                found.append(self.manager.recv(4096).decode().partition("\n")[0])
        except BlockingIOError:
            return found

    def _take_hangup(self) -> bool:
        has_come, self.hangups = self.hangups > 0, 0
        return has_come


@contextmanager
def bench(folder: Path) -> Iterator[Bench]:
    one = Bench(folder)
    try:
        yield one
    finally:
        one.manager.close()


def test_the_watchdog_is_fed_only_while_the_run_is_alive(
    tmp_path: Path, log_lines: list[str]
) -> None:
    with bench(tmp_path) as one:
        upkeep = one.upkeep()
        now_s = 1e9
        upkeep.tend(now_s)
        assert one.words().count("WATCHDOG=1") == 1
        for step in range(10):
            upkeep.tend(now_s + step)
        assert one.words().count("WATCHDOG=1") >= 9
        one.run.answers = False
        for step in range(10, 25):
            upkeep.tend(now_s + step)
        one.words()
        for step in range(25, 60):
            upkeep.tend(now_s + step)
        assert "WATCHDOG=1" not in one.words()
        assert sum("nothing moves any more" in line for line in log_lines) == 1
        one.run.answers = True
        upkeep.tend(now_s + 60)
        assert "WATCHDOG=1" in one.words()


def test_a_reload_that_grants_a_model_more_time_grants_it_to_the_run(tmp_path: Path) -> None:
    with bench(tmp_path) as one:
        upkeep = one.upkeep()
        model = one.config.models["person"].model_copy(update={"timeout_s": 100.0})
        one.run.config = one.config.model_copy(update={"models": {"person": model}})
        one.run.revision += 1
        one.run.answers = False
        now_s = time.monotonic()
        for step in range(100):
            upkeep.tend(now_s + step)
        one.words()
        upkeep.tend(now_s + 101)
        assert "WATCHDOG=1" in one.words()
        upkeep.tend(now_s + 108)
        assert "WATCHDOG=1" not in one.words()


def test_a_reload_holds_nothing_up_and_the_next_one_waits_for_it(tmp_path: Path) -> None:
    with bench(tmp_path) as one:
        upkeep = one.upkeep()
        one.words()
        one.run.gate = threading.Event()
        one.hangups = 1
        upkeep.tend(1e9)
        wait_until(lambda: one.run.reloads == 1, "it begins")
        one.hangups = 1
        for step in range(5):
            upkeep.tend(1e9 + step)
        assert one.run.reloads == 1
        words = one.words()
        assert "RELOADING=1" in words
        assert "READY=1" not in words
        assert words.count("WATCHDOG=1") == 5
        one.run.gate.set()

        def has_next() -> bool:
            upkeep.tend(1e9 + 9)
            return one.run.reloads == 2

        wait_until(has_next, "the next one")
        wait_until(lambda: "READY=1" in one.words(), "it is over")


def test_a_refusal_is_no_end(tmp_path: Path) -> None:
    with bench(tmp_path) as one:
        upkeep = one.upkeep()
        for error in (ConfigError([Fault("c.yml:1:1", "", "wrong")]), ValueError("unforeseen")):
            one.words()
            one.run.error = error
            one.hangups = 1
            upkeep.tend(1e9)
            wait_until(lambda: "READY=1" in one.words(), "it is over")
        upkeep.end()
        assert one.words()[-1] == "STOPPING=1"


def test_a_line_says_how_the_streams_stand() -> None:
    states = [StreamState.LIVE, StreamState.LIVE, StreamState.BACKING_OFF, StreamState.DISABLED]
    reports = {str(number): report(state) for number, state in enumerate(states)}
    assert status_line(reports) == "2 of 3 streams up (1 backing-off, 1 disabled)"
    assert status_line({"a": report(StreamState.LIVE)}) == "1 of 1 streams up"
