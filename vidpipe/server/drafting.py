"""Layouts for the pages that ask for them, one after another: reckoning one takes milliseconds.

Of a page's questions only the newest is answered, pages take turns, and between two layouts as much
time is left to everything else as the last one took. Screens that are alike share one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any

from vidpipe.server.wallwords import LayoutQuestion, encoded
from vidpipe.wall.layout import arrange

_REMEMBERED = 64


class Drafting:
    """For the server's loop alone."""

    def __init__(self) -> None:
        """Begin idle."""
        self._questions: dict[Hashable, tuple[LayoutQuestion, Callable[[str], None]]] = {}
        self._task: asyncio.Task[None] | None = None

    def ask(self, page: Hashable, question: LayoutQuestion, answer: Callable[[str], None]) -> None:
        """Have a question answered soon, in place of an older one of the same page."""
        self._questions[page] = question, answer
        if self._task is None:
            self._task = asyncio.create_task(self._draft())

    def forget(self, page: Hashable) -> None:
        """A page has left."""
        self._questions.pop(page, None)

    async def _draft(self) -> None:
        try:
            while self._questions:
                page = next(iter(self._questions))
                question, answer = self._questions.pop(page)
                began_s = time.monotonic()
                answer(layout_text(question))
                await asyncio.sleep(time.monotonic() - began_s)
        finally:
            self._task = None


def layout_text(question: LayoutQuestion) -> str:
    """Return the answer to a question."""
    screen = (question.width, question.height)
    layout = _layout(question.aspects, screen, question.spotlight, question.page)
    return encoded({"type": "layout", "request": question.request, **layout})


@lru_cache(maxsize=_REMEMBERED)
def _layout(
    aspects: tuple[tuple[str, float], ...],
    screen_wh: tuple[int, int],
    spotlight: str | None,
    page: int,
) -> dict[str, Any]:
    layout = arrange(aspects, screen_wh, spotlight=spotlight, page=page)
    tiles = [
        {"id": tile.id, "x": tile.x, "y": tile.y, "width": tile.width, "height": tile.height}
        for tile in layout.tiles
    ]
    return {"tiles": tiles, "page": layout.page, "pages": layout.pages}
