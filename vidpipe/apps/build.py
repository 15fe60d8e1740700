"""From a configuration to an engine: the one place that knows every stage."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import cv2
from loguru import logger

from vidpipe.analytics.chain import StreamChain, StreamRole
from vidpipe.analytics.workers import Workers
from vidpipe.apps.aspect import common_aspect
from vidpipe.apps.engine import Engine, StreamUnit
from vidpipe.apps.eventplaces import event_targets
from vidpipe.apps.herald import Herald
from vidpipe.apps.outcome import Outcome
from vidpipe.apps.pools import Compile, ModelPools, PoolMaker
from vidpipe.apps.sinks import lane_names, overflow_of, record_lanes, sink_lanes
from vidpipe.apps.sourcing import decode_plan, source_spec
from vidpipe.config.model import ModelConfig
from vidpipe.config.schema import Config
from vidpipe.config.stream import StreamConfig
from vidpipe.errors import ConfigError, Fault, ModelError
from vidpipe.inference.labels import read_labels
from vidpipe.inference.model import CompiledDetector, compile_detector
from vidpipe.inference.settings import (
    Anchor,
    Color,
    DetectorSettings,
    Hint,
    InputSettings,
    Precision,
    Resize,
)
from vidpipe.inference.zoo import fetch_model
from vidpipe.interfaces import Clock
from vidpipe.outputs.fanout import Fanout
from vidpipe.outputs.glyphs import Typesetter
from vidpipe.packets import PacketOutlet
from vidpipe.runtime.durations import StageMeters
from vidpipe.runtime.meters import StreamMeter
from vidpipe.scheduling.dispatch import Dispatcher, DispatchPolicy
from vidpipe.scheduling.lanes import LanePolicy
from vidpipe.sources.capture import Capture, CapturePolicy
from vidpipe.sources.connection import Backoff
from vidpipe.sources.opening import open_reader
from vidpipe.sources.plugin import is_plugin_live
from vidpipe.sources.skipping import DecodePlan
from vidpipe.types import Overflow

_LIVE_LANE = 2
_FILE_LANE = 4
_LIVE_MAX_AGE_S = 0.5

_IN_SINKS = 4
"""How many frames of a stream may be with its sinks while as many as it may have are at the model.
"""

_COMPILED = "compiled"
"""Where the cache keeps compiled models."""

_WORKERS_MOST = 4
"""Beyond that they would only wait for one another: the interpreter runs one thread at a time."""


@dataclass(frozen=True, slots=True)
class _Events:
    """Implements ``FanoutEvents``: what sinks have to say reaches those whom it concerns."""

    dispatcher_of: Mapping[str, Dispatcher]
    workers: Workers
    outcome: Outcome

    def settle(self, stream: str) -> None:
        self.dispatcher_of[stream].release(stream)

    def make_room(self, stream: str) -> None:
        self.workers.resume(stream)

    def fail(self, stream: str, sink: str, error: str) -> None:
        logger.bind(stream=stream).error("output {} failed: {}", sink, error)
        self.outcome.fail(stream, sink, error)

    def finish(self, stream: str, sink: str, paths: Sequence[str]) -> None:
        self.outcome.finish_sink(stream, sink, paths)


@dataclass(frozen=True, slots=True)
class _Shared:
    """What all streams of a pipeline have in common."""

    events: _Events
    clock: Clock
    decoder_threads: int
    stages: StageMeters


@dataclass(frozen=True, slots=True)
class _Stream:
    """A stream's section, and what only a plugin may know of its source."""

    config: StreamConfig
    is_recorded: bool

    @property
    def is_live(self) -> bool:
        """True if it can't wait: a camera, or a file that is played like one."""
        return self.config.realtime or not self.is_recorded

    def has_own_pool(self, config: Config) -> bool:
        """True if it shares its model's requests with no other stream."""
        return config.models[self.config.model].mode == "independent"


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
    streams = [_Stream(stream, _is_recorded(stream)) for stream in config.streams]
    typesetter = Typesetter()
    # Before the models are compiled: what a plugin has to say of its keys should come at once.
    lanes_of = {
        stream.config.id: list(sink_lanes(stream.config, typesetter, is_live=stream.is_live))
        for stream in streams
    }
    records_of = {s.config.id: list(record_lanes(s.config, is_live=s.is_live)) for s in streams}
    used = [name for name in config.models if any(s.model == name for s in config.streams)]
    chains: dict[str, StreamChain] = {}
    dispatcher_of: dict[str, Dispatcher] = {}
    outcome = Outcome({name: len(lanes_of[name]) + len(records_of[name]) for name in lanes_of})
    herald = _herald(config, outcome, clock)

    stages = StageMeters()
    # Two a stream: one resumption, and the stream's end.
    workers = Workers(2 * len(config.streams), chains.__getitem__)
    pools_of: dict[str, ModelPools] = {}
    for name in used:
        ids = [stream.id for stream in config.streams if stream.model == name]
        compile_model = _compiler(name, config, [s for s in streams if s.config.id in ids])
        maker = PoolMaker(name, config.models[name], ids, compile_model, workers, clock, stages)
        pools_of[name] = maker.make()
        dispatcher_of |= pools_of[name].dispatcher_of

    shared = _Shared(
        events=_Events(dispatcher_of, workers, outcome),
        clock=clock,
        decoder_threads=max(1, _cores() // len(config.streams)),
        stages=stages,
    )
    units = []
    for stream in streams:
        name, title = stream.config.id, stream.config.title
        pools, dispatcher = pools_of[stream.config.model], dispatcher_of[name]
        meter = StreamMeter()
        fanout = Fanout(
            name, lanes_of[name], meter, shared.events, stages, records=records_of[name]
        )
        watch = herald.result_watch(name, title, meter) if herald is not None else None
        role = StreamRole(name, fanout, meter, watch)
        chains[name] = StreamChain(role, outcome.end_stream, clock, stages)
        sharers = 1 if stream.has_own_pool(config) else _sharers(config, stream.config)
        policy = _dispatch_policy(stream, pools.capacity_of[name], sharers)
        workers.reserve(policy.window)
        dispatcher.add(name, policy, meter)
        shows_pictures = any(lane.sink.needs_picture for lane in lanes_of[name])
        plan = decode_plan(stream.config, shows_pictures=shows_pictures)
        capture = _capture(stream, plan, shared, meter, fanout.packets)
        if herald is not None:
            fanout.tell(herald.announcer(name, title))
            herald.watch_camera(name, title, capture)
        overflow = overflow_of(is_live=stream.is_live)
        units.append(StreamUnit(name, title, overflow, capture, dispatcher, fanout, meter))
    return Engine(
        streams=units,
        pools=[unit for pools in pools_of.values() for unit in pools.pools],
        loops=[loop for pools in pools_of.values() for loop in pools.loops],
        routes=[pools.routes for pools in pools_of.values() if pools.routes is not None],
        workers=workers,
        worker_threads=min(_WORKERS_MOST, max(2, _cores())),
        outcome=outcome,
        herald=herald,
        stages=stages,
    )


def _herald(config: Config, outcome: Outcome, clock: Clock) -> Herald | None:
    """Return who makes events known, if any output takes some.

    Raises:
        ConfigError: A certificate or key of an output can't be used.
    """
    targets = [
        target
        for stream in config.streams
        for target in event_targets(stream, lane_names([output.type for output in stream.outputs]))
    ]
    if not targets:
        return None
    return Herald(targets, config.events, config.outbox, outcome, clock)


def model_path(name: str, model: ModelConfig, cache_dir: Path) -> Path:
    """Return a model's file, fetching it first where it is one of the zoo's.

    Raises:
        FetchError: It can't be fetched.
        ModelError: The zoo has no such model.
    """
    if model.zoo is None:
        assert model.path is not None
        return model.path
    logger.debug("model {}: {} of the zoo", name, model.zoo)
    return fetch_model(model.zoo, cache_dir)


def detector_settings(
    name: str, model: ModelConfig, aspect: float | None = None
) -> DetectorSettings:
    """Translate a model's section of the file; ``aspect`` is its streams', if they matter.

    Raises:
        ModelError: The file of labels can't be read.
    """
    given = model.input
    return DetectorSettings(
        name=name,
        decoder=model.decoder,
        labels=_labels(name, model),
        classes=model.classes or (),
        confidence=model.confidence,
        iou=model.iou,
        is_agnostic=model.nms == "agnostic",
        input=InputSettings(
            color=Color(given.color) if given.color else None,
            resize=Resize(given.resize) if given.resize else None,
            anchor=Anchor(given.anchor) if given.anchor else None,
            pad=given.pad,
            mean=given.mean,
            scale=given.scale,
            size_wh=given.size,
            aspect=aspect,
        ),
        precision=Precision(model.precision),
        device=model.device,
        properties=model.properties,
        hint=Hint(model.hint),
        num_streams=None if model.num_streams == "auto" else model.num_streams,
        threads=model.threads,
        is_pinned=model.pinning,
    )


def _compiler(name: str, config: Config, streams: Sequence[_Stream]) -> Compile:
    """Return what compiles a model; its file is fetched now, and once."""
    model = config.models[name]
    path = model_path(name, model, config.cache_dir)
    aspect = None
    if model.input.fit == "streams":
        sources = {s.config.id: partial(open_reader, source_spec(s.config)) for s in streams}
        limit_s = max(stream.config.connect.open_timeout_s for stream in streams)
        aspect = common_aspect(name, sources, limit_s)
    settings = detector_settings(name, model, aspect)
    settings = replace(settings, cache_dir=config.cache_dir / _COMPILED)

    def compile_model(
        *, hint: Hint | None = None, batch: int = 1, share_of: int = 1
    ) -> CompiledDetector:
        wanted = replace(settings, hint=settings.hint if hint is None else hint, share_of=share_of)
        return compile_detector(path, wanted, batch)

    return compile_model


def _labels(name: str, model: ModelConfig) -> tuple[str, ...]:
    if not isinstance(model.labels, Path):
        return model.labels or ()
    try:
        return read_labels(model.labels)
    except ModelError as exc:
        raise ModelError(f"model {name}: {exc}") from exc


def _sharers(config: Config, stream: StreamConfig) -> int:
    return sum(other.model == stream.model for other in config.streams)


def _dispatch_policy(stream: _Stream, requests: int, sharers: int) -> DispatchPolicy:
    lane = stream.config.lane
    overflow = Overflow(lane.overflow) if lane.overflow else overflow_of(is_live=stream.is_live)
    default_age_s = _LIVE_MAX_AGE_S if overflow is Overflow.DROP_OLDEST else None
    return DispatchPolicy(
        lane=LanePolicy(
            size=lane.size or (_LIVE_LANE if stream.is_live else _FILE_LANE),
            overflow=overflow,
            max_age_s=lane.max_age_ms / 1000 if lane.max_age_ms else default_age_s,
        ),
        # A lone stream may fill the pool; of many each needs its share and a little more.
        window=min(requests, -(-2 * requests // sharers)) + _IN_SINKS,
        weight=stream.config.weight,
        detect_fps=stream.config.detect_fps,
    )


def _capture(
    stream: _Stream,
    plan: DecodePlan,
    shared: _Shared,
    meter: StreamMeter,
    packets: PacketOutlet | None,
) -> Capture:
    config = stream.config
    first_s, cap_s = config.connect.backoff_s
    age_ms = config.lane.max_age_ms
    policy = CapturePolicy(
        stream=config.id,
        is_live=not stream.is_recorded,
        loop=config.loop,
        realtime=config.realtime,
        max_late_s=age_ms / 1000 if age_ms else _LIVE_MAX_AGE_S,
        backoff=Backoff(first_s, cap_s),
        open_timeout_s=config.connect.open_timeout_s,
        read_timeout_s=config.connect.read_timeout_s,
        frozen_s=config.connect.frozen_s,
    )
    spec = replace(source_spec(config, shared.decoder_threads), plan=plan, packets=packets)
    hand_over = shared.events.dispatcher_of[config.id].put
    return Capture(
        policy, partial(open_reader, spec), hand_over, meter, shared.clock, stages=shared.stages
    )


def _is_recorded(stream: StreamConfig) -> bool:
    return not is_plugin_live(stream.source) if stream.kind == "plugin" else stream.is_recorded


def _require_consistency(config: Config) -> None:
    """Refuse what only a configuration that was made in a program can be.

    Raises:
        ConfigError: An id is there twice, or a model not at all.
    """
    ids = [stream.id for stream in config.streams]
    faults = [
        Fault(f"stream {stream.id}", "model", f"no model is called {stream.model!r}")
        for stream in config.streams
        if stream.model not in config.models
    ]
    faults += [
        Fault(f"stream {name}", "id", "another stream has it, too")
        for name in dict.fromkeys(ids)
        if ids.count(name) > 1
    ]
    if faults:
        raise ConfigError(faults)


def _cores() -> int:
    """Return the cores that this process may use: a container's share, not the machine's."""
    return len(os.sched_getaffinity(0))
