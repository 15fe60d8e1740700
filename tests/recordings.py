"""A folder of recordings of mixed kinds, as `vidpipe batch` meets them, and what is in them."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import av

from tests.clips import ClipSpec, cut, scene_bgr, write_clip, write_sound
from tests.graphs import batchable, saved
from vidpipe.inference.model import compile_detector
from vidpipe.inference.settings import DetectorSettings
from vidpipe.sources.addresses import open_file

SECOND = {"g": "25", "keyint_min": "25", "sc_threshold": "0"}
"""A key frame a second."""

OPEN_GOP = {**SECOND, "bf": "3", "x264-params": "open-gop=1:b-pyramid=2:log-level=none"}
BLOCK_S = 10
LONG = ClipSpec(frames=750, encoder=OPEN_GOP)
"""Half a minute: long enough to be divided."""


@dataclass(frozen=True, slots=True)
class Mixed:
    """What is in the folder.

    Attributes:
        folder: Where.
        sound: Names of the files that are whole.
        broken: Names of the others.
    """

    folder: Path
    sound: tuple[str, ...]
    broken: tuple[str, ...]


def mixed_recordings(folder: Path) -> Mixed:
    """Write a dozen of files of different kinds."""
    folder.mkdir(parents=True)
    plain = ClipSpec(frames=30)
    long = write_clip(folder / "open-gop.mp4", LONG)
    (folder / "yard").mkdir()
    write_clip(folder / "yard" / "varying.mkv", replace(plain, pts=_irregular))
    write_clip(folder / "yard" / "turned.mp4", replace(plain, rotation_ccw_deg=90))
    write_clip(
        folder / "deep.mp4",
        replace(
            plain,
            codec="libx265",
            pix_fmt="yuv420p10le",
            encoder={"x265-params": "log-level=none"},
        ),
    )
    write_clip(folder / "odd.mkv", replace(plain, size_wh=(63, 47), codec="ffv1"))
    write_clip(folder / "камера 1 – двор.mp4", replace(plain, with_sound=0.2))
    write_clip(folder / "stream.ts", plain)
    write_clip(folder / "raw.264", plain)
    write_clip(folder / "old.avi", replace(plain, codec="mpeg4", encoder={"bf": "2"}))
    sound = tuple(
        path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_file()
    )
    tail = cut(write_clip(folder / "tail.mkv", replace(plain, size_wh=(160, 120))), 0.6)
    (folder / "tail.mkv").unlink()
    tail.rename(folder / "truncated.mkv")
    (folder / "empty.mp4").write_bytes(b"")
    write_sound(folder / "heard.mp4")
    (folder / "foreign.mp4").write_text("no video at all\n" * 100)
    (folder / "half.mp4").write_bytes(long.read_bytes()[:3000])
    (folder / "notes.txt").write_text("no input")
    broken = ("empty.mp4", "foreign.mp4", "half.mp4", "heard.mp4", "truncated.mkv")
    return Mixed(folder, sound, broken)


def write_long(path: Path, seconds: int, *, size_wh: tuple[int, int] = (64, 48)) -> Path:
    """Write a clip of many seconds with a key frame in each, quickly: ten seconds repeat."""
    block = path.with_name(f"block-{path.name}")
    with av.open(str(block), "w") as out:
        stream = out.add_stream("libx264", rate=25, options={**SECOND, "preset": "ultrafast"})
        stream.width, stream.height, stream.pix_fmt = *size_wh, "yuv420p"
        for number in range(min(seconds, BLOCK_S) * 25):
            picture = scene_bgr(size_wh, number)
            out.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="bgr24")))
        out.mux(stream.encode(None))
    repeated(block, path, seconds)
    block.unlink()
    return path


def repeated(clip: Path, path: Path, seconds: int) -> Path:
    """Write a file that plays a clip over and over, packet by packet, to a key frame so far on."""
    with av.open(str(path), "w") as out:
        copy = None
        begin = 0
        while True:
            with av.open(str(clip)) as read:
                video = read.streams.video[0]
                copy = copy or out.add_stream_from_template(video)
                end = begin
                for packet in read.demux(video):
                    if packet.pts is None or packet.dts is None or packet.time_base is None:
                        continue
                    packet.pts, packet.dts = packet.pts + begin, packet.dts + begin
                    if packet.is_keyframe and packet.pts * packet.time_base >= seconds:
                        return path
                    end = max(end, packet.pts + (packet.duration or 0))
                    packet.stream = copy
                    out.mux(packet)
                begin = end


def tiny_model(folder: Path) -> Path:
    """Write a detector whose boxes and scores tell what it saw, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    return saved(batchable(), folder)


def lines(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a result."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def plain_decode(path: Path) -> int:
    """Count the frames that PyAV alone decodes, going on behind damage."""
    count = 0
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        for packet in container.demux(stream):
            try:
                count += len(packet.decode())
            except av.FFmpegError:
                continue
    return count


def plain_loop(model: Path, clip: Path) -> list[list[tuple[Any, ...]]]:
    """Return what each frame has, by one synchronous inference after another."""
    detector = compile_detector(model, DetectorSettings(name="plain"))
    reader = open_file(clip)
    answers = []
    try:
        while (decoded := reader.read()) is not None:
            found = detector.infer_once(decoded.picture)
            answers.append(
                [
                    (label, round(float(score), 4), *(round(float(x), 2) for x in box))
                    for label, score, box in zip(
                        found.labels, found.scores, found.boxes_xyxy, strict=True
                    )
                ]
            )
    finally:
        reader.close()
    return answers


def found_in(result: Path) -> list[list[tuple[Any, ...]]]:
    """Return what each line has, as ``plain_loop`` does."""
    return [
        [(one["label"], one["score"], *one["box"]) for one in line["detections"]]
        for line in lines(result)
    ]


def _irregular(number: int) -> int:
    return number * 40 + (number % 7) * 3 + (300 if number > 15 else 0)
