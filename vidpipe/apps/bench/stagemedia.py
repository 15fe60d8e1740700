"""What the stages of pictures cost alone: decoding them, drawing on them, encoding them."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from vidpipe.apps.bench.pictures import Subject, endless_reading, neighbours_of
from vidpipe.apps.bench.rows import StageCost
from vidpipe.apps.bench.stagemix import Part, cpu_ms_of, mixed, part_of
from vidpipe.apps.sinks import video_options
from vidpipe.config.outputs import VideoOutput
from vidpipe.config.schema import Config
from vidpipe.outputs.annotate import Annotator
from vidpipe.outputs.canvas import CanvasFormat, format_for, new_canvas, paint_picture
from vidpipe.outputs.glyphs import Typesetter
from vidpipe.outputs.mp4 import Mp4File
from vidpipe.outputs.video import VideoOptions
from vidpipe.types import FrameResult

_TURNS = 50
"""A stage is measured over at least so many frames: a group of pictures is not all alike."""

_PICTURES = 48
"""What is encoded, there and back."""

_USUAL_RATE_FPS = 25.0
_TIME_BASE = Fraction(1, 90_000)


@dataclass(frozen=True, slots=True)
class _Video:
    """Video outputs that are alike, with what they would show."""

    subject: Subject
    weight: int
    options: VideoOptions
    results: Sequence[FrameResult]

    def drawing(self, seconds: float, threads: int) -> Part:
        wanted = self._format()
        canvas = new_canvas(wanted)
        annotator = Annotator(Typesetter(), name=self.subject.stream.name or "")

        def draw(number: int) -> None:
            paint_picture(canvas, self.results[number].frame.picture)
            annotator.draw(canvas, self.results[number])

        cost_ms = cpu_ms_of(draw, len(self.results), seconds)
        objects = sum(len(result.detections) for result in self.results) / len(self.results)
        words = f"{_words(wanted)}, {objects:.1f} objects a frame"
        return part_of(self.weight, cost_ms, threads, words)

    def encoding(self, seconds: float, threads: int) -> Part:
        """Measure the writing alone; what is written is drawn between the measurements."""
        wanted, rate_fps = self._format(), self.subject.info.rate_fps or _USUAL_RATE_FPS
        pictures, _ = neighbours_of(self.subject.stream, _PICTURES)
        there_and_back = [*pictures, *pictures[-2:0:-1]]
        annotator = Annotator(Typesetter(), name=self.subject.stream.name or "")
        with tempfile.TemporaryDirectory(prefix="vidpipe-stage-") as folder:
            file = Mp4File(
                Path(folder) / "stage.mp4",
                wanted,
                stream=self.subject.stream.id,
                time_base=_TIME_BASE,
                rate_fps=rate_fps,
                encoding=self.options.encoding,
            )
            spent_s, until, count = 0.0, time.monotonic() + seconds, 0
            try:
                while count < _TURNS or time.monotonic() < until:
                    paint_picture(file.canvas, there_and_back[count % len(there_and_back)])
                    annotator.draw(file.canvas, self.results[0])
                    began_s = time.process_time()
                    file.write(
                        round(count / rate_fps / _TIME_BASE), round(1 / rate_fps / _TIME_BASE)
                    )
                    spent_s += time.process_time() - began_s
                    count += 1
            finally:
                file.abandon()
        words = f"x264 {self.options.encoding.preset}, {_words(wanted)}"
        return part_of(self.weight, 1000 * spent_s / count, threads, words)

    def _format(self) -> CanvasFormat:
        picture = self.results[0].frame.picture
        return format_for(picture, scale=self.options.scale, fit_wh=self.options.fit_wh)


def decode_cost(
    config: Config, subjects: Sequence[Subject], seconds: float, cores: int
) -> StageCost:
    """Measure the reading of every source, as a run reads it."""
    streams = len(config.streams)
    thread_count = max(1, cores // streams)
    threads = min(cores, streams * thread_count)
    parts = []
    for subject in subjects:
        cost_ms = _reading_ms(subject, thread_count, seconds / len(subjects))
        parts.append(part_of(subject.weight, cost_ms, threads, source_words(subject)))
    return mixed("decode", parts)


def _reading_ms(subject: Subject, thread_count: int, seconds: float) -> float:
    with closing(endless_reading(subject.stream, thread_count)) as turns:
        return cpu_ms_of(lambda _: next(turns), _TURNS, seconds)


def source_words(subject: Subject) -> str:
    """Return what a source's pictures are, for people."""
    width, height = subject.frames[0].size_wh
    return f"{width}x{height} {subject.info.codec}"


def output_costs(
    config: Config,
    subjects: Sequence[Subject],
    results: Sequence[Sequence[FrameResult]],
    seconds: float,
    cores: int,
) -> list[StageCost]:
    """Measure drawing and encoding, for the videos that are asked for, or else for one like it.

    Args:
        config: What is measured.
        subjects: All sources, with pictures.
        results: What was found in these, subject by subject.
        seconds: For each of the two stages.
        cores: The cores of this process.

    Raises:
        SinkError: There is no room for the file that is written meanwhile.
    """
    wanted = _wanted(config, subjects, results)
    is_used = bool(wanted)
    if not wanted:
        default = VideoOptions(template="")
        pairs = zip(subjects, results, strict=True)
        wanted = [_Video(subject, subject.weight, default, found) for subject, found in pairs]
    threads = min(cores, sum(video.weight for video in wanted))
    drawing, encoding = [], []
    for video in wanted:
        drawing.append(video.drawing(seconds / len(wanted), threads))
        encoding.append(video.encoding(seconds / len(wanted), threads))
    return [mixed("draw", drawing, is_used=is_used), mixed("encode", encoding, is_used=is_used)]


def _wanted(
    config: Config, subjects: Sequence[Subject], results: Sequence[Sequence[FrameResult]]
) -> list[_Video]:
    """Return the video outputs of all streams, those that are alike as one."""
    counts: Counter[tuple[int, VideoOptions]] = Counter()
    number_of = {(s.stream.url(), s.stream.model): n for n, s in enumerate(subjects)}
    for stream in config.streams:
        number = number_of.get((stream.url(), stream.model))
        for output in stream.outputs:
            if isinstance(output, VideoOutput) and number is not None:
                counts[number, replace(video_options(output), template="")] += 1
    return [
        _Video(subjects[number], weight, options, results[number])
        for (number, options), weight in counts.items()
    ]


def _words(wanted: CanvasFormat) -> str:
    return "{}x{}".format(*wanted.size_wh)
