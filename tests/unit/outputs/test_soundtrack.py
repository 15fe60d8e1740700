"""A recording's sound comes back to its annotated video."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from tests.clips import ClipSpec, scene_bgr, write_clip
from vidpipe.errors import SinkError
from vidpipe.outputs.soundtrack import add_sound

SECONDS = 2


def recorded(path: Path, codec: str) -> Path:
    """Write two seconds of video with a tone."""
    rate = 8000
    with av.open(str(path), "w") as out:
        video = out.add_stream("libx264", rate=25)
        video.width, video.height, video.pix_fmt = 64, 48, "yuv420p"
        sound: Any = out.add_stream(codec, rate=rate, layout="mono")
        for number in range(SECONDS * 25):
            frame = av.VideoFrame.from_ndarray(scene_bgr((64, 48), number), format="bgr24")
            out.mux(video.encode(frame))
        out.mux(video.encode(None))
        tone = (8000 * np.sin(np.arange(SECONDS * rate) * 0.3)).astype(np.int16)
        for start in range(0, len(tone), 1000):
            heard = av.AudioFrame.from_ndarray(
                tone[None, start : start + 1000], format="s16", layout="mono"
            )
            heard.sample_rate, heard.pts = rate, start
            out.mux(sound.encode(heard))
        out.mux(sound.encode(None))
    return path


def heard_s(path: Path) -> tuple[str, float]:
    """Return the codec of a file's sound, and how long it is heard."""
    with av.open(str(path)) as container:
        stream = container.streams.audio[0]
        samples = sum(frame.samples for frame in container.decode(stream))
        return stream.codec_context.codec.canonical_name, samples / stream.codec_context.sample_rate


@pytest.mark.parametrize(
    ("name", "codec", "kept"), [("a.mkv", "aac", "aac"), ("a.mov", "pcm_s16le", "aac")]
)
def test_the_sound_is_as_long_as_the_video(
    tmp_path: Path, name: str, codec: str, kept: str
) -> None:
    recording = recorded(tmp_path / name, codec)
    video = write_clip(tmp_path / "video.mp4", ClipSpec(frames=SECONDS * 25))
    assert add_sound(video, recording, tmp_path / "both.mp4")
    found, seconds = heard_s(tmp_path / "both.mp4")
    assert found == kept
    assert seconds == pytest.approx(SECONDS, abs=0.4)
    with av.open(str(tmp_path / "both.mp4")) as container:
        assert sum(1 for _ in container.decode(video=0)) == SECONDS * 25


def test_a_silent_recording_changes_nothing(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "a.mp4")
    assert not add_sound(clip, clip, tmp_path / "both.mp4")
    assert not (tmp_path / "both.mp4").exists()


def test_what_cant_be_read_is_an_error(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "a.mp4", ClipSpec(with_sound=0.5))
    (tmp_path / "broken.mp4").write_bytes(b"nothing")
    with pytest.raises(SinkError, match="sound"):
        add_sound(tmp_path / "broken.mp4", clip, tmp_path / "both.mp4")
