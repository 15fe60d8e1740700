"""What a bench measures and concludes: the records that all its parts share.

Times are milliseconds, CPU includes the children of a run's process, and a failed point is a row
with its reason instead of figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

Value: TypeAlias = str | int | float
"""What a setting may be set to."""


@dataclass(frozen=True, slots=True)
class Row:
    """One point: a setting, and what was measured with it (medians over the rounds).

    Attributes:
        name: What people call it, such as ``requests 4`` or ``call sync``; unique in its group.
        group: What it belongs to: ``configured``, ``sweep requests``, ``compare call``,
            ``cameras`` or ``goal``.
        settings: The keys that differ from the configuration, such as ``{"requests": 4}``.
        axis: What is varied: ``requests``, ``streams``, ``batch``, ``hint``, ``mode``, ``call`` or
            another key; "" where there is none.
        fps: Processed frames a second of all streams.
        p50_ms: Median age of a result, from capture.
        p95_ms: Its 95th percentile.
        p99_ms: Its 99th percentile.
        cpu_ms_per_frame: CPU milliseconds a processed frame, of all threads and children.
        rss_mb: Memory resident at the end of a run, MiB.
        threads: Threads of the process while it ran, native ones included.
        fps_low: The slowest round's ``fps``.
        fps_high: The fastest round's ``fps``.
        rounds: How often it was measured; 0 for a point that failed.
        streams: Streams that ran.
        slowest_fps: Processed frames a second of the slowest stream.
        error: Why there are no figures, for people; None if there are.
    """

    name: str
    group: str
    settings: Mapping[str, Value] = field(default_factory=dict)
    axis: str = ""
    fps: float = 0.0
    p50_ms: float = 0.0
    p95_ms: float = 0.0
    p99_ms: float = 0.0
    cpu_ms_per_frame: float = 0.0
    rss_mb: float = 0.0
    threads: int = 0
    fps_low: float = 0.0
    fps_high: float = 0.0
    rounds: int = 0
    streams: int = 0
    slowest_fps: float = 0.0
    error: str | None = None

    @property
    def is_measured(self) -> bool:
        """True if it has figures."""
        return self.error is None and self.rounds > 0

    @property
    def axis_value(self) -> Value | None:
        """Where it stands on its axis; None without one."""
        return self.settings.get("batch.size" if self.axis == "batch" else self.axis)


@dataclass(frozen=True, slots=True)
class StageCost:
    """One stage measured alone.

    Attributes:
        name: ``decode``, ``resize``, ``inference``, ``boxes``, ``draw`` or ``encode``.
        cpu_ms: CPU milliseconds a frame.
        fps: Frames a second that this stage makes alone on this machine, all cores at its service.
        detail: What was measured, for people: ``1920x1080 h264``, ``person, 5 requests``.
        is_floor: True for the one stage that is slowest.
        is_used: False for one that this configuration doesn't ask for: it limits nothing.
    """

    name: str
    cpu_ms: float
    fps: float
    detail: str = ""
    is_floor: bool = False
    is_used: bool = True


@dataclass(frozen=True, slots=True)
class Efficiency:
    """How near the whole comes to its bare parts, in CPU milliseconds a processed frame.

    Attributes:
        ceiling_cpu_ms: The bare parts, running together without vidpipe.
        measured_cpu_ms: The run.
        ratio: Ceiling by measured, the median of the rounds' own ratios.
        low: The least round's ratio.
        high: The greatest round's ratio.
        fps: The run's frames a second.
        ceiling_fps: Frames a second that the bare parts made together.
        parts: CPU milliseconds of each bare part: ``decode``, ``inference``, ``encode``.
        rounds: How often each was measured.
    """

    ceiling_cpu_ms: float
    measured_cpu_ms: float
    ratio: float
    low: float
    high: float
    fps: float
    ceiling_fps: float = 0.0
    parts: Mapping[str, float] = field(default_factory=dict)
    rounds: int = 0


@dataclass(frozen=True, slots=True)
class Knee:
    """The point of a sweep beyond which more doesn't pay.

    Attributes:
        axis: The swept key.
        row: The name of the point.
        why: In words, with the figures.
    """

    axis: str
    row: str
    why: str


@dataclass(frozen=True, slots=True)
class Advice:
    """What to put into the configuration.

    Attributes:
        yaml: A block to paste, each line with its measured reason as a comment.
        settings: The same as keys and values of the model.
        caveat: What speaks against it, also at the block's head; "" if nothing does.
    """

    yaml: str
    settings: Mapping[str, Value] = field(default_factory=dict)
    caveat: str = ""


@dataclass(frozen=True, slots=True)
class Cameras:
    """How many cameras of a kind fit.

    Attributes:
        count: So many held the wanted rate; 0 if not even one did.
        rate_fps: The wanted frames a second of each that are detected.
        source_fps: The frames a second that each one sends.
        limit: What gives out first: ``decode``, ``inference``, ``encode`` or ``nothing``.
        why: In words, with the figures.
        kind: What was measured: ``1920x1080 h264 at 25 frames/s``.
        is_bounded: False if the search ended before anything gave out.
    """

    count: int
    rate_fps: float
    source_fps: float
    limit: str
    why: str
    kind: str = ""
    is_bounded: bool = True


@dataclass(frozen=True, slots=True)
class Goal:
    """What was searched for, and what came nearest.

    Attributes:
        text: As it was given: ``p95=100ms``.
        is_met: True if a measured point meets it.
        row: The name of the best point; "" if none has figures.
        settings: That point's settings.
        why: In words, with the figures.
    """

    text: str
    is_met: bool
    row: str
    settings: Mapping[str, Value]
    why: str


@dataclass(frozen=True, slots=True)
class Machine:
    """Where it was measured; a figure without this says nothing.

    Attributes:
        cpu: The processor's full name.
        cores: Cores that the process may use.
        memory_mb: Memory of the machine, MiB.
        system: Operating system and its version.
        devices: The inference devices in use, by name, with their full names.
        versions: ``vidpipe``, ``python``, ``openvino``, ``av``, ``opencv``.
        load: Other work on the machine as it was measured: load average a core before the start.
    """

    cpu: str
    cores: int
    memory_mb: int
    system: str
    devices: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    load: float = 0.0


@dataclass(frozen=True, slots=True)
class BenchReport:
    """Everything that a bench has to say.

    Attributes:
        config: The configuration's file name.
        started_at: Aware UTC in ISO 8601.
        machine: Where it was measured.
        subject: What was measured, a line for people: streams, their pictures, the model.
        rows: All points, in the order of measuring.
        stages: The stages alone; empty unless they were asked for.
        knees: One for each sweep that has one.
        advice: What to set; None where too little was measured to say.
        efficiency: Against the ceiling; None unless it was asked for.
        cameras: How many fit; None unless it was asked for.
        goal: The search for a goal; None unless it was asked for.
        notes: What a reader must know beside the figures.
        is_complete: False if it was stopped early.
    """

    config: str
    started_at: str
    machine: Machine
    subject: str = ""
    rows: Sequence[Row] = ()
    stages: Sequence[StageCost] = ()
    knees: Sequence[Knee] = ()
    advice: Advice | None = None
    efficiency: Efficiency | None = None
    cameras: Cameras | None = None
    goal: Goal | None = None
    notes: Sequence[str] = ()
    is_complete: bool = True
