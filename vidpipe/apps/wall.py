"""``vidpipe wall``: a run with its wall served, and in a window of this machine if wished."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from vidpipe.apps.live import RunResult, run
from vidpipe.apps.signals import StopSignals
from vidpipe.apps.upkeep import ConfigSource
from vidpipe.apps.wallscreen import WallScreen
from vidpipe.apps.window import Window, check_display
from vidpipe.config.load import load_config
from vidpipe.config.schema import Config, ServerConfig, WallConfig
from vidpipe.shots import Exhibition
from vidpipe.telemetry.overview import Overview

_MOST_FPS = 30.0


def with_wall(config: Config) -> Config:
    """Return the configuration with a server and a wall, whichever it lacks."""
    return config.model_copy(
        update={
            "server": config.server or ServerConfig(),
            "wall": config.wall or WallConfig(),
        }
    )


def wall_source(path: Path, overrides: Sequence[str], *, is_watched: bool) -> ConfigSource:
    """Return where the wall's configuration comes from, at the start and when it is read again."""

    def load() -> Config:
        return with_wall(load_config(path, overrides))

    return ConfigSource(path, load, is_watched=is_watched)


def run_wall(
    source: ConfigSource,
    signals: StopSignals,
    console: Console,
    *,
    duration_s: float | None = None,
    has_window: bool = False,
) -> RunResult:
    """Run every stream with the wall, until a signal, the duration's end, or the window's.

    Args:
        source: What to run: see ``wall_source``.
        signals: Installed already.
        console: On standard error; the page's address is written there.
        duration_s: When to stop by itself.
        has_window: Whether this machine's own screen shows the wall.

    Raises:
        ConfigError: The configuration is wrong.
        UsageError: There is no display for the window, before anything is started; or as ``run``.
    """
    config = source.load()
    if has_window:
        check_display()

    def announce(url: str) -> None:
        console.print(f"wall: {url}/", markup=False, highlight=False, soft_wrap=True)

    return run(
        config,
        signals,
        console,
        duration_s=duration_s,
        source=source,
        announce=announce,
        onlooker=Desk() if has_window else None,
    )


class Desk:
    """The onlooker at a window: it shows the wall, and leaves with Escape or q."""

    def __init__(self) -> None:
        """Show nothing yet."""
        self._open = ExitStack()
        self._window: Window | None = None
        self._screen: WallScreen | None = None
        self._wait_ms = round(1000 / _MOST_FPS)

    def begin(self, overview: Overview, pictures: Exhibition | None) -> None:
        """Open the window."""
        if pictures is None:
            return
        self._screen = WallScreen(pictures, overview)
        self._open.callback(self._screen.close)
        self._window = self._open.enter_context(Window())
        self._wait_ms = round(1000 / min(2 * pictures.fps, _MOST_FPS))

    def look(self, wait_s: float) -> bool:
        """Show what is new until the time is over; False once the viewer has closed the window."""
        if self._window is None or self._screen is None:
            time.sleep(wait_s)
            return True
        until_s = time.monotonic() + wait_s
        while time.monotonic() < until_s:
            picture = self._screen.picture(self._window.size_wh)
            key = self._window.show(picture, self._wait_ms)
            if key is None:
                return False
            if key.isdecimal():
                self._screen.toggle_spotlight(int(key))
        return True

    def end(self) -> None:
        """Close the window."""
        self._open.close()
        self._window = self._screen = None
