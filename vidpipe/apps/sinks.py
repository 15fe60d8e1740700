"""From a stream's outputs in the configuration to its sinks, each with its lane."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vidpipe.config.outputs import JsonlOutput, Output, PluginOutput, VideoOutput
from vidpipe.config.stream import StreamConfig
from vidpipe.errors import ConfigError, Fault
from vidpipe.interfaces import Sink
from vidpipe.outputs.annotate import Annotator
from vidpipe.outputs.fanout import SinkLane
from vidpipe.outputs.glyphs import Typesetter
from vidpipe.outputs.jsonl import JsonlMode, JsonlSink
from vidpipe.outputs.plugin import FailedSink, plugin_sink
from vidpipe.outputs.video import VideoOptions, VideoSink
from vidpipe.types import Overflow, SinkRequest

_PICTURE_LANE = 4
"""Results with pictures that wait for an encoder: each holds a frame of 3 MB at 1080p."""

_TEXT_LANE = 256
"""Results without pictures are small."""


def sink_lanes(
    stream: StreamConfig, typesetter: Typesetter, *, is_live: bool
) -> Iterator[SinkLane]:
    """Yield a stream's sinks, which open nothing yet.

    Args:
        stream: The stream's section.
        typesetter: Sets labels; shared by all.
        is_live: Whether the stream can't wait.

    Raises:
        ConfigError: A plugin doesn't take the keys of its output.
    """
    names = lane_names([output.type for output in stream.outputs])
    for name, output in zip(names, stream.outputs, strict=True):
        sink = _sink(stream, output, typesetter, is_live=is_live)
        lane = output.lane
        overflow = Overflow(lane.overflow) if lane.overflow else overflow_of(is_live=is_live)
        yield SinkLane(name, sink, lane.size or lane_size(sink), overflow)


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
            return VideoSink(_video_options(output), annotator, stream=stream.id)
        case JsonlOutput():
            mode = JsonlMode.APPEND if is_live else JsonlMode.FINISH
            return JsonlSink(output.path, mode, stream=stream.id)
        case PluginOutput():
            request = SinkRequest(stream.id, stream.title, is_live, output.options)
            return plugin_sink(output.type, request)
        case _:
            # A file with these is refused with their place, in config.notyet.
            fault = Fault(f"stream {stream.id}", "outputs", f"not yet supported: {output.type}")
            raise ConfigError([fault])


def _video_options(output: VideoOutput) -> VideoOptions:
    is_factor = isinstance(output.scale, float)
    return VideoOptions(
        template=output.path,
        scale=output.scale if isinstance(output.scale, float) else None,
        fit_wh=None if is_factor or output.scale is None else _size_wh(str(output.scale)),
        max_fps=output.max_fps,
        segment_s=output.segment_s,
    )


def _size_wh(text: str) -> tuple[int, int]:
    width, height = text.split("x")
    return int(width), int(height)
