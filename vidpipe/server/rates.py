"""How often an address may do something: a bucket of turns for each, which fills again by itself.

Bounded: of more addresses than are remembered the one that has done nothing for longest is
forgotten. For the server's loop alone.
"""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from starlette.types import Scope

_MOST_ADDRESSES = 4096
_PREFIX = 64
"""Whoever has one address of IPv6 has a whole network of them."""


@dataclass(frozen=True, slots=True)
class Rate:
    """How much is allowed.

    Attributes:
        burst: Turns at once, after a rest.
        per_s: Turns a second, in the long run.
    """

    burst: float
    per_s: float


class Buckets:
    """Turns by address."""

    def __init__(self, rate: Rate, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin with full buckets."""
        self._rate = rate
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """Turns left, and when that was so; the address that was seen last is at the end."""

    def take(self, address: str) -> float:
        """Take a turn; return 0, or in how many seconds there will be one, if there is none."""
        wait_s = self.wait_s(address)
        if not wait_s:
            left, at_s = self._left.pop(address, (self._rate.burst, self._clock()))
            self._left[address] = left - 1, at_s
            if len(self._left) > _MOST_ADDRESSES:
                self._left.popitem(last=False)
        return wait_s

    def wait_s(self, address: str) -> float:
        """Return 0, or in how many seconds there will be a turn, if there is none."""
        if address not in self._left:
            return 0.0
        left, at_s = self._left[address]
        now_s = self._clock()
        left = min(self._rate.burst, left + (now_s - at_s) * self._rate.per_s)
        self._left[address] = left, now_s
        return max(0.0, (1 - left) / self._rate.per_s)


def address_of(scope: Scope) -> str:
    """Return what stands for a request's sender: an address, or a network of IPv6."""
    client = scope.get("client")
    return network_of(client[0]) if client else ""


@lru_cache(maxsize=1024)
def network_of(host: str) -> str:
    """Return what stands for a host among addresses."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, _PREFIX), strict=False))
