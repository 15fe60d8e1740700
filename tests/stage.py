"""Cameras of a test's own: live, moving, and killed and brought back by the test.

They are a source plugin, installed as a package beside the program that is run, so that nothing of
vidpipe is replaced: ``stage:gate?size=320x180&fps=10``. Each picture carries the moment at which it
was made as a row of black and white blocks, which survive JPEG and another size.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

CODE_BITS = 32
"""Blocks across the picture's top: Unix time in milliseconds, its lowest bits, highest first."""
CODE_SHARE = 1 / 12
"""How much of the picture's height the blocks take."""

_MODULE = f'''
"""Cameras that a test directs by files: see tests/stage.py."""

import os
import time
from fractions import Fraction
from pathlib import Path
from urllib.parse import parse_qsl

import numpy as np

from vidpipe.errors import SourceCause, SourceError
from vidpipe.types import Decoded, Picture, SourceInfo, SourceKind

is_live = True
_BITS = {CODE_BITS}
_SHARE = {CODE_SHARE}


class Camera:
    def __init__(self, request):
        name, _, query = request.url.removeprefix("stage:").partition("?")
        keys = dict(parse_qsl(query))
        self.width, self.height = map(int, keys.get("size", "320x180").split("x"))
        self.fps = float(keys.get("fps", "10"))
        self.script = Path(os.environ["VIDPIPE_TEST_STAGE"]) / name
        self.check()
        self.info = SourceInfo(
            SourceKind.PLUGIN, is_live, "drawn", self.width, self.height, rate_fps=self.fps
        )
        hue = sum(map(ord, name))
        rows = np.linspace(60, 110, self.height, dtype=np.uint8)[:, None]
        self.ground = np.repeat(rows, self.width, axis=1)
        half = ((self.height + 1) // 2, (self.width + 1) // 2)
        self.u = np.full(half, 108 + hue * 7 % 40, np.uint8)
        self.v = np.full(half, 108 + hue * 13 % 40, np.uint8)
        self.due = time.monotonic()
        self.number = 0

    def check(self):
        if self.script.exists():
            raise SourceError(self.script.read_text(), cause=SourceCause.UNREACHABLE)

    def read(self):
        self.check()
        self.due = max(self.due + 1 / self.fps, time.monotonic() - 1)
        time.sleep(max(0.0, self.due - time.monotonic()))
        plane = self.ground.copy()
        top = int(self.height * _SHARE)
        left = self.number * 5 % self.width
        plane[self.height // 3 :, left : left + self.width // 16] = 200
        stamp = int(time.time() * 1000) & (1 << _BITS) - 1
        for bit in range(_BITS):
            is_set = stamp >> (_BITS - 1 - bit) & 1
            start, end = bit * self.width // _BITS, (bit + 1) * self.width // _BITS
            plane[:top, start:end] = 235 if is_set else 16
        self.number += 1
        return Decoded(Picture(plane, self.u, self.v), self.number / self.fps)

    def close(self):
        pass


def open(request):
    return Camera(request)
'''


@dataclass(frozen=True)
class Stage:
    """Where a test's cameras are installed, and told what to do."""

    site: Path
    scripts: Path

    @property
    def environ(self) -> dict[str, str]:
        """What the program that is to see them needs in its environment."""
        root = Path(__file__).parents[1]
        return {
            "PYTHONPATH": os.pathsep.join((str(root), str(self.site))),
            "VIDPIPE_TEST_STAGE": str(self.scripts),
        }

    def kill(self, camera: str, reason: str = "the cable is out") -> None:
        """Let a camera fail from now on."""
        (self.scripts / camera).write_text(reason, "utf-8")

    def revive(self, camera: str) -> None:
        """Let it work again."""
        (self.scripts / camera).unlink()


def set_stage(folder: Path) -> Stage:
    """Install the cameras below a folder."""
    site, scripts = folder / "site", folder / "scripts"
    info = site / "vidpipe_stage-1.0.dist-info"
    info.mkdir(parents=True)
    scripts.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: vidpipe-stage\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[vidpipe.sources]\nstage = vidpipe_stage\n")
    (site / "vidpipe_stage.py").write_text(_MODULE, "utf-8")
    return Stage(site, scripts)
