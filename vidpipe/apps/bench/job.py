"""One run to be measured: the order that a fresh process gets, and what it answers.

Both travel as JSON. The configuration itself stays where it is: the process reads it anew, with the
point's settings as overrides, so that every value is checked as if it stood in the file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import cycle, islice
from pathlib import Path
from typing import Literal, TypeAlias

from vidpipe.apps.bench.rows import Value
from vidpipe.config.load import load_config
from vidpipe.config.outputs import JsonlOutput, Output, VideoOutput
from vidpipe.config.schema import Config, TelemetryConfig
from vidpipe.config.stream import LaneConfig, StreamConfig

Pace: TypeAlias = Literal["full", "source"]
"""``full``: sources are read as fast as they go; ``source``: by their timestamps, as cameras."""

STREAMS = "streams"
"""The setting that is no key of a model: how many streams run, the configured ones in turn."""

_ID_LENGTH = 90


@dataclass(frozen=True, slots=True)
class Subject:
    """What is measured.

    Attributes:
        config: The configuration's path.
        overrides: ``KEY=VALUE`` texts that win over the file.
        samples: Files that stand for the streams whose source can't be read as fast as it goes,
            by the stream's id.
        with_outputs: True: the outputs work, into a folder that is thrown away.
        left_out: Streams that are not measured, since no sample of them could be recorded.
    """

    config: str
    overrides: tuple[str, ...] = ()
    samples: Mapping[str, str] = field(default_factory=dict)
    with_outputs: bool = False
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunJob:
    """One run.

    Attributes:
        subject: What is measured.
        settings: What differs from the configuration: keys of the models, and ``streams``.
        pace: How sources are read.
        seconds: How long is counted.
        warmup_s: How long runs before that, from the first result of every stream.
        folder: Where outputs are written; empty where there are none.
    """

    subject: Subject
    settings: Mapping[str, Value] = field(default_factory=dict)
    pace: Pace = "full"
    seconds: float = 4.0
    warmup_s: float = 1.0
    folder: str = ""

    def to_json(self) -> str:
        """Return the order as a line."""
        return json.dumps(asdict(self))


def job_from_json(text: str) -> RunJob:
    """Return the order that ``to_json`` wrote."""
    fields = json.loads(text)
    subject = fields.pop("subject")
    for name in ("overrides", "left_out"):
        subject[name] = tuple(subject[name])
    return RunJob(subject=Subject(**subject), **fields)


@dataclass(frozen=True, slots=True)
class RunResult:
    """What one run was like, in its counted seconds.

    Attributes:
        seconds: How long was counted.
        frames: Processed, of all streams.
        captured_of: Decoded, of each stream.
        dropped: Lost, of all streams.
        fps_of: Processed frames a second of each stream.
        cpu_s: CPU seconds, of all threads and children.
        cpu_of: The same by part: ``decode``, ``dispatch``, ``inference``, ``boxes``, ``encode`` and
            ``other``.
        busiest_s: CPU seconds of the busiest decoding thread.
        others_cpu_s: CPU seconds that other programs on the machine took meanwhile.
        p50_ms: Median age of a result, from capture.
        p95_ms: Its 95th percentile.
        p99_ms: Its 99th percentile.
        rss_mb: Resident memory at the end, MiB.
        threads: Threads, native ones included.
        requests: Requests of all pools.
        startup_s: From the configuration to the first result of every stream.
        source_fps: The rate that the sources declare, their mean; 0 where none does.
        devices: The inference devices in use, by name, with their full names.
        source_of: What each stream's pictures are, for people: ``1920x1080 h264``.
    """

    seconds: float
    frames: int
    captured_of: Mapping[str, int]
    dropped: int
    fps_of: Mapping[str, float]
    cpu_s: float
    cpu_of: Mapping[str, float]
    busiest_s: float
    others_cpu_s: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    rss_mb: float
    threads: int
    requests: int
    startup_s: float
    source_fps: float
    devices: Mapping[str, str]
    source_of: Mapping[str, str]

    @property
    def captured(self) -> int:
        """Decoded, of all streams."""
        return sum(self.captured_of.values())

    @property
    def fps(self) -> float:
        """Processed frames a second."""
        return self.frames / self.seconds

    @property
    def cpu_ms(self) -> float:
        """CPU milliseconds a processed frame."""
        return 1000 * self.cpu_s / max(1, self.frames)


def used_models(config: Config) -> list[str]:
    """Return the names of the models that a stream asks."""
    return [name for name in config.models if any(s.model == name for s in config.streams)]


def derived_config(job: RunJob) -> Config:
    """Return the configuration that runs for a point.

    Raises:
        ConfigError: The file, or a setting in it, is not right.
    """
    subject = job.subject
    path = Path(subject.config)
    config = load_config(path, subject.overrides)
    keys = [(key, value) for key, value in job.settings.items() if key != STREAMS]
    if keys:
        changes = [f"models.{name}.{k}={v}" for name in used_models(config) for k, v in keys]
        config = load_config(path, (*subject.overrides, *changes))
    streams = [
        _derived_stream(stream, job)
        for stream in config.streams
        if stream.id not in subject.left_out
    ]
    count = job.settings.get(STREAMS)
    if count is not None:
        streams = _repeated(streams, int(count))
    return config.model_copy(
        update={
            "streams": tuple(streams),
            "telemetry": TelemetryConfig(),
            "server": None,
            "wall": None,
            "events": None,
            "outbox": None,
            "workers": 1,
        }
    )


def _derived_stream(stream: StreamConfig, job: RunJob) -> StreamConfig:
    sample = job.subject.samples.get(stream.id)
    is_paced = job.pace == "source"
    size = None if stream.is_live else stream.lane.size
    outputs = _redirected(stream, job.folder) if job.subject.with_outputs else ()
    return stream.model_copy(
        update={
            "source": sample or stream.source,
            "loop": True,
            "realtime": is_paced,
            "lane": stream.lane if is_paced else LaneConfig(size=size, overflow="block"),
            "outputs": outputs,
        }
    )


def _redirected(stream: StreamConfig, folder: str) -> tuple[Output, ...]:
    """Return the outputs that write files, into a folder of the bench's own; no other goes out."""
    kept: list[Output] = []
    for number, output in enumerate(stream.outputs):
        if isinstance(output, VideoOutput | JsonlOutput):
            suffix = "mp4" if isinstance(output, VideoOutput) else "jsonl"
            path = f"{folder}/{{stream}}-{number}-{{n}}.{suffix}"
            lane = output.lane.model_copy(update={"overflow": "block"})
            kept.append(output.model_copy(update={"path": path, "lane": lane}))
    return tuple(kept)


def _repeated(streams: list[StreamConfig], count: int) -> list[StreamConfig]:
    """Return so many streams: the given ones in turn, each under a name of its own."""
    return [
        stream.model_copy(update={"id": f"{stream.id[:_ID_LENGTH]}-{number}"})
        for number, stream in enumerate(islice(cycle(streams), count), 1)
    ]


def with_settings(job: RunJob, settings: Mapping[str, Value]) -> RunJob:
    """Return the same run with settings of its own."""
    return replace(job, settings=dict(settings))
