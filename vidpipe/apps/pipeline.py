"""vidpipe as a library: a configuration that runs in somebody's own program.

The command line runs by the same class.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Self

from vidpipe.apps.abandonment import Abandonment, end_with
from vidpipe.apps.build import build_engine
from vidpipe.apps.changes import EngineChanges
from vidpipe.apps.controls import Controls, Load
from vidpipe.apps.delivery import Delivery
from vidpipe.apps.engine import Phase
from vidpipe.apps.engineview import EngineView
from vidpipe.apps.given import ConfigLike, config_from, load_of
from vidpipe.apps.ownlanes import OwnLanes
from vidpipe.config.schema import Config
from vidpipe.errors import UsageError, VidpipeError
from vidpipe.interfaces import SinkPlugin
from vidpipe.runtime.supervisor import ThreadGroup
from vidpipe.types import FrameResult

_LOOK_S = 0.5
"""How often who waits looks whether a signal handler, which can't wake anybody, has said so."""

_CALLBACK_GRACE_S = 2.0
"""How long ``close`` waits for an ``on_result`` that is at its last result."""


class Pipeline(EngineView):
    """A configuration at work: its sources, models and outputs, and its results for a program.

    Three ways to use it, each for one run::

        for result in Pipeline("cameras.yml"):                     # take the results
            ...
        Pipeline("cameras.yml", on_result=count).run()             # be called with them
        Pipeline("cameras.yml").run()                              # the outputs alone

    In the first, a recorded stream waits for the loop and loses nothing; of a live stream the loop
    gets the newest result that there is, and ``stats()[stream].sink_losses["results"]`` counts
    those that it was too slow for. Streams take turns; within a stream results come in order.
    ``on_result`` is called on one thread of its own, with one result at a time.

    A stream, an output or a frame that fails stops nothing else: see ``failures``. Several
    pipelines may run in one process. No signal handler is installed: Ctrl+C is KeyboardInterrupt as
    ever, and ends a ``with`` or ``for`` in order; in a handler of your own call ``stop``.

    Every method may be called from any thread, unless it says otherwise.
    """

    def __init__(
        self,
        config: ConfigLike,
        on_result: Callable[[FrameResult], object] | None = None,
        *,
        sinks: Sequence[SinkPlugin] = (),
        with_pictures: bool = True,
        with_passed: bool = False,
        load: Load | None = None,
    ) -> None:
        """Load the configuration and compile its models; nothing runs yet.

        Args:
            config: The path of a YAML file; or a text of YAML (a ``str`` with a line break, or one
                that begins with ``{``), a mapping as YAML would give it, or a ``Config``.
            on_result: Is called with every result. What it raises ends the run, and is raised
                again by ``run``, ``wait`` and at the end of the ``with``.
            sinks: Further outputs for every stream: each is called once a stream and returns the
                sink, which works on a thread of its own, as any other output.
            with_pictures: False: the pixels of the results are let go, which saves memory.
            with_passed: True: also the frames that ``detect_fps`` keeps from the model, with the
                boxes of the last one that it was asked about.
            load: What ``reload`` reads the configuration by; where ``config`` is a path, its file.

        Raises:
            ConfigError: The configuration has faults; all of them are listed.
            ModelError: A model can't be found, understood or compiled.
            FetchError: A model of the zoo can't be fetched.
        """
        given = config_from(config)
        changes = EngineChanges(build_engine(given), given)
        super().__init__(changes)
        self._controls = Controls(changes, given, load or load_of(config))
        self._on_result = on_result
        self._sinks = sinks
        self._with_pictures = with_pictures
        self._with_passed = with_passed
        self._delivery = Delivery()
        self._lock = threading.Lock()
        self._has_started = False
        self._is_pulled = False
        self._has_ended_sources = False
        self._closer: int | None = None
        self._closed = threading.Event()
        self._delivered = threading.Event()
        self._callback_thread: int | None = None
        self._threads = ThreadGroup(self._engine.outcome.crash)
        self._error: BaseException | None = None
        self._abandonment: Abandonment | None = None
        self._engine.outcome.tell_crash(self._delivery.close)
        self._engine.outcome.tell_over(partial(self._delivery.stay_open, may_grow=False))

    @property
    def config(self) -> Config:
        """What runs; after a change it is another one."""
        return self._config

    # ---- The run -------------------------------------------------------------------------------

    def start(self, *, with_results: bool = True) -> None:
        """Start every stream, and return.

        Args:
            with_results: True: results wait for whoever iterates, and recorded streams wait with
                them. False: there are none to iterate. Where there is an ``on_result`` it gets them
                in either case.

        Raises:
            UsageError: It has been started or closed: a pipeline runs once.
            ConfigError: One of ``sinks`` refused.
        """
        with self._lock:
            if self._has_started or self._closer is not None:
                raise UsageError("a pipeline runs once: make another one to run again")
            self._has_started = True
            timeout_s = self._config.shutdown_timeout_s
            self._abandonment = end_with(self, self._delivery, self._engine, timeout_s)
        try:
            self._is_pulled = with_results and self._on_result is None
            self._engine.population.further_lanes = OwnLanes(
                self._delivery,
                self._sinks,
                delivers=self._is_pulled or self._on_result is not None,
                with_pictures=self._with_pictures,
                with_passed=self._with_passed,
            )
            self._delivery.stay_open(may_grow=True)
            if self._on_result is not None:
                self._threads.spawn("vp-results", self._call_back, may_hang=True)
            self._engine.start()
        except BaseException:
            self.close()
            raise

    def run(self, duration_s: float | None = None) -> None:
        """Run to the end of all files, or so long, and close; results go to ``on_result`` alone.

        Raises:
            UsageError: It has been started or closed: a pipeline runs once.
            Exception: What ``on_result`` raised.
        """
        self.start(with_results=False)
        try:
            self.wait(duration_s)
        finally:
            self.close()
        self._raise_error()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until there is nothing left to do; return False if there is after so long.

        Without an ``on_result``, somebody has to iterate meanwhile, or recorded streams never end.

        Raises:
            Exception: What ``on_result`` raised.
            VidpipeError: A thread of vidpipe's own died, which is a fault of vidpipe.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        is_over = self._wait_over(deadline)
        if is_over and self._on_result is not None:
            left_s = None if deadline is None else max(0.0, deadline - time.monotonic())
            is_over = self._delivered.wait(left_s)
        self._raise_error()
        return is_over

    def stop(self) -> None:
        """Let the sources stop, and return at once.

        What is on its way is still written and delivered; then an iteration ends, and ``wait``
        returns. May be called from a signal handler.
        """
        # A second signal may come inside of this: it must find nothing to do.
        if not self._has_ended_sources:
            self._has_ended_sources = True
            self._delivery.expect_no_more()
            self._engine.end_sources()

    def close(self, timeout_s: float | None = None) -> None:
        """Stop, let the outputs finish their files, and end every thread; then return.

        Results that nobody has taken are thrown away. May be repeated. Does not raise for what
        failed or was lost: see ``failures`` and ``lost``. Not for signal handlers.

        Args:
            timeout_s: How long it may take; None: ``shutdown_timeout_s`` of the configuration.
        """
        me = threading.get_ident()
        with self._lock:
            is_first = self._closer is None
            if is_first:
                self._closer = me
        if is_first:
            self._close(self._config.shutdown_timeout_s if timeout_s is None else timeout_s)
        elif me not in (self._closer, self._callback_thread):
            self._closed.wait()

    def hurry(self) -> None:
        """Let ``close``, under way or to come, wait for nothing; a signal handler may call it."""
        self._engine.hurry()

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close, and raise what ``on_result`` raised, unless something else is under way."""
        self.close()
        if kind is None:
            self._raise_error()

    def __iter__(self) -> Iterator[FrameResult]:
        """Yield the results until every stream has ended.

        Starts the pipeline if need be, and then closes it at the end of the loop, however that
        comes; in a ``with`` a loop may be left, and another one goes on.

        Raises:
            UsageError: Results go to ``on_result``, or to nobody; or the pipeline is closed.
            VidpipeError: A thread of vidpipe's own died, which is a fault of vidpipe.
        """
        if self._on_result is not None:
            raise UsageError("the results go to on_result: leave it out to iterate over them")
        is_own = not self._has_started
        if (not is_own and not self._is_pulled) or self._closer is not None:
            raise UsageError("there are no results to iterate over: it runs without, or is closed")
        return self._results(is_own=is_own)

    # ---- Changes -------------------------------------------------------------------------------

    def reload(self) -> Mapping[str, Sequence[str]]:
        """Read the configuration's file again, and change what is different, stream by stream.

        No other stream notices. Models are kept unless their sections or files are others.

        Returns:
            Ids of streams: ``added``, ``removed``, ``changed``, ``unchanged``; and, where some
            couldn't begin, ``failed``: which, and why.

        Raises:
            ConfigError: The file has faults; what runs goes on.
            ModelError: A model can't be used; what runs goes on.
            UsageError: There is no file to read again, or the pipeline isn't running.
        """
        return self._controls.reload()

    def enable(self, stream: str) -> None:
        """Watch a stream that is disabled.

        Raises:
            UsageError: There is no such stream, or it can't begin.
        """
        self._controls.enable(stream)

    def disable(self, stream: str) -> None:
        """Watch a stream no more, until it is enabled; it ends in order, and no other notices.

        Raises:
            UsageError: There is no such stream, or the pipeline isn't running.
        """
        self._controls.disable(stream)

    def restart(self, stream: str) -> None:
        """End a stream in order, and begin it anew.

        Raises:
            UsageError: There is no such stream, it is disabled, or the pipeline isn't running.
        """
        self._controls.restart(stream)

    @property
    def changes(self) -> EngineChanges:
        """What carries changes out; for a parent process, which has worked them out."""
        return self._changes

    @property
    def revision(self) -> int:
        """How many changes there have been."""
        return self._controls.revision

    # ---- Inside --------------------------------------------------------------------------------

    def _wait_over(self, deadline: float | None) -> bool:
        """Wait until nothing is left to do; where all streams are disabled, until ``stop``."""
        over = self._engine.outcome.over
        while not over.is_set() and (self._engine.streams or not self._has_ended_sources):
            left_s = math.inf if deadline is None else deadline - time.monotonic()
            if left_s <= 0:
                return False
            over.wait(min(_LOOK_S, left_s))
        return True

    def _results(self, *, is_own: bool) -> Iterator[FrameResult]:
        if is_own:
            self.start()
        try:
            while (result := self._delivery.get()) is not None:
                yield result
            self._raise_error()
        finally:
            if is_own:
                self.close()

    def _call_back(self) -> None:
        """Call ``on_result`` with every result, on the thread that is for it."""
        assert self._on_result is not None
        self._callback_thread = threading.get_ident()
        try:
            while (result := self._delivery.get()) is not None:
                self._on_result(result)
        except BaseException as exc:  # noqa: BLE001 - the user's own code: raised where they wait
            self._error = exc
            self._engine.outcome.give_up("on_result", exc)
        finally:
            self._delivered.set()

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error
        if self._engine.outcome.crashed.is_set():
            died = [str(failure) for failure in self.failures if not failure.stream]
            raise VidpipeError("a thread died, and the run with it: " + "; ".join(died))

    def _close(self, timeout_s: float) -> None:
        if self._abandonment is not None:
            self._abandonment.detach()
        self._has_ended_sources = True
        self._delivery.stay_open(may_grow=False)
        # Whoever is called drains what is on its way; whoever pulls may be the one that closes.
        is_drained = self._on_result is not None and self._closer != self._callback_thread
        if not is_drained or self._error is not None:
            self._delivery.close()
        try:
            if self._engine.phase is Phase.BUILT:
                self._engine.discard()
            else:
                self._stop_engine(timeout_s)
        finally:
            self._closed.set()

    def _stop_engine(self, timeout_s: float) -> None:
        try:
            self._engine.stop(timeout_s, self._delivery.close)
        except BaseException:
            # Interrupted, such as by a second Ctrl+C: no thread may be left behind all the same.
            self._engine.hurry()
            self._delivery.close()
            self._engine.stop(0.0)
            raise
        finally:
            held = self._threads.join(_CALLBACK_GRACE_S)
            self._delivery.close()
        if held and self._closer != self._callback_thread:
            self._engine.lost += [f"{name} did not end" for name in held]
