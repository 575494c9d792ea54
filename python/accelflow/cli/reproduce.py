"""`accelflow reproduce`: the paper's evaluation, ours beside the paper's."""

import os
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from accelflow.cli import offered
from accelflow.cli.output import Output, bar, check_place
from accelflow.errors import InputError
from accelflow.reproduce import (
    BUDGETS,
    Runner,
    Scenario,
    budget,
    implications,
    load,
    names,
    print_counts,
    print_outcome,
    read_scenario,
    reproduce,
    rewrite_page,
    write_outcomes,
)


@click.command("reproduce")
@click.argument(
    "experiments", nargs=-1, metavar="[EXPERIMENT]...", shell_complete=offered.names(names)
)
@click.option("--list", "only_list", is_flag=True, help="List the experiments and exit.")
@click.option(
    "--budget",
    "budget_name",
    default="full",
    show_default=True,
    metavar="NAME",
    help=f"Length and number of the simulations: {', '.join(BUDGETS)}.",
)
@click.option("--quick", is_flag=True, help="Short for --budget quick: everything in minutes.")
@click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.toml",
    help="Parameters of the server, and [scenario] for the choices that the paper leaves open.",
)
@click.option("--placement", metavar="NAME", help="colocated or isolated; overrides FILE.")
@click.option("--arrivals", metavar="NAME", help="Arrival process for the paper's production load.")
@click.option(
    "--slo-system",
    metavar="NAME",
    help="System whose idle response time defines the SLOs; own: each system's own.",
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
    help="Write results, pictures and comparison.md to this directory.",
)
@click.option(
    "--page",
    "page_of",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIRECTORY",
    help="Only rewrite comparison.md from the results in this directory.",
)
@click.option(
    "--implications",
    "implications_at",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.md",
    help="Only write the page of proofs on what the paper's printed figures imply.",
)
def reproduce_command(experiments: tuple[str, ...], **options: Any) -> None:
    """Run the paper's experiments and compare the results.

    Without EXPERIMENT, all of them run; --list names them. The results stand beside the paper's
    figures, with confidence intervals.
    """
    started = time.monotonic()
    console, output = Console(stderr=True), Output()
    if options["only_list"]:
        for experiment in map(load, names()):
            click.echo(f"{experiment.name:24} {experiment.title} ({experiment.place})")
        return
    written_anew = _pages(experiments, options)
    if written_anew is not None:
        console.print(f"wrote {written_anew}", highlight=False, markup=False)
        return
    definitions = [load(name) for name in dict.fromkeys(experiments or names())]
    chosen = budget("quick" if options["quick"] else options["budget_name"])
    scenario = _scenario(options)
    threads, out = options["threads"], options["out"]
    if threads < 1:
        raise InputError(f"--threads {threads}: must be at least 1")
    if out is not None:
        check_place(out)
    with bar(console, "simulating") as advance:
        runner = Runner(threads, advance)
        outcomes = reproduce(definitions, budget=chosen, runner=runner, scenario=scenario)
    for outcome in outcomes:
        print_outcome(outcome, output)
    print_counts(outcomes, output)
    if out is not None:
        written = write_outcomes(outcomes, scenario, chosen, out)
        console.print(f"wrote {len(written)} files to {out}", highlight=False, markup=False)
    took = time.monotonic() - started
    console.print(f"{runner.simulated:,} simulations, took {took:.1f} s", highlight=False)


def _pages(experiments: tuple[str, ...], options: Mapping[str, Any]) -> Path | None:
    """Write a page that needs no simulation, if an option asks for one, and return its path."""
    results, proofs_at = options["page_of"], options["implications_at"]
    if results is not None:
        if experiments:
            raise InputError("--page takes all results of its directory; name no experiments")
        return rewrite_page(results)
    if proofs_at is not None:
        if experiments:
            raise InputError("--implications simulates nothing; name no experiments")
        implications.write_page(proofs_at, implications.PROOFS)
        return Path(proofs_at)
    return None


def _scenario(options: Mapping[str, Any]) -> Scenario:
    config = options["config_file"]
    scenario = read_scenario(config) if config else Scenario()
    given = {key: options[key] for key in ("placement", "arrivals", "slo_system") if options[key]}
    scenario = replace(scenario, **given)
    scenario.check()
    return scenario
