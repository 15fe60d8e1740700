"""What ``vidpipe batch`` is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from vidpipe.apps.batch.outage import OutagePolicy
from vidpipe.apps.batch.sampling import Sampling
from vidpipe.errors import UsageError


@dataclass(frozen=True, slots=True)
class BatchRequest:
    """What the command line asks for.

    Attributes:
        inputs: Files, folders, patterns.
        output: The output folder.
        config: A configuration file, or None.
        model: A model's name or file, or None.
        save: Names of formats.
        jobs: Units at work at once, or None.
        sampling: Which frames are wanted.
        is_fresh: Everything is done again.
        retries_failed: What failed before is done again.
        is_full_hash: All of an input is hashed.
        until: When to stop, or None.
        is_nice: Others on the machine come first.
        overrides: ``KEY=VALUE`` texts.
        outage: How long to wait for a share that has gone.
    """

    inputs: tuple[str, ...]
    output: Path
    config: Path | None = None
    model: str | None = None
    save: tuple[str, ...] = ()
    jobs: int | None = None
    sampling: Sampling = field(default_factory=Sampling)
    is_fresh: bool = False
    retries_failed: bool = False
    is_full_hash: bool = False
    until: datetime | None = None
    is_nice: bool = False
    overrides: tuple[str, ...] = ()
    outage: OutagePolicy = field(default_factory=OutagePolicy)


def moment_from_text(text: str, now: datetime) -> datetime:
    """Return the next moment at which clocks show ``HH:MM``.

    Args:
        text: The time of day.
        now: Aware, in the zone that is meant.

    Raises:
        UsageError: It is no time of day.
    """
    try:
        clock = datetime.strptime(text.strip(), "%H:%M")  # noqa: DTZ007 - a time of day alone
    except ValueError:
        raise UsageError(f"--until {text}: give a time of day, such as 07:00") from None
    moment = now.replace(hour=clock.hour, minute=clock.minute, second=0, microsecond=0)
    return moment if moment > now else moment + timedelta(days=1)
