"""Where one file of a live stream ends and the next begins: at the same moments for every output.

The boundaries are multiples of the segment's length on the clock, in UTC as ``{start}`` is: 600 s
is :00, :10, :20 past the hour, and a clock that is put forward or back in summer moves nothing.
"""

from __future__ import annotations

from datetime import datetime


def segment_of(moment: datetime, segment_s: float) -> int:
    """Return the number of the segment that an aware moment lies in, counted from 1970 (UTC)."""
    return int(moment.timestamp() // segment_s)
