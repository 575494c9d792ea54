"""`accelflow companions`: our results compared with those of the three companion papers."""

import json
from pathlib import Path
from typing import Final

import click
from rich.console import Console

from accelflow import companions as papers
from accelflow.cli.output import Output, busy, check_place
from accelflow.companions import together
from accelflow.findings import counts_text
from accelflow.findings.terminal import print_findings

#: All three beside AccelFlow on one server.
_TOGETHER: Final = "together"

_DEFAULT: Final = Path("out") / "companions"


@click.command("companions")
@click.argument("paper", type=click.Choice([*papers.PAPERS, _TOGETHER]), metavar="PAPER")
@click.option(
    "--out",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help=f"Folder for the results [{_DEFAULT}/PAPER]. Results of another paper or seed are kept;"
    " the new files then get the next free number.",
)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="First seed.")
@click.option(
    "--threads",
    type=click.IntRange(1, 256),
    default=1,
    show_default=True,
    help="Number of parallel simulations; does not change results.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")
def companions(paper: str, directory: Path | None, seed: int, threads: int, as_json: bool) -> None:
    """Compute the results of a companion paper.

    PAPER is accelerometer, cerebros or arcus. Writes a page, pictures and data; takes up to several
    minutes. The PAPER `together` runs the ideas of all three on one server with AccelFlow, alone
    and combined.
    """
    out = directory or _DEFAULT / paper
    check_place(out)
    if paper == _TOGETHER:
        _together(out, seed, threads, as_json)
        return
    with busy(Console(stderr=True), "simulating"):
        outcome = papers.run(paper, seed=seed, threads=threads)
    if as_json:
        click.echo(json.dumps(papers.to_json(outcome), indent=1, allow_nan=False))
    else:
        output = Output()
        reported = [finding for finding in outcome.findings if finding.paper is not None]
        print_findings(reported, output)
        output.print(f"\n{counts_text(reported)}", style="bold", highlight=False)
    for path in papers.write(outcome, out):
        click.echo(path, err=as_json)


def _together(out: Path, seed: int, threads: int, as_json: bool) -> None:
    """Print and write the page of all papers on one server."""
    with busy(Console(stderr=True), "simulating"):
        result = together.compare(seed=seed, threads=threads)
    click.echo(json.dumps(result, indent=1) if as_json else together.markdown(result))
    for path in together.write(result, out):
        click.echo(path, err=as_json)
