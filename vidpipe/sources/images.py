"""One picture out of the bytes of an image file, by the decoders that read image files as sources.

No demuxer is asked: what isn't one of a few kinds of images reaches none of FFmpeg's code, least
of all one that opens addresses.
"""

from __future__ import annotations

import av
import av.error
from av.video.codeccontext import VideoCodecContext

from vidpipe.errors import SourceCause, SourceError
from vidpipe.sources.imagesize import ImageKind, image_kind, image_size_wh
from vidpipe.sources.planes import picture_of
from vidpipe.sources.truncation import is_image_cut
from vidpipe.types import Picture

MOST_PIXELS = 50_000_000
_EDGES_PIXELS = 1 << 16


class ImageKindError(SourceError):
    """The bytes are no image of a kind that is taken."""


class ImageSizeError(SourceError):
    """The image has too many pixels."""


def decode_image(data: bytes, most_pixels: int = MOST_PIXELS) -> Picture:
    """Return the picture of a JPEG, PNG, WebP or BMP file, turned as the file says.

    Any thread may call.

    Raises:
        ImageKindError: It is none of them (cause FORMAT).
        ImageSizeError: It has too many pixels (cause FORMAT).
        SourceError: It can't be decoded, or not wholly (causes FORMAT, INCOMPLETE).
    """
    kind = image_kind(data)
    if kind is None:
        raise ImageKindError("this is no JPEG, PNG, WebP or BMP file", SourceCause.FORMAT)
    try:
        width, height = image_size_wh(data, kind)
    except ValueError as exc:
        raise SourceError(f"the image is damaged: {exc}", SourceCause.FORMAT) from None
    if width * height > most_pixels:
        raise ImageSizeError(
            f"the image has {width}x{height} pixels, more than {most_pixels}", SourceCause.FORMAT
        )
    if is_image_cut(data):
        raise SourceError("the image is cut off", SourceCause.INCOMPLETE)
    return _decoded(data, kind, most_pixels)


def _decoded(data: bytes, kind: ImageKind, most_pixels: int) -> Picture:
    context = av.CodecContext.create(kind.value, "r")
    assert isinstance(context, VideoCodecContext)
    context.thread_count = 1
    # A file may hold another picture than it says. The decoder counts what it adds at the edges.
    context.options = {"max_pixels": str(2 * most_pixels + _EDGES_PIXELS)}
    try:
        frames = [*context.decode(av.Packet(data)), *context.decode(None)]
        if not frames:
            raise SourceError("there is no picture in the image", SourceCause.FORMAT)
        if frames[0].is_corrupt:
            raise SourceError("the image is damaged or cut off", SourceCause.INCOMPLETE)
        return picture_of(frames[0])
    except (av.error.FFmpegError, ValueError) as exc:
        raise SourceError(
            f"the image can't be decoded ({type(exc).__name__})", SourceCause.FORMAT
        ) from None
