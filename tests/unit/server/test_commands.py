"""The commands of an operator, by HTTP; the run behind them is the test's."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence

import pytest

from tests.servers import TOKENS, served
from tests.threads import running, wait_until
from tests.web import Reply, ask
from vidpipe.errors import ConfigError, Fault, ModelError, UsageError
from vidpipe.runtime.logs import register_secret
from vidpipe.server import commands
from vidpipe.server.control import UnknownStreamError


class FakeControl:
    """Implements ``Control``: notes what is asked, and does what the test wants."""

    def __init__(self) -> None:
        """Begin with nothing asked."""
        self.asked: list[str] = []
        self.threads: list[str] = []
        self.error: Exception | None = None
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    def reload(self) -> Mapping[str, Sequence[str]]:
        """Say what became of four streams."""
        self._note("reload")
        return {"added": ["a"], "removed": ["b"], "changed": [], "unchanged": ("c", "d")}

    def enable(self, stream: str) -> None:
        """Note it."""
        self._note(f"enable {stream}")

    def disable(self, stream: str) -> None:
        """Note it."""
        self._note(f"disable {stream}")

    def restart(self, stream: str) -> None:
        """Note it."""
        self._note(f"restart {stream}")

    def _note(self, what: str) -> None:
        self.asked.append(what)
        self.threads.append(threading.current_thread().name)
        self.may_go_on.wait(10.0)
        if self.error is not None:
            raise self.error


@pytest.fixture
def control() -> FakeControl:
    """Return a run that can be changed."""
    return FakeControl()


@pytest.fixture
def url(control: FakeControl) -> Iterator[str]:
    """Yield the address of a server that shows it."""
    with served(control=control) as address:
        yield address


def post(url: str, path: str, token: str = "") -> Reply:
    if not token:
        return ask(f"{url}{path}", method="POST")
    return ask(f"{url}{path}", method="POST", authorization=f"Bearer {token}")


def test_a_reload_tells_what_became_of_the_streams(url: str, control: FakeControl) -> None:
    reply = post(url, "/api/reload")
    assert reply.status == 200
    assert reply.document == {
        "added": ["a"],
        "removed": ["b"],
        "changed": [],
        "unchanged": ["c", "d"],
    }
    assert all(name.startswith("vp-command") for name in control.threads)


@pytest.mark.parametrize("verb", ["enable", "disable", "restart"])
def test_a_stream_is_turned_off_and_on(url: str, control: FakeControl, verb: str) -> None:
    reply = post(url, f"/api/streams/gate/{verb}")
    assert (reply.status, reply.document) == (200, {"stream": "gate", "done": verb})
    assert control.asked == [f"{verb} gate"]


def test_only_a_post_changes_anything(url: str, control: FakeControl) -> None:
    for path in ("/api/reload", "/api/streams/gate/disable"):
        assert ask(f"{url}{path}").status == 405
    assert post(url, "/api/streams/gate/explode").status == 404
    assert not control.asked


def test_each_refusal_has_its_status(url: str, control: FakeControl) -> None:
    for error, status in (
        (UnknownStreamError("there is no stream gate"), 404),
        (UsageError("gate is disabled"), 409),
        (ModelError("model person: no such file"), 422),
    ):
        control.error = error
        reply = post(url, "/api/streams/gate/restart")
        assert (reply.status, reply.document) == (status, {"error": str(error)})


def test_a_bad_file_is_told_fault_by_fault_without_its_secrets(
    url: str, control: FakeControl
) -> None:
    register_secret("hunter2")
    control.error = ConfigError(
        [
            Fault("c.yml:3:5", "streams[0].source", "rtsp://u:hunter2@cam is refused"),
            Fault("c.yml:9:1", "modles", "unknown key; did you mean models?"),
        ]
    )
    reply = post(url, "/api/reload")
    assert reply.status == 422
    first, second = reply.document["faults"]
    assert (first["place"], first["key"]) == ("c.yml:3:5", "streams[0].source")
    assert second["message"].endswith("did you mean models?")
    assert "former one goes on" in reply.document["error"]
    assert "hunter2" not in reply.text


def test_a_fault_of_vidpipe_is_no_crash(url: str, control: FakeControl) -> None:
    control.error = RuntimeError("a fault")
    assert post(url, "/api/reload").status == 500
    control.error = None
    assert post(url, "/api/reload").status == 200


def test_without_a_run_that_can_be_changed_it_says_so() -> None:
    with served() as url:
        assert post(url, "/api/reload").status == 503
        assert post(url, "/api/streams/gate/enable").status == 503


def test_it_takes_an_operator(control: FakeControl) -> None:
    with served(control=control, tokens=TOKENS) as url:
        assert post(url, "/api/reload").status == 401
        assert post(url, "/api/reload", "look-at-it").status == 403
        assert not control.asked
        assert post(url, "/api/reload", "change-it").status == 200


def test_a_change_that_takes_long_holds_up_nobody_else(url: str, control: FakeControl) -> None:
    control.may_go_on.clear()
    replies: list[Reply] = []

    def reload() -> None:
        replies.append(post(url, "/api/reload"))

    with running(*[reload] * 10):
        wait_until(lambda: len(replies) == 5, "what is too much is refused")
        assert {reply.status for reply in replies} == {503}
        assert replies[0].headers["retry-after"]
        assert ask(f"{url}/healthz").status == 200
        assert control.asked == ["reload"]  # one at a time
        control.may_go_on.set()
    assert [reply.status for reply in replies[5:]] == [200] * 5


def test_what_takes_too_long_is_not_waited_for(
    url: str, control: FakeControl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "_PATIENCE_S", 0.1)
    control.may_go_on.clear()
    assert post(url, "/api/reload").status == 504
    control.may_go_on.set()
