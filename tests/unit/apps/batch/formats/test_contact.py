from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from tests.batch_results import make_entry, make_found, make_result_file, make_summary
from tests.clips import ClipSpec, scene_bgr, write_clip
from vidpipe.apps.batch.formats.contact import write_contact, write_picture_sheets
from vidpipe.apps.batch.formats.results import ResultFile
from vidpipe.apps.batch.formats.sheet import grid_of
from vidpipe.errors import SinkError
from vidpipe.outputs.palette import color_of


def filmed(folder: Path, frames: int = 60, size_wh: tuple[int, int] = (320, 180)) -> ResultFile:
    """Return results of a real clip in which one object stands in the middle of the last frames."""
    (folder / "in").mkdir(parents=True)
    source = write_clip(folder / "in" / "é 人.mp4", ClipSpec(frames, size_wh))
    width, height = size_wh
    box = (width * 0.25, height * 0.25, width * 0.75, height * 0.75)
    entries = [
        make_entry(n, *[make_found(box=box)] * (n >= frames // 2), width=width, height=height)
        for n in range(frames)
    ]
    return make_result_file(folder / "out", entries, stem="é 人.mp4", source=source)


def test_the_sheet_shows_the_moments_with_their_boxes(tmp_path: Path) -> None:
    (path,) = write_contact(filmed(tmp_path))
    assert path.name == "é 人.mp4.contact.jpg"
    sheet = cv2.imread(str(path))
    assert sheet is not None
    grid = grid_of((320, 180), 5)  # two and a half seconds are five spans
    assert sheet.shape[1] == 1840
    cell_w, cell_h = grid.cell_wh
    blue, green, red = color_of("person")
    near = np.abs(sheet.astype(int) - (blue, green, red)).max(axis=2) < 60
    assert near.sum() > 2 * 3 * (cell_w + cell_h) * 0.5  # outlines of the cells with an object
    first = sheet[110 : 110 + cell_h, 24 : 24 + cell_w]
    assert np.abs(first.astype(int) - (26, 23, 20)).max(axis=2).mean() > 20  # a picture, no paper


def test_each_cell_shows_its_own_frame(tmp_path: Path) -> None:
    result = filmed(tmp_path, frames=12)
    (path,) = write_contact(result)
    sheet = cv2.imread(str(path))
    assert sheet is not None
    cell_w, cell_h = grid_of((320, 180), 1).cell_wh
    head = sheet.shape[0]
    # One span: the frame with the first object, enlarged; outside its box it is the scene itself.
    scene = cv2.resize(scene_bgr((320, 180), 6), (cell_w, cell_h))
    best = min(
        float(np.abs(sheet[top : top + 40, 24 : 24 + cell_w].astype(int) - scene[:40]).mean())
        for top in range(60, min(head - 40, 140))
    )
    assert best < 12


def test_equal_results_give_equal_bytes(tmp_path: Path) -> None:
    contents = [write_contact(filmed(tmp_path / name))[0].read_bytes() for name in ("a", "b")]
    assert contents[0] == contents[1]


def test_a_file_without_frames_has_no_sheet(tmp_path: Path) -> None:
    result = make_result_file(tmp_path, [], source=tmp_path / "x.mp4")
    assert write_contact(result) == []


def test_an_input_that_can_not_be_read_any_more_leaves_cells_empty_and_is_told(
    tmp_path: Path, log_lines: list[str]
) -> None:
    result = filmed(tmp_path)
    assert result.source is not None
    result.source.unlink()
    (path,) = write_contact(result)
    assert cv2.imread(str(path)) is not None
    assert any("lacks pictures" in line for line in log_lines)


def test_without_its_input_it_is_refused_by_name(tmp_path: Path) -> None:
    result = make_result_file(tmp_path, [make_entry(0)])
    with pytest.raises(SinkError, match=r"gate/a\.mp4: a contact sheet needs the input"):
        write_contact(result)


@pytest.mark.parametrize("size_wh", [(64, 48), (36, 96), (640, 64), (65, 49), (2, 200)])
def test_any_shape_of_picture_fits(tmp_path: Path, size_wh: tuple[int, int]) -> None:
    for count in (1, 2, 7, 12):
        grid = grid_of(size_wh, count)
        assert grid.columns * grid.rows >= count
        assert min(grid.cell_wh) >= 2
    even = (max(16, size_wh[0] // 2 * 2), max(16, size_wh[1] // 2 * 2))
    (path,) = write_contact(filmed(tmp_path, frames=30, size_wh=even))
    assert cv2.imread(str(path)) is not None


def test_objects_without_a_known_frame_size_are_drawn_all_the_same(tmp_path: Path) -> None:
    source = write_clip(tmp_path / "a.mp4", ClipSpec(5))
    entries = [make_entry(n, make_found(), width=None, height=None) for n in range(5)]
    result = make_result_file(tmp_path / "out", entries, source=source)
    (path,) = write_contact(result)
    assert cv2.imread(str(path)) is not None


def test_a_folder_of_pictures_has_one_sheet_and_no_picture_has_its_own(tmp_path: Path) -> None:
    results = []
    for number in range(30):
        for folder in ("yard/", ""):
            source = tmp_path / "in" / folder / f"{number:02d}.png"
            source.parent.mkdir(parents=True, exist_ok=True)
            assert cv2.imwrite(str(source), scene_bgr((160, 90), number))
            entry = make_entry(0, *[make_found()] * (number % 4), width=160, height=90, pts=None)
            stem = f"{folder}{number:02d}.png"
            results.append(make_result_file(tmp_path / "out", [entry], stem=stem, source=source))
    assert all(write_contact(result) == [] for result in results)
    paths = write_picture_sheets(make_summary(tmp_path / "out", *results))
    assert [path.relative_to(tmp_path / "out").as_posix() for path in paths] == [
        *("pictures.contact.jpg", "yard/pictures.contact.jpg")
    ]
    first, second = (cv2.imread(str(path)) for path in paths)
    assert first is not None
    assert second is not None
    grid = grid_of((160, 90), 24)
    assert first.shape[0] > grid.rows * grid.cell_wh[1]
    corner = first[120 : 120 + 40, 24 : 24 + grid.cell_wh[0]]
    scene = cv2.resize(scene_bgr((160, 90), 0), grid.cell_wh)
    near = min(
        float(np.abs(corner.astype(int) - scene[top : top + 40]).mean()) for top in range(40)
    )
    assert near < 12  # the first of a folder is among them, in its place


def test_a_picture_that_is_gone_leaves_its_cell_empty(tmp_path: Path, log_lines: list[str]) -> None:
    result = make_result_file(
        tmp_path, [make_entry(0, pts=None)], stem="a.jpg", source=tmp_path / "gone.jpg"
    )
    (path,) = write_picture_sheets(make_summary(tmp_path, result))
    assert cv2.imread(str(path)) is not None
    assert any("lacks pictures" in line for line in log_lines)
