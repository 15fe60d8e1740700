"""From a configuration to an engine: the one place that knows every stage."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import cv2
from loguru import logger

from vidpipe.analytics.chain import StreamChain, StreamRole
from vidpipe.analytics.workers import Workers
from vidpipe.apps.detectors import compiler
from vidpipe.apps.drafts import Draft, drafted
from vidpipe.apps.engine import Engine
from vidpipe.apps.eventplaces import all_targets
from vidpipe.apps.exhibition import wall_of
from vidpipe.apps.herald import Herald
from vidpipe.apps.outcome import Outcome, StreamRecord
from vidpipe.apps.pools import ModelPools, PoolMaker
from vidpipe.apps.sinks import overflow_of
from vidpipe.apps.sourcing import capture_policy, decode_plan, source_spec
from vidpipe.apps.units import Rest, StreamUnit
from vidpipe.apps.windows import dispatch_policy, room_for, window_of
from vidpipe.config.schema import Config
from vidpipe.config.stream import StreamConfig
from vidpipe.errors import ConfigError, Fault
from vidpipe.interfaces import Clock, OpenReader
from vidpipe.outputs.fanout import Fanout
from vidpipe.outputs.gallery import Easel, LocalGallery
from vidpipe.outputs.glyphs import Typesetter
from vidpipe.packets import PacketOutlet
from vidpipe.runtime.durations import StageMeters
from vidpipe.runtime.meters import StreamMeter
from vidpipe.scheduling.intake import Intake
from vidpipe.sources.capture import Capture
from vidpipe.sources.decodeshare import DecodeShare
from vidpipe.sources.opening import open_reader
from vidpipe.types import FrameResult

_WORKERS_MOST = 4
"""Beyond that they would only wait for one another: the interpreter runs one thread at a time."""


@dataclass(slots=True)
class _Events:
    """Implements ``FanoutEvents`` for one life of a stream: it reaches nothing of another."""

    workers: Workers
    record: StreamRecord
    chain: StreamChain = field(init=False)
    intake: Intake = field(init=False)

    def settle(self, stream: str) -> None:
        self.intake.release()

    def make_room(self, stream: str) -> None:
        self.workers.resume(self.chain)

    def fail(self, stream: str, sink: str, error: str) -> None:
        logger.bind(stream=stream).error("output {} failed: {}", sink, error)
        self.record.fail(sink, error)

    def finish(self, stream: str, sink: str, paths: Sequence[str]) -> None:
        self.record.finish_sink(paths)


class Workshop:
    """Implements ``Plant``: makes the streams of one engine, and the pools of their models.

    One thread at a time, but for what it shows.
    """

    def __init__(self, config: Config, clock: Clock) -> None:
        """Begin with nothing.

        Raises:
            ConfigError: A certificate or key of an output can't be used.
        """
        self.outcome = Outcome()
        self.stages = StageMeters()
        self.config = config
        self._clock = clock
        self._decode_share = DecodeShare(clock)
        self._typesetter = Typesetter()
        self._chains: dict[str, StreamChain] = {}
        # One for a pulse; pools and streams reserve the rest.
        self.workers = Workers(1, self._chains.__getitem__)
        self._pools: dict[str, ModelPools] = {}
        self._is_running = False
        self._herald = Herald(
            all_targets(config), config.events, config.outbox, self.outcome, clock
        )
        wall = wall_of(config)
        self._gallery = LocalGallery(self._typesetter, quality=wall.quality) if wall else None

    # ---- What the engine sees ------------------------------------------------------------------

    @property
    def pool_sets(self) -> Mapping[str, ModelPools]:
        """Every model's pools, by its name."""
        return self._pools

    @property
    def herald(self) -> Herald:
        """Who makes events known, if anybody wants to know them."""
        return self._herald

    @property
    def gallery(self) -> LocalGallery | None:
        """The streams' pictures; None where nobody could look at them."""
        return self._gallery

    def start(self) -> None:
        """Start all pools; those to come start with them."""
        self._is_running = True
        for pools in self._pools.values():
            pools.start()

    def draft(self, stream: StreamConfig, config: Config | None = None) -> Draft:
        """Look through a stream's section, changing nothing.

        Args:
            stream: The section.
            config: Where its model is described, if not in the configuration in force.

        Raises:
            ConfigError: A plugin refuses the keys of its output, or there is no such model.
        """
        if stream.model not in (config or self.config).models:
            raise ConfigError([_no_model(stream)])
        return drafted(stream, self._typesetter)

    def make(
        self, draft: Draft, rest: Rest | None, open_reader: OpenReader | None = None
    ) -> StreamUnit:
        """Connect a stream with everything but its threads; it goes on from ``rest``.

        Raises:
            ModelError: Its model can't be compiled.
            FetchError: Its model can't be fetched.
        """
        config, name = draft.config, draft.config.id
        pools = self.pools_for([config])
        dispatcher = pools.admit(name)
        meter = rest.meter if rest is not None else StreamMeter()
        record = self.outcome.expect(name, len(draft.lanes) + len(draft.records))
        events = _Events(self.workers, record)
        fanout = Fanout(name, draft.lanes, meter, events, self.stages, records=draft.records)
        easel = self._gallery.add(name, config.name or "") if self._gallery is not None else None
        role = StreamRole(name, fanout, meter, self._watch(config, meter, easel))
        chain = StreamChain(role, lambda _: record.end_stream(), self._clock, self.stages)
        policy = dispatch_policy(draft, window_of(pools, name))
        intake = dispatcher.add(name, policy, meter)
        events.chain, events.intake = chain, intake
        self._chains[name] = chain
        reserved = room_for(pools, name)
        self.workers.reserve(reserved)
        if open_reader is None:
            open_reader = self._opener(draft, meter, fanout.packets, easel)
        capture = self._capture(draft, rest, intake, meter, open_reader)
        fanout.tell(self._herald.announcer(name, config.title))
        self._herald.watch_camera(name, config.title, capture)
        return StreamUnit(
            config=config,
            overflow=overflow_of(is_live=draft.is_live),
            capture=capture,
            intake=intake,
            fanout=fanout,
            meter=meter,
            record=record,
            pools=pools,
            reserved=reserved,
            resume=partial(self.workers.resume, chain),
        )

    def leave(self, unit: StreamUnit) -> None:
        """A stream is about to end on purpose: that is nobody's news."""
        self._herald.forget_camera(unit.stream)

    def bury(self, unit: StreamUnit) -> None:
        """Let go of what is left of a life that is over."""
        del self._chains[unit.stream]
        self.workers.reserve(-unit.reserved)
        unit.pools.dismiss(unit.stream)

    def balance(self, units: Iterable[StreamUnit]) -> None:
        """Give every stream its share of its pool's requests, now that there are more or fewer."""
        for unit in units:
            unit.intake.resize(window_of(unit.pools, unit.stream))

    # ---- Models --------------------------------------------------------------------------------

    def pools_for(self, streams: Sequence[StreamConfig]) -> ModelPools:
        """Return the pools of some streams' common model, which is compiled if it isn't there.

        Raises:
            ModelError: It can't be compiled.
            FetchError: It can't be fetched.
        """
        name = streams[0].model
        if name not in self._pools:
            self._pools[name] = self.new_pools(self.config, streams)
            if self._is_running:
                self._pools[name].start()
        return self._pools[name]

    def new_pools(self, config: Config, streams: Sequence[StreamConfig]) -> ModelPools:
        """Compile the model of some streams, as a configuration has it; nothing is changed yet.

        Raises:
            ModelError: It can't be compiled.
            FetchError: It can't be fetched.
        """
        name = streams[0].model
        model = config.models[name]
        maker = PoolMaker(
            name=name,
            model=model,
            compile_model=compiler(name, model, config.cache_dir, streams),
            workers=self.workers,
            clock=self._clock,
            stages=self.stages,
            crash=self.outcome.crash,
        )
        return ModelPools(maker, [stream.id for stream in streams])

    def exchange(self, config: Config, fresh: Mapping[str, ModelPools]) -> list[ModelPools]:
        """Take up another configuration, with pools that were made for it.

        Returns:
            Those that nobody uses any more, to be released.
        """
        used = {stream.model for stream in config.streams if stream.enabled}
        old = [pools for name, pools in self._pools.items() if name in fresh or name not in used]
        kept = {name: pools for name, pools in self._pools.items() if pools not in old}
        self._pools = {**kept, **fresh}
        for pools in fresh.values() if self._is_running else ():
            pools.start()
        self.config = config
        if self._gallery is not None:
            self._gallery.keep(stream.id for stream in config.streams)
        return old

    # ---- Inside --------------------------------------------------------------------------------

    def _watch(
        self, stream: StreamConfig, meter: StreamMeter, easel: Easel | None
    ) -> Callable[[FrameResult], None] | None:
        """Return who sees a stream's results in order, beside its sinks."""
        report = self._herald.result_watch(stream.id, stream.title, meter)
        if easel is None:
            return report
        return easel.take if report is None else partial(_see_both, report, easel.take)

    def _capture(
        self,
        draft: Draft,
        rest: Rest | None,
        intake: Intake,
        meter: StreamMeter,
        reader: OpenReader,
    ) -> Capture:
        position = rest.position if rest is not None else (0, 0)
        policy = capture_policy(draft.config, position, is_recorded=draft.is_recorded)
        return Capture(
            policy,
            reader,
            intake.put,
            meter,
            self._clock,
            stages=self.stages,
            tell_overtaken=intake.excuse,
        )

    def _opener(
        self,
        draft: Draft,
        meter: StreamMeter,
        packets: PacketOutlet | None,
        easel: Easel | None,
    ) -> OpenReader:
        """Return what opens a stream's source."""
        config = draft.config
        plan = decode_plan(
            config,
            shows_pictures=any(lane.sink.needs_picture for lane in draft.lanes),
            is_watched=None if easel is None else lambda: easel.is_watched,
        )
        count = sum(one.enabled for one in self.config.streams)
        threads = max(1, _cores() // max(1, count, len(self._chains)))
        if draft.is_live:
            share = self._decode_share.join(lambda: meter.answered, config.weight, config.model)
            plan = replace(plan, share=share)
        spec = replace(source_spec(config, threads), plan=plan, packets=packets)
        return partial(open_reader, spec)


def _see_both(
    first: Callable[[FrameResult], None], second: Callable[[FrameResult], None], result: FrameResult
) -> None:
    first(result)
    second(result)


def build_engine(config: Config, *, clock: Clock = time.monotonic) -> Engine:
    """Compile the models in use and connect every stage; nothing runs yet.

    Raises:
        ConfigError: A plugin refuses the keys of its output; or the configuration was made in a
            program, and names a model that it doesn't have, or a stream twice.
        ModelError: A model can't be found, understood or compiled.
        FetchError: A model of the zoo can't be fetched.
    """
    # The streams and workers are threads enough: OpenCV's own would only take their cores.
    cv2.setNumThreads(1)
    _require_consistency(config)
    workshop = Workshop(config, clock)
    # Before the models are compiled: what a plugin has to say of its keys should come at once.
    drafts = [workshop.draft(stream) for stream in config.streams if stream.enabled]
    for name in config.models:
        sharers = [draft.config for draft in drafts if draft.config.model == name]
        if sharers:
            workshop.pools_for(sharers)
    engine = Engine(
        plant=workshop,
        workers=workshop.workers,
        worker_threads=min(_WORKERS_MOST, max(2, _cores())),
        outcome=workshop.outcome,
        stages=workshop.stages,
    )
    for stream in config.streams:
        if not stream.enabled:
            engine.population.rest(stream)
    for draft in drafts:
        engine.add(draft)
    return engine


def _require_consistency(config: Config) -> None:
    """Refuse what only a configuration that was made in a program can be.

    Raises:
        ConfigError: An id is there twice, or a model not at all.
    """
    ids = [stream.id for stream in config.streams]
    faults = [_no_model(stream) for stream in config.streams if stream.model not in config.models]
    faults += [
        Fault(f"stream {name}", "id", "another stream has it, too")
        for name in dict.fromkeys(ids)
        if ids.count(name) > 1
    ]
    if faults:
        raise ConfigError(faults)


def _no_model(stream: StreamConfig) -> Fault:
    return Fault(f"stream {stream.id}", "model", f"no model is called {stream.model!r}")


def _cores() -> int:
    """Return the cores that this process may use: a container's share, not the machine's."""
    return len(os.sched_getaffinity(0))
