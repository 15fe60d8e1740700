from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.builders import make_detections, make_picture, make_source
from tests.clips import ClipSpec, cut, write_clip
from tests.fakes import FakeReader
from vidpipe.apps import frames as module
from vidpipe.apps.frames import FramePlan, FrameSource, gather, pick
from vidpipe.errors import SourceCause, SourceError
from vidpipe.inference.preprocess import InputFiller
from vidpipe.inference.settings import InputRecipe, Resize
from vidpipe.interfaces import Reader
from vidpipe.sources.opening import SourceSpec, kind_of
from vidpipe.types import Decoded, SourceInfo

FILLER = InputFiller((32, 32), InputRecipe(resize=Resize.LETTERBOX, pad=7))


def source(place: Path | str) -> FrameSource:
    return FrameSource(Path(place).name, SourceSpec(str(place), kind_of(str(place))))


def silent(_step: str, _done: int, _total: int) -> None:
    """Tell nobody."""


class EndlessReader:
    """A camera: its pictures grow brighter, and it never ends."""

    def __init__(self) -> None:
        self.is_closed = False
        self._luma = 0

    @property
    def info(self) -> SourceInfo:
        return make_source(is_live=True)

    def read(self) -> Decoded:
        self._luma = min(255, self._luma + 1)
        return Decoded(make_picture(luma=self._luma), None)

    def close(self) -> None:
        self.is_closed = True


def test_frames_are_as_the_model_sees_them(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "a.mp4", ClipSpec(frames=12))
    gathered = gather([source(clip)], FILLER, FramePlan(12), silent)
    assert len(gathered.samples) == 12
    first = gathered.samples[0]
    assert first.pixels.shape == (32, 32, 3)
    assert (first.geometry.frame_w, first.geometry.frame_h) == (64, 48)
    assert np.all(first.pixels[:4] == 7)
    assert first.pixels[4:28].std() > 5
    assert first.truth is None


def test_each_source_gives_its_share_and_a_short_one_what_it_has(tmp_path: Path) -> None:
    short = write_clip(tmp_path / "a.mp4", ClipSpec(frames=4))
    long = write_clip(tmp_path / "b.mp4", ClipSpec(frames=120))
    steps: list[str] = []
    gathered = gather(
        [source(short), source(long)], FILLER, FramePlan(40), lambda step, *_: steps.append(step)
    )
    assert gathered.counts == {"a.mp4": 4, "b.mp4": len(gathered.samples) - 4}
    assert 20 <= gathered.counts["b.mp4"] <= 36
    assert steps == ["reading a.mp4", "reading b.mp4"]


def test_a_source_that_breaks_off_counts_as_far_as_it_came(tmp_path: Path) -> None:
    whole = write_clip(tmp_path / "a.mp4", ClipSpec(frames=50, container={"movflags": "faststart"}))
    sources = [source(cut(whole, 0.6)), source(tmp_path / "none.mp4"), source(whole)]
    gathered = gather(sources, FILLER, FramePlan(60), silent)
    assert gathered.counts["cut-a.mp4"] > 5
    assert gathered.counts["none.mp4"] == 0
    assert [text.partition(":")[0] for text in gathered.failures] == ["cut-a.mp4", "none.mp4"]


def test_a_scene_without_an_end_is_watched_for_its_own_seconds() -> None:
    gathered = gather(
        [source("synthetic:blank?size=64x48&fps=10")], FILLER, FramePlan(100, 3.0), silent
    )
    assert sum(gathered.counts.values()) == 31


def test_cameras_are_watched_at_the_same_time_and_then_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    readers = {"device:0": EndlessReader(), "device:1": EndlessReader()}

    def open_camera(spec: SourceSpec) -> Reader:
        if spec.url in readers:
            return readers[spec.url]
        raise SourceError("nobody answers", SourceCause.TIMEOUT)

    monkeypatch.setattr(module, "open_reader", open_camera)
    sources = [source(f"device:{number}") for number in range(3)]
    gathered = gather(sources, FILLER, FramePlan(12, 0.2), silent)
    assert 2 <= gathered.counts["device:0"] <= 8
    assert 2 <= gathered.counts["device:1"] <= 8
    assert gathered.failures == ("device:2: nobody answers",)
    assert all(reader.is_closed for reader in readers.values())


def test_frames_are_picked_by_their_numbers(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "a.mp4", ClipSpec(frames=12))
    truths = {3: make_detections((1, 2, 3, 4)), 7: make_detections()}
    picked = pick(source(clip).spec, truths, FILLER)
    assert [sample.truth for sample in picked] == [truths[3], truths[7]]
    everything = gather([source(clip)], FILLER, FramePlan(12), silent).samples
    np.testing.assert_array_equal(picked[1].pixels, everything[7].pixels)


def test_a_frame_beyond_the_end_is_not_picked(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = FakeReader([Decoded(make_picture(), 0.0)])
    monkeypatch.setattr(module, "open_reader", lambda _: reader)
    assert (
        len(pick(source("a.mp4").spec, {0: make_detections(), 5: make_detections()}, FILLER)) == 1
    )
    assert reader.is_closed
