"""What several tests of this package hold a device by."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.devices import Gate


@pytest.fixture
def gate() -> Iterator[Gate]:
    """Hold the probe at certain pictures until it is set, at the latest when the test ends."""
    gate = Gate()
    yield gate
    gate.set()
