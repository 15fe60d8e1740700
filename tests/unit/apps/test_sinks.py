from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.config_files import load, one_stream
from vidpipe.apps.sinks import sink_lanes
from vidpipe.outputs.glyphs import Typesetter

HOUR_S = 3600


@pytest.mark.parametrize(("source", "is_kept"), [("lobby.mp4", True), ("rtsp://cam/1", False)])
def test_files_made_of_a_recording_are_as_old_as_they_are_and_not_as_it_is(
    tmp_path: Path, source: str, *, is_kept: bool
) -> None:
    file = tmp_path / "gate-20170926T165749Z.mp4"
    file.touch()
    os.utime(file, (time.time() - HOUR_S,) * 2)
    output = f'{{type: video, path: "{tmp_path}/gate-{{start}}.mp4", segment_s: 10, keep_days: 7}}'
    text = one_stream(f"outputs: [{output}]").replace("source: clip.mp4", f"source: {source}")
    stream = load(text).streams[0]
    assert stream.source == source
    (lane,) = sink_lanes(stream, Typesetter(), is_live=True)
    assert lane.storage is not None
    lane.storage.tend()
    assert file.exists() == is_kept
