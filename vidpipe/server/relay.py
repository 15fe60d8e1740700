"""From the gallery's threads to the server's loop: one visit for all who are connected.

However many watch, a picture crosses over once, newest wins while the loop is busy, and its message
is put together once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

from vidpipe.runtime.newest import Newest
from vidpipe.server.shown import Shown
from vidpipe.server.wallwords import TileWish, packed_shot
from vidpipe.server.websocket import frame_from_message
from vidpipe.shots import Gallery, Shot, ShotSize, Visit


class Parcel:
    """A picture on its way to viewers; for the loop alone."""

    __slots__ = ("_frame", "shot")

    def __init__(self, shot: Shot) -> None:
        """Pack nothing yet."""
        self.shot = shot
        self._frame: bytes | None = None

    def frame(self) -> bytes:
        """Return the frame of the wall's protocol, with the picture's age as it is first sent."""
        if self._frame is None:
            age_s = time.monotonic() - self.shot.captured_at
            self._frame = frame_from_message(packed_shot(self.shot, age_s=age_s))
        return self._frame


Listener: TypeAlias = Callable[[Parcel], None]
"""Is given a picture that was asked for, on the loop; must not block or raise."""


class Subscription:
    """What one client wants of the relay; for the loop alone."""

    def __init__(self, relay: Relay, listener: Listener) -> None:
        """Want nothing yet."""
        self.listener = listener
        self.wishes: Mapping[str, TileWish] = {}
        self._relay = relay

    def ask(self, wishes: Mapping[str, TileWish]) -> None:
        """Want this from now on, in place of all that was."""
        self.wishes = wishes
        self._relay.change()

    def close(self) -> None:
        """Want nothing more."""
        self._relay.drop(self)


class Relay:
    """The server's one visit; for its loop, but for what the gallery's threads call."""

    def __init__(self, shown: Shown) -> None:
        """Visit nothing yet."""
        self._shown = shown
        self._gallery: Gallery | None = None
        self._visit: Visit | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._subscriptions: dict[Subscription, None] = {}
        self._by_want: dict[tuple[str, ShotSize], list[Subscription]] = {}
        self._is_changing = False
        self._arrived: Newest[tuple[str, ShotSize], Shot] = Newest()

    def subscribe(self, listener: Listener) -> Subscription:
        """Begin to want something."""
        self._loop = asyncio.get_running_loop()
        subscription = Subscription(self, listener)
        self._subscriptions[subscription] = None
        return subscription

    def drop(self, subscription: Subscription) -> None:
        """Forget a subscription; may be called twice."""
        self._subscriptions.pop(subscription, None)
        self.change()

    def change(self) -> None:
        """Have the visit follow what is wanted, soon: many may change at once."""
        if not self._is_changing and self._loop is not None:
            self._is_changing = True
            self._loop.call_soon(self._follow)

    def look(self) -> None:
        """Notice a gallery that was opened since; to be called now and then."""
        if self._gallery is not self._shown.gallery:
            self.change()

    def _follow(self) -> None:
        self._is_changing = False
        by_want: dict[tuple[str, ShotSize], list[Subscription]] = {}
        wants: dict[str, dict[ShotSize, float]] = {}
        for subscription in self._subscriptions:
            for stream, wish in subscription.wishes.items():
                by_want.setdefault((stream, wish.size), []).append(subscription)
                sizes = wants.setdefault(stream, {})
                sizes[wish.size] = max(wish.fps, sizes.get(wish.size, 0.0))
        self._by_want = by_want
        gallery = self._shown.gallery
        if gallery is not self._gallery:
            if self._visit is not None:
                self._visit.close()
            self._gallery = gallery
            self._visit = None if gallery is None else gallery.visit(self._take)
        if self._visit is not None:
            self._visit.ask(wants)

    def _take(self, shot: Shot, sizes: Collection[ShotSize]) -> None:
        """Take a picture over; on a thread of the gallery's."""
        loop = self._loop
        if not self._arrived.put(shot, [(shot.stream, size) for size in sizes]) or loop is None:
            return
        try:
            loop.call_soon_threadsafe(self._deliver)
        except RuntimeError:
            return  # the loop has ended, and the run hasn't

    def _deliver(self) -> None:
        for shot, wants in self._arrived.take():
            parcel = Parcel(shot)
            for want in wants:
                for subscription in self._by_want.get(want, ()):
                    subscription.listener(parcel)
