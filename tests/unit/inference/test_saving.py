from __future__ import annotations

from pathlib import Path

import openvino as ov
import pytest

from tests.layers import brightness
from vidpipe.errors import UsageError
from vidpipe.inference.saving import require_new, saved_apart


def test_the_model_appears_at_the_end_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "new" / "gate.xml"
    with saved_apart(brightness(), target) as part:
        assert part != target
        assert not target.exists()
        ov.Core().read_model(part)
    assert sorted(path.name for path in target.parent.iterdir()) == ["gate.bin", "gate.xml"]
    assert len(ov.Core().read_model(target).outputs) == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_what_is_broken_off_leaves_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    with pytest.raises(error), saved_apart(brightness(), tmp_path / "gate.xml"):
        raise error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["gate.xml", "gate.bin"])
def test_a_file_that_exists_is_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine", "utf-8")
    with (
        pytest.raises(UsageError, match=rf"{name} exists: .*--output"),
        saved_apart(brightness(), tmp_path / "gate.xml"),
    ):
        pass
    assert [path.read_text("utf-8") for path in tmp_path.iterdir()] == ["mine"]


def test_a_file_that_came_meanwhile_is_left_alone(tmp_path: Path) -> None:
    target = tmp_path / "gate.xml"
    with pytest.raises(UsageError, match="exists"), saved_apart(brightness(), target):
        target.write_text("mine", "utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["gate.xml"]
    assert target.read_text("utf-8") == "mine"


def test_a_place_that_is_no_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    with (
        pytest.raises(UsageError, match=r"can't be written: .*--output"),
        saved_apart(brightness(), tmp_path / "file" / "gate.xml"),
    ):
        pass


def test_only_an_ir_is_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"gate\.onnx: a model is written as \.xml"):
        require_new(tmp_path / "gate.onnx")
