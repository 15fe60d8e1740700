"""vidpipe as a library: a configuration that runs in somebody's own program.

The command line runs by the same class.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias

from vidpipe.apps.abandonment import Abandonment, end_with
from vidpipe.apps.build import build_engine
from vidpipe.apps.delivery import Delivery, ResultSink
from vidpipe.apps.engine import Phase, StreamUnit
from vidpipe.apps.engineview import EngineView
from vidpipe.apps.sinks import lane_names, lane_size
from vidpipe.config.load import load_config, load_config_mapping, load_config_text
from vidpipe.config.schema import Config
from vidpipe.errors import UsageError, VidpipeError
from vidpipe.interfaces import Sink, SinkPlugin
from vidpipe.outputs.fanout import SinkLane
from vidpipe.outputs.plugin import foreign_sink
from vidpipe.runtime.supervisor import ThreadGroup
from vidpipe.types import FrameResult, Overflow, SinkRequest

ConfigLike: TypeAlias = Config | Mapping[str, Any] | str | os.PathLike[str]
"""A file's path; or a text, a mapping or a ``Config`` of the same content."""

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

        Raises:
            ConfigError: The configuration has faults; all of them are listed.
            ModelError: A model can't be found, understood or compiled.
            FetchError: A model of the zoo can't be fetched.
        """
        given = config_from(config)
        super().__init__(given, build_engine(given))
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

    @property
    def config(self) -> Config:
        """What runs."""
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
            for unit in self._engine.streams:
                self._attach_sinks(unit)
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
        is_over = self._engine.outcome.over.wait(timeout_s)
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

    # ---- Inside --------------------------------------------------------------------------------

    def _attach_sinks(self, unit: StreamUnit) -> None:
        """Give a stream the sinks of this program's own."""
        is_live = unit.overflow is Overflow.DROP_OLDEST
        request = SinkRequest(unit.stream, unit.title, is_live)
        kinds = lane_names([getattr(make, "__name__", "sink") for make in self._sinks])
        made: list[tuple[str, Sink]] = [
            (kind, foreign_sink(kind, make, request))
            for kind, make in zip(kinds, self._sinks, strict=True)
        ]
        if self._is_pulled or self._on_result is not None:
            on_loss = partial(unit.meter.count_sink_loss, "results")
            self._delivery.add(unit.stream, unit.overflow, on_loss)
            result_sink = ResultSink(
                self._delivery,
                unit.stream,
                needs_picture=self._with_pictures,
                with_passed=self._with_passed,
            )
            made.append(("results", result_sink))
        for kind, sink in made:
            lane = SinkLane(kind, sink, lane_size(sink), unit.overflow)
            self._engine.attach(unit.stream, lane)

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


def config_from(given: ConfigLike) -> Config:
    """Return a configuration, however it is given.

    Raises:
        ConfigError: It has faults.
    """
    if isinstance(given, Config):
        return given
    if isinstance(given, Mapping):
        return load_config_mapping(given)
    if isinstance(given, str) and ("\n" in given or given.lstrip().startswith("{")):
        return load_config_text(given)
    return load_config(Path(given))
