"""The wall as one picture, for a screen without a browser: the same layout and the same states.

What is shown comes from the gallery at each tile's own size, with its captions, so that putting the
wall together only copies. Nothing here knows a window.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import cv2
import numpy as np

from vidpipe.shots import Exhibition, Shot, ShotSize
from vidpipe.telemetry.overview import Overview
from vidpipe.types import CaptureReport, Pixels
from vidpipe.wall.condition import Condition, condition_of
from vidpipe.wall.layout import GAP, Layout, Tile, arrange

PAGE_S = 10.0
"""Each page of a wall that needs several is shown for so long."""

_USUAL_ASPECT = 16 / 9
_SLOWEST_S = 60.0
"""A longer pause between two pictures isn't a camera's habit."""
_BADGE_WH = (170, 26)
_BORDERS_BGR = {"slow": (75, 184, 242), "bad": (110, 122, 255)}
_BORDER_PX = 2


@dataclass(slots=True)
class _Face:
    """What one stream has shown.

    Attributes:
        shot: The newest picture, drawn or not.
        usual_s: Seconds between the last two.
    """

    shot: Shot | None = None
    usual_s: float = 0.0


class WallScreen:
    """A run's wall; ``picture`` and ``close`` are for one thread."""

    def __init__(
        self,
        exhibition: Exhibition,
        overview: Overview,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin to visit the gallery; nothing is asked for before the first picture."""
        self._exhibition = exhibition
        self._overview = overview
        self._clock = clock
        self._began_at = clock()
        self._lock = threading.Lock()
        self._faces: dict[str, _Face] = {}
        self._wall: Pixels = np.zeros((1, 1, 3), np.uint8)
        self._layout = Layout(())
        self._arranged: object = None
        """What the layout was made of."""
        self._drawn: dict[str, object] = {}
        """What stands in each tile now: a picture's number and badge, or the lines of a text."""
        self._spotlight: str | None = None
        self._visit = exhibition.gallery.visit(self._take)

    def close(self) -> None:
        """Watch nothing more; may be called twice."""
        self._visit.close()

    def toggle_spotlight(self, number: int) -> None:
        """Make the tile of this number (from 1) on the page large, or put it back."""
        order = {stream: index for index, stream in enumerate(self._overview.titles())}
        tiles = sorted(self._layout.tiles, key=lambda tile: order.get(tile.id, 0))
        if 1 <= number <= len(tiles):
            chosen = tiles[number - 1].id
            self._spotlight = None if chosen == self._spotlight else chosen

    def picture(self, size_wh: tuple[int, int]) -> Pixels:
        """Return the wall, (H, W, 3) BGR uint8, as it is now; valid until the next call."""
        now_s = self._clock()
        titles, reports = self._overview.titles(), self._overview.reports()
        self._arrange(size_wh, titles, now_s)
        with self._lock:
            shots = {stream: (face.shot, face.usual_s) for stream, face in self._faces.items()}
        for tile in self._layout.tiles:
            shot, usual_s = shots.get(tile.id, (None, 0.0))
            report = reports.get(tile.id)
            if report is not None:
                self._draw(tile, titles[tile.id], report, shot, usual_s)
        return self._wall

    def _take(self, shot: Shot, _: Collection[ShotSize]) -> None:
        """Keep the newest picture; on a thread of the gallery's."""
        with self._lock:
            face = self._faces.setdefault(shot.stream, _Face())
            if face.shot is not None and shot.seq != face.shot.seq:
                pause_s = shot.captured_at - face.shot.captured_at
                face.usual_s = pause_s if 0 < pause_s < _SLOWEST_S else 0.0
            face.shot = shot

    def _arrange(self, size_wh: tuple[int, int], titles: Mapping[str, str], now_s: float) -> None:
        """Follow the screen's size, the streams, their aspects, and the time of the page."""
        aspects = [(stream, self._aspect(stream)) for stream in titles]
        page = 0 if self._layout.pages == 1 else self._page(now_s)
        arranged = (aspects, size_wh, self._spotlight, page)
        if arranged == self._arranged:
            return
        self._arranged = arranged
        layout = arrange(aspects, size_wh, spotlight=self._spotlight, page=page)
        is_new_size = self._wall.shape[:2] != (size_wh[1], size_wh[0])
        if layout == self._layout and not is_new_size:
            return
        self._layout = layout
        self._wall = np.zeros((size_wh[1], size_wh[0], 3), np.uint8)
        with self._lock:
            for stream in self._faces.keys() - titles.keys():
                del self._faces[stream]
        self._drawn.clear()
        self._visit.ask(
            {
                tile.id: {
                    ShotSize(tile.width, tile.height, has_captions=True): self._exhibition.fps
                }
                for tile in layout.tiles
            }
        )

    def _aspect(self, stream: str) -> float:
        glance = self._exhibition.gallery.glance(stream)
        return _USUAL_ASPECT if glance is None else glance.size_wh[0] / glance.size_wh[1]

    def _page(self, now_s: float) -> int:
        return int((now_s - self._began_at) / PAGE_S) % self._layout.pages

    def _draw(
        self, tile: Tile, title: str, report: CaptureReport, shot: Shot | None, usual_s: float
    ) -> None:
        """Bring one tile up to date; what stands there already isn't drawn again."""
        age_s = None if shot is None else self._clock() - shot.captured_at
        condition = condition_of(
            report.state.value, age_s, is_frozen=report.is_frozen, usual_s=usual_s
        )
        badge = "" if age_s is None else _badge(condition, age_s)
        wanted: object
        if condition.is_black or shot is None:
            wanted = _lines(title, report, condition, self._last_picture(tile.id))
        else:
            wanted = (shot.seq, badge)
        if self._drawn.get(tile.id) == wanted:
            return
        self._drawn[tile.id] = wanted
        room = self._wall[tile.y : tile.y + tile.height, tile.x : tile.x + tile.width]
        room[:] = 0
        if isinstance(wanted, list):
            size = ShotSize(tile.width, tile.height)
            _paste(room, self._exhibition.gallery.placard(size, wanted))
        elif shot is not None:
            _paste(room, shot.jpeg)
            self._mark(room, condition, badge)

    def _mark(self, room: Pixels, condition: Condition, badge: str) -> None:
        color = _BORDERS_BGR.get(condition.grade)
        if color is None:
            return
        height, width = room.shape[:2]
        cv2.rectangle(room, (0, 0), (width - 1, height - 1), color, _BORDER_PX)
        plate_w, plate_h = min(_BADGE_WH[0], width - 2 * GAP), min(_BADGE_WH[1], height - 2 * GAP)
        if plate_w > GAP and plate_h > GAP:
            plate = room[GAP : GAP + plate_h, GAP : GAP + plate_w]
            jpeg = self._exhibition.gallery.placard(ShotSize(plate_w, plate_h), [badge])
            _paste(plate, jpeg)

    def _last_picture(self, stream: str) -> str:
        glance = self._exhibition.gallery.glance(stream)
        if glance is None:
            return "No picture yet"
        moment = glance.time.astimezone()
        shown = f"{moment:%X}" if moment.date() == datetime.now(UTC).astimezone().date() else ""
        return f"Last picture {shown or f'{moment:%x %X}'}"


def _lines(title: str, report: CaptureReport, condition: Condition, last: str) -> list[str]:
    """Return what a black tile says, each part a line."""
    why = ""
    if condition.kind == report.state.value:
        why = report.error or report.detail
    return [line for line in (title, condition.word, why, last) if line]


def _badge(condition: Condition, age_s: float) -> str:
    return f"{condition.word} {age_s:.1f} s" if condition.kind == "late" else condition.word


def _paste(room: Pixels, jpeg: bytes) -> None:
    """Put a picture into the middle of its room; one of another size is made to fit."""
    picture = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)
    if picture is None:
        return
    height, width = room.shape[:2]
    factor = min(width / picture.shape[1], height / picture.shape[0])
    # a pixel or two are the rounding of the sizes: copied as it is, the picture stays sharp
    if factor < 1 or min(width - picture.shape[1], height - picture.shape[0]) > _BORDER_PX:
        size = (max(1, int(picture.shape[1] * factor)), max(1, int(picture.shape[0] * factor)))
        picture = cv2.resize(picture, size, interpolation=cv2.INTER_LINEAR)
    top, left = (height - picture.shape[0]) // 2, (width - picture.shape[1]) // 2
    room[top : top + picture.shape[0], left : left + picture.shape[1]] = picture
