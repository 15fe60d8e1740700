"""A real browser shows the report: by day, by night and on paper."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import cv2
import numpy as np
import pytest

from tests.batch_results import make_entry, make_found, make_result_file, make_summary
from tests.clips import ClipSpec, write_clip
from vidpipe.apps.batch.formats.report import write_report

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next((found for name in BROWSERS if (found := shutil.which(name))), None)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(BROWSER is None, reason="needs Chromium (Debian's package chromium)"),
]

QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"),
    *("--disable-dev-shm-usage", "--disable-background-networking", "--disable-extensions"),
)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    source = write_clip(folder / "a.mp4", ClipSpec(50, (320, 180)))
    entries = [make_entry(n, *[make_found()] * (n % 5), width=320, height=180) for n in range(50)]
    result = make_result_file(folder / "out", entries, stem="a.mp4", source=source)
    (path,) = write_report(make_summary(folder / "out", result))
    return path


def browse(report: Path, folder: Path, *options: str) -> None:
    subprocess.run(
        [str(BROWSER), *QUIET, f"--user-data-dir={folder / 'profile'}", *options, report.as_uri()],
        check=True,
        capture_output=True,
        timeout=100,
    )


@pytest.mark.parametrize(
    ("options", "paper_bgr"),
    [((), (255, 255, 255)), (("--force-dark-mode",), (26, 23, 20))],
    ids=["light", "dark"],
)
def test_it_follows_the_readers_light_and_shows_its_pictures(
    report: Path, tmp_path: Path, options: tuple[str, ...], paper_bgr: tuple[int, int, int]
) -> None:
    shot = tmp_path / "shot.png"
    browse(report, tmp_path, *options, "--window-size=1000,1400", f"--screenshot={shot}")
    page = cv2.imread(str(shot))
    assert page is not None
    assert tuple(page[2, 2].tolist()) == paper_bgr
    spread = page.max(axis=2).astype(int) - page.min(axis=2)
    rows = np.flatnonzero((spread > 60).sum(axis=1) > 300)  # colours across: the thumbnails
    assert len(rows) > 60


def test_it_prints(report: Path, tmp_path: Path) -> None:
    paper = tmp_path / "paper.pdf"
    browse(report, tmp_path, f"--print-to-pdf={paper}")
    content = paper.read_bytes()
    assert content.startswith(b"%PDF")
    assert 1 <= content.count(b"/Type /Page\n") <= 3
