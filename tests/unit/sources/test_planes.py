from __future__ import annotations

from pathlib import Path

import av
import cv2
import numpy as np
import pytest

from tests.clips import ClipSpec, scene_bgr, write_clip
from vidpipe.pixels import bgr_from_picture
from vidpipe.sources.planes import picture_of, view_of
from vidpipe.types import ColorMatrix, Pixels

MATRICES = {
    1: ColorMatrix.BT709,
    2: ColorMatrix.BT601,
    6: ColorMatrix.BT601,
    9: ColorMatrix.BT2020,
}


def first_frame(path: Path) -> av.VideoFrame:
    with av.open(str(path)) as container:
        return next(container.decode(video=0))


def bgr_of(frame: av.VideoFrame) -> Pixels:
    return np.asarray(frame.to_ndarray(format="bgr24"), np.uint8)


def difference(left: Pixels, right: Pixels) -> float:
    return float(np.abs(left.astype(int) - right.astype(int)).mean())


@pytest.mark.parametrize("matrix_code", [1, 2, 6, 9])
@pytest.mark.parametrize("range_code", [1, 2])
@pytest.mark.parametrize("pix_fmt", ["yuv420p", "yuv422p", "yuv444p", "yuv420p10le", "yuva420p"])
def test_colours_are_those_of_swscale(
    tmp_path: Path, pix_fmt: str, matrix_code: int, range_code: int
) -> None:
    spec = ClipSpec(
        frames=1,
        codec="ffv1",
        pix_fmt=pix_fmt,
        matrix_code=matrix_code,
        range_code=range_code,
        size_wh=(97, 61),
    )
    frame = first_frame(write_clip(tmp_path / "clip.mkv", spec))
    expected = bgr_of(frame)
    picture = picture_of(frame)
    assert picture.matrix is MATRICES[matrix_code]
    assert picture.is_full_range is (range_code == 2)
    assert picture.u.shape == (31, 49)
    assert difference(bgr_from_picture(picture), expected) < 1.5
    assert difference(bgr_from_picture(picture), scene_bgr((97, 61))) < 3.0


@pytest.mark.parametrize(
    "pix_fmt", ["rgb24", "bgra", "nv12", "gray", "gray10le", "ya8", "gbrp", "rgb48le", "p010le"]
)
@pytest.mark.parametrize("matrix_code", [1, 2])
def test_other_formats_have_the_colours_of_swscale(pix_fmt: str, matrix_code: int) -> None:
    source = av.VideoFrame.from_ndarray(scene_bgr((97, 61)), format="bgr24")
    frame = source.reformat(
        format=pix_fmt, dst_colorspace="ITU709" if matrix_code == 1 else "ITU601"
    )
    frame.colorspace = matrix_code
    expected = bgr_of(frame)
    assert difference(bgr_from_picture(picture_of(frame)), expected) < 2.5


def test_grey_has_no_tint_and_no_copy() -> None:
    frame = av.VideoFrame.from_ndarray(np.arange(63 * 5, dtype=np.uint8).reshape(5, 63), "gray")
    picture = picture_of(frame)
    assert picture.u.shape == (3, 32)
    assert set(np.unique(picture.u)) == {128}
    bgr = bgr_from_picture(picture)
    assert np.array_equal(bgr[..., 0], np.arange(63 * 5, dtype=np.uint8).reshape(5, 63))
    assert np.array_equal(bgr[..., 0], bgr[..., 2])


def test_palettes_are_converted(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "clip.gif", ClipSpec(frames=1, codec="gif", pix_fmt="rgb8"))
    frame = first_frame(path)
    picture = picture_of(frame)
    # The few colours of the palette are dithered: what counts is their mean.
    left, right = (cv2.blur(bgr, (5, 5)) for bgr in (bgr_from_picture(picture), bgr_of(frame)))
    assert difference(np.asarray(left, np.uint8), np.asarray(right, np.uint8)) < 2.5


def test_planes_are_views_of_the_decoders_memory_and_read_only(tmp_path: Path) -> None:
    frame = first_frame(write_clip(tmp_path / "clip.mp4"))
    picture = picture_of(frame)
    for plane, view in zip(frame.planes, (picture.y, picture.u, picture.v), strict=True):
        assert view.__array_interface__["data"][0] == plane.buffer_ptr
        with pytest.raises(ValueError, match="read-only"):
            view[0, 0] = 1


def test_a_view_outlives_its_frame_and_its_decoder(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "clip.mp4", ClipSpec(size_wh=(640, 480)))
    with av.open(str(path)) as container:
        frame = next(container.decode(video=0))
        view, copy = view_of(frame.planes[0]), frame.to_ndarray()[:480].copy()
        del frame
        for _ in container.decode(video=0):
            pass
    assert np.array_equal(view, copy)


def test_rows_stored_from_the_bottom_up_are_turned_over(tmp_path: Path) -> None:
    # Raw RGB in an AVI is stored so.
    spec = ClipSpec(frames=1, codec="rawvideo", pix_fmt="bgr24", size_wh=(65, 47))
    frame = first_frame(write_clip(tmp_path / "clip.avi", spec))
    assert difference(bgr_from_picture(picture_of(frame)), scene_bgr((65, 47))) < 3.0
