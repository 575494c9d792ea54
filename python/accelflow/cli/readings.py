"""`accelflow readings`: which rows depend on which reading of the paper."""

import os
import time
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from accelflow.cli import offered
from accelflow.cli.output import bar, check_place
from accelflow.errors import InputError
from accelflow.readings import EXPERIMENTS, choices, markdown, read_all, select, write_readings
from accelflow.reproduce import BUDGETS, Runner, Scenario, budget, load, names, read_scenario


def _choice_names() -> list[str]:
    return [choice.name for choice in choices()]


@click.command("readings")
@click.argument(
    "experiments", nargs=-1, metavar="[EXPERIMENT]...", shell_complete=offered.names(names)
)
@click.option("--list", "only_list", is_flag=True, help="List the choices and exit.")
@click.option(
    "--choice",
    "chosen",
    multiple=True,
    metavar="NAME",
    shell_complete=offered.names(_choice_names),
    help="Vary only this choice; repeatable.",
)
@click.option(
    "--budget",
    "budget_name",
    default="quick",
    show_default=True,
    metavar="NAME",
    shell_complete=offered.names(BUDGETS),
    help=f"Length and number of the simulations: {', '.join(BUDGETS)}.",
)
@click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.toml",
    help="The base scenario, as for `accelflow reproduce`.",
)
@click.option(
    "--threads",
    type=int,
    default=os.cpu_count() or 1,
    show_default="one a core",
    help="Parallel simulations; results do not depend on it.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write readings.md, its pictures and readings.json to this directory.",
)
def readings(experiments: tuple[str, ...], **options: Any) -> None:
    """Show which rows depend on which reading of the paper.

    Runs EXPERIMENTs with every other reading of each choice that the paper leaves open, one at a
    time, and shows how far each row moves.
    """
    started = time.monotonic()
    console = Console(stderr=True)
    scenario = read_scenario(options["config_file"]) if options["config_file"] else Scenario()
    selected = select(options["chosen"])
    if options["only_list"]:
        for choice in selected:
            others = ", ".join(reading.label for reading in choice.alternatives(scenario))
            click.echo(f"{choice.name:32} {choice.default_text(scenario)}; or {others}")
        return
    threads, out = options["threads"], options["out"]
    if threads < 1:
        raise InputError(f"--threads {threads}: must be at least 1")
    definitions = [load(name) for name in dict.fromkeys(experiments or EXPERIMENTS)]
    chosen = budget(options["budget_name"])
    if out is not None:
        check_place(out)
    with bar(console, "simulating") as advance:
        runner = Runner(threads, advance)
        found = read_all(definitions, selected, budget=chosen, runner=runner, scenario=scenario)
    if out is None:
        click.echo(markdown(found), nl=False)
    else:
        written = write_readings(found, out)
        console.print(f"wrote {len(written)} files to {out}", highlight=False, markup=False)
    took = time.monotonic() - started
    console.print(f"{runner.simulated:,} simulations, took {took:.1f} s", highlight=False)
