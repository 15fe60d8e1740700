from __future__ import annotations

import pytest

from vidpipe.config.loopback import is_loopback


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.255.0.3", "::1", "[::1]", "localhost", "LocalHost.", "a.localhost"]
)
def test_these_are_this_machine_alone(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", ["", "0.0.0.0", "::", "10.0.0.1", "example.com", "localhost.example.com", "127.1", "１"]
)
def test_these_may_be_others(host: str) -> None:
    assert not is_loopback(host)
