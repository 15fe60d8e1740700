"""`vidpipe wall --window` on a real X screen: what it shows, and how it ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import pytest

from tests.command import ROOT, address_said, ended, started, vidpipe, write_config
from tests.graphs import saved, ssd_rows
from tests.screens import HAS_SCREEN, Screen, screen
from tests.stage import Stage, set_stage
from tests.threads import wait_until

pytestmark = pytest.mark.skipif(not HAS_SCREEN, reason="needs Debian's packages xvfb and xdotool")

ROW = [0, 1, 0.9, 0.4, 0.4, 0.6, 0.9]
SIZE = (1280, 720)
PICTURES = ROOT / "out" / "wall"


def config_of(folder: Path, *, cameras: int) -> Path:
    model = saved(ssd_rows([ROW]), folder)
    document: dict[str, Any] = {
        "models": {"tiny": {"path": str(model), "labels": ["x", "person"]}},
        "defaults": {"detect_fps": 2, "connect": {"backoff_s": [0.2, 0.5]}},
        "streams": [
            {"id": f"cam-{number}", "name": f"Camera {number}", "source": f"stage:cam-{number}"}
            for number in range(1, cameras + 1)
        ],
        "server": {"port": 0},
    }
    return write_config(folder, document)


def brightness(shown: Screen, corner: tuple[int, int]) -> float:
    """Return the mean of a patch of the screen."""
    x, y = corner
    return float(shown.pixels_bgr()[y : y + 40, x : x + 200].mean())


def keep(shown: Screen, name: str) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    assert cv2.imwrite(str(PICTURES / f"{name}.png"), shown.pixels_bgr())


def test_the_window_shows_every_camera_and_q_ends_the_run(tmp_path: Path) -> None:
    stage: Stage = set_stage(tmp_path)
    config = config_of(tmp_path, cameras=4)
    with screen(tmp_path, SIZE) as shown:
        environ = {**stage.environ, **shown.environ}
        with started("wall", config, "--window", cwd=tmp_path, environ=environ) as process:
            address_said(process)
            # the grey ground of each quarter of the screen
            quarters = [(60, 200), (700, 200), (60, 560), (700, 560)]
            wait_until(
                lambda: all(brightness(shown, corner) > 30 for corner in quarters), "tiles", 60.0
            )
            before = shown.pixels_bgr().copy()
            wait_until(lambda: bool((shown.pixels_bgr() != before).any()), "movement", 20.0)
            keep(shown, "window")
            stage.kill("cam-2")
            wait_until(lambda: brightness(shown, (660, 30)) < 5, "the dead tile is black", 30.0)
            assert brightness(shown, quarters[0]) > 30
            keep(shown, "window-dead")
            shown.press("3")
            wait_until(lambda: brightness(shown, (400, 400)) > 30, "the spotlight", 20.0)
            shown.press("q")
            finished = ended(process, 30.0)
    assert finished.code == 0, finished.err
    assert "the window was closed" in finished.err


@pytest.mark.parametrize("display", ["", ":97"])
def test_without_a_display_it_says_so_before_anything_is_started(
    tmp_path: Path, display: str
) -> None:
    stage = set_stage(tmp_path)
    environ = {**stage.environ, "DISPLAY": display, "WAYLAND_DISPLAY": ""}
    finished = vidpipe(
        "wall", config_of(tmp_path, cameras=1), "--window", cwd=tmp_path, environ=environ
    )
    assert finished.code == 2
    assert "--window" in finished.err
    assert "display" in finished.err
    assert "in a browser instead" in finished.err
    assert len(finished.err.splitlines()) == 1


def test_a_signal_ends_the_window_in_order(tmp_path: Path) -> None:
    stage = set_stage(tmp_path)
    with screen(tmp_path, SIZE) as shown:
        finished = vidpipe(
            *("wall", config_of(tmp_path, cameras=1), "--window", "--duration", "2"),
            cwd=tmp_path,
            environ={**stage.environ, **shown.environ},
        )
    assert finished.code == 0, finished.err


def test_the_help_names_the_keys(tmp_path: Path) -> None:
    finished = vidpipe("wall", "--help", cwd=tmp_path)
    assert finished.code == 0
    assert "--window" in finished.out
    assert "Escape" in finished.out
