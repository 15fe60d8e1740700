"""How many people does each camera see, minute by minute of its own time?

python samples/count-per-minute/run.py samples/count-per-minute/config.yml [KEY=VALUE ...]
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from vidpipe import FrameResult, Pipeline, VidpipeError, load_config

MINUTE_S = 60.0


class Minute(NamedTuple):
    """One minute of one stream."""

    stream: str
    minute: int
    mean: float
    most: int


def minutes(results: Iterable[FrameResult], label: str = "person") -> Iterator[Minute]:
    """Yield each minute of each stream as it ends, and at the end those that are unfinished."""
    open_minutes: dict[str, tuple[int, list[int]]] = {}
    for result in results:
        if result.error is not None:
            continue  # the model didn't answer: that is no count of zero
        frame = result.frame
        # The stream's own time; a webcam has none, and the moment of arrival stands for it.
        time_s = frame.captured_at if frame.pts_s is None else frame.pts_s
        minute = int(time_s // MINUTE_S)
        last, counts = open_minutes.get(frame.stream, (minute, []))
        if minute != last:
            yield _minute(frame.stream, last, counts)
            counts = []
        counts.append(result.detections.labels.count(label))
        open_minutes[frame.stream] = minute, counts
    for stream, (last, counts) in open_minutes.items():
        yield _minute(stream, last, counts)


def _minute(stream: str, minute: int, counts: list[int]) -> Minute:
    return Minute(stream, minute, sum(counts) / len(counts), max(counts))


def main() -> int:
    """Print each minute as it ends; return the exit code."""
    if len(sys.argv) < 2:
        sys.exit(f"usage: {sys.argv[0]} CONFIG [KEY=VALUE ...]")
    try:
        pipeline = Pipeline(load_config(sys.argv[1], sys.argv[2:]), with_pictures=False)
    except VidpipeError as exc:
        sys.exit(str(exc))
    # Ctrl+C: what is on its way is still counted, and then the loop ends.
    signal.signal(signal.SIGINT, lambda *_: pipeline.stop())
    with pipeline:
        for stream, minute, mean, most in minutes(pipeline):
            print(f"{stream:12} minute {minute:4}: {mean:5.2f} people on average, {most} at most")
    for failure in pipeline.failures:
        print(failure, file=sys.stderr)
    return pipeline.exit_code


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:  # while the model loads, there is nothing to count yet
        sys.exit(130)
