from __future__ import annotations

import socket

import pytest

from vidpipe.errors import UsageError
from vidpipe.server.listening import listen


def test_port_0_is_any_free_one() -> None:
    with listen("127.0.0.1", 0, may_leave_machine=False) as listener:
        host, port = listener.getsockname()
        assert host == "127.0.0.1"
        assert port > 0


@pytest.mark.parametrize("host", ["localhost", "127.0.0.2"])
def test_a_name_of_the_loopback_is_listened_on(host: str) -> None:
    with listen(host, 0, may_leave_machine=False) as listener:
        assert listener.getsockname()[0].startswith("127.0.0.")


def test_a_port_in_use_names_the_key() -> None:
    with (
        listen("127.0.0.1", 0, may_leave_machine=False) as other,
        pytest.raises(UsageError) as caught,
    ):
        listen("127.0.0.1", other.getsockname()[1], may_leave_machine=False)
    port = other.getsockname()[1] if other.fileno() != -1 else ""
    assert str(caught.value).startswith(f"server.port: 127.0.0.1:{port}")
    assert "already in use" in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_without_tokens_no_other_machine_can_reach_it(host: str) -> None:
    with pytest.raises(UsageError, match=r"^server\.host: .* add server\.tokens"):
        listen(host, 0, may_leave_machine=False)


def test_with_tokens_others_may_reach_it() -> None:
    with listen("0.0.0.0", 0, may_leave_machine=True) as listener:
        assert listener.getsockname()[0] == "0.0.0.0"


@pytest.mark.parametrize("host", ["192.0.2.1", "not a name", "x" * 300])
def test_what_is_no_address_of_this_machine_names_the_key(host: str) -> None:
    with pytest.raises(UsageError, match=r"^server\.host: "):
        listen(host, 0, may_leave_machine=True)


def test_it_takes_connections_at_once() -> None:
    with listen("127.0.0.1", 0, may_leave_machine=False) as listener:
        socket.create_connection(listener.getsockname(), timeout=5).close()
