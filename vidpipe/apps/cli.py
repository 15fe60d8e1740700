"""The command line: the one place that prints, and that turns errors into exit codes.

Messages for people go to standard error, data to standard output. Heavy libraries are imported by
the command that needs them, so that ``vidpipe --help`` answers at once.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated

import typer

from vidpipe.apps.signals import StopSignals
from vidpipe.errors import UsageError, VidpipeError
from vidpipe.version import __version__

app = typer.Typer(
    name="vidpipe",
    help="Watch many cameras at once: detection on all of them through one OpenVINO pool.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: loading what draws it takes longer than all else
    context_settings={"help_option_names": ["-h", "--help"]},
)
models_app = typer.Typer(
    help="The zoo: list, fetch and inspect models.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(models_app, name="models")

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
) -> None:
    """Run all streams until stopped, or until every file has ended."""
    with _reporting():
        from rich.console import Console

        from vidpipe.apps.live import run as run_live
        from vidpipe.config.load import load_config

        with StopSignals() as signals:
            loaded = load_config(config, overrides or ())
            result = run_live(loaded, signals, Console(stderr=True), duration_s=duration)
            _leave(result.exit_code)


@app.command()
def check(
    config: ConfigPath,
    probe: Annotated[bool, typer.Option(help="Open every source and measure it.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")] = False,
    overrides: Overrides = None,
) -> None:
    """Validate a configuration, then probe every camera in parallel."""
    with _reporting():
        from rich.console import Console

        from vidpipe.apps.check import check_config, document_from_report, tables_from_report
        from vidpipe.config.load import load_config

        with StopSignals():
            report = check_config(load_config(config, overrides or ()), should_probe=probe)
            with _writing():
                if as_json:
                    _print_json(document_from_report(report))
                for part in () if as_json else tables_from_report(report):
                    is_line = isinstance(part, str)
                    Console().print(part, markup=False, highlight=False, soft_wrap=is_line)
            _leave(0 if report.is_good else 1)


@app.command()
def schema() -> None:
    """Print the configuration's JSON Schema, for editors."""
    with _reporting():
        from vidpipe.config.jsonschema import json_schema

        with _writing():
            _print_json(json_schema())


@app.command()
def demo(
    seconds: Annotated[
        float | None, typer.Option(min=0.0, metavar="S", help="Stop after so many seconds.")
    ] = None,
    streams: Annotated[int, typer.Option(min=1, max=64, help="How many streams.")] = 4,
    output: Annotated[Path, typer.Option("-o", "--output", help="Where to write.")] = Path(
        "out/demo"
    ),
) -> None:
    """Fetch the default model and a real clip, and watch the clip as several streams."""
    with _reporting():
        from rich.console import Console

        from vidpipe.apps.demo import run_demo

        with StopSignals() as signals:
            console = Console(stderr=True)
            result = run_demo(signals, console, streams=streams, folder=output, duration_s=seconds)
            with _writing():
                for path in result.files:
                    print(path)
            _leave(result.run.exit_code)


CacheDir = Annotated[
    Path | None, typer.Option("--cache-dir", help="Where models are kept: ~/.cache/vidpipe.")
]


@models_app.command("list")
def models_list(
    text: Annotated[
        list[str] | None, typer.Argument(metavar="[TEXT]", help="Only those that hold all words.")
    ] = None,
    task: Annotated[str, typer.Option(help="Only those that do this, such as detection.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")] = False,
    cache_dir: CacheDir = None,
) -> None:
    """List the models that can be fetched by name."""
    with _reporting():
        from vidpipe.apps.models import catalogue_document, chosen_entries
        from vidpipe.apps.modeltables import catalogue_lines

        entries = chosen_entries(" ".join(text or ()), task)
        with _writing():
            if as_json:
                _print_json(catalogue_document(entries, cache_dir))
            for line in () if as_json else catalogue_lines(entries, cache_dir):
                print(line)


@models_app.command("get")
def models_get(
    name: str,
    place: Annotated[
        str | None,
        typer.Option("--from", metavar="PLACE", help="Take it from this folder or address."),
    ] = None,
    cache_dir: CacheDir = None,
) -> None:
    """Fetch a model and print the path of its file."""
    with _reporting():
        from rich.console import Console

        from vidpipe.apps.models import get_model

        with StopSignals():
            path = get_model(name, cache_dir, Console(stderr=True), place)
        with _writing():
            print(path)


@models_app.command("info")
def models_info(
    name: Annotated[str, typer.Argument(help="A name of the zoo, or a model's file.")],
    measure: Annotated[
        bool, typer.Option("--measure", help="Measure how fast it is here: two seconds.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")] = False,
    cache_dir: CacheDir = None,
) -> None:
    """Show a model's inputs, outputs, family and labels, and what vidpipe would do with it."""
    with _reporting():
        from rich.console import Console

        from vidpipe.apps.models import info_document
        from vidpipe.apps.modeltables import info_table

        with StopSignals():
            console = Console(stderr=True)
            document = info_document(name, cache_dir, console, should_measure=measure)
        with _writing():
            if as_json:
                _print_json(document)
            else:
                Console().print(info_table(document))


@models_app.command("quantize")
def models_quantize(
    model: Annotated[
        str, typer.Argument(help="A model's file, or a name: of the configuration, or of the zoo.")
    ],
    more: Annotated[
        list[str] | None, typer.Argument(metavar="[FILES]...", help="Further files of --frames.")
    ] = None,
    frames: Annotated[
        list[str] | None,
        typer.Option(metavar="CONFIG|FILE", help="A configuration, or recorded files."),
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="How many frames, altogether.")] = 300,
    seconds: Annotated[
        float, typer.Option(min=0.1, metavar="S", help="How long cameras are watched.")
    ] = 60.0,
    labels: Annotated[
        Path | None,
        typer.Option(help="Labelled frames to hold it to: COCO's JSON, or JSON Lines."),
    ] = None,
    max_drop: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Precision (mAP) that may be lost on these.")
    ] = 0.01,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The .xml to write, or its folder.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")] = False,
    cache_dir: CacheDir = None,
) -> None:
    """Make a model INT8 with frames of one's own, and compare it with the original."""
    with _reporting():
        from rich.console import Console

        from vidpipe.apps.frames import FramePlan
        from vidpipe.apps.quantize import QuantizeRequest, run_quantize
        from vidpipe.apps.quantizetables import quantize_document, quantize_lines, quantize_table

        request = QuantizeRequest(
            model=model,
            frames=(*(frames or ()), *(more or ())),
            output=output,
            labels=labels,
            max_drop=max_drop,
            plan=FramePlan(count, seconds),
            cache_dir=cache_dir,
        )
        with StopSignals():
            report = run_quantize(request, Console(stderr=True))
        with _writing():
            if as_json:
                _print_json(quantize_document(report))
            else:
                Console().print(quantize_table(report))
                for line in quantize_lines(report):
                    print(line)
        _leave(1 if report.failures else 0)


def main() -> None:
    """Run the command line; ``vidpipe.apps.entry`` prepares the process for it."""
    app(prog_name="vidpipe")


@contextmanager
def _reporting() -> Iterator[None]:
    """Turn errors into a message for people and an exit code."""
    try:
        yield
    except VidpipeError as exc:
        from vidpipe.runtime.logs import redact

        print(f"vidpipe: {redact(str(exc))}", file=sys.stderr)
        _leave(exc.exit_code)


@contextmanager
def _writing() -> Iterator[None]:
    """Turn what can befall standard output into an exit code, and a message where one is due.

    Raises:
        UsageError: It can't be written: a full disk, say.
    """
    try:
        yield
        sys.stdout.flush()
    except OSError as exc:
        # The interpreter must not try to flush what is left.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(exc, BrokenPipeError):
            raise typer.Exit(1) from None  # whoever read it has gone, and knows
        raise UsageError(f"standard output can't be written: {exc.strerror}") from exc


def _print_json(document: object) -> None:
    print(json.dumps(document, ensure_ascii=False, indent=2))


def _leave(code: int) -> None:
    """End at once.

    Native code may hold a thread that would be waited for; and no signal changes the code any more.
    """
    with suppress(OSError):  # a terminal that has been closed
        sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
