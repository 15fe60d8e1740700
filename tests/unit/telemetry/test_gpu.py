from __future__ import annotations

from pathlib import Path

import pytest

from vidpipe.telemetry.gpu import GpuMeter, busy_shares

I915 = "card0/gt/gt0/rc6_residency_ms"
XE = ("card1/device/tile0/gt0/gtidle/idle_residency_ms",
      "card1/device/tile0/gt1/gtidle/idle_residency_ms")  # fmt: skip


def write(drm: Path, **ms: int) -> None:
    """Write how long each part has slept."""
    for name, value in zip((I915, *XE), ms.values(), strict=True):
        (drm / name).parent.mkdir(parents=True, exist_ok=True)
        (drm / name).write_text(f"{value}\n")


def test_what_was_not_slept_was_busy_and_the_busiest_part_counts(tmp_path: Path) -> None:
    (tmp_path / "card0-HDMI-A-1").mkdir()
    write(tmp_path, i915=1000, media=500, render=500)
    meter = GpuMeter(tmp_path)
    before = meter.asleep_s()
    write(tmp_path, i915=1500, media=2500, render=1100)
    shares = busy_shares(before, meter.asleep_s(), 2.0)
    assert shares == {"card0": pytest.approx(0.75), "card1": pytest.approx(0.7)}


def test_a_share_stays_between_0_and_1(tmp_path: Path) -> None:
    write(tmp_path, i915=1000, media=500, render=500)
    meter = GpuMeter(tmp_path)
    before = meter.asleep_s()
    write(tmp_path, i915=9000, media=0, render=0)
    assert busy_shares(before, meter.asleep_s(), 1.0) == {"card0": 0.0, "card1": 1.0}
    assert busy_shares(before, before, 0.0) == {}


def test_without_a_gpu_nothing_is_said(tmp_path: Path) -> None:
    assert GpuMeter(tmp_path / "none").asleep_s() == {}


@pytest.mark.parametrize("text", ["", "words", "-"])
def test_a_counter_that_cannot_be_read_is_left_out(tmp_path: Path, text: str) -> None:
    write(tmp_path, i915=1, media=1, render=1)
    meter = GpuMeter(tmp_path)
    before = meter.asleep_s()
    (tmp_path / I915).write_text(text)
    (tmp_path / XE[0]).unlink()
    assert list(busy_shares(before, meter.asleep_s(), 1.0)) == ["card1"]
