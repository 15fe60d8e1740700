"""Keep a picture of whoever is seen: a sink of one's own, beside those of the configuration.

python samples/custom-sink/run.py samples/custom-sink/config.yml [KEY=VALUE ...]
"""

from __future__ import annotations

import sys
from pathlib import Path

import cv2

from vidpipe import (
    FrameResult,
    Pipeline,
    SinkRequest,
    VidpipeError,
    bgr_from_picture,
    load_config,
)

FOLDER = Path("out/crops")
EVERY_S = 1.0


class CropSink:
    """Writes the surest object of a frame as a picture, once a second of the stream's time."""

    needs_picture = True

    def __init__(self, request: SinkRequest) -> None:
        """Begin for one stream; each has a sink of its own, on a thread of its own."""
        self._stream = request.stream
        self._next_s = 0.0
        self._paths: list[str] = []

    def write(self, result: FrameResult) -> None:
        """Write a picture, if it is time."""
        frame, found = result.frame, result.detections
        now_s = frame.captured_at if frame.pts_s is None else frame.pts_s
        if len(found) == 0 or now_s < self._next_s:
            return
        self._next_s = now_s + EVERY_S
        left, top, right, bottom = (int(edge) for edge in found.boxes_xyxy[0])
        crop = bgr_from_picture(frame.picture)[top : bottom + 1, left : right + 1]
        path = FOLDER / f"{self._stream}-{frame.number}-{found.labels[0]}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        if not cv2.imwrite(str(path), crop):
            raise OSError(f"{path} can't be written")  # this output fails; nothing else does
        self._paths.append(str(path))

    def close(self) -> list[str]:
        """Return what was written."""
        return self._paths


def main() -> int:
    """Run the configuration with the sink added, and print what was written."""
    if len(sys.argv) < 2:
        sys.exit(f"usage: {sys.argv[0]} CONFIG [KEY=VALUE ...]")
    try:
        pipeline = Pipeline(load_config(sys.argv[1], sys.argv[2:]), sinks=[CropSink])
    except VidpipeError as exc:
        sys.exit(str(exc))
    pipeline.run()
    for path in pipeline.files:
        print(path)
    for failure in pipeline.failures:
        print(failure, file=sys.stderr)
    return pipeline.exit_code


if __name__ == "__main__":
    sys.exit(main())
