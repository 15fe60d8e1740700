"""What another configuration changes in a run: worked out stream by stream, from the two alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vidpipe.config.schema import Config
from vidpipe.config.section import Section

FIXED = ("server", "telemetry", "cache_dir", "wall", "events", "outbox", "workers")
"""What a run keeps from its start to its end."""


@dataclass(frozen=True, slots=True)
class Change:
    """The difference between two configurations; all are ids and names, in the new one's order.

    Attributes:
        added: Streams that the old one doesn't have.
        removed: Streams that the new one doesn't have.
        changed: Streams whose section or model is another, or that are turned on or off.
        unchanged: All others.
        models: Models in use, kept in name, that have to be compiled anew.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    models: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """True if no stream is touched."""
        return not (self.added or self.removed or self.changed)

    def streams(self) -> dict[str, list[str]]:
        """Return what becomes of the streams, for a program."""
        return {
            "added": list(self.added),
            "removed": list(self.removed),
            "changed": list(self.changed),
            "unchanged": list(self.unchanged),
        }

    def __str__(self) -> str:
        """The line that a person reads."""
        parts = [
            f"{what} {', '.join(names)}"
            for what, names in self.streams().items()
            if names and what != "unchanged"
        ]
        count = len(self.unchanged)
        rest = f"{count} stream{'s' * (count != 1)} unchanged"
        return "; ".join([*parts, rest])


def change_between(old: Config, new: Config, stale: Collection[str] = ()) -> Change:
    """Return what a new configuration changes.

    Args:
        old: What runs.
        new: What shall.
        stale: Models whose files aren't what they were, although their sections are.
    """
    before = {stream.id: stream for stream in old.streams}
    after = {stream.id: stream for stream in new.streams}
    used = {stream.model for stream in old.streams if stream.enabled}
    models = tuple(
        name
        for name, model in new.models.items()
        if name in used and (name in stale or old.models.get(name) != model)
    )
    common = [stream for name, stream in after.items() if name in before]
    changed = tuple(
        stream.id
        for stream in common
        # one that rests has nothing of its model
        if stream != before[stream.id] or (stream.enabled and stream.model in models)
    )
    return Change(
        added=tuple(name for name in after if name not in before),
        removed=tuple(name for name in before if name not in after),
        changed=changed,
        unchanged=tuple(stream.id for stream in common if stream.id not in changed),
        models=models,
    )


def fixed_keys(old: Config, new: Config) -> Iterator[str]:
    """Yield the keys whose new values only hold after a restart."""
    for key in FIXED:
        before, after = getattr(old, key), getattr(new, key)
        if before == after:
            continue
        if isinstance(before, Section) and isinstance(after, Section):
            for part in type(before).model_fields:
                if getattr(before, part) != getattr(after, part):
                    yield f"{key}.{part}"
        else:
            yield key


def applicable(old: Config, new: Config) -> Config:
    """Return the new configuration with what only holds after a restart as it was."""
    kept: dict[str, Any] = {key: getattr(old, key) for key in FIXED}
    return new.model_copy(update=kept)


def switched(config: Config, switches: Mapping[str, bool]) -> Config:
    """Return a configuration with some streams turned on or off."""
    streams = tuple(
        stream.model_copy(update={"enabled": switches[stream.id]})
        if switches.get(stream.id, stream.enabled) is not stream.enabled
        else stream
        for stream in config.streams
    )
    return config.model_copy(update={"streams": streams})


def kept_switches(switches: Mapping[str, bool], old: Config, new: Config) -> dict[str, bool]:
    """Return what stays turned on or off by hand, although the file is read again.

    That is: until the file itself says something else than it did, or has the stream no more.
    """
    before = {stream.id: stream.enabled for stream in old.streams}
    after = {stream.id: stream.enabled for stream in new.streams}
    return {
        stream: is_on
        for stream, is_on in switches.items()
        if stream in after and after[stream] is before.get(stream)
    }
