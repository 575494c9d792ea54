"""`accelflow trace watch`: one request's time, piece by piece."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from rich.console import Console

from accelflow import watching
from accelflow.cli import offered
from accelflow.cli.asking import one_system, scenario_asked
from accelflow.cli.output import bar
from accelflow.cli.places import WRITTEN
from accelflow.errors import refused, unwritable
from accelflow.waterfall import ASCII, show

__all__ = ["watch"]


@click.command("watch")
@click.argument("service", shell_complete=offered.services)
@click.option(
    "--request", type=int, metavar="N", help="The request's index in order of arrival, from 0."
)
@click.option(
    "--percentile",
    type=float,
    default=watching.MEDIAN,
    show_default=True,
    metavar="P",
    help="Without --request: the request whose response time is this percentile; 100: the slowest.",
)
@one_system
@click.option(
    "--svg",
    "picture",
    type=WRITTEN,
    metavar="FILE",
    help="Also draw the request to this file; its name ends in .svg or .png.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print the results as one JSON object, not as text."
)
@click.pass_context
def watch(
    context: click.Context, /, service: str, picture: Path | None, as_json: bool, **options: Any
) -> None:
    """Show where the time of one request to SERVICE goes.

    Each row is a trace of the request, or application logic. The critical path is bold, and waits
    are hatched.
    """
    if picture is not None and picture.suffix not in (".svg", ".png"):
        raise refused("--svg", str(picture), "must end in .svg or .png")
    if options["request"] is not None:
        typed = context.get_parameter_source("percentile") is ParameterSource.COMMANDLINE
        if typed:
            raise refused("--percentile", options["percentile"], "must be left out with --request")
    scenario = scenario_asked(context)
    console = Console(stderr=True)
    with bar(console, "simulating") as advance:
        found = watching.watch(
            scenario,
            service,
            request=options["request"],
            percentile=options["percentile"],
            progress=advance,
        )
    if picture is not None:
        from accelflow.waterfall.picture import write_picture  # noqa: PLC0415 (slow to load)

        try:
            write_picture(found, picture)
        except OSError as error:
            raise unwritable("--svg", picture, error) from error
    if as_json:
        click.echo(json.dumps(found, indent=2))
    else:
        click.echo(_shown(found), nl=False)
    if picture is not None:
        click.echo(f"wrote {picture}", err=True)


def _shown(found: dict[str, Any]) -> str:
    terminal = sys.stdout.isatty()
    text = show(
        found,
        shutil.get_terminal_size((80, 24)).columns,
        (lambda line: click.style(line, bold=True)) if terminal else (lambda line: line),
    )
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return text.translate(ASCII)
    return text
