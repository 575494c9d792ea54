"""`accelflow reproduce`: the paper's evaluation, ours beside the paper's."""

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

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
from accelflow.cli.output import Output
from accelflow.cli.pages import REPORT, check_report, written
from accelflow.errors import InputError
from accelflow.page import command_line
from accelflow.reports.reproduction import reproduction_page
from accelflow.reproduce import (
    Scenario,
    budget,
    implications,
    load,
    names,
    print_counts,
    print_outcome,
    reproduce,
    rewrite_page,
    to_dict,
    write_outcomes,
)


@click.command("reproduce")
@experiments_argument
@click.option("--list", "only_list", is_flag=True, help="List the experiments and exit.")
@budget_option("full")
@click.option("--quick", is_flag=True, help="Short for --budget quick: everything in minutes.")
@config_option("Server parameters, and [scenario] for the choices that the paper leaves open.")
@chip_options
@click.option("--placement", metavar="NAME", help="colocated or isolated; overrides FILE.")
@click.option("--arrivals", metavar="NAME", help="Arrival process for the paper's production load.")
@click.option(
    "--slo-system",
    metavar="NAME",
    help="System whose response time on an idle server sets the SLOs; own: each system's own.",
)
@threads_option
@REPORT
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")
@out_option("Write results, pictures and comparison.md to this directory.")
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
    if options["only_list"]:
        for definition in map(load, names()):
            click.echo(f"{definition.name:24} {definition.title} ({definition.place})")
        return
    written_anew = _pages(experiments, options)
    if written_anew is not None:
        click.echo(f"wrote {written_anew}", err=True)
        return
    definitions = [load(name) for name in dict.fromkeys(experiments or names())]
    chosen = budget("quick" if options["quick"] else options["budget_name"])
    scenario = _scenario(options)
    out, report_file = options["out"], options["report_file"]
    check_report(report_file)
    campaign = Campaign(options["threads"], out)
    outcomes = campaign.run(
        lambda runner: reproduce(definitions, budget=chosen, runner=runner, scenario=scenario)
    )
    if options["as_json"]:
        content = [to_dict(outcome, scenario, chosen) for outcome in outcomes]
        click.echo(json.dumps({"experiments": content}, indent=2, allow_nan=False))
    else:
        output = Output()
        for outcome in outcomes:
            print_outcome(outcome, output)
        print_counts(outcomes, output)
    if report_file is not None:
        settings = {**asdict(scenario), "budget": chosen.name}
        written(reproduction_page(outcomes, settings, command_line(sys.argv)), report_file)
    if out is not None:
        files = write_outcomes(outcomes, scenario, chosen, out)
        campaign.say(f"wrote {len(files)} files to {out}")
    campaign.end()


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
    scenario = scenario_of(options["config_file"], options["chip"], options["changes"])
    given = {key: options[key] for key in ("placement", "arrivals", "slo_system") if options[key]}
    scenario = replace(scenario, **given)
    scenario.check()
    return scenario
