"""``vidpipe manifest``: what can be done with deployment records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vidpipe.apps.terminal import leave, print_json, print_line, reporting, writing

manifest_app = typer.Typer(
    help="Deployment records: what ran, on what.", no_args_is_help=True, rich_markup_mode=None
)


@manifest_app.callback()
def _root() -> None:
    """Keep ``diff`` a command of its own, though it is the only one."""


@manifest_app.command("diff")
def manifest_diff(
    before: Annotated[Path, typer.Argument(metavar="A", help="A manifest.")],
    after: Annotated[Path, typer.Argument(metavar="B", help="A later one.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")] = False,
) -> None:
    """Print every key that two manifests don't agree in.

    The time of writing doesn't count. Exit code: 0 they agree, 1 they differ, 2 one can't be read.
    """
    with reporting():
        from vidpipe.apps.manifest import differences, differences_document, opened_manifest

        found = differences(opened_manifest(before), opened_manifest(after))
        with writing():
            if as_json:
                print_json(differences_document(found))
            for difference in () if as_json else found:
                print_line(difference)
        leave(1 if found else 0)
