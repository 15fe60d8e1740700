"""A full-screen window on this machine, by OpenCV: the only place where it shows anything.

Everything here is for the main thread, where the windows' library wants to be. Whether it can show
a window at all is tried in a process of its own, since without a display it ends the process that
asks.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from types import TracebackType

import cv2

from vidpipe.errors import UsageError
from vidpipe.types import Pixels

TITLE = "vidpipe"
_TRY_S = 20.0
_TRY = "import cv2; cv2.namedWindow('vidpipe', cv2.WINDOW_NORMAL); cv2.waitKey(1)"
_USUAL_WH = (1920, 1080)
_ESCAPE = 27
_LOOK = cv2.WINDOW_NORMAL | cv2.WINDOW_FREERATIO | cv2.WINDOW_GUI_NORMAL
_SETTLE_MS = 250
"""What the desktop may take to make a window large."""
_SILENCE = {"QT_LOGGING_RULES": "*.warning=false", "OPENCV_LOG_LEVEL": "ERROR"}
"""The wheel's Qt warns of fonts that nobody misses."""


def check_display() -> None:
    """Make sure that a window can be shown.

    Raises:
        UsageError: It can't; the message says why, and what to do.
    """
    displays = [key for key in ("DISPLAY", "WAYLAND_DISPLAY") if os.environ.get(key)]
    if sys.platform == "linux" and not displays:
        raise UsageError(
            "--window: there is no display here (neither DISPLAY nor WAYLAND_DISPLAY is set): "
            "start it within the desktop's session, or open the wall's page in a browser instead"
        )
    command = [sys.executable, "-c", _TRY]
    try:
        tried = subprocess.run(command, capture_output=True, timeout=_TRY_S, check=False)
    except subprocess.TimeoutExpired:
        why = f"no answer within {_TRY_S:g} s"
    else:
        if tried.returncode == 0:
            for key, value in _SILENCE.items():
                os.environ.setdefault(key, value)
            return
        why = _reason(tried.stderr.decode("utf-8", "replace"))
    where = " ".join(f"{key}={os.environ[key]}" for key in displays)
    raise UsageError(
        f"--window: no window can be shown ({where or 'this display'}: {why}): start it within the "
        "desktop's session, or open the wall's page in a browser instead"
    )


def _reason(text: str) -> str:
    """Return the line of a failed try that says most."""
    if "not implemented" in text:
        return "this OpenCV was built without windows: install opencv-python, not the headless one"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if "display" in line.lower()]
    return (telling or lines or ["it ended without a word"])[0][:200]


def screen_size() -> tuple[int, int] | None:
    """Return the size of the X screen in pixels, or None where there is none or it isn't known."""
    try:
        x11 = ctypes.CDLL("libX11.so.6")
    except OSError:
        return None
    x11.XOpenDisplay.restype = ctypes.c_void_p
    display = x11.XOpenDisplay(None)
    if not display:
        return None
    pointer = ctypes.c_void_p(display)
    try:
        size = x11.XDisplayWidth(pointer, 0), x11.XDisplayHeight(pointer, 0)
    finally:
        x11.XCloseDisplay(pointer)
    return size if min(size) > 1 else None


class Window:
    """The window while the ``with`` lasts."""

    def __init__(self, title: str = TITLE) -> None:
        """Show nothing yet."""
        self._title = title

    def __enter__(self) -> Window:
        cv2.namedWindow(self._title, _LOOK)
        cv2.setWindowProperty(self._title, cv2.WND_PROP_FULLSCREEN, cv2.WINDOW_FULLSCREEN)
        before = self._room()
        cv2.waitKey(_SETTLE_MS)
        # Where nobody manages windows, as on a kiosk's bare X server, nobody makes it large either.
        screen_wh = screen_size()
        if screen_wh is not None and self._room() == before != screen_wh:
            cv2.moveWindow(self._title, 0, 0)
            cv2.resizeWindow(self._title, *screen_wh)
            cv2.waitKey(_SETTLE_MS)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        cv2.destroyAllWindows()
        cv2.waitKey(1)  # the window goes with the next turn of its loop

    @property
    def size_wh(self) -> tuple[int, int]:
        """The room for a picture, in pixels."""
        width, height = self._room()
        return (width, height) if width > 1 and height > 1 else _USUAL_WH

    def _room(self) -> tuple[int, int]:
        _, _, width, height = cv2.getWindowImageRect(self._title)
        return width, height

    def show(self, picture: Pixels, wait_ms: int) -> str | None:
        """Show a picture and wait for a key.

        Returns:
            The key's character, an empty text where none was pressed, or None if the viewer wants
            the window to close: by Escape, by q, or by closing it.
        """
        cv2.imshow(self._title, picture)
        key = cv2.waitKey(max(wait_ms, 1))
        if key != -1 and key & 0xFF in (_ESCAPE, ord("q"), ord("Q")):
            return None
        if cv2.getWindowProperty(self._title, cv2.WND_PROP_VISIBLE) < 1:
            return None
        return chr(key & 0xFF) if key != -1 else ""
