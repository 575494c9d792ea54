"""`accelflow readings`: how results depend on what the paper leaves open."""

from pathlib import Path

import click

from accelflow.cli import offered
from accelflow.cli.campaigns import (
    Campaign,
    budget_option,
    chip_options,
    config_option,
    experiments_argument,
    out_option,
    scenario_of,
    threads_option,
)
from accelflow.cli.naming import left_out
from accelflow.cli.places import written_as
from accelflow.readings import (
    EXPERIMENTS,
    PAGE,
    Choice,
    choices,
    markdown,
    read_all,
    rewrite_readings,
    select,
    to_json,
    write_held,
    write_readings,
)
from accelflow.reproduce import Scenario, budget, load


def _choice_names() -> list[str]:
    return [choice.name for choice in choices()]


@click.command("readings")
@experiments_argument
@click.option(
    "--list",
    "only_list",
    is_flag=True,
    help="List what the paper leaves open (the choices), and exit.",
)
@click.option(
    "--choice",
    "chosen",
    multiple=True,
    metavar="NAME",
    shell_complete=offered.names(_choice_names),
    help="Vary only this choice; repeatable.",
)
@budget_option("quick")
@config_option("The base scenario, as for `accelflow reproduce`.")
@chip_options
@threads_option
@out_option(
    "Write readings.md, its pictures and readings.json to this folder. Readings of another scenario"
    " or of other choices are kept; the new files then get the next free number."
)
@click.option(
    "--page",
    "pages",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIRECTORY",
    multiple=True,
    help="Only rewrite readings.md and the pictures from readings.json in this directory;"
    " repeatable.",
)
@click.option(
    "--held",
    type=written_as(".json"),
    metavar="FILE.json",
    help="Also write the results by row and reading to this file. `accelflow reproduce` quotes"
    " results from a packaged file of this form.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print the results as one JSON object, not as text."
)
def readings(  # noqa: PLR0913 (the options)
    experiments: tuple[str, ...],
    *,
    only_list: bool,
    chosen: tuple[str, ...],
    budget_name: str,
    config_file: Path | None,
    chip: str | None,
    changes: tuple[str, ...],
    threads: int,
    out: Path | None,
    pages: tuple[Path, ...],
    held: Path | None,
    as_json: bool,
) -> None:
    """Show how results change with each reading of the paper.

    A reading is one way to understand a sentence of the paper that allows several. Runs EXPERIMENTs
    with the default reading of each such sentence, then with each alternative, one at a time. Shows
    how far each result (a row) moves.
    """
    context = click.get_current_context()
    if pages:
        left_out(context, " with --page, which simulates nothing", ("pages", "held"))
        _rewrite(pages, held)
        return
    if only_list:
        allowed = ("only_list", "chosen", "config_file", "chip", "changes")
        left_out(context, " with --list, which simulates nothing", allowed)
    scenario = scenario_of(config_file, chip, changes)
    selected = select(chosen)
    if only_list:
        _list(selected, scenario)
        return
    campaign = Campaign(threads, out)
    definitions = [load(name) for name in dict.fromkeys(experiments or EXPERIMENTS)]
    lengths = budget(budget_name)
    found = campaign.run(
        lambda runner: read_all(
            definitions, selected, budget=lengths, runner=runner, scenario=scenario
        )
    )
    if as_json:
        click.echo(to_json(found), nl=False)
    elif out is None:
        click.echo(markdown(found), nl=False)
    if out is not None:
        written = write_readings(found, out)
        campaign.say(f"wrote {len(written)} files to {out}")
    if held is not None:
        write_held([found], held)
        campaign.say(f"wrote {held}")
    campaign.end()


def _rewrite(pages: tuple[Path, ...], held: Path | None) -> None:
    found = [rewrite_readings(folder) for folder in pages]
    if held is not None:
        write_held(found, held)
    for folder in pages:
        click.echo(f"wrote {folder / PAGE}", err=True)
    if held is not None:
        click.echo(f"wrote {held}", err=True)


def _list(selected: tuple[Choice, ...], scenario: Scenario) -> None:
    for choice in selected:
        others = ", ".join(reading.label for reading in choice.alternatives(scenario))
        click.echo(f"{choice.name:32} {choice.default_text(scenario)}; or {others}")
