"""`accelflow sweep`: many scenarios from one file."""

from __future__ import annotations

import json
import time
from pathlib import Path

import click
from rich.console import Console

from accelflow import studies
from accelflow.cli.doubts import cost_doubts
from accelflow.cli.output import bar
from accelflow.cli.places import WRITTEN_FOLDER
from accelflow.cli.running import TIME_LIMIT, runner_at, worker_options
from accelflow.errors import AccelflowError
from accelflow.time_limit import seconds_text


@click.command("sweep")
@click.argument("study_file", metavar="STUDY", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--out",
    type=WRITTEN_FOLDER,
    metavar="DIRECTORY",
    help="Folder of the study. Default: out/studies/NAME for NAME.toml.",
)
@worker_options
@click.option(
    "--batch",
    type=click.IntRange(1, 1_000_000),
    default=1,
    show_default=True,
    help="Number of simulations that a worker receives together.",
)
@TIME_LIMIT
@click.option(
    "--strict",
    is_flag=True,
    help="Exit with an error if a point cannot be simulated, instead of leaving it out.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print the results as one JSON object, not as text."
)
def sweep(  # noqa: PLR0913, PLR0917 (options)
    study_file: Path,
    out: Path | None,
    workers: int | None,
    cluster: str | None,
    batch: int,
    time_limit_s: float | None,
    strict: bool,
    as_json: bool,
) -> None:
    """Simulate the points of a study that have no results in its folder yet.

    STUDY is a TOML file with a scenario, the axes along which it changes, and seeds
    (docs/studies.md). An interrupted run resumes where it was. The folder's results.parquet has a
    row for each system and service of each point and seed.
    """
    study = studies.read_study(study_file)
    place = out or Path("out/studies") / study_file.stem
    began, cpu = time.monotonic(), time.process_time()
    with (
        cost_doubts(),
        bar(Console(stderr=True), "simulating") as advance,
        runner_at(cluster, workers) as runner,
    ):
        found = studies.sweep(
            study,
            place,
            workers=workers,
            runner=runner,
            strict=strict,
            batch_size=batch,
            time_limit_s=time_limit_s,
            progress=advance,
        )
    if as_json:
        click.echo(json.dumps(_object(found), indent=2, allow_nan=False))
    else:
        _say(found, place, time.monotonic() - began, time.process_time() - cpu)
    if found.left:
        # Without one, the same command would come no further: planning takes time in each run.
        resumes = "the same command resumes them"
        hint = resumes if found.simulated else "none was completed in this time, so give more"
        raise AccelflowError(
            f"--time-limit {seconds_text(time_limit_s or 0.0)}: {found.left} simulations are left; "
            + hint
        )
    if found.results is None:
        raise AccelflowError(
            f"{place}: has no results: every simulation failed, for the reasons in skipped.json"
        )


def _object(found: studies.SweepResults) -> dict[str, object]:
    return {
        "schema": "accelflow.sweep/1",
        "simulated": found.simulated,
        "known": found.known,
        "left": found.left,
        "skipped": [point.to_dict() for point in found.skipped],
        "results": None if found.results is None else str(found.results),
    }


def _say(found: studies.SweepResults, place: Path, took_s: float, cpu_s: float) -> None:
    click.echo(
        f"{found.simulated} simulation{'s' * (found.simulated != 1)} in {took_s:.1f} s"
        f" ({cpu_s:.1f} s of this process's cores); "
        f"{found.known} were known."
    )
    if found.skipped:
        first = found.skipped[0]
        click.echo(
            f"{len(found.skipped)} could not be simulated; the reasons are in "
            f"{place / 'skipped.json'}. The first: {first.reason}"
        )
    if found.results is not None:
        click.echo(f"Rows: {found.results}")
