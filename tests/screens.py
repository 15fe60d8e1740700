"""A screen without a monitor: Xvfb, whose pixels a test reads and whose keys it presses."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vidpipe.types import Pixels

HAS_SCREEN = shutil.which("Xvfb") is not None and shutil.which("xdotool") is not None
_XWD_FIELDS = 25


@dataclass(frozen=True)
class Screen:
    """An X server of its own."""

    display: str
    memory: Path

    @property
    def environ(self) -> dict[str, str]:
        """What a program needs in its environment to be shown there."""
        return {"DISPLAY": self.display, "QT_QPA_PLATFORM": "xcb"}

    def pixels_bgr(self) -> Pixels:
        """Return what the screen shows, (H, W, 3): the X window dump that Xvfb keeps in a file."""
        data = self.memory.read_bytes()
        header = struct.unpack(f">{_XWD_FIELDS}I", data[: 4 * _XWD_FIELDS])
        size, width, height, line, colors = (header[index] for index in (0, 4, 5, 12, 19))
        start = size + colors * 12
        rows = np.frombuffer(data, np.uint8, line * height, start).reshape(height, line)
        return rows[:, : width * 4].reshape(height, width, 4)[:, :, :3]

    def press(self, key: str) -> None:
        """Press and release a key; the window under the pointer gets it where nobody manages."""
        subprocess.run(
            ["xdotool", "mousemove", "60", "60", "key", key],
            env={**os.environ, **self.environ},
            check=True,
            timeout=20,
        )


@contextmanager
def screen(folder: Path, size: tuple[int, int] = (1280, 720)) -> Iterator[Screen]:
    """Run an X server while the ``with`` lasts."""
    read_end, write_end = os.pipe()
    command = [
        *("Xvfb", "-displayfd", str(write_end), "-screen", "0", f"{size[0]}x{size[1]}x24"),
        *("-fbdir", str(folder), "-nolisten", "tcp"),
    ]
    with subprocess.Popen(
        command, pass_fds=[write_end], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        os.close(write_end)
        try:
            with os.fdopen(read_end) as said:
                number = said.readline().strip()
            assert number, "Xvfb didn't start"
            yield Screen(f":{number}", folder / "Xvfb_screen0")
        finally:
            server.terminate()
