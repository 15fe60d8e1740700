from __future__ import annotations

import pytest

from tests.config_files import fault_of, load, one_stream
from vidpipe.config.outputs import JsonlOutput, VideoOutput


def outputs(text: str) -> str:
    return one_stream(f"outputs: [{text}]")


def test_outputs_are_told_apart_by_their_type() -> None:
    stream = load(
        outputs(
            "{type: video, path: 'out/{stream}-{start}-{n}.mp4', segment_s: 600, scale: 0.5,"
            " max_fps: 10, lane: {size: 8, overflow: block}},"
            " {type: jsonl, path: 'out/{stream}.jsonl'}"
        )
    ).streams[0]
    video, lines = stream.outputs
    assert isinstance(video, VideoOutput)
    assert isinstance(lines, JsonlOutput)
    assert (video.segment_s, video.scale, video.max_fps) == (600.0, 0.5, 10.0)
    assert (video.lane.size, video.lane.overflow) == (8, "block")
    assert stream.output_paths() == ["out/gate-{start}-{n}.mp4", "out/gate.jsonl"]


@pytest.mark.parametrize(
    ("scale", "size"),
    [
        ("1", (1921, 1081)),
        ("0.5", (960, 540)),
        ("1280x720", (1279, 720)),
        ("4000x4000", (1921, 1081)),
        ("100x1000", (100, 56)),
        ("0.00001", (1, 1)),
    ],
)
def test_a_scaled_picture_keeps_its_aspect_and_never_grows(
    scale: str, size: tuple[int, int]
) -> None:
    video = load(outputs(f"{{type: video, path: x.mp4, scale: {scale}}}")).streams[0].outputs[0]
    assert isinstance(video, VideoOutput)
    assert video.size_wh(1921, 1081) == size


def test_without_a_scale_the_size_stays() -> None:
    assert VideoOutput(path="x.mp4").size_wh(3, 5) == (3, 5)


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [
        ("{type: jsnl, path: x}", "[0].type", "unknown output type 'jsnl'; did you mean 'jsonl'?"),
        ("{path: x}", "[0]", "needs its type; one of: video, jsonl"),
        ("{type: [a], path: x}", "[0]", "needs its type"),
        ("out.mp4", "[0]", "expected a mapping"),
        ("{type: jsonl}", "[0].path", "'path' is missing"),
        ("{type: jsonl, path: }", "[0].path", "missing or empty"),
        ("{type: jsonl, path: x, video: 1}", "[0].video", "unknown key"),
        ("{type: jsonl, path: x, segment_s: 1}", "[0]", "put {start} into the path"),
        ("{type: jsonl, path: x, keep_days: 1}", "[0]", "put {start} into the name"),
        ("{type: video, path: '{start}/x.mp4', keep_gb: 1}", "[0]", "keep_gb deletes old files"),
        ("{type: record, path: 'x-{start}.avi'}", "[0].path", "end the path in .mp4, .mkv"),
        ("{type: record, path: 'x.mp4', scale: 0.5}", "[0].scale", "unknown key"),
        ("{type: rtsp, url: 'rtsp://h/x', keep_gb: 1}", "[0].keep_gb", "unknown key"),
        ("{type: jsonl, path: '{strem}'}", "[0].path", "did you mean 'stream'?"),
        ("{type: jsonl, path: '{stream!r}'}", "[0].path", "not known"),
        ("{type: jsonl, path: '{}'}", "[0].path", "not known"),
        ("{type: jsonl, path: 'a{b'}", "[0].path", "brace"),
        ("{type: jsonl, path: '{{stream}}'}", "[0].path", "brace"),
        ("{type: jsonl, path: 'a/../../b'}", "[0].path", "'..'"),
        ("{type: jsonl, path: 'a/'}", "[0].path", "folder"),
        ("{type: jsonl, path: '.'}", "[0].path", "folder"),
        ("{type: jsonl, path: ' '}", "[0].path", "is empty"),
        ("{type: jsonl, path: 'rtsp://a/b'}", "[0].path", "not a URL"),
        (f"{{type: jsonl, path: {'x' * 300}}}", "[0].path", "200 bytes"),
        ("{type: video, path: x.avi}", "[0].path", "end the path in .mp4"),
        ("{type: video, path: x.mp4, scale: 2}", "[0].scale", "WIDTHxHEIGHT"),
        ("{type: video, path: x.mp4, scale: 0}", "[0].scale", "WIDTHxHEIGHT"),
        ("{type: video, path: x.mp4, scale: '0.5'}", "[0].scale", "WIDTHxHEIGHT"),
        ("{type: video, path: x.mp4, scale: 1280X720}", "[0].scale", "WIDTHxHEIGHT"),
        ("{type: video, path: x.mp4, scale: 1x99999}", "[0].scale", "each side"),
        ("{type: video, path: x.mp4, segment_s: 0}", "[0].segment_s", "greater than 0"),
        ("{type: video, path: x.mp4, lane: {max_age_ms: 5}}", "[0].lane.max_age_ms", "unknown"),
    ],
)
def test_a_wrong_output_is_refused_at_its_key(text: str, key: str, words: str) -> None:
    fault = fault_of(outputs(text))
    assert fault.key == f"streams[0].outputs{key}"
    assert words in fault.message
