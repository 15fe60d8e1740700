"""From a stream's outputs in the configuration to its sinks, each with its lane."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vidpipe.config.eventoutputs import MqttOutput, WebhookOutput
from vidpipe.config.outputs import (
    JsonlOutput,
    Output,
    PictureOutputConfig,
    PluginOutput,
    RecordOutput,
    RtmpOutput,
    RtspOutput,
    StoredOutputConfig,
    VideoOutput,
)
from vidpipe.config.stream import StreamConfig
from vidpipe.errors import ConfigError, Fault
from vidpipe.interfaces import Sink
from vidpipe.outputs.annotate import Annotator
from vidpipe.outputs.archive import Archive
from vidpipe.outputs.fanout import SinkLane
from vidpipe.outputs.glyphs import Typesetter
from vidpipe.outputs.jsonl import JsonlMode, JsonlSink
from vidpipe.outputs.packetlane import RecordLane
from vidpipe.outputs.plugin import FailedSink, plugin_sink
from vidpipe.outputs.push import PushOptions, PushSink
from vidpipe.outputs.record import RecordOptions, RecordSink
from vidpipe.outputs.storage import Storage, StoragePolicy
from vidpipe.outputs.video import VideoOptions, VideoSink
from vidpipe.types import Overflow, SinkRequest

_PICTURE_LANE = 4
"""Results with pictures that wait for an encoder: each holds a frame of 3 MB at 1080p."""

_PACKET_LANE = 1024
"""Packets that wait for a recording's disk: a dozen seconds of a camera with sound."""

_TEXT_LANE = 256
"""Results without pictures are small."""


def sink_lanes(
    stream: StreamConfig, typesetter: Typesetter, *, is_live: bool
) -> Iterator[SinkLane]:
    """Yield what a stream's results go to, opening nothing yet: no recordings, no events.

    Args:
        stream: The stream's section.
        typesetter: Sets labels; shared by all.
        is_live: Whether the stream can't wait.

    Raises:
        ConfigError: A plugin doesn't take the keys of its output.
    """
    names = lane_names([output.type for output in stream.outputs])
    for name, output in zip(names, stream.outputs, strict=True):
        if isinstance(output, MqttOutput | WebhookOutput | RecordOutput):
            continue
        sink = _sink(stream, output, typesetter, is_live=is_live)
        lane = output.lane
        # What is pushed is for whoever looks on now.
        usual = overflow_of(is_live=is_live or isinstance(sink, PushSink))
        overflow = Overflow(lane.overflow) if lane.overflow else usual
        yield SinkLane(
            name,
            sink,
            lane.size or lane_size(sink),
            overflow,
            storage=_storage(stream, output) if _is_kept(output) else None,
            losses=sink.take_losses if isinstance(sink, PushSink) else None,
        )


def record_lanes(stream: StreamConfig, *, is_live: bool) -> Iterator[RecordLane]:
    """Yield what a stream's packets go to, opening nothing yet.

    Args:
        stream: The stream's section.
        is_live: Whether the stream can't wait.
    """
    names = lane_names([output.type for output in stream.outputs])
    for name, output in zip(names, stream.outputs, strict=True):
        if isinstance(output, RecordOutput):
            lane = output.lane
            yield RecordLane(
                name,
                RecordSink(RecordOptions(output.path, output.segment_s), stream=stream.id),
                lane.size or _PACKET_LANE,
                Overflow(lane.overflow) if lane.overflow else overflow_of(is_live=is_live),
                _storage(stream, output),
            )


def _is_kept(output: Output) -> bool:
    """Tell whether somebody has to look after the files of an output."""
    return isinstance(output, StoredOutputConfig) and (
        output.keep_days is not None or output.keep_gb is not None or bool(output.min_free_gb)
    )


def _storage(stream: StreamConfig, output: Output) -> Storage:
    assert isinstance(output, VideoOutput | JsonlOutput | RecordOutput)
    # What is made of a recording has the recording's date in its name, and is not as old as that.
    segment_s = None if stream.is_recorded else output.segment_s
    return Storage(
        StoragePolicy(output.keep_days, output.keep_gb, output.min_free_gb),
        Archive(output.path, stream=stream.id, segment_s=segment_s),
        stream=stream.id,
    )


def output_faults(stream: StreamConfig) -> list[str]:
    """Return which of a stream's outputs of installed packages can't be made, and why."""
    faults = []
    for output in stream.outputs:
        if isinstance(output, PluginOutput):
            request = SinkRequest(stream.id, stream.title, stream.is_live, output.options)
            try:
                sink = plugin_sink(output.type, request)
            except ConfigError as exc:
                faults.append(str(exc))
            else:
                if isinstance(sink, FailedSink):
                    faults.append(f"stream {stream.id}: {sink.reason}")
    return faults


def lane_names(kinds: Sequence[str]) -> list[str]:
    """Return a name for each sink of a stream: its kind, numbered where there are several."""
    return [
        f"{kind}-{kinds[: index + 1].count(kind)}" if kinds.count(kind) > 1 else kind
        for index, kind in enumerate(kinds)
    ]


def lane_size(sink: Sink) -> int:
    """Return how many results may wait for a sink where the configuration doesn't say it."""
    return _PICTURE_LANE if sink.needs_picture else _TEXT_LANE


def overflow_of(*, is_live: bool) -> Overflow:
    """Return what the lanes of a stream do when they are full."""
    return Overflow.DROP_OLDEST if is_live else Overflow.BLOCK


def _sink(stream: StreamConfig, output: Output, typesetter: Typesetter, *, is_live: bool) -> Sink:
    match output:
        case VideoOutput():
            annotator = Annotator(typesetter, name=stream.name or "", should_show_time=is_live)
            return VideoSink(video_options(output), annotator, stream=stream.id)
        case JsonlOutput():
            mode = JsonlMode.APPEND if is_live else JsonlMode.FINISH
            segment_s = output.segment_s if is_live else None
            return JsonlSink(output.path, mode, stream=stream.id, segment_s=segment_s)
        case RtspOutput() | RtmpOutput():
            annotator = Annotator(typesetter, name=stream.name or "", should_show_time=is_live)
            return PushSink(push_options(output), annotator, stream=stream.id)
        case PluginOutput():
            request = SinkRequest(stream.id, stream.title, is_live, output.options)
            return plugin_sink(output.type, request)
        case _:
            # The others take no results.
            fault = Fault(f"stream {stream.id}", "outputs", f"not yet supported: {output.type}")
            raise ConfigError([fault])


def video_options(output: VideoOutput) -> VideoOptions:
    """Translate a video output's section."""
    scale, fit_wh = _scale(output)
    return VideoOptions(output.path, scale, fit_wh, output.max_fps, output.segment_s)


def push_options(output: RtspOutput | RtmpOutput) -> PushOptions:
    """Translate the section of an output that pushes."""
    scale, fit_wh = _scale(output)
    return PushOptions(output.url, scale, fit_wh, output.max_fps)


def _scale(output: PictureOutputConfig) -> tuple[float | None, tuple[int, int] | None]:
    """Return a factor, or a size to fit into."""
    if isinstance(output.scale, str):
        return None, _size_wh(output.scale)
    return output.scale, None


def _size_wh(text: str) -> tuple[int, int]:
    width, height = text.split("x")
    return int(width), int(height)
