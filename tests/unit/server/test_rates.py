from __future__ import annotations

import pytest

from vidpipe.server import rates
from vidpipe.server.rates import Buckets, Rate, network_of


class Clock:
    """Time that a test moves."""

    def __init__(self) -> None:
        """Begin at some moment."""
        self.now = 100.0

    def __call__(self) -> float:
        """Return it."""
        return self.now


def test_turns_run_out_and_come_back_with_time() -> None:
    clock = Clock()
    buckets = Buckets(Rate(burst=3, per_s=2.0), clock)
    assert [buckets.take("a") for _ in range(3)] == [0.0] * 3
    assert buckets.take("a") == pytest.approx(0.5)
    assert buckets.take("b") == 0.0
    clock.now += 0.5
    assert buckets.take("a") == 0.0
    assert buckets.wait_s("a") == pytest.approx(0.5)
    clock.now += 1000
    assert [buckets.take("a") for _ in range(4)][:3] == [0.0] * 3
    assert buckets.wait_s("a") > 0


def test_looking_takes_no_turn() -> None:
    buckets = Buckets(Rate(burst=1, per_s=1.0), Clock())
    assert [buckets.wait_s("a") for _ in range(5)] == [0.0] * 5


def test_only_so_many_addresses_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "_MOST_ADDRESSES", 10)
    buckets = Buckets(Rate(burst=1, per_s=0.001), Clock())
    for number in range(100):
        buckets.take(str(number))
        buckets.take("busy")
    assert len(buckets._left) <= 10
    assert buckets.wait_s("busy") > 0


@pytest.mark.parametrize(
    ("host", "network"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("::ffff:10.0.0.7", "10.0.0.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("a name", "a name"),
    ],
)
def test_a_network_of_ipv6_counts_as_one_address(host: str, network: str) -> None:
    assert network_of(host) == network
