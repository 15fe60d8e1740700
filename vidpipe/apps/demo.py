"""``vidpipe demo``: the main job on a fresh machine, with a real model and a real clip."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from vidpipe.apps.downloads import download_progress
from vidpipe.apps.live import RunResult, run
from vidpipe.apps.signals import StopSignals
from vidpipe.config.model import ModelConfig
from vidpipe.config.outputs import JsonlOutput, VideoOutput
from vidpipe.config.schema import Config, default_cache_dir
from vidpipe.config.stream import StreamConfig
from vidpipe.errors import UsageError
from vidpipe.inference.zoo import fetch_clip, fetch_model

MODEL = "person-ssdlite"
CLIP = "bikes"
CONFIDENCE = 0.6
"""Surer than the default: what the demo shows are people, and nothing else."""


@dataclass(frozen=True, slots=True)
class DemoResult:
    """How the demo went.

    Attributes:
        run: How the run ended.
        files: What it wrote.
    """

    run: RunResult
    files: tuple[Path, ...]


def demo_config(clip: Path, folder: Path, streams: int) -> Config:
    """Return the demo's configuration: one clip, watched so many times."""
    return Config(
        version=1,
        cache_dir=default_cache_dir(),
        models={"person": ModelConfig(zoo=MODEL, confidence=CONFIDENCE)},
        streams=tuple(
            StreamConfig(
                id=f"{clip.stem.lower()}-{number}",
                name=f"Camera {number}",
                source=str(clip),
                model="person",
                outputs=(
                    VideoOutput(path=f"{folder}/{{stream}}.mp4"),
                    JsonlOutput(path=f"{folder}/{{stream}}.jsonl"),
                ),
            )
            for number in range(1, streams + 1)
        ),
    )


def run_demo(
    signals: StopSignals,
    console: Console,
    *,
    streams: int,
    folder: Path,
    duration_s: float | None,
) -> DemoResult:
    """Fetch what is needed, run it to the end, and say what was done.

    Raises:
        UsageError: The folder's name can't be used.
        FetchError: The model or the clip can't be fetched.
        ModelError: The model can't be used on this machine.
    """
    if set(str(folder)) & set("{}"):
        raise UsageError(f"-o {folder}: choose a folder without braces: they mark placeholders")
    config = demo_config(Path("clip.mp4"), folder, streams)
    with download_progress(console) as progress:
        fetch_model(MODEL, config.cache_dir, progress)
        clip = fetch_clip(CLIP, config.cache_dir, progress)
    result = run(demo_config(clip, folder, streams), signals, console, duration_s=duration_s)
    processed = sum(row.stats.processed for row in result.rows)
    detections = sum(row.stats.detections for row in result.rows)
    console.print(
        f"{streams} streams of {clip.name}: {processed} frames in {result.seconds:.1f} s, "
        f"{processed / max(result.seconds, 1e-6):.1f} frames a second on all streams together, "
        f"{detections} detections; written to {folder}/",
        highlight=False,
        soft_wrap=True,
    )
    return DemoResult(result, result.files)
