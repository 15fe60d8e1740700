"""The bare parts of a run, without vidpipe's machinery: endless work, one frame a turn.

Decoding is PyAV in one thread and nothing else; inference is the same compiled model, its requests
started anew as they end; encoding is libx264 as the video output sets it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import count
from pathlib import Path

import av
from av.video.codeccontext import VideoCodecContext
from av.video.frame import PictureType

from vidpipe.errors import InferenceError, UsageError
from vidpipe.inference.model import CompiledDetector
from vidpipe.outputs.canvas import CanvasFormat, format_for, paint_picture
from vidpipe.outputs.mp4 import KEY_EVERY_S, Encoding, canvas_on, encoder_options
from vidpipe.outputs.video import VideoOptions
from vidpipe.types import Picture

_LONGEST_S = 60.0


def decode_file(path: Path) -> Iterator[None]:
    """Decode a file's pictures over and over.

    Raises:
        UsageError: It has none, or can't be read.
    """
    while True:
        found = 0
        try:
            with av.open(f"file:{path}") as container:
                stream = container.streams.video[0]
                stream.codec_context.thread_count = 1
                for _ in container.decode(stream):
                    found += 1
                    yield
        except (av.FFmpegError, OSError) as exc:
            raise UsageError(f"{path} can't be decoded: {exc.strerror}") from exc
        if not found:
            raise UsageError(f"{path} has no picture")


def infer(
    model: CompiledDetector, pictures: Sequence[Picture], requests_count: int | None = None
) -> Iterator[None]:
    """Keep every request of a model busy.

    Raises:
        InferenceError: The device failed, or doesn't answer.
    """
    wanted = requests_count or 2 * model.optimal_requests + 1
    requests = deque(model.create_request() for _ in range(wanted))
    for number, request in enumerate(requests):
        model.fill(request, pictures[number % len(pictures)])
        request.start()
    while True:
        request = requests[0]
        if not request.wait(_LONGEST_S):
            raise InferenceError(f"model {model.name}: no answer within {_LONGEST_S:g} s")
        request.start()
        requests.rotate(-1)
        yield


def encode(pictures: Sequence[Picture], options: VideoOptions, rate_fps: float) -> Iterator[None]:
    """Encode pictures, there and back, as a video output would, scaled beforehand.

    Raises:
        UsageError: The encoder fails.
    """
    wanted = format_for(pictures[0], scale=options.scale, fit_wh=options.fit_wh)
    frames = [_frame_of(picture, wanted) for picture in pictures]
    there_and_back = [*frames, *frames[-2:0:-1]]
    key_every = max(1, round(KEY_EVERY_S * rate_fps))
    try:
        encoder = _encoder(wanted.size_wh, rate_fps, options.encoding)
        for number in count():
            frame = there_and_back[number % len(there_and_back)]
            frame.pts = number
            is_key = number % key_every == 0
            frame.pict_type = PictureType.I if is_key else PictureType.NONE
            encoder.encode(frame)
            yield
    except av.FFmpegError as exc:
        raise UsageError(f"libx264 can't encode {wanted.size_wh}: {exc.strerror}") from exc


def _frame_of(picture: Picture, wanted: CanvasFormat) -> av.VideoFrame:
    frame = av.VideoFrame(*wanted.size_wh, "yuv420p")
    paint_picture(canvas_on(frame, wanted), picture)
    return frame


def _encoder(size_wh: tuple[int, int], rate_fps: float, encoding: Encoding) -> VideoCodecContext:
    rate = Fraction(rate_fps).limit_denominator(1001)
    encoder = VideoCodecContext.create("libx264", "w")
    encoder.width, encoder.height = size_wh
    encoder.pix_fmt = "yuv420p"
    encoder.framerate = rate
    encoder.time_base = 1 / rate
    encoder.options = encoder_options(encoding)
    return encoder
