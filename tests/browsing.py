"""A real browser on the wall: Debian's Chromium without a window, driven by Playwright.

Whoever looks at a page through this finds out at the end whether it said anything on its console,
asked another host for anything, or broke its own policy.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, Playwright, sync_playwright

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next((found for name in BROWSERS if (found := shutil.which(name))), None)
PICTURES = Path(__file__).parents[1] / "out" / "wall"
"""Where screenshots are kept, to be looked at."""

PATIENCE_MS = 15_000
FAR_NAME = "wall.example"
"""A name that means this machine to the browser, which doesn't know that."""

_OPTIONS = (
    f"--host-resolver-rules=MAP {FAR_NAME} 127.0.0.1",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--mute-audio",
)

# Reads the moment that tests/stage.py draws, on the canvas, once the picture is on the screen.
GLASS_SCRIPT = """
(() => {
  const BITS = 32, MODULUS = 2 ** 32;
  const draw = CanvasRenderingContext2D.prototype.drawImage;
  const getContext = HTMLCanvasElement.prototype.getContext;
  window.glass = [];
  HTMLCanvasElement.prototype.getContext = function (kind, options) {
    return getContext.call(this, kind, { ...options, willReadFrequently: true });
  };
  CanvasRenderingContext2D.prototype.drawImage = function (...rest) {
    draw.apply(this, rest);
    const { width, height } = this.canvas;
    requestAnimationFrame(() => {
      const seen = Date.now();
      const row = this.getImageData(0, Math.floor(height / 24), width, 1).data;
      let code = 0;
      for (let bit = 0; bit < BITS; bit += 1) {
        const at = Math.floor(((bit + 0.5) * width) / BITS) * 4;
        code = code * 2 + (row[at] > 127 ? 1 : 0);
      }
      window.glass.push((((seen % MODULUS) - code) % MODULUS + MODULUS) % MODULUS);
    });
  };
})();
"""


@contextmanager
def browsing() -> Iterator[Browser]:
    """Run a browser while the ``with`` lasts."""
    with sync_playwright() as playwright:
        browser = _launch(playwright)
        try:
            yield browser
        finally:
            browser.close()


def _launch(playwright: Playwright) -> Browser:
    assert BROWSER is not None
    return playwright.chromium.launch(executable_path=BROWSER, args=list(_OPTIONS))


@dataclass
class Visit:
    """One page, and what it did that it shouldn't have."""

    page: Page
    host: str
    faults: list[str] = field(default_factory=list)
    expected: tuple[str, ...] = ()
    """Parts of faults that the test provokes, such as a server that isn't there."""

    def note(self, fault: str) -> None:
        """Take down a fault."""
        self.faults.append(fault)

    def listen(self) -> None:
        """Take down from now on."""
        page = self.page
        page.on("pageerror", lambda error: self.note(f"error: {error}"))
        page.on(
            "console",
            lambda said: (
                self.note(f"{said.type}: {said.text}")
                if said.type in ("error", "warning")
                else None
            ),
        )
        page.on("request", lambda request: self.look_at(request.url))
        page.on("websocket", lambda socket: self.look_at(socket.url))

    def look_at(self, url: str) -> None:
        """Take down what goes to another host."""
        parts = urlsplit(url)
        if parts.scheme not in ("data", "blob") and parts.netloc != self.host:
            self.note(f"asks another host: {url}")

    def check(self) -> None:
        """Fail if there was anything that the test hasn't provoked."""
        left = [fault for fault in self.faults if not any(part in fault for part in self.expected)]
        assert not left, "\n".join(left)

    def sequences(self) -> dict[str, int]:
        """Return the number of the picture that each tile shows, by stream."""
        found: dict[str, int] = self.page.evaluate(
            "() => Object.fromEntries([...document.querySelectorAll('#wall .tile[data-seq]')]"
            ".map(tile => [tile.dataset.stream, Number(tile.dataset.seq)]))"
        )
        return found

    def kinds(self) -> dict[str, str]:
        """Return how each tile stands, by stream."""
        found: dict[str, str] = self.page.evaluate(
            "() => Object.fromEntries([...document.querySelectorAll('.tile')]"
            ".map(tile => [tile.dataset.stream, tile.dataset.kind]))"
        )
        return found

    def rectangles(self) -> dict[str, tuple[float, float, float, float]]:
        """Return where each tile lies: x, y, width, height."""
        found: dict[str, list[float]] = self.page.evaluate(
            "() => Object.fromEntries([...document.querySelectorAll('#wall .tile')].map(tile => {"
            " const r = tile.getBoundingClientRect();"
            " return [tile.dataset.stream, [r.x, r.y, r.width, r.height]]; }))"
        )
        return {stream: (x, y, w, h) for stream, (x, y, w, h) in found.items()}

    def digest(self, stream: str) -> str:
        """Return something of a tile's pixels that changes with them."""
        text: str = self.page.evaluate(
            "stream => document.querySelector(`.tile[data-stream=${stream}] canvas`).toDataURL()",
            stream,
        )
        return text

    def wait_for(self, condition: str, argument: Any = None, timeout_ms: int = PATIENCE_MS) -> None:
        """Wait until an expression of the page is true; polled, since hidden pages draw nothing."""
        self.page.wait_for_function(condition, arg=argument, timeout=timeout_ms, polling=50)

    def wait_live(self, count: int) -> None:
        """Wait until so many tiles, and no other, show pictures."""
        self.wait_for(
            "count => { const tiles = [...document.querySelectorAll('#wall .tile')];"
            " return tiles.length === count && tiles.every(t => t.dataset.kind === 'live'); }",
            count,
            timeout_ms=30_000,
        )

    def wait_kind(self, stream: str, kind: str) -> None:
        """Wait until a tile stands so."""
        self.wait_for(
            "([stream, kind]) => [...document.querySelectorAll(`.tile[data-stream=${stream}]`)]"
            ".some(tile => tile.offsetWidth && tile.dataset.kind === kind)",
            [stream, kind],
            timeout_ms=30_000,
        )

    def keep(self, name: str) -> Path:
        """Keep a screenshot, and return its path."""
        PICTURES.mkdir(parents=True, exist_ok=True)
        path = PICTURES / f"{name}.png"
        path.write_bytes(self.page.screenshot())  # Playwright itself would leave a thread behind
        return path


@contextmanager
def visiting(
    browser: Browser,
    url: str,
    *,
    size: tuple[int, int] = (1280, 720),
    expected: tuple[str, ...] = (),
    script: str = "",
    **context: Any,
) -> Iterator[Visit]:
    """Open a page in a profile of its own, and check what it did at the end.

    Args:
        browser: Where.
        url: The page.
        size: Of the window, in pixels.
        expected: Parts of faults that the test provokes.
        script: Runs before the page's own.
        context: Further options of the profile, such as ``locale``.
    """
    profile = browser.new_context(viewport={"width": size[0], "height": size[1]}, **context)
    try:
        page = profile.new_page()
        if script:
            page.add_init_script(script)
        visit = Visit(page, urlsplit(url).netloc, expected=expected)
        visit.listen()
        page.goto(url, timeout=PATIENCE_MS)
        yield visit
        visit.check()
    finally:
        profile.close()
