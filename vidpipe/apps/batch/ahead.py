"""Inputs are prepared ahead of their turn, on a thread of their own: hashed, looked up, planned.

So the units at work never wait for the packets of the next file to be read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from loguru import logger

from vidpipe.apps.batch.discover import InputFile
from vidpipe.apps.batch.ledger import Ledger, LedgerError
from vidpipe.apps.batch.prepare import Prepared
from vidpipe.runtime.channel import Channel, ChannelClosedError
from vidpipe.runtime.logs import trace_of
from vidpipe.runtime.supervisor import ThreadGroup
from vidpipe.sources.files import shown

_AHEAD = 2
_MOST_WAITING = 1_000_000


@dataclass(frozen=True, slots=True)
class Unprepared:
    """An input that could not be looked at, and why."""

    input: InputFile
    error: str


Answer = list[Prepared | Unprepared] | LedgerError
"""A group, or why preparing can't go on."""


class Ahead:
    """Prepares groups of inputs in their order; for one thread, which asks for the answers."""

    def __init__(self, prepare: Callable[[InputFile], Prepared], ledger: Ledger) -> None:
        """Begin with nothing to prepare; ``prepare`` is called on the thread."""
        self._prepare = prepare
        self._ledger = ledger
        self._wanted: Channel[Sequence[InputFile]] = Channel(_MOST_WAITING)
        self._ready: Channel[Answer] = Channel(_AHEAD)
        self._threads = ThreadGroup()
        self._out = 0

    def start(self) -> None:
        """Prepare from now on; a file system may hold the thread."""
        self._threads.spawn("vp-plan", self._run, may_hang=True)

    def want(self, group: Sequence[InputFile]) -> None:
        """Have a group prepared in its turn."""
        self._out += 1
        self._wanted.put(group)

    @property
    def is_idle(self) -> bool:
        """True if every group that was wanted has been taken."""
        return not self._out

    def take(self) -> Answer | None:
        """Return the next group that is ready; None if there is none now."""
        if len(self._ready) == 0:
            return None
        self._out -= 1
        return self._ready.get()

    def close(self) -> None:
        """Prepare no more; what is being looked at is left to its thread."""
        self._wanted.abort()
        self._ready.abort()
        self._threads.join(1.0)

    def _run(self) -> None:
        try:
            for group in self._wanted:
                self._ready.put(self._answer(group))
        except ChannelClosedError:
            return

    def _answer(self, group: Sequence[InputFile]) -> Answer:
        try:
            if len(group) == 1:
                return [self._prepared(group[0])]
            with self._ledger.together():
                return [self._prepared(file) for file in group]
        except LedgerError as exc:
            return exc

    def _prepared(self, file: InputFile) -> Prepared | Unprepared:
        try:
            return self._prepare(file)
        except OSError as exc:
            return Unprepared(file, f"{shown(file.path)} can't be read: {exc.strerror or exc}")
        except LedgerError:
            raise  # nothing can go on
        except Exception as exc:  # noqa: BLE001 - the boundary of a stage: one input fails
            logger.error("{}: {}", shown(file.path), trace_of(exc))
            return Unprepared(file, f"{shown(file.path)}: {type(exc).__name__}: {exc}")
