"""The streams of an engine: added and removed while the others run, who don't notice.

Guarantees:
    * a removed stream ends as a file does at its end: its capture stops, its lane drains, its chain
      ends, its sinks finish; what can't end in time is thrown away, and said by name;
    * a stream is added again only once every frame of its former life has come back, so no frame
      of one life is ever counted, or put in order, in another;
    * its counters go on, and with them the numbers of its frames.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeAlias

from loguru import logger

from vidpipe.apps.drafts import Draft
from vidpipe.apps.endings import disabled, ending_of
from vidpipe.apps.outcome import Outcome
from vidpipe.apps.units import Ending, Rest, StreamUnit
from vidpipe.config.stream import StreamConfig
from vidpipe.errors import UsageError
from vidpipe.interfaces import OpenReader
from vidpipe.outputs.fanout import SinkLane
from vidpipe.runtime.logs import redact, trace_of
from vidpipe.runtime.supervisor import ThreadGroup
from vidpipe.types import DropCause, StreamState

_ABORT_GRACE_S = 2.0
"""What is left to sinks after their deadline, to close the files that they have open."""

_FORMER_S = 15.0
"""How long a stream's new life waits for frames of its former one: the device answers each of them,
or is given up, within ``timeout_s`` of the model, 10 s unless it is configured otherwise."""

_TICK_S = 0.05

Row: TypeAlias = StreamUnit | Rest
OnEnd: TypeAlias = Callable[[Ending], None]


class StreamMaker(Protocol):
    """Who makes streams, and takes them apart; one thread at a time."""

    def draft(self, stream: StreamConfig) -> Draft:
        """Look through a stream's section, changing nothing.

        Raises:
            ConfigError: A plugin refuses the keys of its output, or there is no such model.
        """

    def make(self, draft: Draft, rest: Rest | None, open_reader: OpenReader | None) -> StreamUnit:
        """Connect a stream with everything but its threads; it goes on from ``rest``.

        Raises:
            ModelError: Its model can't be compiled.
        """

    def leave(self, unit: StreamUnit) -> None:
        """A stream is about to end on purpose: that is nobody's news."""

    def bury(self, unit: StreamUnit) -> None:
        """Let go of what is left of a life that is over."""

    def balance(self, units: Iterable[StreamUnit]) -> None:
        """Share out what streams have a part of, now that there are more or fewer."""


class Population:
    """The streams; changed by one thread at a time, which may be any, and seen by all."""

    def __init__(self, maker: StreamMaker, outcome: Outcome) -> None:
        """Begin without any."""
        self._maker = maker
        self._outcome = outcome
        self._rows: dict[str, Row] = {}
        self._leaving: dict[str, StreamUnit] = {}
        """Lives that were ended by force, some of whose frames haven't come back."""
        self._held: list[StreamUnit] = []
        """Lives that are over, but for a native call that doesn't return to their capture."""
        self._changing = threading.RLock()
        self._is_running = False
        self._is_ending = False
        self._is_hurried = False
        self._captures = ThreadGroup(outcome.crash)
        self._sinks = ThreadGroup(outcome.crash)
        self.further_lanes: Callable[[StreamUnit], Iterable[SinkLane]] | None = None
        """Returns what a stream gets beside its own outputs; set before the start."""

    # ---- Seen by any thread --------------------------------------------------------------------

    @property
    def rows(self) -> dict[str, Row]:
        """All streams by their ids, also those that rest."""
        return dict(self._rows)

    @property
    def units(self) -> list[StreamUnit]:
        """The streams that run, or have ended by themselves."""
        return [row for row in self.rows.values() if isinstance(row, StreamUnit)]

    def unit(self, stream: str) -> StreamUnit | None:
        """Return the stream of an id, if it isn't resting or unknown."""
        row = self._rows.get(stream)
        return row if isinstance(row, StreamUnit) else None

    # ---- Change --------------------------------------------------------------------------------

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Let nobody else change anything while the ``with`` lasts, and no end be an end."""
        with self._changing:
            self._outcome.hold()
            try:
                yield
            finally:
                self._outcome.let_go()

    def add(
        self,
        draft: Draft,
        lanes: Sequence[SinkLane] = (),
        *,
        on_end: OnEnd | None = None,
        open_reader: OpenReader | None = None,
    ) -> StreamUnit:
        """Add a stream, which begins at once if the others have.

        Raises:
            UsageError: There is one of this id, or frames of its former life haven't come back.
            ModelError: Its model can't be compiled.
            ConfigError: A sink of the program's own refused.
        """
        stream = draft.config.id
        with self.changing():
            self._require_open()
            row = self._rows.get(stream)
            if isinstance(row, StreamUnit):
                raise UsageError(f"there is a stream {stream} already")
            self._await_former(stream)
            unit = self._maker.make(draft, row, open_reader)
            try:
                self._equip(unit, lanes)
                if self._is_running:
                    self._equip(unit, self._further(unit))
            except BaseException:
                self._outcome.forget(unit.record)
                self._maker.bury(unit)
                raise
            if on_end is not None:
                unit.record.tell_end(lambda: on_end(ending_of(unit)))
            self._rows[stream] = unit
            self._maker.balance(self.units)
            if self._is_running:
                self._begin(unit)
            return unit

    def rest(self, config: StreamConfig) -> None:
        """List a stream that doesn't run: it is disabled."""
        with self._changing:
            row = self._rows.get(config.id)
            self._rows[config.id] = disabled(config, row if isinstance(row, Rest) else None)

    def remove(
        self, streams: Sequence[str], deadline_s: float, *, keeps: bool = False
    ) -> list[Ending]:
        """End some streams, all at the same time, and forget them.

        Args:
            streams: Their ids; those that rest are forgotten.
            deadline_s: How long it may take; what is left then is thrown away.
            keeps: True: they are listed as disabled from then on, with their counters.

        Raises:
            UsageError: One of them isn't there, or the run is being stopped meanwhile.
        """
        with self.changing():
            self._require_open()
            unknown = [stream for stream in streams if stream not in self._rows]
            if unknown:
                raise UsageError(f"there is no stream {', '.join(unknown)}")
            units = [row for s in streams if isinstance(row := self._rows[s], StreamUnit)]
            endings = self._end(units, deadline_s)
            for unit in units:
                self._part_with(unit, keeps=keeps)
            for stream in () if keeps else streams:
                self._rows.pop(stream, None)
            self._maker.balance(self.units)
            return endings

    def forget(self, streams: Iterable[str]) -> None:
        """List streams that rest no more."""
        with self._changing:
            for stream in streams:
                if isinstance(self._rows.get(stream), Rest):
                    del self._rows[stream]

    def write_off(self, units: Iterable[StreamUnit]) -> None:
        """Count what is still out of some lives as lost: their pools are closed."""
        with self._changing:
            for unit in units:
                if self._leaving.get(unit.stream) is unit:
                    del self._leaving[unit.stream]
                    in_flight = unit.meter.snapshot().in_flight
                    if in_flight:
                        unit.meter.count_dropped(DropCause.STOP, in_flight)
                    self._maker.bury(unit)

    @property
    def leaving(self) -> list[StreamUnit]:
        """Lives that were ended by force, some of whose frames haven't come back."""
        return list(self._leaving.values())

    # ---- The run as a whole --------------------------------------------------------------------

    def equip(self) -> None:
        """Give every stream what it gets beside its own outputs; before ``begin``.

        Raises:
            ConfigError: A sink of the program's own refused.
        """
        with self._changing:
            for unit in self.units:
                self._equip(unit, self._further(unit))

    def begin(self) -> None:
        """Start the sinks of every stream; ``begin_captures`` follows."""
        with self._changing:
            for unit in self.units:
                unit.fanout.start(self._sinks)

    def begin_captures(self) -> None:
        """Start reading; streams that are added from now on begin at once."""
        with self._changing:
            self._is_running = True
            for unit in self.units:
                self._read(unit)

    def end_sources(self) -> None:
        """Let every source stop, and change nothing any more; for signal handlers, too."""
        self._is_ending = True
        for unit in self.units:
            unit.capture.stop()

    def settle(self, timeout_s: float) -> None:
        """After ``end_sources``: wait for a change under way, which is broken off."""
        if self._changing.acquire(timeout=max(0.0, timeout_s)):
            self._changing.release()

    def hurry(self) -> None:
        """Wait for nothing."""
        self._is_hurried = True

    def join_sinks(self, timeout_s: float) -> list[str]:
        """Wait for the sinks' threads; return the names of those still alive."""
        return self._sinks.join(timeout_s)

    def join_captures(self, timeout_s: float) -> list[str]:
        """Wait for the captures' threads; return the names of those still alive."""
        return self._captures.join(timeout_s)

    @property
    def is_held(self) -> bool:
        """True if native code holds a thread of a capture, be it of a stream that has gone."""
        return any(unit.capture.is_held for unit in (*self.units, *self._held))

    # ---- Inside --------------------------------------------------------------------------------

    def _require_open(self) -> None:
        if self._is_ending:
            raise UsageError("the run is being stopped: nothing is changed any more")

    def _equip(self, unit: StreamUnit, lanes: Iterable[SinkLane]) -> None:
        for lane in lanes:
            unit.fanout.add(lane)
            unit.record.expect_sink()

    def _further(self, unit: StreamUnit) -> Iterable[SinkLane]:
        return self.further_lanes(unit) if self.further_lanes is not None else ()

    def _begin(self, unit: StreamUnit) -> None:
        unit.fanout.start(self._sinks)
        self._read(unit)
        if self._is_ending:  # since this began: a signal doesn't wait
            unit.capture.stop()
            unit.intake.end()

    def _read(self, unit: StreamUnit) -> None:
        # A native open or read may hold it: a silent camera, a name that doesn't resolve.
        self._captures.spawn(f"vp-cap-{unit.stream}", self._capture_loop(unit), may_hang=True)

    def _capture_loop(self, unit: StreamUnit) -> Callable[[], None]:
        """Return what a capture thread runs: whatever happens there is its stream's alone."""

        def run() -> None:
            try:
                unit.capture.run()
            except Exception as exc:  # noqa: BLE001 - the boundary of a stage: one stream fails
                logger.bind(stream=unit.stream).error("the capture died: {}", trace_of(exc))
                unit.record.fail("source", redact(f"{type(exc).__name__}: {exc}"))
            finally:
                # Before the end, which somebody may be told of at once, and with it why.
                report = unit.capture.report()
                if report.state is StreamState.FAILED and report.error:
                    unit.record.fail("source", report.error)
                unit.intake.end()

        return run

    def _end(self, units: Sequence[StreamUnit], deadline_s: float) -> list[Ending]:
        """End some lives source-first; return how each did."""
        until = time.monotonic() + deadline_s
        for unit in units:
            self._maker.leave(unit)
            unit.capture.stop()
            unit.intake.end()
        if not self._is_running:
            return [ending_of(unit) for unit in units]
        # Half of what is left: the sinks need the other half for their files.
        half = time.monotonic() + deadline_s / 2
        for unit in units:
            if not self._await(unit.record.handed_over, half):
                unit.intake.abort()
        for unit in units:
            self._await(unit.record.done, until)
        return [self._ended(unit) for unit in units]

    def _ended(self, unit: StreamUnit) -> Ending:
        """Return how a life ended, by force if it hasn't by itself."""
        if unit.record.done.is_set():
            return ending_of(unit)
        losses = unit.fanout.abort()
        unit.resume()
        self._await(unit.record.done, time.monotonic() + _ABORT_GRACE_S)
        lost = [f"{count} results for {sink}" for sink, count in losses.items()]
        in_flight = unit.meter.snapshot().in_flight
        if not unit.record.handed_over.is_set() and in_flight:
            lost.append(f"{in_flight} frames in flight")
        if not unit.record.is_written:
            lost.append("a sink did not end")
        for loss in lost:
            logger.bind(stream=unit.stream).error("it had to be ended by force; lost: {}", loss)
        return ending_of(unit, lost)

    def _part_with(self, unit: StreamUnit, *, keeps: bool) -> None:
        """Take a life that was ended off the list; what it still needs is kept aside."""
        if keeps:
            position, report = unit.capture.position, unit.capture.report()
            known = Rest(unit.config, unit.meter, position, report)
            self._rows[unit.stream] = disabled(unit.config, known)
        else:
            self._rows.pop(unit.stream, None)
        self._outcome.forget(unit.record)
        self._held = [one for one in (*self._held, unit) if one.capture.is_held]
        if unit.record.handed_over.is_set() or not self._is_running:
            self._maker.bury(unit)
        else:
            self._leaving[unit.stream] = unit

    def _await_former(self, stream: str) -> None:
        """Wait for the frames of a life that was ended by force.

        Raises:
            UsageError: They don't come.
        """
        for name, unit in list(self._leaving.items()):
            if name == stream:
                self._await(unit.record.handed_over, time.monotonic() + _FORMER_S)
            if unit.record.handed_over.is_set():
                del self._leaving[name]
                self._maker.bury(unit)
        if stream in self._leaving:
            count = self._leaving[stream].meter.snapshot().in_flight
            raise UsageError(
                f"stream {stream} can't begin again yet: {count} frames of its former life haven't"
                " come back from the model; try again later"
            )

    def _await(self, event: threading.Event, until_s: float) -> bool:
        """Wait for an event until a time, or until somebody is in a hurry.

        Raises:
            UsageError: The run is being stopped, which ends everything, this too.
        """
        while not event.is_set() and not self._is_hurried:
            self._require_open()
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                break
            event.wait(min(_TICK_S, left_s))
        return event.is_set()
