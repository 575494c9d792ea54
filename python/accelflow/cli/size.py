"""`accelflow size`: servers, watts and money for a plan."""

import itertools
import json
import sys
from pathlib import Path
from typing import Final

import click
from rich.console import Console

from accelflow import sizing
from accelflow.cli.doubts import cost_doubts
from accelflow.cli.output import bar
from accelflow.cli.pages import REPORT, check_report, written
from accelflow.errors import AccelflowError
from accelflow.page import command_line
from accelflow.reports.size import size_page
from accelflow.sizing import terminal

#: The approximate number of simulations, with each seed, that a search for the highest load takes.
_SIMULATIONS_PER_SEARCH: Final = 9


@click.command("size")
@click.argument("plan_file", metavar="PLAN", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--quick",
    is_flag=True,
    help="Compute only the closed form (formulas, no simulation), in about a second.",
)
@REPORT
@click.option(
    "--json", "as_json", is_flag=True, help="Print the results as one JSON object, not as text."
)
def size(plan_file: Path, quick: bool, as_json: bool, report_file: Path | None) -> None:
    """Size a fleet: servers, watts and money under each system.

    PLAN is a TOML file with the rates of services, their SLOs, and prices (docs/sizing.md). The
    first answer is in closed form. The second comes from simulation: it searches for the highest
    load that one server sustains.
    """
    check_report(report_file)
    plan = sizing.read_plan(plan_file)
    expected = len(plan.systems) * plan.seeds * _SIMULATIONS_PER_SEARCH
    done = itertools.count(1)
    found: list[sizing.Searched] = []
    with cost_doubts(), bar(Console(stderr=True), "simulating") as advance:

        def one_more(_system: str) -> None:
            number = next(done)
            advance(number, max(number + 1, expected))

        answer = sizing.size(plan, simulate=not quick, progress=one_more, tried=found.append)
    if as_json:
        click.echo(json.dumps(answer, indent=2, allow_nan=False))
    else:
        click.echo(terminal.text(answer))
    if report_file is not None:
        points = sizing.sweep(plan, answer["slo_us"], found)
        written(size_page(answer, points, command_line(sys.argv)), report_file)
    kind = "closed_form" if quick else "simulated"
    if all(row[kind] is None or row[kind]["fleet"] is None for row in answer["systems"]):
        raise AccelflowError(f"{plan_file}: no number of servers meets all its SLOs and limits")
