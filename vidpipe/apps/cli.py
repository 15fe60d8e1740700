"""The command line: the one place that prints, and that turns errors into exit codes.

Messages for people go to standard error, data to standard output. Heavy libraries are imported by
the command that needs them, so that ``vidpipe --help`` answers at once.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from vidpipe import __version__
from vidpipe.apps.signals import StopSignals
from vidpipe.errors import InterruptedStartError, VidpipeError

app = typer.Typer(
    name="vidpipe",
    help="Watch many cameras at once: detection on all of them through one OpenVINO pool.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
models_app = typer.Typer(help="The zoo: list, fetch and inspect models.", no_args_is_help=True)
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
    with _reporting(), StopSignals() as signals:
        from rich.console import Console

        from vidpipe.apps.live import run as run_live
        from vidpipe.config.load import load_config

        loaded = load_config(config, overrides or ())
        result = run_live(loaded, signals, Console(stderr=True), duration_s=duration)
        _leave(result.exit_code, must_leave=result.must_leave)


@app.command()
def check(
    config: ConfigPath,
    probe: Annotated[bool, typer.Option(help="Open every source and measure it.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")] = False,
    overrides: Overrides = None,
) -> None:
    """Validate a configuration, then probe every camera in parallel."""
    with _reporting(), StopSignals():
        from rich.console import Console

        from vidpipe.apps.check import check_config, document_from_report, tables_from_report
        from vidpipe.config.load import load_config

        report = check_config(load_config(config, overrides or ()), should_probe=probe)
        if as_json:
            print(json.dumps(document_from_report(report), ensure_ascii=False, indent=2))
        else:
            console = Console()
            for part in tables_from_report(report):
                console.print(part, markup=False, highlight=False, soft_wrap=isinstance(part, str))
        _leave(0 if report.is_good else 1, must_leave=True)


@app.command()
def schema() -> None:
    """Print the configuration's JSON Schema, for editors."""
    from vidpipe.config.jsonschema import json_schema

    print(json.dumps(json_schema(), ensure_ascii=False, indent=2))


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
    with _reporting(), StopSignals() as signals:
        from rich.console import Console

        from vidpipe.apps.demo import run_demo

        console = Console(stderr=True)
        result = run_demo(signals, console, streams=streams, folder=output, duration_s=seconds)
        for path in result.files:
            print(path)
        _leave(result.run.exit_code, must_leave=result.run.must_leave)


CacheDir = Annotated[
    Path | None, typer.Option("--cache-dir", help="Where models are kept: ~/.cache/vidpipe.")
]


@models_app.command("list")
def models_list(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")] = False,
) -> None:
    """List the models that can be fetched by name."""
    with _reporting():
        from rich.console import Console

        from vidpipe.apps.models import catalogue_document, catalogue_table

        if as_json:
            print(json.dumps(catalogue_document(), ensure_ascii=False, indent=2))
        else:
            Console().print(catalogue_table())


@models_app.command("get")
def models_get(name: str, cache_dir: CacheDir = None) -> None:
    """Fetch a model and print the path of its file."""
    with _reporting(), StopSignals():
        from rich.console import Console

        from vidpipe.apps.models import get_model

        print(get_model(name, cache_dir, Console(stderr=True)))


@models_app.command("info")
def models_info(
    name: Annotated[str, typer.Argument(help="A name of the zoo, or a model's file.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")] = False,
    cache_dir: CacheDir = None,
) -> None:
    """Show a model's inputs, outputs, family and labels, and what vidpipe would do with it."""
    with _reporting(), StopSignals():
        from rich.console import Console

        from vidpipe.apps.models import info_document, info_table

        document = info_document(name, cache_dir, Console(stderr=True))
        if as_json:
            print(json.dumps(document, ensure_ascii=False, indent=2))
        else:
            Console().print(info_table(document))


def main() -> None:
    """Run the command line; the entry point of the script ``vidpipe``."""
    app(prog_name="vidpipe")


@contextmanager
def _reporting() -> Iterator[None]:
    """Turn errors into a message for people and an exit code."""
    try:
        yield
    except VidpipeError as exc:
        from vidpipe.runtime.logs import redact

        print(f"vidpipe: {redact(str(exc))}", file=sys.stderr)
        raise typer.Exit(exc.exit_code) from None
    except KeyboardInterrupt:
        print("vidpipe: interrupted", file=sys.stderr)
        raise typer.Exit(InterruptedStartError.exit_code) from None
    except BrokenPipeError:
        # Whoever read the output has gone; the interpreter must not try to flush it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(1) from None


def _leave(code: int, *, must_leave: bool) -> None:
    """End with an exit code; at once where native code holds a thread that would be waited for."""
    if must_leave:
        sys.stdout.flush()
        os._exit(code)
    raise typer.Exit(code)


if __name__ == "__main__":
    main()
