from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.clips import ClipSpec, cut, write_clip
from vidpipe.errors import SourceError
from vidpipe.sources import moments
from vidpipe.sources.addresses import open_file
from vidpipe.sources.moments import WantedPicture, pictures_at
from vidpipe.types import Picture

X264 = {"g": "12", "bf": "2"}
OPEN_GOP = {"x264-params": "keyint=12:min-keyint=12:scenecut=0:bframes=3:open-gop=1"}
CASES = {
    "plain.mp4": ClipSpec(80, encoder=X264),
    "rotated.mp4": ClipSpec(40, encoder=X264, rotation_ccw_deg=90),
    "variable.mp4": ClipSpec(60, encoder=X264, pts=lambda n: n * 40 + n % 3 * 7),
    "odd.mkv": ClipSpec(50, (66, 50), encoder=X264),
    "broadcast.ts": ClipSpec(60, encoder=X264),
    "open.mp4": ClipSpec(60, encoder=OPEN_GOP),
    "late.mp4": ClipSpec(40, encoder=X264, pts=lambda n: 5000 + n * 40),
    "ten-bit.mkv": ClipSpec(30, pix_fmt="yuv420p10le", encoder=X264),
    "packed.avi": ClipSpec(40, codec="mpeg4", encoder={"g": "12", "bf": "2"}),
    "raw.h264": ClipSpec(40, encoder=X264),
    "one-key.mp4": ClipSpec(80, encoder={"g": "1000"}),
    "picture.jpg": ClipSpec(1, codec="mjpeg", pix_fmt="yuvj420p"),
}


def read_all(path: Path) -> list[tuple[WantedPicture, Picture]]:
    """Return every picture as the pipeline reads it, with its number and rounded time."""
    reader = open_file(path)
    pictures: list[tuple[WantedPicture, Picture]] = []
    try:
        while (decoded := reader.read()) is not None:
            pts_s = None if decoded.pts_s is None else round(decoded.pts_s, 6)
            pictures.append((WantedPicture(len(pictures), pts_s), decoded.picture))
    except SourceError:
        pass  # cut: what came before counts
    finally:
        reader.close()
    return pictures


def is_equal(one: Picture, other: Picture) -> bool:
    return one.rotation_deg == other.rotation_deg and all(
        np.array_equal(getattr(one, plane), getattr(other, plane)) for plane in "yuv"
    )


@pytest.mark.parametrize("name", CASES)
def test_a_picture_is_the_one_that_reading_gives(tmp_path: Path, name: str) -> None:
    path = write_clip(tmp_path / name, CASES[name])
    everything = read_all(path)
    chosen = everything[:: max(1, len(everything) // 9)] + everything[-1:]
    wanted = dict(chosen)
    found = dict(pictures_at(path, [*reversed(wanted)]))
    assert found.keys() == wanted.keys()
    assert all(is_equal(found[want], picture) for want, picture in wanted.items())


def test_what_is_not_there_is_not_found(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "a.mp4", ClipSpec(10))
    found = dict(pictures_at(path, [WantedPicture(3, 0.12), WantedPicture(99, 3.96)]))
    assert list(found) == [WantedPicture(3, 0.12)]


def test_a_cut_file_gives_what_it_has(tmp_path: Path) -> None:
    path = cut(write_clip(tmp_path / "a.mkv", ClipSpec(200, (320, 240), encoder=X264)), 0.6)
    everything = read_all(path)
    wanted = dict(everything[:: len(everything) // 5])
    found = dict(pictures_at(path, list(wanted)))
    assert all(is_equal(found[want], picture) for want, picture in wanted.items())


def test_a_file_that_is_gone_is_said(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no file"):
        list(pictures_at(tmp_path / "a.mp4", [WantedPicture(0, 0.0)]))


def test_a_long_file_is_sought_and_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_clip(tmp_path / "a.mp4", ClipSpec(2000, encoder={"g": "25", "bf": "0"}))

    def refuse(_: Path) -> None:
        raise AssertionError("it is read from its beginning")

    monkeypatch.setattr(moments, "open_file", refuse)
    wanted = [WantedPicture(n, n / 25) for n in (1990, 1001, 10)]
    assert [want.number for want, _ in pictures_at(path, wanted)] == [10, 1001, 1990]
