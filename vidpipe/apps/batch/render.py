"""The annotated video of a finished file: its results drawn on its pictures, with its own sound.

Made of the JSON Lines after the analysis, so that it shows exactly what they say, whatever
happened on the way; and so that the analysis never waits for an encoder.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from vidpipe.apps.batch.discover import STATE_FOLDER
from vidpipe.apps.batch.formats.finishing import is_current, times_ns_of
from vidpipe.apps.batch.formats.lines import read_lines
from vidpipe.apps.batch.formats.pictures import detections_of, typesetter
from vidpipe.apps.batch.formats.results import ResultFile
from vidpipe.apps.batch.kinds import is_picture
from vidpipe.errors import SinkError, SourceError
from vidpipe.outputs.annotate import Annotator
from vidpipe.outputs.naming import make_folder, sync_folder
from vidpipe.outputs.soundtrack import add_sound
from vidpipe.outputs.video import VideoOptions, VideoSink
from vidpipe.sources.addresses import open_file
from vidpipe.sources.stamping import wall_time
from vidpipe.types import (
    NO_DETECTIONS,
    Decoded,
    Frame,
    FrameResult,
    SourceInfo,
    Verdict,
)

SUFFIX = ".mp4"
_KIND = "video"


@dataclass(slots=True)
class Renderer:
    """Makes annotated videos; one thread at a time for each file.

    Attributes:
        is_hurried: Says whether to leave it: what is half is thrown away.
    """

    is_hurried: Callable[[], bool]

    def render(self, result: ResultFile) -> Path | None:
        """Write ``<input>.mp4``; None if it is up to date, or has no pictures, or was left.

        Raises:
            SinkError: The input can't be read again, or the video can't be written.
        """
        target = result.target(SUFFIX)
        if result.source is None or is_picture(result.stem) or is_current(target, result.jsonl):
            return None
        name = hashlib.sha256(result.stem.encode("utf-8", "backslashreplace")).hexdigest()[:32]
        scratch = result.output / STATE_FOLDER / _KIND / name
        shutil.rmtree(scratch, ignore_errors=True)
        try:
            times_ns = times_ns_of(result.jsonl)  # so that newer lines are known as such
            make_folder(scratch)
            paths = self._drawn(result, result.source, scratch)
            if not paths:
                return None
            heard = scratch / "heard.mp4"
            # Where the picture's size changes there are several files, and none has all the sound.
            if len(paths) == 1 and add_sound(paths[0], result.source, heard):
                paths = [heard]
            make_folder(target.parent)
            for number, path in enumerate(paths, start=1):
                place = target if number == 1 else result.target(f"-{number}{SUFFIX}")
                os.utime(path, ns=times_ns)
                path.replace(place)
            sync_folder(target.parent)
        except OSError as exc:
            raise SinkError(f"{target} can't be written: {exc.strerror or exc}") from exc
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        return target

    def _drawn(self, result: ResultFile, source: Path, scratch: Path) -> list[Path]:
        annotator = Annotator(typesetter(), name=Path(result.stem).name)
        options = VideoOptions(str(scratch / f"drawn{SUFFIX}"))
        sink = VideoSink(options, annotator, stream=result.stem)
        is_whole = True
        try:
            for drawn in _results(source, result):
                if self.is_hurried():
                    is_whole = False
                    break
                sink.write(drawn)
        finally:
            paths = [Path(path) for path in sink.close()]
        return paths if is_whole else []


def _results(source: Path, result: ResultFile) -> Iterator[FrameResult]:
    """Yield the frames from the first that has a line to the last, each with its boxes.

    Raises:
        SinkError: The input can't be read to the last frame that has a line.
    """
    lines = read_lines(result.jsonl)
    line = next(lines, None)
    if line is None:
        return
    shown, number = NO_DETECTIONS, 0
    try:
        reader = open_file(source)
        try:
            has_begun = False
            while line is not None and (decoded := reader.read()) is not None:
                frame = _frame(result.stem, number, decoded, reader.info)
                number += 1
                if line.frame == frame.number:
                    has_begun = True
                    shown = detections_of(line.found)
                    verdict = Verdict.DETECTED if line.error is None else Verdict.FAILED
                    yield FrameResult(frame, shown, verdict, line.error)
                    line = next(lines, None)
                elif has_begun:
                    yield FrameResult(frame, shown, Verdict.PASSED)
        finally:
            reader.close()
    except SourceError as exc:
        raise SinkError(f"{source} can't be read again for its video: {exc}") from exc
    if line is not None:
        raise SinkError(f"{source} has fewer frames than {result.jsonl}: it has changed")


def _frame(stream: str, number: int, decoded: Decoded, info: SourceInfo) -> Frame:
    return Frame(
        stream=stream,
        epoch=0,
        number=number,
        pts_s=decoded.pts_s,
        captured_at=0.0,
        time=wall_time(info, decoded.pts_s),
        size_wh=decoded.picture.size_wh,
        picture=decoded.picture,
        source=info,
    )
