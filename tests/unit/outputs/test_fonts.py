from __future__ import annotations

from pathlib import Path

import pytest

from vidpipe.outputs.fonts import Font, FontShelf, find_fonts


def test_the_bundled_font_serves_where_no_other_is() -> None:
    shelf = FontShelf([])
    font = shelf.font_for("A")
    assert font is not None
    assert font.at(20) is not None


def test_a_missing_script_is_said_once_with_the_package_that_has_it(log_lines: list[str]) -> None:
    shelf = FontShelf([])
    assert shelf.font_for("人") is None
    assert shelf.font_for("物") is None
    assert shelf.font_for("व") is None
    warnings = [line for line in log_lines if line.startswith("WARNING")]
    assert len(warnings) == 2
    assert "fonts-noto-cjk" in warnings[0]
    assert "fonts-noto-core" in warnings[1]


def test_a_broken_font_file_is_passed_over(tmp_path: Path) -> None:
    broken = tmp_path / "NotoSans-Regular.ttf"
    broken.write_bytes(b"no font")
    assert find_fonts([tmp_path]) == [broken]
    shelf = FontShelf([broken])
    assert shelf.font_for("A") is not None


def test_missing_folders_hold_no_fonts(tmp_path: Path) -> None:
    assert find_fonts([tmp_path / "nowhere"]) == []


def test_styles_that_no_label_is_set_in_are_left_out(tmp_path: Path) -> None:
    for name in ("X-Bold.ttf", "X-Italic.otf", "X-Regular.ttf", "X.txt"):
        (tmp_path / name).touch()
    assert [path.name for path in find_fonts([tmp_path])] == ["X-Regular.ttf"]


def test_a_font_knows_what_it_lacks() -> None:
    bundled = Font(None)
    assert bundled.has("A")
    assert not bundled.has("人")


@pytest.mark.parametrize("char", "жשشवคก中한")
def test_an_installed_font_is_found_for_each_script(char: str) -> None:
    paths = find_fonts()
    if not any("Noto" in path.stem for path in paths):
        pytest.skip("needs fonts-noto-core and fonts-noto-cjk")
    if char in "中한" and not any("CJK" in path.stem for path in paths):
        pytest.skip("needs fonts-noto-cjk")
    font = FontShelf(paths).font_for(char)
    assert font is not None
    assert font.has(char)
