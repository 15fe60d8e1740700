"""What a worker process does: runs its share of a configuration, as told over its pipe.

Threads: the first one runs and stops the pipeline; one hears what the parent says; one speaks.
Nothing in the pipeline ever waits for the pipe: what is logged goes into a bounded channel, and a
parent that doesn't read holds up the speaker alone.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import threading
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from loguru import logger

from vidpipe.apps.fleetdetection import Looker
from vidpipe.apps.messages import (
    Begin,
    Finished,
    Hurry,
    LogLine,
    Look,
    Models,
    Order,
    Ready,
    Show,
    Shown,
    Stop,
    Task,
    Turn,
    View,
    Word,
    portable_pools,
    portable_stats,
    refusal_from_error,
)
from vidpipe.apps.pipeline import Pipeline
from vidpipe.apps.turns import Turns
from vidpipe.errors import VidpipeError
from vidpipe.runtime.channel import Channel, ChannelClosedError
from vidpipe.runtime.logs import redact, register_secret, trace_of
from vidpipe.runtime.newest import Newest
from vidpipe.runtime.supervisor import ThreadGroup, take_short_turns
from vidpipe.shots import Shot, ShotSize, Visit, Wants

if TYPE_CHECKING:
    from loguru import Message

_VIEW_EVERY_S = 0.2
_TICK_S = 0.05
_LINES_HELD = 2000
_SECONDS_TOLD = 2
"""Views come five times a second; a second that has begun is told again."""
_LAST_WORDS_S = 2.0
"""How long the end waits for a parent that doesn't read."""

_ORPHANED = 3
_ORPHAN_S = 3.0
"""How long what is on its way may take once there is no parent any more."""


def work(pipe: Connection) -> None:
    """Do the task that comes out of the pipe, and end the process."""
    faulthandler.enable()  # on standard error, which the parent logs
    take_short_turns()
    try:
        task = pipe.recv()
    except EOFError:
        os._exit(_ORPHANED)  # a spare one that was never needed
    _bind(task.processors)
    for secret in task.secrets:
        register_secret(secret)
    speaker = Speaker(pipe)
    logger.remove()
    logger.add(
        speaker.log,
        level=task.config.telemetry.log_level,
        format=lambda _: "{message}\n{exception}",
        backtrace=False,
        diagnose=False,
    )
    speaker.start()
    try:
        code = _run(task, pipe, speaker)
    except Exception as exc:  # noqa: BLE001 - the boundary of a process
        logger.critical("a fault of vidpipe: {}", trace_of(exc))
        speaker.close(None)
        code = 1
    # Native code may hold a thread that would be waited for.
    os._exit(code)


def _bind(processors: tuple[int, ...]) -> None:
    """Bind the process: its threads so far, which those to come take after."""
    for thread in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # a thread that has ended, or a processor that was taken away
            os.sched_setaffinity(int(thread.name), processors)


def _run(task: Task, pipe: Connection, speaker: Speaker) -> int:
    try:
        pipeline = Pipeline(task.config)
    except VidpipeError as exc:
        refusal = refusal_from_error(exc)
        speaker.close(lambda: refusal)
        return exc.exit_code
    orders: SimpleQueue[Order] = SimpleQueue()  # no lock that a signal handler could find taken
    timeout_s = task.config.shutdown_timeout_s
    signal.signal(signal.SIGTERM, lambda *_: orders.put(Stop(timeout_s)))
    speaker.say(Models(pipeline.models(compares=task.compares)))
    speaker.watch(pipeline)
    speaker.say(Ready())
    looker = Looker(pipeline.detector, speaker.say)
    hear = partial(_hear, pipe, orders, pipeline, speaker.show, looker)
    ThreadGroup().spawn("vp-hear", hear, may_hang=True)
    stop = _obey(orders, pipeline, Turns(pipeline, speaker.say))
    speaker.freeze()
    pipeline.close(stop.timeout_s)
    speaker.close(
        lambda: Finished(speaker.view(), tuple(pipeline.lost), pipeline.outcome.crashed.is_set())
    )
    return pipeline.exit_code


def _obey(orders: SimpleQueue[Order], pipeline: Pipeline, turns: Turns) -> Stop:
    """Run from the word to begin until there is nothing left to do; return how to stop."""
    while not pipeline.is_done:
        try:
            order = orders.get(timeout=_TICK_S)
        except Empty:
            continue
        if isinstance(order, Stop):
            return order
        if isinstance(order, Begin):
            pipeline.start(with_results=False)
        elif isinstance(order, Turn):
            turns.take(order)
    return Stop(pipeline.config.shutdown_timeout_s)


def _hear(
    pipe: Connection,
    orders: SimpleQueue[Order],
    pipeline: Pipeline,
    show: Callable[[Wants], None],
    looker: Looker,
) -> None:
    """Pass on what the parent says; once it is gone, stop, and end whatever happens."""
    with suppress(EOFError, OSError):
        while True:
            order = pipe.recv()
            if isinstance(order, Hurry):
                pipeline.hurry()
            elif isinstance(order, Show):
                show(order.wants)
            elif isinstance(order, Look):
                looker.look(order)
            else:
                orders.put(order)
    pipeline.hurry()
    orders.put(Stop(0.0))
    time.sleep(_ORPHAN_S)
    os._exit(_ORPHANED)


class _Pictures:
    """Stands in the speaker's line for the pictures that wait when its turn comes."""


class Speaker:
    """Sends log lines as they come, and views some times a second.

    ``log`` never waits, and may be called from any thread; the rest is for the worker's first one.
    """

    def __init__(self, pipe: Connection) -> None:
        """Send nothing yet."""
        self._pipe = pipe
        self._threads = ThreadGroup()
        self._words: Channel[Word | _Pictures] = Channel(_LINES_HELD)
        self._shots: Newest[tuple[str, ShotSize], Shot] = Newest()
        self._visit: Visit | None = None
        self._lost_lines = 0
        self._lock = threading.Lock()
        self._pipeline: Pipeline | None = None
        self._switches: Mapping[str, int] = {}
        self._files_sent = 0
        self._frozen: frozenset[str] | None = None

    def start(self) -> None:
        """Send from now on, on a thread that a parent may hold up."""
        self._threads.spawn("vp-speak", self._run, may_hang=True)

    def log(self, message: Message) -> None:
        """Take one log line, or count it as lost."""
        record = message.record
        text = redact(str(message).rstrip("\n"))
        stream = str(record["extra"].get("stream", ""))
        with self._lock:
            if self._lost_lines:
                text = f"({self._lost_lines} log lines were lost here) {text}"
            line = LogLine(record["time"], record["level"].name, stream, text)
            try:
                is_taken = self._words.put(line, timeout_s=0)
            except ChannelClosedError:
                return
            self._lost_lines = 0 if is_taken else self._lost_lines + 1

    def say(self, word: Word) -> None:
        """Send something in its turn."""
        self._words.put(word)

    def watch(self, pipeline: Pipeline) -> None:
        """From now on send how a pipeline stands."""
        self._switches = pipeline.switches()
        self._pipeline = pipeline
        if pipeline.gallery is not None:
            self._visit = pipeline.gallery.visit(self._take_shot)

    def show(self, wants: Wants) -> None:
        """From now on send these pictures; for the thread that hears of it."""
        if self._visit is not None:
            self._visit.ask(wants)

    def _take_shot(self, shot: Shot, sizes: Collection[ShotSize]) -> None:
        """Send a picture, if the parent reads; never waits."""
        if self._shots.put(shot, [(shot.stream, size) for size in sizes]):
            with suppress(ChannelClosedError):
                if not self._words.put(_Pictures(), timeout_s=0):
                    self._shots.miss()

    def freeze(self) -> None:
        """Let no more streams count as ended: a stop ends them all, done or not."""
        if self._pipeline is not None:
            self._frozen = self._pipeline.outcome.ended

    def view(self) -> View:
        """Return how the pipeline stands, with the files that no earlier view had."""
        pipeline = self._pipeline
        assert pipeline is not None
        # First: a stream that ends meanwhile has ended in the next view, with all that it left.
        ended = pipeline.outcome.ended if self._frozen is None else self._frozen
        files = tuple(pipeline.outcome.files_from(self._files_sent))
        self._files_sent += len(files)
        gallery = pipeline.gallery
        stats = {s: portable_stats(one) for s, one in pipeline.stats().items()}
        return View(
            stats=stats,
            reports=pipeline.reports(),
            depths=pipeline.depths(),
            stages=pipeline.stages(),
            pools=portable_pools(pipeline.pools()),
            switches=pipeline.switches(),
            failures=tuple(pipeline.outcome.failures),
            files=files,
            ended=ended,
            glances={s: gallery.glance(s) for s in stats} if gallery else {},
            seconds={s: gallery.history(s, _SECONDS_TOLD) for s in stats} if gallery else {},
        )

    def close(self, last: Callable[[], Word] | None) -> None:
        """Send what is left, and a last word; give up on a parent that doesn't read."""
        self._words.close()
        if not self._threads.join(_LAST_WORDS_S) and last is not None:
            with suppress(OSError):
                self._pipe.send(last())

    def _run(self) -> None:
        with suppress(OSError, ChannelClosedError):
            next_s = time.monotonic()
            while True:
                wait_s = next_s - time.monotonic()
                if wait_s > 0:
                    with suppress(TimeoutError):
                        self._speak(self._words.get(wait_s))
                    continue
                next_s = time.monotonic() + _VIEW_EVERY_S
                if self._pipeline is not None:
                    self._tell(self._pipeline)

    def _speak(self, word: Word | _Pictures) -> None:
        if not isinstance(word, _Pictures):
            self._pipe.send(word)
            return
        for shot, kinds in self._shots.take():
            self._pipe.send(Shown(shot, tuple(size for _, size in kinds)))

    def _tell(self, pipeline: Pipeline) -> None:
        self._pipe.send(self.view())
        switches = pipeline.switches()
        if switches != self._switches:
            self._switches = switches
            self._pipe.send(Models(pipeline.models(compares=False)))
