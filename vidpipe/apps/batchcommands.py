"""``vidpipe batch``: its words on the command line.

Heavy libraries are imported when the command runs, as in `vidpipe.apps.cli`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from vidpipe.apps.signals import StopSignals
from vidpipe.apps.terminal import leave, reporting


def batch(
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="INPUT...", help="Files, folders, patterns (quoted)."),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Where results go.")
    ],
    model: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Of the zoo, of the configuration, or a file."),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A configuration: its models count.")
    ] = None,
    save: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FORMATS",
            help="jsonl, summary (always), csv, parquet, coco, mot, video, contact, html; commas.",
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, max=1024, metavar="N", help="Files or parts of them at once."),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Do all again.")] = False,
    every: Annotated[int, typer.Option(min=1, metavar="N", help="Only every N-th frame.")] = 1,
    fps: Annotated[
        float | None,
        typer.Option(min=1e-6, max=1000, metavar="F", help="At most F frames a second."),
    ] = None,
    start: Annotated[
        str | None, typer.Option(metavar="TIME", help="From this timestamp on: 90 or 1:30.")
    ] = None,
    end: Annotated[
        str | None, typer.Option(metavar="TIME", help="Up to this timestamp, exclusively.")
    ] = None,
    hashing: Annotated[
        str, typer.Option("--hash", metavar="HOW", help="How inputs are known again: ends, full.")
    ] = "ends",
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Try again what failed before.")
    ] = False,
    until: Annotated[
        str | None, typer.Option(metavar="HH:MM", help="Stop then; go on another time.")
    ] = None,
    nice: Annotated[bool, typer.Option("--nice", help="Let others have the machine.")] = False,
    json_progress: Annotated[
        bool, typer.Option("--json-progress", help="JSON a line on standard output.")
    ] = False,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Override a key of the configuration."),
    ] = None,
) -> None:
    """Analyse recorded files, every frame once; stopped at any moment, it goes on from there."""
    with reporting():
        from datetime import datetime

        from rich.console import Console

        from vidpipe.apps.batch.batch import run_batch
        from vidpipe.apps.batch.request import BatchRequest, moment_from_text
        from vidpipe.apps.batch.sampling import Sampling, seconds_from_text
        from vidpipe.errors import UsageError

        if hashing not in ("ends", "full"):
            raise UsageError(f"--hash {hashing}: ends or full")
        start_s = None if start is None else seconds_from_text(start, "--start")
        end_s = None if end is None else seconds_from_text(end, "--end")
        if start_s is not None and end_s is not None and end_s <= start_s:
            raise UsageError(f"--end {end} is not after --start {start}")
        names = [name for text in save or () for name in text.split(",") if name.strip()]
        request = BatchRequest(
            inputs=tuple(inputs),
            output=output,
            config=config,
            model=model,
            save=tuple(names),
            jobs=jobs,
            sampling=Sampling(every, fps, start_s, end_s),
            is_fresh=fresh,
            retries_failed=retry_failed,
            is_full_hash=hashing == "full",
            until=None if until is None else moment_from_text(until, datetime.now().astimezone()),
            is_nice=nice,
            overrides=tuple(overrides or ()),
        )
        with StopSignals() as signals:
            write = _write if json_progress else None
            leave(run_batch(request, signals, Console(stderr=True), write))


def _write(line: str) -> None:
    sys.stdout.write(line)
    sys.stdout.flush()
