"""`accelflow fit`: a search for the few assumed parameters."""

import os
import time
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from accelflow.cli.output import bar, check_place
from accelflow.errors import InputError
from accelflow.files import why, write_whole
from accelflow.fit import fit, to_json, to_toml
from accelflow.reproduce import Runner, budget, targets


@click.command("fit")
@click.option("--evaluations", type=int, default=96, show_default=True, help="Points to try.")
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the search.")
@click.option(
    "--budget",
    "budget_name",
    default="quick",
    show_default=True,
    metavar="NAME",
    help="How long each point is simulated and how often, as for `accelflow reproduce`.",
)
@click.option("--placement", metavar="NAME", help="Do not search the placement: this one.")
@click.option("--arrivals", metavar="NAME", help="Do not search the arrivals: these.")
@click.option("--sizes", metavar="NAME", help="Do not search the payload sizes: these.")
@click.option(
    "--threads",
    type=int,
    default=os.cpu_count() or 1,
    show_default="one a core",
    help="Simulations at a time; results do not depend on it.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("out/fit"),
    show_default=True,
    help="Directory for scenario.toml, which reproduce --config takes, and the log, fit.json.",
)
def fit_command(**options: Any) -> None:
    """Choose assumed parameters within their bounds by the rows marked `fit`, and no others."""
    started = time.monotonic()
    console = Console(stderr=True)
    threads, out = options["threads"], options["out"]
    if threads < 1:
        raise InputError(f"threads is {threads}; must be at least 1")
    if options["seed"] < 0:
        raise InputError(f"seed is {options['seed']}; must not be negative")
    check_place(out)
    names = ("placement", "arrivals", "sizes")
    fixed = {name: options[name] for name in names if options[name]}
    with bar(console, "simulating") as advance:
        runner = Runner(threads, advance)
        found = fit(
            runner=runner,
            budget=budget(options["budget_name"]),
            evaluations=options["evaluations"],
            seed=options["seed"],
            fixed=fixed,
        )
    _write(out / "scenario.toml", to_toml(found))
    _write(out / "fit.json", to_json(found))
    click.echo(to_toml(found))
    for row, value in found.best.rows.items():
        ours = "none" if value is None else f"{value:.3f}"
        click.echo(
            f"{row.removeprefix('accelflow.'):40} {ours:>6}  paper {targets()[row].value:.3f}"
        )
    took = time.monotonic() - started
    console.print(f"{runner.simulated:,} simulations, took {took:.1f} s", highlight=False)


def _write(path: Path, text: str) -> None:
    try:
        write_whole(path, lambda scratch: scratch.write_text(text, encoding="utf-8"))
    except OSError as error:
        raise InputError(f"--out {path.parent}: {why(error)}") from error
