"""One picture out of an image's bytes: the same one that the file gives as a source."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.clips import scene_bgr
from vidpipe.errors import SourceError
from vidpipe.sources.images import ImageKindError, ImageSizeError, decode_image
from vidpipe.sources.imagesize import ImageKind, image_kind, image_size_wh
from vidpipe.sources.opening import SourceSpec, open_reader
from vidpipe.types import Picture, SourceKind

ORIENTATION = 274


def encoded(
    kind: str,
    size_wh: tuple[int, int] = (61, 47),
    *,
    mode: str = "RGB",
    orientation: int | None = None,
    **options: object,
) -> bytes:
    """Return an image file, written by Pillow."""
    image = Image.fromarray(scene_bgr(size_wh)[..., ::-1]).convert(mode)
    exif = Image.Exif()
    if orientation is not None:
        exif[ORIENTATION] = orientation
    buffer = io.BytesIO()
    image.save(buffer, kind, exif=exif.tobytes() if orientation is not None else b"", **options)
    return buffer.getvalue()


def from_file(data: bytes, path: Path) -> Picture:
    path.write_bytes(data)
    reader = open_reader(SourceSpec(str(path), SourceKind.FILE))
    try:
        decoded = reader.read()
    finally:
        reader.close()
    assert decoded is not None
    return decoded.picture


def same(one: Picture, other: Picture) -> bool:
    return all(
        np.array_equal(a, b) for a, b in ((one.y, other.y), (one.u, other.u), (one.v, other.v))
    ) and (one.matrix, one.is_full_range, one.rotation_deg) == (
        other.matrix,
        other.is_full_range,
        other.rotation_deg,
    )


CASES: dict[str, tuple[str, dict[str, object]]] = {
    "jpg": ("JPEG", {}),
    "444.jpg": ("JPEG", {"subsampling": 0, "quality": 95}),
    "progressive.jpg": ("JPEG", {"progressive": True}),
    "grey.jpg": ("JPEG", {"mode": "L"}),
    "cmyk.jpg": ("JPEG", {"mode": "CMYK"}),
    "png": ("PNG", {}),
    "alpha.png": ("PNG", {"mode": "RGBA"}),
    "palette.png": ("PNG", {"mode": "P"}),
    "grey.png": ("PNG", {"mode": "L"}),
    "webp": ("WEBP", {}),
    "lossless.webp": ("WEBP", {"lossless": True}),
    "alpha.webp": ("WEBP", {"mode": "RGBA"}),
    "bmp": ("BMP", {}),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_the_picture_of_the_file(name: str, tmp_path: Path) -> None:
    kind, options = CASES[name]
    data = encoded(kind, **options)  # type: ignore[arg-type] # as Pillow takes them
    picture = decode_image(data)
    assert picture.size_wh == (61, 47)
    assert same(picture, from_file(data, tmp_path / f"picture.{name}"))


@pytest.mark.parametrize(("orientation", "rotation_deg"), [(1, 0), (3, 180), (6, 90), (8, 270)])
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_it_is_turned_as_the_camera_was_held(
    kind: str, orientation: int, rotation_deg: int, tmp_path: Path
) -> None:
    data = encoded(kind, orientation=orientation)
    picture = decode_image(data)
    assert picture.rotation_deg == rotation_deg
    assert picture.size_wh == ((47, 61) if rotation_deg in (90, 270) else (61, 47))
    assert same(picture, from_file(data, tmp_path / f"picture.{kind.lower()}"))


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "BMP"])
@pytest.mark.parametrize("size_wh", [(1, 1), (2, 3), (300, 5), (641, 480)])
def test_its_size_is_known_before_it_is_decoded(kind: str, size_wh: tuple[int, int]) -> None:
    for options in ({}, {"lossless": True}, {"mode": "RGBA"}):
        if options and kind != "WEBP":
            continue
        data = encoded(kind, size_wh, **options)
        found = image_kind(data)
        assert found is not None
        assert image_size_wh(data, found) == size_wh
        with pytest.raises(ImageSizeError):
            decode_image(data, most_pixels=size_wh[0] * size_wh[1] - 1)
        assert decode_image(data, most_pixels=size_wh[0] * size_wh[1]).size_wh == size_wh


def test_a_bomb_is_not_decoded() -> None:
    head = struct.pack(">IIBBBBB", 100_000, 100_000, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", head), (b"IDAT", zlib.compress(bytes(100_000))), (b"IEND", b"")]
    data = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in chunks
    )
    with pytest.raises(ImageSizeError, match="100000x100000"):
        decode_image(data)


def test_a_bomb_that_says_that_it_is_small_is_not_decoded_either() -> None:
    large = encoded("WEBP", (3000, 2000))
    body = b"VP8X" + struct.pack("<I", 10) + bytes(4) + bytes(3) + bytes(3) + large[12:]
    data = b"RIFF" + struct.pack("<I", len(body) + 4) + b"WEBP" + body
    assert image_size_wh(data, ImageKind.WEBP) == (1, 1)
    with pytest.raises(SourceError):
        decode_image(data, most_pixels=100_000)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"hello",
        b"\xff\xd8",
        b"GIF89a" + bytes(100),
        b"#EXTM3U\n#EXTINF:1,\nhttp://127.0.0.1:1/x.ts\n",
        b"ffconcat version 1.0\nfile /etc/passwd\n",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        b"RIFF\x00\x00\x00\x00WAVE" + bytes(100),
        b"%PDF-1.7",
        bytes(1000),
    ],
)
def test_what_is_no_image_reaches_no_decoder(data: bytes) -> None:
    with pytest.raises(ImageKindError):
        decode_image(data)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "BMP"])
def test_a_cut_image_is_a_picture_or_an_error_and_never_a_crash(kind: str) -> None:
    data = encoded(kind, (160, 120))
    outcomes: set[tuple[int, int] | None] = set()
    for share in (0.02, 0.05, 0.1, 0.3, 0.5, 0.9, 0.99):
        try:
            outcomes.add(decode_image(data[: int(len(data) * share)]).size_wh)
        except SourceError:
            outcomes.add(None)
    assert outcomes <= {(160, 120), None}
    assert None in outcomes


@pytest.mark.parametrize("share", [0.3, 0.6, 0.99])
def test_half_a_jpeg_is_an_error_and_not_a_grey_picture(share: float) -> None:
    data = encoded("JPEG", (160, 120))
    with pytest.raises(SourceError, match="cut off"):
        decode_image(data[: int(share * len(data))])


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "BMP"])
def test_a_damaged_image_is_a_picture_or_an_error_and_never_a_crash(kind: str) -> None:
    data = encoded(kind, (64, 48))
    rng = np.random.default_rng(5)
    for _ in range(300):
        changed = bytearray(data)
        for place in rng.integers(2, len(data), 4):
            changed[place] = rng.integers(256)
        try:
            picture = decode_image(bytes(changed), most_pixels=1_000_000)
        except SourceError:
            continue
        width, height = picture.size_wh
        assert width * height <= 2_100_000
