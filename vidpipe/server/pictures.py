"""``snapshot.jpg`` and ``mjpeg`` of a stream: for programs, and for browsers without the wall.

Guarantees:
    * the picture of a stream that isn't live is never served as if it were: a snapshot is refused
      with the reason, and MJPEG shows a text on black;
    * a client that is slow gets fewer pictures, never older ones; one that stalls is cut off by its
      connection; of too many at once the last is refused.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from vidpipe.runtime.logs import redact
from vidpipe.runtime.pace import Pace
from vidpipe.server.pages import Page
from vidpipe.server.relay import Parcel, Relay
from vidpipe.server.shown import Shown
from vidpipe.server.wallwords import MOST_FPS, TileWish, iso
from vidpipe.shots import LARGEST_SIDE_PX, Exhibition, Shot, ShotSize
from vidpipe.types import StreamState

MOST_AT_ONCE = 32
"""Clients of these pages; of more the last is refused."""
PATIENCE_S = 5.0
"""How long a snapshot waits for the stream's next picture."""

_BOUNDARY = "vidpipe-picture"
_LOOK_S = 1.0
_LEAST_WIDTH_PX = 16
_LEAST_FPS = 0.1
_PLACARD = ShotSize(640, 360)
_SNAPSHOT_FPS = 5.0


class _RefusedError(Exception):
    """A request that can't be answered with a picture."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason

    def answer(self) -> Response:
        return JSONResponse({"error": self.reason}, self.status)


@dataclass(slots=True)
class _Slot:
    """The newest picture that a client hasn't been sent; for the server's loop alone."""

    pace: Pace | None = None
    parcel: Parcel | None = None
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    def put(self, parcel: Parcel) -> None:
        if self.pace is None or self.pace.take(parcel.shot.captured_at):
            self.parcel = parcel
            self.arrived.set()

    async def get(self, timeout_s: float) -> Shot | None:
        """Wait for a picture; None if none came in time."""
        try:
            await asyncio.wait_for(self.arrived.wait(), timeout_s)
        except TimeoutError:
            return None
        self.arrived.clear()
        parcel, self.parcel = self.parcel, None
        return parcel.shot if parcel is not None else None


class _Desk:
    """Answers both pages; for the server's loop alone."""

    def __init__(self, shown: Shown, relay: Relay) -> None:
        self._shown = shown
        self._relay = relay
        self._clients = 0

    async def snapshot(self, request: Request) -> Response:
        """Answer with one picture."""
        stream = request.path_params["stream"]
        try:
            size = _size(request)
            exhibition, why_not = self._find(stream)
            if why_not:
                takes_stale = request.query_params.get("stale") == "1"
                return _stale(exhibition if takes_stale else None, stream, why_not)
            with self._counted():
                return _picture(await self._next_shot(stream, size))
        except _RefusedError as refusal:
            return refusal.answer()

    async def mjpeg(self, request: Request) -> Response:
        """Answer with pictures for as long as the client wants them."""
        stream = request.path_params["stream"]
        headers = {"content-type": f"multipart/x-mixed-replace; boundary={_BOUNDARY}"}
        try:
            size = _size(request)
            exhibition, _ = self._find(stream)
            fps = _number(request, "fps", exhibition.fps, _LEAST_FPS, MOST_FPS)
            if request.method == "HEAD":
                return Response(headers=headers)
            if self._clients >= MOST_AT_ONCE:
                raise _too_many()
        except _RefusedError as refusal:
            return refusal.answer()
        return StreamingResponse(self._parts(stream, TileWish(size, fps)), headers=headers)

    async def _parts(self, stream: str, wish: TileWish) -> AsyncIterator[bytes]:
        slot = _Slot(Pace(wish.fps))
        with suppress(_RefusedError), self._counted():
            subscription = self._relay.subscribe(slot.put)
            try:
                subscription.ask({stream: wish})
                # A browser shows a part once the next boundary has come.
                yield f"--{_BOUNDARY}\r\n".encode()
                last = ""
                while True:  # until the client leaves, or the stream is taken out
                    shot = await slot.get(_LOOK_S)
                    if shot is not None:
                        last = ""
                        yield _part(shot.jpeg, iso(shot.time))
                        continue
                    exhibition, why_not = self._find(stream)
                    if why_not and why_not != last:
                        last = why_not
                        lines = why_not.split(": ", 1)
                        jpeg = exhibition.gallery.placard(_within(wish.size), lines)
                        yield _part(jpeg, iso(datetime.now(UTC)))
            finally:
                subscription.close()

    async def _next_shot(self, stream: str, size: ShotSize) -> Shot:
        """Return the stream's next picture.

        Raises:
            _RefusedError: None comes.
        """
        slot = _Slot()
        subscription = self._relay.subscribe(slot.put)
        try:
            subscription.ask({stream: TileWish(size, _SNAPSHOT_FPS)})
            shot = await slot.get(PATIENCE_S)
        finally:
            subscription.close()
        if shot is None:
            raise _RefusedError(503, f"no picture of {stream} came within {PATIENCE_S:g} s")
        return shot

    def _find(self, stream: str) -> tuple[Exhibition, str]:
        """Return where pictures come from, and why the stream shows none: empty if it does.

        Raises:
            _RefusedError: There is no such stream, or no run yet.
        """
        overview, exhibition = self._shown.overview, self._shown.pictures
        if overview is None or exhibition is None:
            raise _RefusedError(503, "the models are being loaded")
        report = overview.reports().get(stream)
        if report is None:
            raise _RefusedError(404, f"there is no stream {stream[:200]}")
        if report.state is StreamState.LIVE:
            return exhibition, ""
        why = redact(report.error or report.detail or "")
        return exhibition, f"{stream} is {report.state.value}" + (f": {why}" if why else "")

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """Count a client while the ``with`` lasts.

        Raises:
            _RefusedError: There are too many.
        """
        if self._clients >= MOST_AT_ONCE:
            raise _too_many()
        self._clients += 1
        try:
            yield
        finally:
            self._clients -= 1


def picture_pages(shown: Shown, relay: Relay) -> Iterable[Page]:
    """Return the pages that are pictures."""
    desk = _Desk(shown, relay)
    return (
        Page("/api/streams/{stream}/snapshot.jpg", desk.snapshot),
        Page("/api/streams/{stream}/mjpeg", desk.mjpeg),
    )


def _picture(shot: Shot, extra: dict[str, str] | None = None) -> Response:
    name = f"{shot.stream}-{shot.time:%Y%m%dT%H%M%SZ}.jpg"
    headers = {
        "content-disposition": f'inline; filename="{name}"',
        "x-capture-time": iso(shot.time),
        "cache-control": "no-store",
        **(extra or {}),
    }
    return Response(shot.jpeg, media_type="image/jpeg", headers=headers)


def _stale(exhibition: Exhibition | None, stream: str, why_not: str) -> Response:
    """Answer with the last picture that somebody saw, and its age.

    Raises:
        _RefusedError: There is none, or nobody wants it.
    """
    if exhibition is None:
        raise _RefusedError(503, why_not)
    shots = exhibition.gallery.replay(stream)
    if not shots:
        raise _RefusedError(503, f"{why_not}; nobody watched it in its last half minute")
    age_s = time.monotonic() - shots[-1].captured_at
    return _picture(shots[-1], {"x-age-seconds": f"{age_s:.1f}"})


def _part(jpeg: bytes, captured: str) -> bytes:
    head = (
        f"Content-Type: image/jpeg\r\nContent-Length: {len(jpeg)}\r\nX-Capture-Time: {captured}\r\n"
    )
    return b"".join((head.encode(), b"\r\n", jpeg, f"\r\n--{_BOUNDARY}\r\n".encode()))


def _size(request: Request) -> ShotSize:
    width = _number(request, "width", LARGEST_SIDE_PX, _LEAST_WIDTH_PX, LARGEST_SIDE_PX)
    return ShotSize(int(width), LARGEST_SIDE_PX, has_captions=True)


def _within(size: ShotSize) -> ShotSize:
    """Return the size of a text: as wide as is wanted, within reason."""
    if size.width >= _PLACARD.width:
        return _PLACARD
    return ShotSize(size.width, max(_LEAST_WIDTH_PX, size.width * 9 // 16))


def _number(request: Request, key: str, default: float, least: float, most: float) -> float:
    text = request.query_params.get(key)
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not least <= value <= most:
        raise _RefusedError(400, f"{key}: expected a number from {least:g} to {most:g}")
    return value


def _too_many() -> _RefusedError:
    return _RefusedError(503, f"{MOST_AT_ONCE} clients are being served pictures already")
