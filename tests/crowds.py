"""Streams that there is no time for."""

from __future__ import annotations

from tests.fakes import FakeClock
from vidpipe.sources.decodeshare import DecodeShare


def overloaded(clock: FakeClock) -> DecodeShare:
    """Return what sixteen others share, a tenth of them at once; it stays so for a minute."""
    share = DecodeShare(clock)
    crowd = [share.join(lambda: 0) for _ in range(16)]
    for _ in range(100):
        clock.advance(2)
        share.note_late()
        for one in crowd:
            one.begins()
    clock.advance(3)  # none of them is at it any more
    return share
