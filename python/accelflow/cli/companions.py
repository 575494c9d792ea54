"""`accelflow companions`: the results of the three companion papers, ours beside them."""

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
    help=f"Folder for the results [{_DEFAULT}/PAPER].",
)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="First seed.")
@click.option(
    "--threads",
    type=click.IntRange(1, 256),
    default=1,
    show_default=True,
    help="Parallel simulations; results do not depend on it.",
)
def companions(paper: str, directory: Path | None, seed: int, threads: int) -> None:
    """Compute the results of a companion paper.

    PAPER is accelerometer, cerebros or arcus. Writes a page, pictures and data. Takes up to several
    minutes.
    """
    outcome = papers.run(paper, seed=seed, threads=threads)
    click.echo(f"{'':62}{'paper':>10}{'ours':>12}{'+/-':>9}{'off by':>9}")
    for row in outcome.compared:
        exact = "exact" if row.kind == "exact" else ""
        sure = "" if row.half_width is None else f"{row.half_width:.2g}"
        line = f"{row.row:62}{row.paper:10.5g}{row.ours:12.5g}{sure:>9}{row.difference:+9.0%}"
        click.echo(f"{line}  {exact}".rstrip())
    for path in papers.write(outcome, directory or _DEFAULT / paper):
        click.echo(path)
