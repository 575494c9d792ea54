"""`accelflow fit`: a search for the values that the paper leaves open."""

from pathlib import Path
from typing import Any, Final

import click

from accelflow.cli import offered
from accelflow.cli.assignments import read_settings
from accelflow.cli.campaigns import Campaign, out_option, threads_option
from accelflow.cli.output import Output
from accelflow.errors import refused
from accelflow.findings.terminal import print_findings
from accelflow.fit import Fit, Lengths, bounds, fit, to_json, to_toml, write_fit

_LENGTHS: Final = Lengths()


def _fixable() -> list[str]:
    return [f"{bound.name}={choice}" for bound in bounds() for choice in bound.choices or ("",)]


@click.command("fit")
@click.option(
    "--evaluations",
    type=int,
    default=120,
    show_default=True,
    help="Number of points (sets of parameter values) to try.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the search.")
@click.option(
    "--requests",
    type=int,
    default=_LENGTHS.requests,
    show_default=True,
    help="Requests of each service in each simulation.",
)
@click.option(
    "--seeds",
    type=int,
    default=_LENGTHS.seeds,
    show_default=True,
    help="Number of seeds with which each point is first simulated.",
)
@click.option(
    "--noise",
    type=float,
    default=_LENGTHS.noise,
    show_default=True,
    help="Simulate a point with more seeds, up to 32, until the standard error of its distance "
    "from the paper's numbers is at most this.",
)
@click.option(
    "--fix",
    "fixed",
    multiple=True,
    metavar="NAME=VALUE",
    shell_complete=offered.names(_fixable),
    help="Fix NAME to VALUE instead of searching it, as in placement=isolated; repeatable.",
)
@threads_option
@out_option(
    "Folder for scenario.toml, an input of reproduce --config, and the log fit.json. Files of"
    " another search are kept; the new files then get the next free number.",
    Path("out/fit"),
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print the results as one JSON object, not as text."
)
def fit_command(**options: Any) -> None:
    """Fit assumed parameters to numbers of the paper's Fig. 11.

    Each parameter stays within its bounds. The numbers are those marked `fit` in accelflow's data;
    those marked `check` are never used.
    """
    if options["seed"] < 0:
        raise refused("--seed", options["seed"], "must be at least 0")
    campaign = Campaign(options["threads"], options["out"])
    fixed = read_settings(options["fixed"], "--fix")
    lengths = Lengths(requests=options["requests"], seeds=options["seeds"], noise=options["noise"])
    found = campaign.run(
        lambda runner: fit(
            runner=runner,
            lengths=lengths,
            evaluations=options["evaluations"],
            seed=options["seed"],
            fixed=fixed,
        )
    )
    written = write_fit(found, options["out"])
    if options["as_json"]:
        click.echo(to_json(found), nl=False)
    else:
        click.echo(to_toml(found))
        _print_rows(found)
    campaign.say(f"wrote {', '.join(str(path) for path in written)}")
    campaign.end()


def _print_rows(found: Fit) -> None:
    """Print each fitted row, ours and the paper's, and the total distance."""
    print_findings(found.best.findings, Output())
    unsteady = sum(not evaluation.steady for evaluation in found.evaluations)
    best = found.best
    click.echo(
        f"distance {best.distance:.3f} +- {best.noise:.3f} (default scenario "
        f"{found.default.distance:.3f} +- {found.default.noise:.3f}); {unsteady} of "
        f"{len(found.evaluations)} points had more noise than {found.lengths.noise:g}"
    )
    if not best.steady:
        click.echo("the chosen point has more noise than --noise, like every other point")
