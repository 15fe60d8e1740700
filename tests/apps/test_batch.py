"""`vidpipe batch` as a user runs it: exact, complete, and honest about what failed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import av
import cv2
import numpy as np
import pytest

from tests.clips import ClipSpec, scene_bgr, write_clip
from tests.command import Finished, vidpipe
from tests.graphs import brittle, saved
from tests.recordings import (
    LONG,
    Mixed,
    found_in,
    lines,
    mixed_recordings,
    plain_decode,
    plain_loop,
    tiny_model,
    write_long,
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Mixed:
    return mixed_recordings(tmp_path_factory.mktemp("mixed") / "recordings")


@pytest.fixture(scope="module")
def analysed(
    mixed: Mixed, model: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Finished]:
    """Return the results of the mixed folder, and how the command ended."""
    out = tmp_path_factory.mktemp("results") / "out"
    return out, batch(mixed.folder, out, model, cwd=out.parent)


def batch(source: Path, out: Path, model: Path, *more: str | Path, cwd: Path) -> Finished:
    return vidpipe("batch", source, "-o", out, "--model", model, *more, cwd=cwd, timeout_s=110)


class TestMixedKinds:
    """Of a dozen of files of all kinds."""

    def test_every_decodable_frame_has_its_line(
        self, mixed: Mixed, analysed: tuple[Path, Finished]
    ) -> None:
        out, done = analysed
        for name in mixed.sound:
            written = lines(out / f"{name}.jsonl")
            assert len(written) == plain_decode(mixed.folder / name), (name, done.err)
            assert [line["frame"] for line in written] == list(range(len(written)))
            assert {line["stream"] for line in written} == {name}
            assert {line["time"] for line in written} == {None}

    def test_boxes_are_those_of_a_plain_loop(
        self, mixed: Mixed, analysed: tuple[Path, Finished], model: Path
    ) -> None:
        out, _ = analysed
        for name in mixed.sound:
            expected = plain_loop(model, mixed.folder / name)
            found = found_in(out / f"{name}.jsonl")
            assert len(found) == len(expected)
            for ours, theirs in zip(found, expected, strict=True):
                assert [row[0] for row in ours] == [row[0] for row in theirs]
                for our, their in zip(ours, theirs, strict=True):
                    assert our[1:] == pytest.approx(their[1:], abs=0.02)

    def test_broken_ones_are_set_aside_with_their_reasons(
        self, mixed: Mixed, analysed: tuple[Path, Finished]
    ) -> None:
        out, done = analysed
        assert done.code == 1
        reasons = {}
        for name in mixed.broken:
            about = json.loads((out / "failed" / f"{name}.json").read_text())
            assert not (out / f"{name}.jsonl").exists()
            assert f"failed: {name}: {about['reason']}" in done.err
            reasons[name] = about["reason"]
        assert "empty" in reasons["empty.mp4"]
        assert "sound only" in reasons["heard.mp4"]
        assert "incomplete" in reasons["truncated.mkv"]
        assert sorted(p.stem for p in (out / "failed").rglob("*.json")) == sorted(mixed.broken)

    def test_a_part_of_a_broken_one_is_kept_and_marked(
        self, mixed: Mixed, analysed: tuple[Path, Finished]
    ) -> None:
        out, _ = analysed
        written = lines(out / "truncated.mkv.jsonl.partial")
        assert len(written) == plain_decode(mixed.folder / "truncated.mkv") > 0
        about = json.loads((out / "failed" / "truncated.mkv.json").read_text())
        assert about["frames"] == len(written)
        assert about["partial"] == "truncated.mkv.jsonl.partial"

    def test_nothing_else_is_left_behind(
        self, mixed: Mixed, analysed: tuple[Path, Finished]
    ) -> None:
        out, done = analysed
        results = {p.relative_to(out).as_posix() for p in out.rglob("*.jsonl")}
        assert results == {f"{name}.jsonl" for name in mixed.sound}
        assert [p.name for p in out.rglob("*.partial")] == ["truncated.mkv.jsonl.partial"]
        assert "notes.txt: another kind" in done.err

    def test_a_second_run_does_nothing_and_says_the_same(
        self, mixed: Mixed, analysed: tuple[Path, Finished], model: Path
    ) -> None:
        out, _ = analysed
        before = {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in out.rglob("*.jsonl")}
        done = batch(mixed.folder, out, model, cwd=out.parent)
        assert done.code == 1  # what failed is still not done
        assert f"{len(mixed.sound)} files done ({len(mixed.sound)} of them before)" in done.err
        assert "; 0 frames in" in done.err
        assert {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in out.rglob("*.jsonl")} == before

    @pytest.mark.parametrize("more", [["--jobs", "1"], ["--jobs", "7"], ["--set", "x"]])
    def test_the_bytes_dont_depend_on_how_many_are_at_work(
        self,
        mixed: Mixed,
        analysed: tuple[Path, Finished],
        model: Path,
        tmp_path: Path,
        more: list[str],
    ) -> None:
        if more == ["--set", "x"]:
            more = ["--set", "models.batch.requests=2"]
        out, _ = analysed
        batch(mixed.folder, tmp_path / "again", model, *more, cwd=tmp_path)
        for name in mixed.sound:
            again = (tmp_path / "again" / f"{name}.jsonl").read_bytes()
            assert again == (out / f"{name}.jsonl").read_bytes(), name


class TestChanges:
    """What has changed is done again, and says why."""

    def test_a_changed_input(self, tmp_path: Path, model: Path) -> None:
        clip = write_clip(tmp_path / "in" / "a.mp4") if made(tmp_path / "in") else Path()
        out = tmp_path / "out"
        assert batch(clip, out, model, cwd=tmp_path).code == 0
        write_clip(clip, ClipSpec(frames=17))
        done = batch(clip, out, model, cwd=tmp_path)
        assert "a.mp4: done again: the input has" in done.err
        assert len(lines(out / "a.mp4.jsonl")) == 17

    def test_a_changed_setting(self, tmp_path: Path, model: Path) -> None:
        clip = write_clip(tmp_path / "a.mp4")
        out = tmp_path / "out"
        assert batch(clip, out, model, cwd=tmp_path).code == 0
        done = batch(clip, out, model, "--set", "models.batch.confidence=0.99", cwd=tmp_path)
        assert "model.confidence is 0.99, no longer 0.4" in done.err
        assert {len(line["detections"]) for line in lines(out / "a.mp4.jsonl")} == {0}
        done = batch(clip, out, model, "--every", "2", cwd=tmp_path)
        assert "--every is 2, no longer 1" in done.err

    def test_fresh_does_all_again(self, tmp_path: Path, model: Path) -> None:
        clip = write_clip(tmp_path / "a.mp4")
        out = tmp_path / "out"
        batch(clip, out, model, cwd=tmp_path)
        done = batch(clip, out, model, "--fresh", cwd=tmp_path)
        assert "a.mp4: done again: --fresh" in done.err

    def test_a_failed_one_is_tried_again_only_if_asked_to(
        self, tmp_path: Path, model: Path
    ) -> None:
        clip = tmp_path / "a.mp4"
        clip.write_bytes(b"nothing")
        out = tmp_path / "out"
        assert batch(clip, out, model, cwd=tmp_path).code == 1
        done = batch(clip, out, model, cwd=tmp_path)
        assert done.code == 1
        assert "done again" not in done.err
        assert (
            "done again: --retry-failed"
            in batch(clip, out, model, "--retry-failed", cwd=tmp_path).err
        )


class TestSampling:
    """Of a video that is divided."""

    def test_samples_are_the_wholes(self, tmp_path: Path, model: Path) -> None:
        clip = write_clip(tmp_path / "a.mp4", LONG)
        batch(clip, tmp_path / "whole", model, cwd=tmp_path)
        whole = lines(tmp_path / "whole" / "a.mp4.jsonl")
        assert len(whole) == 750
        for number, (words, wanted) in enumerate(
            [
                (["--every", "7"], [line for line in whole if line["frame"] % 7 == 0]),
                (["--fps", "5"], [line for line in whole if line["frame"] % 5 == 0]),
                (
                    ["--start", "12", "--end", "0:25.5"],
                    [line for line in whole if 12 <= line["pts"] < 25.5],
                ),
            ]
        ):
            out = tmp_path / f"out{number}"
            assert batch(clip, out, model, *words, cwd=tmp_path).code == 0
            assert lines(out / "a.mp4.jsonl") == wanted

    def test_a_sample_of_nothing_is_told(self, tmp_path: Path, model: Path) -> None:
        clip = write_clip(tmp_path / "a.mp4")
        done = batch(clip, tmp_path / "out", model, "--start", "1:00:00", cwd=tmp_path)
        assert done.code == 0
        assert "a.mp4: none of its frames was asked for" in done.err

    def test_creation_times_become_times(self, tmp_path: Path, model: Path) -> None:
        metadata = {"creation_time": "2026-11-30T05:00:00Z"}
        clip = write_clip(tmp_path / "a.mp4", ClipSpec(frames=50, metadata=metadata))
        batch(clip, tmp_path / "out", model, cwd=tmp_path)
        written = lines(tmp_path / "out" / "a.mp4.jsonl")
        assert written[25]["time"] == "2026-11-30T05:00:01.000Z"


class TestPictures:
    """Folders of pictures."""

    @pytest.mark.parametrize("mode", ["shared", "batched"])
    def test_each_has_its_line(self, tmp_path: Path, model: Path, mode: str) -> None:
        made(tmp_path / "in" / "more")
        for number in range(150):
            folder = tmp_path / "in" / ("more" if number % 2 else "")
            cv2.imwrite(str(folder / f"{number:03}.png"), scene_bgr((64, 48), number))
        (tmp_path / "in" / "broken.jpg").write_bytes(b"no picture")
        out = tmp_path / "out"
        done = batch(
            tmp_path / "in", out, model, "--set", f"models.batch.mode={mode}", cwd=tmp_path
        )
        assert done.code == 1
        results = sorted(out.rglob("*.jsonl"))
        assert len(results) == 150
        for path in results:
            (line,) = lines(path)
            assert line["stream"] == path.relative_to(out).as_posix().removesuffix(".jsonl")
            assert (line["frame"], line["pts"], line["time"]) == (0, None, None)
        assert found_in(out / "000.png.jsonl") == plain_loop(model, tmp_path / "in" / "000.png")
        assert (out / "failed" / "broken.jpg.json").exists()
        again = batch(
            tmp_path / "in", out, model, "--set", f"models.batch.mode={mode}", cwd=tmp_path
        )
        assert "150 files done (150 of them before)" in again.err


def test_frames_that_the_model_doesnt_answer_have_lines_all_the_same(tmp_path: Path) -> None:
    made(tmp_path / "in")
    for number, luma in enumerate((60, 255, 90)):
        picture = np.full((48, 64, 3), luma, np.uint8)
        cv2.imwrite(str(tmp_path / "in" / f"{number}.png"), picture)
    out = tmp_path / "out"
    done = batch(tmp_path / "in", out, saved(brittle(), tmp_path), cwd=tmp_path)
    assert done.code == 1
    assert "1.png: the model didn't answer 1 of its frames" in done.err
    found = [lines(out / f"{number}.png.jsonl")[0] for number in range(3)]
    assert [line["error"] is None for line in found] == [True, False, True]


@pytest.mark.parametrize("ending", ["jpg", "png"])
def test_a_picture_that_is_cut_off_is_set_aside(tmp_path: Path, model: Path, ending: str) -> None:
    made(tmp_path / "in")
    for name in ("cut", "whole"):
        cv2.imwrite(str(tmp_path / "in" / f"{name}.{ending}"), scene_bgr((320, 240), 3))
    cut = tmp_path / "in" / f"cut.{ending}"
    cut.write_bytes(cut.read_bytes()[: cut.stat().st_size // 2])
    out = tmp_path / "out"
    assert batch(tmp_path / "in", out, model, cwd=tmp_path).code == 1
    assert (out / f"whole.{ending}.jsonl").exists()
    assert (out / "failed" / f"cut.{ending}.json").exists()
    assert not (out / f"cut.{ending}.jsonl").exists()


def test_links_that_lead_nowhere_are_failures_that_stop_nothing(
    tmp_path: Path, model: Path
) -> None:
    made(tmp_path / "in")
    for number in range(4):
        (tmp_path / "in" / f"{number}.mp4").symlink_to(tmp_path / "in" / ".objects" / str(number))
    write_clip(tmp_path / "in" / "sound.mp4")
    out = tmp_path / "out"
    done = batch(tmp_path / "in", out, model, cwd=tmp_path)
    assert done.code == 1
    assert (out / "sound.mp4.jsonl").exists()
    assert len(list((out / "failed").glob("*.json"))) == 4


def test_results_of_another_input_are_not_replaced(tmp_path: Path, model: Path) -> None:
    for folder, frames in (("one", 20), ("two", 30)):
        made(tmp_path / folder)
        write_clip(tmp_path / folder / "a.mp4", ClipSpec(frames=frames))
    out = tmp_path / "out"
    assert batch(tmp_path / "one", out, model, cwd=tmp_path).code == 0
    done = batch(tmp_path / "two", out, model, cwd=tmp_path)
    assert done.code == 2
    assert "choose another output folder" in done.err
    assert len(lines(out / "a.mp4.jsonl")) == 20
    assert batch(tmp_path / "two", out, model, "--fresh", cwd=tmp_path).code == 0
    assert len(lines(out / "a.mp4.jsonl")) == 30


class TestVideo:
    """The annotated video."""

    @pytest.mark.parametrize("name", ["a.mp4", "a.mkv"])
    def test_it_has_every_frame_and_the_sound(self, tmp_path: Path, model: Path, name: str) -> None:
        clip = write_clip(tmp_path / name, ClipSpec(frames=60, with_sound=0.5))
        out = tmp_path / "out"
        done = batch(clip, out, model, "--save", "jsonl,video,csv", cwd=tmp_path)
        assert done.code == 0, done.err
        video = out / f"{name}.mp4"
        assert plain_decode(video) == 60
        assert has_sound(video)
        assert (out / f"{name}.csv").exists()
        before = video.stat().st_mtime_ns
        batch(clip, out, model, "--save", "video", cwd=tmp_path)
        assert video.stat().st_mtime_ns == before

    def test_how_it_comes_along_is_told_meanwhile(self, tmp_path: Path, model: Path) -> None:
        write_long(tmp_path / "a.mp4", 30, size_wh=(640, 360))
        out = tmp_path / "out"
        words = ("--save", "video", "--json-progress")
        done = batch(tmp_path / "a.mp4", out, model, *words, cwd=tmp_path)
        notes = [json.loads(line).get("note", "") for line in done.out.splitlines()]
        assert "converting results, 1 files left" in notes


def test_the_end_is_told_as_a_table_in_a_log_too(tmp_path: Path, model: Path) -> None:
    clip = write_clip(tmp_path / "a [b] c.mp4", ClipSpec(frames=17))
    done = batch(clip, tmp_path / "out", model, cwd=tmp_path)
    (row,) = (line for line in done.err.splitlines() if "a [b] c.mp4" in line)
    assert "done" in row
    assert " 17 " in row


def test_the_json_of_progress_can_be_read(tmp_path: Path, model: Path) -> None:
    write_long(tmp_path / "a.mp4", 30)
    done = batch(tmp_path / "a.mp4", tmp_path / "out", model, "--json-progress", cwd=tmp_path)
    events = [json.loads(line) for line in done.out.splitlines()]
    assert [events[0]["event"], events[-1]["event"]] == ["begin", "end"]
    assert events[-1]["frames"] == 750
    assert {"file": "a.mp4", "state": "done", "frames": 750}.items() <= next(
        event for event in events if event["event"] == "file"
    ).items()


def test_a_long_file_is_divided_and_its_bytes_are_the_wholes(tmp_path: Path, model: Path) -> None:
    clip = write_clip(tmp_path / "a.mp4", replace(LONG, frames=1500))
    batch(clip, tmp_path / "split", model, cwd=tmp_path)
    summary = json.loads((tmp_path / "split" / "summary.json").read_text())
    assert summary
    # As a transport stream it can't be divided; the times of its frames are other ones.
    found = found_in(tmp_path / "split" / "a.mp4.jsonl")
    assert found == plain_loop(model, clip)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["gone.mp4"], "there is no file"),
        (["a.mp4", "--save", "jsonl,xml"], "no format xml"),
        (["a.mp4", "--start", "5", "--end", "5"], "not after"),
        (["a.mp4", "--until", "25:00"], "time of day"),
        (["a.mp4", "--hash", "some"], "ends or full"),
        (["a.mp4", "--model", "no-such-model"], "no-such-model"),
        (["a.mp4", "--set", "models.batch.confidense=1"], "did you mean"),
        (["a.mp4", "--save", "vidoe"], "did you mean video"),
        (["http://user:geheim@camera/1"], "is an address"),
    ],
)
def test_what_cant_be_done_is_refused(
    tmp_path: Path, model: Path, words: list[str], message: str
) -> None:
    write_clip(tmp_path / "a.mp4")
    more = [] if "--model" in words else ["--model", str(model)]
    done = vidpipe("batch", *words, "-o", "out", *more, cwd=tmp_path)
    assert done.code == 2
    assert message in done.err


def made(folder: Path) -> bool:
    folder.mkdir(parents=True)
    return True


def has_sound(path: Path) -> bool:

    with av.open(str(path)) as container:
        return any(packet.size for packet in container.demux(container.streams.audio[0]))
