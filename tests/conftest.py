"""What every test gets: no thread may outlive it, and time can be held still."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator

import pytest
from loguru import logger

from tests.fakes import FakeClock

_GRACE_S = 2.0


@pytest.fixture(autouse=True, scope="session")
def _hangups_are_heard() -> None:
    """Whoever starts the suite by ``nohup`` has taught it, and all it starts, to ignore them."""
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(autouse=True)
def no_thread_outlives_its_test() -> Iterator[None]:
    """Fail a test that leaves a thread behind, but for those that a native call may hold."""
    before = set(threading.enumerate())
    yield
    deadline = time.monotonic() + _GRACE_S
    left = [thread for thread in threading.enumerate() if thread not in before]
    for thread in left:
        if not thread.daemon:
            thread.join(max(0.0, deadline - time.monotonic()))
    alive = [thread.name for thread in left if thread.is_alive() and not thread.daemon]
    assert not alive, f"threads outlived the test: {alive}"


@pytest.fixture(autouse=True)
def secrets_end_with_their_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every test begin without registered secrets."""
    monkeypatch.setattr("vidpipe.runtime.logs._secrets", ())


@pytest.fixture(scope="session", autouse=True)
def compiled_models_stay_here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what the tests compile out of the user's own cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIDPIPE_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def clock() -> FakeClock:
    """Return a clock that only the test moves."""
    return FakeClock()


@pytest.fixture
def log_lines() -> Iterator[list[str]]:
    """Collect what is logged, as `level stream message`."""
    lines: list[str] = []
    number = logger.add(
        lambda message: lines.append(str(message).rstrip("\n")),
        format="{level} {extra} {message}",
        level="DEBUG",
    )
    yield lines
    logger.remove(number)
