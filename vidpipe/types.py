"""The records that the stages hand to one another: immutable, and without machinery.

Pixels are read-only views that belong to the decoder: who draws, draws into a buffer of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, StrEnum
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vidpipe.errors import SourceCause

Pixels: TypeAlias = NDArray[np.uint8]
"""A plane (H, W) or an interleaved picture (H, W, 3)."""


class ColorMatrix(Enum):
    """The luma coefficients (Kr, Kb) by which RGB was turned into YUV (ITU-T H.273, table 4)."""

    BT601 = (0.299, 0.114)
    BT709 = (0.2126, 0.0722)
    BT2020 = (0.2627, 0.0593)


@dataclass(frozen=True, slots=True)
class Picture:
    """One decoded picture as 8-bit 4:2:0 planes, in coded orientation.

    Attributes:
        y: (H, W) uint8, read-only.
        u: (ceil(H/2), ceil(W/2)) uint8, read-only.
        v: The same shape as ``u``.
        matrix: How RGB became YUV.
        is_full_range: True for 0..255 (JPEG), False for 16..235 (television).
        rotation_deg: Clockwise quarter turns, in degrees, that bring the coded picture upright: 0,
            90, 180 or 270.
    """

    y: Pixels
    u: Pixels
    v: Pixels
    matrix: ColorMatrix = ColorMatrix.BT601
    is_full_range: bool = False
    rotation_deg: int = 0

    @property
    def size_wh(self) -> tuple[int, int]:
        """Width and height in pixels as displayed, that is after the rotation."""
        height, width = self.y.shape
        return (height, width) if self.rotation_deg in (90, 270) else (width, height)


_NO_PLANE = np.zeros((1, 1), np.uint8)
NO_PICTURE = Picture(_NO_PLANE, _NO_PLANE, _NO_PLANE)
"""Stands for pixels that were let go."""


class SourceKind(StrEnum):
    """What a stream's address points to."""

    FILE = "file"
    NETWORK = "network"
    DEVICE = "device"
    SYNTHETIC = "synthetic"
    PLUGIN = "plugin"
    """An address whose scheme another installed package opens."""


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """What is known of a source once it is open.

    Attributes:
        kind: Where it comes from.
        is_live: True if it can't wait and has no end of its own.
        codec: The codec's short name, such as ``h264``.
        width: Displayed width in pixels, as declared; a frame's own picture is what counts.
        height: Displayed height in pixels, likewise.
        rotation_deg: Clockwise rotation that the container asks for.
        rate_fps: Declared frames a second, or None.
        time_base: The unit of the source's timestamps in seconds, or None where it has none.
        frame_count: The frames that the container promises, or None.
        duration_s: The seconds that the container promises, or None.
        recorded_at: Aware UTC time of timestamp zero, where the file says it.
    """

    kind: SourceKind
    is_live: bool
    codec: str
    width: int
    height: int
    rotation_deg: int = 0
    rate_fps: float | None = None
    time_base: Fraction | None = None
    frame_count: int | None = None
    duration_s: float | None = None
    recorded_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Decoded:
    """A picture as a reader returns it, before it belongs to a stream.

    Attributes:
        picture: The pixels.
        pts_s: The container's timestamp in seconds, or None where there is none.
        duration_s: How long the container says that it is shown, or None.
        number: Which picture of its source it is, from 0, where the reader leaves some out; None:
            it leaves out none.
    """

    picture: Picture
    pts_s: float | None
    duration_s: float | None = None
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of one stream, on its way from its capture to its sinks.

    Attributes:
        stream: The stream's id.
        epoch: Counts the openings of the source, from 0; a tracker starts anew with each.
        number: Decoded frames of the stream, from 0; goes on over loops and reconnects.
        pts_s: Seconds on the container's clock (going on over loops), or None where the source has
            no timestamps.
        captured_at: Monotonic seconds at arrival.
        time: Aware UTC: arrival (live) or recording (a file that says it), else None.
        size_wh: Displayed width and height in pixels.
        picture: The pixels; ``NO_PICTURE`` on the way to a sink that doesn't look at them, so that
            a long lane holds no memory.
        source: What the source said of itself in this epoch.
    """

    stream: str
    epoch: int
    number: int
    pts_s: float | None
    captured_at: float
    time: datetime | None
    size_wh: tuple[int, int]
    picture: Picture
    source: SourceInfo


@dataclass(frozen=True, slots=True)
class Detections:
    """The objects found in one frame, by falling score.

    Attributes:
        boxes_xyxy: (N, 4) float32 in pixels of the displayed frame, clipped to it, x1 <= x2, y1 <=
            y2.
        scores: (N,) float32, 0..1.
        class_ids: (N,) int32.
        labels: (N,) the classes' names.
        track_ids: (N,) int or None for each, where a tracker runs; empty where none does.

    The arrays are made read-only: every sink of a stream gets the same ones.
    """

    boxes_xyxy: NDArray[np.float32]
    scores: NDArray[np.float32]
    class_ids: NDArray[np.int32]
    labels: tuple[str, ...]
    track_ids: tuple[int | None, ...] = ()

    def __post_init__(self) -> None:
        """Let nobody who is handed the record change it for the others."""
        for array in (self.boxes_xyxy, self.scores, self.class_ids):
            array.flags.writeable = False

    def __len__(self) -> int:
        """Count the objects."""
        return len(self.labels)


NO_DETECTIONS = Detections(
    boxes_xyxy=np.zeros((0, 4), np.float32),
    scores=np.zeros(0, np.float32),
    class_ids=np.zeros(0, np.int32),
    labels=(),
)


class Verdict(Enum):
    """What became of a frame on its way to the sinks."""

    DETECTED = "detected"
    """The model answered."""
    FAILED = "failed"
    """The model was asked and didn't answer: a JSONL line with the error, no detections."""
    PASSED = "passed"
    """Not sent to the model (``detect_fps``): pictures only, with the last boxes."""


@dataclass(frozen=True, slots=True)
class FrameResult:
    """A frame with what was found in it: what a sink writes.

    Attributes:
        frame: The frame.
        detections: The objects; for a passed frame those of the last frame that was answered.
        verdict: Whether the model was asked, and whether it answered.
        error: Why there is no answer; set exactly when the verdict is FAILED.
    """

    frame: Frame
    detections: Detections
    verdict: Verdict = Verdict.DETECTED
    error: str | None = None


class DropCause(StrEnum):
    """Why a captured frame never became a result."""

    LANE = "lane"
    """A newer frame took its place."""
    AGE = "age"
    """It had waited longer than ``max_age_ms``."""
    PACING = "pacing"
    """A file played in real time was late and skipped ahead."""
    STOP = "stop"
    """The run was stopped."""
    ERROR = "error"
    """It was asked and not answered, or a step failed on it."""


class Overflow(StrEnum):
    """What a full lane does with one frame more."""

    BLOCK = "block"
    """The producer waits: nothing is lost."""
    DROP_OLDEST = "drop-oldest"
    """The oldest gives way: nothing is stale."""


class StreamState(StrEnum):
    """What a stream's capture is doing."""

    CONNECTING = "connecting"
    """Being opened, or open without a picture yet."""
    LIVE = "live"
    """Frames come."""
    STALLED = "stalled"
    """It was live, and nothing has come for a while: not given up yet."""
    BACKING_OFF = "backing-off"
    """A live source is down and rests before it is opened again."""
    FAILED = "failed"
    """A recorded source can't be read; a live one refuses the password or isn't there, and is
    tried again, but seldom."""
    ENDED = "ended"
    """Nothing more will come: the end of a recording, or the run was stopped."""
    DISABLED = "disabled"
    """Nobody wants it for now."""


@dataclass(frozen=True, slots=True)
class CaptureReport:
    """What became of a capture so far.

    Attributes:
        state: What it is doing.
        detail: Why, for people; redacted.
        has_been_up: True once a frame has arrived.
        error: Why a recorded source failed, or why a live one is down; None if neither.
        info: What the source said of itself when it was last opened.
        cause: The kind of that error.
        since: When it came into this state, aware UTC.
        last_frame_at: Monotonic seconds of its newest frame, or None before the first.
        is_frozen: True while a live source repeats one picture, or its clock stands still.
    """

    state: StreamState
    detail: str
    has_been_up: bool
    error: str | None
    info: SourceInfo | None
    cause: SourceCause | None = None
    since: datetime | None = None
    last_frame_at: float | None = None
    is_frozen: bool = False


@dataclass(frozen=True, slots=True)
class PoolReport:
    """One pool of requests at one moment.

    Attributes:
        name: The pool's: the model's, with ``/latency`` or the stream's id behind it where a model
            has several pools.
        model: The model's name in the configuration.
        requests: How many of its requests are ``free``, ``running`` and ``parked``.
        is_ready: False while the device can't be trusted to answer.
        batches: Batches started so far; 0 where frames go one by one.
        batched_frames: Frames in them.
        batch_places: Places that the compiled batches had for them.
    """

    name: str
    model: str
    requests: Mapping[str, int]
    is_ready: bool
    batches: int = 0
    batched_frames: int = 0
    batch_places: int = 0


@dataclass(frozen=True, slots=True)
class PassedFrame:
    """A frame that keeps its place in the order without being sent to the model."""

    frame: Frame
    sequence: int


@dataclass(frozen=True, slots=True)
class StreamEnd:
    """Comes after a stream's last frame."""

    stream: str
    sequence: int


@dataclass(frozen=True, slots=True)
class SourceRequest:
    """What a plugin for sources is to open.

    Attributes:
        url: The address as it is configured, ``connect.username`` and ``password`` percent-encoded
            into it where it is a URL; may hold a secret, so it is not shown.
        open_timeout_s: Longest time to open it.
        read_timeout_s: Longest silence of a live source.
    """

    url: str = field(repr=False)
    open_timeout_s: float = 5.0
    read_timeout_s: float = 5.0


@dataclass(frozen=True, slots=True)
class SinkRequest:
    """What a plugin for outputs, or a sink handed to ``Pipeline``, is made for.

    Attributes:
        stream: The stream's id; safe in a path.
        title: What people call the stream; its id where it has no name.
        is_live: True if the stream can't wait: a camera, or a file that is played like one.
        options: The output's own keys, as they stand in the configuration but for ``type`` and
            ``lane``: numbers, booleans, texts, lists and mappings. Not shown: it may hold secrets.
    """

    stream: str
    title: str
    is_live: bool
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
