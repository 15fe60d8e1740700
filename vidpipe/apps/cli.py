"""The command line: the one place that prints, and that turns errors into exit codes.

Messages for people go to standard error, data to standard output. Heavy libraries are imported by
the command that needs them, so that ``vidpipe --help`` answers at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vidpipe.apps.batchcommands import batch
from vidpipe.apps.manifestcommands import manifest_app
from vidpipe.apps.modelcommands import models_app
from vidpipe.apps.signals import StopSignals, is_on_terminal
from vidpipe.apps.terminal import leave, print_json, reporting, writing
from vidpipe.version import __version__

app = typer.Typer(
    name="vidpipe",
    help="Watch many cameras at once: detection on all of them through one OpenVINO pool.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: loading what draws it takes longer than all else
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(models_app, name="models")
app.add_typer(manifest_app, name="manifest")
app.command()(batch)

ConfigPath = Annotated[Path, typer.Argument(metavar="CONFIG", help="The configuration file.")]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a key, e.g. streams.gate.weight=2."),
]


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        print(__version__)
        raise typer.Exit


@app.command()
def run(
    config: ConfigPath,
    duration: Annotated[
        float | None, typer.Option(min=0.0, metavar="S", help="Stop after so many seconds.")
    ] = None,
    overrides: Overrides = None,
    strict_manifest: Annotated[
        bool,
        typer.Option("--strict-manifest", help="Refuse to start unless all is as it last was."),
    ] = False,
    require_all: Annotated[
        bool,
        typer.Option("--require-all", help="Refuse to start unless every stream comes up."),
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Read the configuration again when it changes.")
    ] = False,
) -> None:
    """Run all streams until stopped, or until every file has ended."""
    with reporting():
        from functools import partial

        from rich.console import Console

        from vidpipe.apps.live import run as run_live
        from vidpipe.apps.upkeep import ConfigSource
        from vidpipe.config.load import load_config

        with StopSignals(reloads=not is_on_terminal()) as signals:
            load = partial(load_config, config, overrides or ())
            loaded = load()
            console = Console(stderr=True)
            result = run_live(
                loaded,
                signals,
                console,
                duration_s=duration,
                is_strict=strict_manifest,
                requires_all=require_all,
                source=ConfigSource(config, load, is_watched=watch),
            )
            leave(result.exit_code)


@app.command()
def wall(
    config: ConfigPath,
    window: Annotated[
        bool, typer.Option("--window", help="Show it on this machine's own screen, too.")
    ] = False,
    duration: Annotated[
        float | None, typer.Option(min=0.0, metavar="S", help="Stop after so many seconds.")
    ] = None,
    overrides: Overrides = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Read the configuration again when it changes.")
    ] = False,
) -> None:
    """Run all streams, and serve the wall: every camera on one page, live.

    In the window: 1 to 9 for a spotlight, Escape or q to close it and stop.
    """
    with reporting():
        from rich.console import Console

        from vidpipe.apps.wall import run_wall, wall_source

        with StopSignals(reloads=not is_on_terminal()) as signals:
            source = wall_source(config, overrides or (), is_watched=watch)
            console = Console(stderr=True)
            result = run_wall(source, signals, console, duration_s=duration, has_window=window)
            leave(result.exit_code)


@app.command()
def check(
    config: ConfigPath,
    probe: Annotated[bool, typer.Option(help="Open every source and measure it.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")] = False,
    overrides: Overrides = None,
) -> None:
    """Validate a configuration, then probe every camera in parallel."""
    with reporting():
        from rich.console import Console

        from vidpipe.apps.check import check_config, document_from_report, tables_from_report
        from vidpipe.config.load import load_config

        with StopSignals():
            report = check_config(load_config(config, overrides or ()), should_probe=probe)
            with writing():
                if as_json:
                    print_json(document_from_report(report))
                for part in () if as_json else tables_from_report(report):
                    is_line = isinstance(part, str)
                    Console().print(part, markup=False, highlight=False, soft_wrap=is_line)
            leave(0 if report.is_good else 1)


_FILE_WIDTH = 110
"""Columns of a table that is written into a file: no number is cut there."""


@app.command()
def bench(
    config: ConfigPath,
    sweep: Annotated[
        list[str] | None,
        typer.Option(metavar="AXIS", help="requests, streams, batch, hint, mode, call, or all."),
    ] = None,
    compare: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B", help="Side by side: sync,async, or requests=2,4, say."),
    ] = None,
    cameras: Annotated[
        bool, typer.Option("--cameras", help="How many cameras fit, and what gives out first.")
    ] = False,
    efficiency: Annotated[
        bool, typer.Option("--efficiency", help="Against decoding and inference without vidpipe.")
    ] = False,
    goal: Annotated[
        str | None,
        typer.Option(metavar="GOAL", help="Search the settings: p95=100ms, or fps=25 a stream."),
    ] = None,
    seconds: Annotated[
        float, typer.Option(min=0.1, max=3600, metavar="S", help="Counted in each run.")
    ] = 4.0,
    rounds: Annotated[
        int, typer.Option(min=1, max=100, metavar="N", help="Runs of each point, in turn.")
    ] = 3,
    latency_limit: Annotated[
        float, typer.Option(min=1, metavar="MS", help="p95, where streams are added.")
    ] = 200.0,
    sample: Annotated[
        float, typer.Option(min=0.5, max=600, metavar="S", help="How long cameras are recorded.")
    ] = 10.0,
    with_outputs: Annotated[
        bool, typer.Option("--with-outputs", help="Let the outputs work, into a scratch folder.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")] = False,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page with the curves, too.")
    ] = None,
    overrides: Overrides = None,
) -> None:
    """Measure a configuration on its own sources and model, and say what to set.

    Without options: the stages alone, the configuration as it is, and its efficiency.
    """
    with reporting():
        from rich.console import Console

        from vidpipe.apps.bench.document import document_from_report
        from vidpipe.apps.bench.request import BenchRequest, Words, understood
        from vidpipe.apps.bench.session import run_bench
        from vidpipe.apps.bench.tables import parts_from_report

        request = understood(
            Words(sweep or (), compare or (), goal, cameras, efficiency),
            BenchRequest(
                config,
                tuple(overrides or ()),
                with_outputs=with_outputs,
                seconds=seconds,
                rounds=rounds,
                latency_limit_ms=latency_limit,
                sample_s=sample,
            ),
        )
        if html is not None:
            from vidpipe.apps.bench.page import check_page, write_page

            check_page(html)
        with StopSignals():
            report = run_bench(request, Console(stderr=True))
            console = Console(width=None if Console().is_terminal else _FILE_WIDTH)
            try:
                with writing():
                    if as_json:
                        print_json(document_from_report(report))
                    for part in () if as_json else parts_from_report(report):
                        is_line = isinstance(part, str)
                        console.print(part, markup=False, highlight=False, soft_wrap=is_line)
            finally:
                if html is not None:
                    write_page(report, html)
        leave(0 if report.is_complete else 130)


@app.command()
def schema() -> None:
    """Print the configuration's JSON Schema, for editors."""
    with reporting():
        from vidpipe.config.jsonschema import json_schema

        with writing():
            print_json(json_schema())


@app.command()
def demo(
    seconds: Annotated[
        float | None, typer.Option(min=0.0, metavar="S", help="Stop after so many seconds.")
    ] = None,
    streams: Annotated[int, typer.Option(min=1, max=64, metavar="N", help="How many streams.")] = 4,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FOLDER", help="Where to write.")
    ] = Path("out/demo"),
) -> None:
    """Fetch the default model and a real clip, and watch the clip as several streams."""
    with reporting():
        from rich.console import Console

        from vidpipe.apps.demo import run_demo

        with StopSignals() as signals:
            console = Console(stderr=True)
            result = run_demo(signals, console, streams=streams, folder=output, duration_s=seconds)
            with writing():
                for path in result.files:
                    print(path)
            leave(result.run.exit_code)


def main() -> None:
    """Run the command line; ``vidpipe.apps.entry`` prepares the process for it."""
    app(prog_name="vidpipe")


if __name__ == "__main__":
    main()
