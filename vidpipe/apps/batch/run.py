"""The loop of a batch: units in, results out, as many at once as there are places.

One thread decides everything here; captures, the pool and sinks have the engine's threads, and
leave a note when a unit is over.
"""

from __future__ import annotations

import errno
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path
from queue import Empty

from loguru import logger

from vidpipe.apps.batch.ahead import Ahead, Unprepared
from vidpipe.apps.batch.discover import InputFile
from vidpipe.apps.batch.flights import Flights
from vidpipe.apps.batch.groups import grouped
from vidpipe.apps.batch.join import JoinError
from vidpipe.apps.batch.kinds import Kind
from vidpipe.apps.batch.ledger import LedgerError, LedgerFullError, State, UnitRow
from vidpipe.apps.batch.outage import Reach
from vidpipe.apps.batch.outcomes import Outcomes
from vidpipe.apps.batch.prepare import Prepared, Verdict, replanned
from vidpipe.apps.batch.progress import Progress
from vidpipe.apps.batch.standing import Pace, Running, Standing
from vidpipe.apps.batch.survey import Survey
from vidpipe.apps.batch.suspects import Judgement, Suspect, Suspects, is_passing
from vidpipe.apps.batch.work import FileWork, Flight, GroupFlight, UnitFlight
from vidpipe.apps.units import Ending
from vidpipe.outputs.storage import is_full
from vidpipe.sources.files import shown
from vidpipe.types import CaptureReport

_TICK_S = 0.1
_SHOW_EVERY_S = 0.25
_OF_THE_NAME = (errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.EILSEQ)


class StopCause(Enum):
    """Why a run ends before its work does."""

    SIGNAL = "signal"
    TIME = "time"
    DISK = "disk"
    OUTPUT = "output"
    SHARE = "share"
    CRASH = "crash"


@dataclass(frozen=True, slots=True)
class Stop:
    """The end of a run before that of its work, and why, for people."""

    cause: StopCause
    why: str


@dataclass(frozen=True, slots=True)
class RunParts:
    """What a run works with.

    Attributes:
        flights: What is at work.
        ahead: Prepares the inputs.
        outcomes: Records what becomes of them.
        suspects: Inputs that could not be read.
        progress: Shows how it stands.
        survey: What lies ahead.
        jobs: How many units are at work at once.
    """

    flights: Flights
    ahead: Ahead
    outcomes: Outcomes
    suspects: Suspects
    progress: Progress
    survey: Survey
    jobs: int


class BatchRun:
    """One run over its inputs; for one thread."""

    def __init__(self, parts: RunParts, files: Sequence[InputFile]) -> None:
        """Begin nothing yet."""
        self._parts = parts
        self._files = files
        self._works: deque[FileWork] = deque()
        self._groups: deque[list[Prepared]] = deque()
        self._is_waiting = False
        self._pace = Pace()
        self._stop: Stop | None = None
        self._show_at = 0.0

    # ---- The loop ------------------------------------------------------------------------------

    def run(self, asked: Callable[[], Stop | None]) -> Stop | None:
        """Work until all is done, or ``asked`` or something else says stop; return why then."""
        parts = self._parts
        parts.ahead.start()
        for group in grouped(self._files):
            parts.ahead.want(group)
        while not self._must_stop(asked):
            self._guarded(self._step)
            if self._is_over() and not self._settled():
                break
            if (now_s := time.monotonic()) >= self._show_at:
                self._show_at = now_s + _SHOW_EVERY_S
                parts.progress.show(self.standing())
        return self._stop

    def _must_stop(self, asked: Callable[[], Stop | None]) -> bool:
        if self._stop is None:
            self._stop = asked()
        if self._stop is None and self._parts.flights.engine.outcome.crashed.is_set():
            self._stop = Stop(StopCause.CRASH, "a thread of vidpipe's died")
        return self._stop is not None

    def land(self) -> None:
        """After the engine has stopped: keep what units have brought to their end meanwhile."""
        flights = self._parts.flights
        is_whole = not flights.engine.lost
        for flight in flights.land_all():
            if isinstance(flight, GroupFlight):
                self._guarded(partial(self._keep_pictures, flight))
            elif is_whole and flight.reading.has_ended and flight.sink.error is None:
                self._guarded(partial(self._finish_unit, flight))
        left = {work.stem: work for work in self._works} | self._parts.suspects.works
        why = self._stop.why if self._stop is not None else ""
        for file in self._files:
            if file.stem not in self._parts.outcomes.files:
                self._parts.outcomes.leave(file, why, left.get(file.stem))

    def standing(self) -> Standing:
        """Return how it stands."""
        parts, now_s = self._parts, time.monotonic()
        running = tuple(Running(work.stem, self._share(work)) for work in self._works)
        weights = parts.survey.frames
        done = sum(weights.get(stem, 1.0) for stem in parts.outcomes.files)
        done += sum(weights.get(file.stem, 1.0) * file.share for file in running)
        share = min(1.0, done / max(1.0, sum(weights.values())))
        frames = parts.flights.frames
        rate_fps = self._pace.rate_fps(frames, now_s)
        return Standing(
            files=len(self._files),
            done=parts.outcomes.done,
            failed=parts.outcomes.failed,
            frames=frames,
            rate_fps=rate_fps,
            share=share,
            left_s=self._pace.left_s(share, now_s),
            running=running,
            note="the inputs can't be read: waiting for them" if parts.suspects.is_out else "",
        )

    def _step(self) -> None:
        self._fill()
        with suppress(Empty):
            self._land_one(self._parts.flights.notes.get(timeout=_TICK_S))
            while True:
                self._land_one(self._parts.flights.notes.get_nowait())

    def _guarded(self, step: Callable[[], None]) -> None:
        """Do something; where the output can't be written, the run stops, to go on later."""
        try:
            step()
        except LedgerFullError as exc:
            self._stop = Stop(StopCause.DISK, str(exc))
        except LedgerError as exc:
            self._stop = Stop(StopCause.OUTPUT, str(exc))
        except OSError as exc:
            cause = StopCause.DISK if is_full(exc) else StopCause.OUTPUT
            self._stop = Stop(cause, f"{exc.filename or 'the results'}: {exc.strerror or exc}")

    def _is_over(self) -> bool:
        return self._stop is None and not (
            self._parts.flights.at_work
            or self._groups
            or any(work.pending for work in self._works)
            or not self._parts.ahead.is_idle
            or self._parts.suspects.is_out
        )

    def _settled(self) -> bool:
        """Nothing is left but suspects; True if there is something to wait for all the same."""
        self._guarded(lambda: self._condemn(self._parts.suspects.settle()))
        return self._parts.suspects.is_out

    # ---- Beginning -----------------------------------------------------------------------------

    def _fill(self) -> None:
        """Begin as much as there are places for."""
        self._look_out()
        flights = self._parts.flights
        while len(flights) < self._parts.jobs and not self._parts.suspects.is_out:
            work = next((work for work in self._works if work.pending), None)
            if work is not None:
                waiting = sum(len(other.pending) for other in self._works)
                at_once = min(self._parts.jobs, len(flights) + waiting)
                flights.begin_unit(work, work.pending.popleft(), at_once)
            elif self._groups:
                flights.begin_group(self._groups.popleft())
            elif not self._take_prepared():
                return

    def _take_prepared(self) -> bool:
        """Take the next inputs that are ready; False if there are none now.

        Raises:
            LedgerError: Preparing can't go on.
        """
        answer = self._parts.ahead.take()
        if answer is None:
            return False
        if isinstance(answer, LedgerError):
            raise answer
        group = []
        for one in answer:
            if isinstance(one, Unprepared):
                self._turn_to(Suspect(one.input, one.error, None), is_passing=True)
            elif one.verdict is not Verdict.TO_DO:
                self._parts.outcomes.reuse(one)
            elif one.input.kind is Kind.PICTURE:
                group.append(one)
            else:
                self._take_file(one)
        if group:
            self._groups.append(group)
        return True

    def _take_file(self, prepared: Prepared) -> None:
        if prepared.reason:
            name = shown(Path(prepared.input.stem))
            self._parts.progress.say(f"{name}: done again: {prepared.reason}")
        work = FileWork(prepared)
        self._works.append(work)
        if work.is_done:  # a run was killed after the last unit
            self._finish_file(work)

    # ---- Ending --------------------------------------------------------------------------------

    def _land_one(self, ending: Ending) -> None:
        """Take what became of a unit."""
        flight = self._parts.flights.end(ending)
        if flight is None:
            return
        if flight.sink.error is not None:
            cause = StopCause.DISK if flight.sink.is_full else StopCause.OUTPUT
            self._stop = Stop(cause, flight.sink.error)
            self._put_back(flight)
        elif isinstance(flight, GroupFlight):
            self._end_group(flight)
        elif flight.reading.has_ended:
            self._condemn(self._parts.suspects.clear())
            self._finish_unit(flight)
        elif ending.report.error is not None:
            self._end_broken(flight, ending.report)
        else:
            self._put_back(flight)

    def _put_back(self, flight: Flight) -> None:
        if isinstance(flight, UnitFlight):
            flight.work.pending.appendleft(flight.unit)

    def _finish_unit(self, flight: UnitFlight) -> None:
        work, unit, sink = flight.work, flight.unit, flight.sink
        row = UnitRow(unit, State.DONE, sink.lines, sink.size_bytes, sink.failed)
        self._parts.outcomes.ledger.finish_unit(work.prepared.id, row)
        work.finish(unit, row, flight.reading.frames)
        if work.is_done:
            self._finish_file(work)

    def _finish_file(self, work: FileWork) -> None:
        took_s = 0.0 if work.began_at is None else time.monotonic() - work.began_at
        try:
            self._parts.outcomes.finish(work, took_s)
        except JoinError as exc:
            logger.warning("{}: {}; it is done again", work.stem, exc)
            self._replan(work)
            return
        except OSError as exc:
            if exc.errno not in _OF_THE_NAME:
                raise
            # Another file or folder has its place, say: nothing that stops the others.
            file = work.prepared.input
            self._parts.outcomes.fail(file, f"its results can't be written: {exc.strerror}")
        with suppress(ValueError):
            self._works.remove(work)

    def _end_broken(self, flight: UnitFlight, report: CaptureReport) -> None:
        """A unit failed: its share has gone, or its file can't be divided, or is broken."""
        work, file, error = flight.work, flight.work.prepared.input, report.error or ""
        judgement = self._judge(
            Suspect(file, error, work), is_passing=is_passing(error, report.cause)
        )
        if judgement is not Judgement.FAILED:
            work.pending.appendleft(flight.unit)
            if judgement is Judgement.WAIT and work in self._works:
                self._works.remove(work)
        elif flight.reading.is_split_wrong:
            logger.warning("{} is read in one piece: {}", work.stem, error)
            self._replan(work)
        else:
            self._parts.flights.cancel(work)
            with suppress(ValueError):
                self._works.remove(work)
            self._parts.outcomes.fail(file, error, work)

    def _replan(self, work: FileWork) -> None:
        """Forget what there is of a file, and do it in one piece."""
        self._parts.flights.cancel(work)
        outcomes = self._parts.outcomes
        outcomes.folder.remove_parts(work.prepared.id)
        work.take(replanned(outcomes.ledger, work.prepared))

    def _end_group(self, flight: GroupFlight) -> None:
        self._keep_pictures(flight)
        for place, error in sorted(flight.reading.failures.items()):
            suspect = Suspect(flight.pictures[place].input, str(error), None)
            self._turn_to(suspect, is_passing=is_passing(str(error), error.cause))

    def _keep_pictures(self, flight: GroupFlight) -> None:
        """Record the pictures of a group whose results are written."""
        places = sorted(flight.sink.failed)
        if places:
            self._condemn(self._parts.suspects.clear())
        self._parts.outcomes.finish_pictures(
            [flight.pictures[place] for place in places],
            [flight.sink.failed[place] for place in places],
            time.monotonic() - flight.began_at,
        )

    # ---- Inputs that can't be read -------------------------------------------------------------

    def _judge(self, suspect: Suspect, *, is_passing: bool) -> Judgement:
        """Say what is to be done with an input that failed; one that can be read clears others."""
        judgement = self._parts.suspects.judge(suspect, is_passing=is_passing)
        if judgement is not Judgement.WAIT:
            self._condemn(self._parts.suspects.clear())
        elif self._parts.suspects.is_out and not self._is_waiting:
            self._is_waiting = True
            self._parts.progress.say(f"{suspect.error}; waiting until inputs can be read again")
        return judgement

    def _turn_to(self, suspect: Suspect, *, is_passing: bool) -> None:
        """Do it, with one of which nothing was begun."""
        match self._judge(suspect, is_passing=is_passing):
            case Judgement.AGAIN:
                self._parts.ahead.want([suspect.file])
            case Judgement.FAILED:
                self._parts.outcomes.fail(suspect.file, suspect.error)
            case Judgement.WAIT:
                pass

    def _condemn(self, suspects: Sequence[Suspect]) -> None:
        """Other inputs can be read, so these have failed by themselves."""
        for one in suspects:
            if one.work is not None:
                self._parts.flights.cancel(one.work)
            self._parts.outcomes.fail(one.file, one.error, one.work)

    def _look_out(self) -> None:
        """Where inputs can't be read: see whether they can by now, or have been away too long."""
        suspects = self._parts.suspects
        reach, back = suspects.look()
        if reach is Reach.GONE:
            self._stop = Stop(
                StopCause.SHARE, f"the inputs can't be read any more ({suspects.names})"
            )
        if back:
            self._is_waiting = False
            self._parts.progress.say("the inputs can be read again: going on")
        for one in back:
            if one.work is not None:
                self._works.appendleft(one.work)
            else:
                self._parts.ahead.want([one.file])

    def _share(self, work: FileWork) -> float:
        """Return how much of a file is done, 0 to 1."""
        planned = [row.unit.frames for row in work.rows.values()]
        total = (
            float(sum(frames or 0 for frames in planned))
            if None not in planned
            else self._parts.survey.frames.get(work.stem, 1.0)
        )
        done = sum(
            row.unit.frames or 0 for row in work.rows.values() if row.state is State.DONE
        ) + sum(flight.reading.frames for _, flight in self._parts.flights.of(work))
        return min(1.0, done / max(1.0, total))
