"""`accelflow companions`: our results compared with those of the three companion papers."""

import json
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource
from rich.console import Console

from accelflow import companions as papers
from accelflow.cli.interrupts import interruptible
from accelflow.cli.naming import left_out
from accelflow.cli.output import Output, busy
from accelflow.cli.places import WRITTEN_FOLDER, check_place
from accelflow.companions import together
from accelflow.companions.precision import MOST_SEEDS, Precision, parse_share
from accelflow.companions.together import live
from accelflow.errors import GIVEN, refused
from accelflow.findings import counts_text
from accelflow.findings.terminal import print_findings

#: The name that selects all three companion papers' ideas on one server with AccelFlow.
_TOGETHER: Final = "together"

_DEFAULT: Final = Path("out") / "companions"


@click.command("companions")
@click.argument("paper", type=click.Choice([*papers.PAPERS, _TOGETHER]), metavar="PAPER")
@click.option(
    "--out",
    "directory",
    type=WRITTEN_FOLDER,
    metavar="DIR",
    help=f"Folder for the results [{_DEFAULT}/PAPER]. If it has results of another paper, seed or"
    " precision, these are kept, and a number is added to the new files' names."
    f" `{_TOGETHER}` overwrites its earlier files.",
)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="First seed.")
@click.option(
    "--threads",
    type=click.IntRange(1, 256),
    default=1,
    show_default=True,
    help="Number of parallel simulations; does not change results.",
)
@click.option(
    "--precision",
    metavar="SHARE",
    help="Add seeds to each experiment until half the width of every 95 % interval is at most this"
    " share of our number or the paper's (the larger one), such as 5%, or until --most-seeds have"
    " run.",
)
@click.option(
    "--most-seeds",
    type=click.IntRange(2, 1_000),
    default=MOST_SEEDS,
    show_default=True,
    help="With --precision: the largest number of seeds for each experiment.",
)
@click.option(
    "--again",
    is_flag=True,
    help="Simulate nothing: write page and pictures again. Our numbers come from DIR/results.json,"
    " and the paper's numbers and the reasons for differences from this version of accelflow.",
)
@click.option(
    "--measure",
    "program",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="PROGRAM",
    help="With together: measure the live server on this machine first, for about half an hour, "
    "and keep the result in DIR/live.json. PROGRAM is the executable of examples/socialnetwork. "
    "Other work on this machine disturbs the measurement.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print the results as one JSON object, not as text."
)
def companions(**options: Any) -> None:
    """Compute the results of a companion paper.

    PAPER is accelerometer, cerebros or arcus. Writes a page, pictures and data; takes up to several
    minutes. The PAPER `together` runs the ideas of all three on one server with AccelFlow, alone
    and combined. Its page includes measurements of a live server if DIR/live.json has them.
    """
    paper, seed, threads = options["paper"], options["seed"], options["threads"]
    out, as_json = options["directory"] or _DEFAULT / paper, options["as_json"]
    check_place(out)
    precision = options["precision"]
    asked = Precision(
        share=None if precision is None else parse_share(precision),
        most_seeds=options["most_seeds"],
    )
    _check_options(click.get_current_context(), paper)
    if paper == _TOGETHER:
        for name in ("precision", "again"):
            if options[name]:
                value = GIVEN if options[name] is True else options[name]
                raise refused(f"--{name}", value, f"must be left out, since PAPER is '{_TOGETHER}'")
        _together(out, seed, threads, as_json=as_json, program=options["program"])
        return
    if options["program"]:
        raise refused(
            "--measure", options["program"], f"must be left out unless PAPER is '{_TOGETHER}'"
        )
    if options["again"]:
        outcome = papers.read(out / "results.json")
        if outcome.paper != paper:
            allowed = (
                f"must be {outcome.paper} with --again: {out / 'results.json'} has its results"
            )
            raise refused("PAPER", paper, allowed)
    else:
        with busy(Console(stderr=True), "simulating"):
            outcome = interruptible(
                lambda: papers.run(paper, seed=seed, threads=threads, precision=asked)
            )
    if as_json:
        click.echo(json.dumps(papers.to_json(outcome), indent=1, allow_nan=False))
    else:
        output = Output()
        reported = [finding for finding in outcome.findings if finding.paper is not None]
        print_findings(reported, output)
        output.print(f"\n{counts_text(reported)}", style="bold", highlight=False)
    for path in papers.write(outcome, out):
        click.echo(path, err=as_json)


def _check_options(context: click.Context, paper: str) -> None:
    """Raise InputError for an option that has no effect for `paper`."""
    options = context.params
    if options["again"] and paper != _TOGETHER:
        allowed = ("paper", "directory", "again", "program", "as_json")
        left_out(context, " with --again, which simulates nothing", allowed)
    most = context.get_parameter_source("most_seeds") is ParameterSource.COMMANDLINE
    if most and options["precision"] is None:
        rule = "must be given together with --precision"
        raise refused("--most-seeds", options["most_seeds"], rule)


def _together(out: Path, seed: int, threads: int, *, as_json: bool, program: Path | None) -> None:
    """Print and write the page of all papers on one server."""
    kept = out / "live.json"
    if program is not None:
        with busy(Console(stderr=True), "measuring the live server"):
            measured = live.measure(program, seed=seed)
        click.echo(live.write(measured, kept), err=as_json)
    with busy(Console(stderr=True), "simulating"):
        found = live.read(kept) if kept.exists() else None
        result = interruptible(lambda: together.compare(seed=seed, threads=threads, live=found))
    click.echo(json.dumps(result, indent=1) if as_json else together.markdown(result))
    for path in together.write(result, out):
        click.echo(path, err=as_json)
