"""`accelflow size`: servers, watts and money for a plan."""

import itertools
import json
from pathlib import Path
from typing import Final

import click
from rich.console import Console

from accelflow import sizing
from accelflow.cli.output import bar
from accelflow.errors import AccelflowError
from accelflow.sizing import terminal

#: A search for the most load takes about as many simulations with each seed.
_SIMULATIONS_PER_SEARCH: Final = 9


@click.command("size")
@click.argument("plan_file", metavar="PLAN", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--quick", is_flag=True, help="Answer in closed form alone, in about a second.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")
def size(plan_file: Path, quick: bool, as_json: bool) -> None:
    """Size a fleet: servers, watts and money under each system.

    PLAN is a TOML file with the rates of services, their SLOs, and prices (docs/sizing.md). The
    first answer is in closed form. The second simulates one server and searches the most load that
    it takes.
    """
    plan = sizing.read_plan(plan_file)
    expected = len(plan.systems) * plan.seeds * _SIMULATIONS_PER_SEARCH
    done = itertools.count(1)
    with bar(Console(stderr=True), "simulating") as advance:

        def one_more(_system: str) -> None:
            number = next(done)
            advance(number, max(number + 1, expected))

        answer = sizing.size(plan, simulate=not quick, progress=one_more)
    if as_json:
        click.echo(json.dumps(answer, indent=2, allow_nan=False))
    else:
        click.echo(terminal.text(answer))
    kind = "closed_form" if quick else "simulated"
    if all(row[kind] is None or row[kind]["fleet"] is None for row in answer["systems"]):
        raise AccelflowError(f"{plan_file}: no number of servers keeps all limits")
