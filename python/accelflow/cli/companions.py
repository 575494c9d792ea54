"""`accelflow companions`: all that the three companion papers report, ours beside it."""

from pathlib import Path
from typing import Final

import click

from accelflow import companions as papers

_DEFAULT: Final = Path("out") / "companions"


@click.command("companions")
@click.argument("paper", type=click.Choice([*papers.PAPERS]), metavar="PAPER")
@click.option(
    "--out",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help=f"Where results go [{_DEFAULT}/PAPER].",
)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="First seed.")
@click.option("--threads", type=click.IntRange(1, 256), default=1, show_default=True)
def companions(paper: str, directory: Path | None, seed: int, threads: int) -> None:
    """Compute all that PAPER reports, and write a page, pictures and results.

    PAPER is accelerometer, cerebros or arcus. Takes up to some minutes.
    """
    outcome = papers.run(paper, seed=seed, threads=threads)
    click.echo(f"{'':62}{'paper':>10}{'ours':>12}{'+/-':>9}{'off by':>9}")
    for one in outcome.compared:
        exact = "exact" if one.kind == "exact" else ""
        sure = "" if one.half_width is None else f"{one.half_width:.2g}"
        line = f"{one.row:62}{one.paper:10.5g}{one.ours:12.5g}{sure:>9}{one.difference:+9.0%}"
        click.echo(f"{line}  {exact}".rstrip())
    for path in papers.write(outcome, directory or _DEFAULT / paper):
        click.echo(path)
