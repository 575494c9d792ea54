"""`accelflow reproduce`: the paper's evaluation, compared with the paper's numbers."""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

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
from accelflow.cli.doubts import plain_warnings
from accelflow.cli.naming import left_out
from accelflow.cli.output import Output
from accelflow.cli.pages import REPORT, check_report, written
from accelflow.cli.places import check_apart, written_as
from accelflow.cli.recorded import recorded
from accelflow.errors import refused
from accelflow.page import command_line
from accelflow.reports.reproduction import reproduction_page
from accelflow.reproduce import (
    Definition,
    ExperimentResult,
    OwnScenario,
    Scenario,
    budget,
    implications,
    load,
    mislabelled,
    names,
    of_workload,
    print_counts,
    print_left_out,
    print_outcome,
    print_own_end,
    reproduce,
    rewrite_page,
    to_dict,
    write_outcomes,
)


@click.command("reproduce")
@experiments_argument
@click.option("--list", "only_list", is_flag=True, help="List the experiments and exit.")
@click.option(
    "--workload",
    metavar="FILE",
    help="Run the experiments with this workload, a file or a suite; the paper's numbers are not "
    "shown then.",
    shell_complete=offered.workloads,
)
@click.option(
    "--recording",
    "recording_file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="With --workload: take costs and sizes from a recording.",
)
@budget_option("full")
@click.option("--quick", is_flag=True, help="Short for --budget quick: everything in minutes.")
@config_option(
    "File with server parameters, and [scenario] for the choices that the paper leaves open."
)
@chip_options
@click.option("--placement", metavar="NAME", help="colocated or isolated; overrides --config.")
@click.option("--arrivals", metavar="NAME", help="Arrival process for the paper's production load.")
@click.option(
    "--slo-system",
    metavar="NAME",
    help="System whose response time on an idle server sets the SLOs; own: each system sets its"
    " own.",
)
@threads_option
@REPORT
@click.option(
    "--json", "as_json", is_flag=True, help="Print the results as one JSON object, not as text."
)
@out_option(
    "Write results, pictures and comparison.md to this folder. Results of another scenario or"
    " budget are kept; the new files then get the next free number."
)
@click.option(
    "--page",
    "page_of",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIRECTORY",
    help="Simulate nothing: only rewrite comparison.md, the pictures and the reasons for"
    " differences, from the saved results in this directory.",
)
@click.option(
    "--implications",
    "implications_at",
    type=written_as(".md", ".markdown"),
    metavar="FILE.md",
    help="Only write a page of statements, with proofs, that follow from the paper's numbers.",
)
def reproduce_command(experiments: tuple[str, ...], **options: Any) -> None:
    """Run the paper's experiments and compare the results.

    Without EXPERIMENT, all experiments run, except those that the chip or the workload excludes;
    --list names them. The results have confidence intervals and are compared with the paper's
    numbers. With --workload, the experiments run with services of your own.
    """
    context = click.get_current_context()
    if options["only_list"]:
        left_out(context, " with --list, which simulates nothing", ("only_list",))
        for definition in map(load, names()):
            click.echo(f"{definition.name:24} {definition.title} ({definition.place})")
        return
    written_anew = _pages(context)
    if written_anew is not None:
        click.echo(f"wrote {written_anew}", err=True)
        return
    if options["quick"]:
        left_out(context, " with --quick", {*context.params} - {"budget_name"})
    chosen = budget("quick" if options["quick"] else options["budget_name"])
    asked = _asked(experiments, options)
    out, report_file = options["out"], options["report_file"]
    check_report(report_file)
    if out is not None:
        check_apart({"--report": report_file}, out, _own_results())
    campaign = Campaign(options["threads"], out)
    outcomes = campaign.run(
        lambda runner: reproduce(
            asked.definitions, budget=chosen, runner=runner, scenario=asked.scenario
        )
    )
    if options["as_json"]:
        content = [to_dict(outcome, asked.scenario, chosen) for outcome in outcomes]
        whole: dict[str, Any] = {"experiments": content}
        if options["workload"] is not None or asked.left_out:
            whole["left_out"] = asked.left_out
        click.echo(json.dumps(whole, indent=2, allow_nan=False))
    else:
        _print(outcomes, asked)
    if report_file is not None:
        _write_report(outcomes, asked, chosen.name, report_file)
    if out is not None:
        files = write_outcomes(outcomes, asked.scenario, chosen, out, asked.left_out)
        campaign.say(f"wrote {len(files)} files to {out}")
    campaign.end()


@dataclass(frozen=True)
class _Asked:
    """The paper's evaluation, or its experiments with a user's workload, as the user asked for.

    `left_out` has the reason for each experiment that the workload or the chip excludes, by name.
    """

    definitions: Sequence[Definition]
    scenario: Scenario | OwnScenario
    left_out: Mapping[str, str]


def _asked(experiments: tuple[str, ...], options: Mapping[str, Any]) -> _Asked:
    scenario = _scenario(options)
    workload, recording = options["workload"], options["recording_file"]
    if workload is None:
        if recording is not None:
            raise refused("--recording", str(recording), "must be given together with --workload")
        definitions = [load(name) for name in dict.fromkeys(experiments or names())]
        reasons = {each.name: mislabelled(each, scenario.config) for each in definitions}
        left_out = {name: why for name, why in reasons.items() if why and not experiments}
        chosen = [each for each in definitions if each.name not in left_out]
        return _Asked(chosen, scenario, left_out)
    with plain_warnings():
        evaluation = of_workload(
            workload,
            experiments,
            choices=scenario,
            arrivals=options["arrivals"],
            recording=recorded(recording) if recording is not None else None,
        )
    return _Asked(evaluation.definitions, evaluation.scenario, evaluation.left_out)


def _print(outcomes: Sequence[ExperimentResult], asked: _Asked) -> None:
    output = Output()
    for outcome in outcomes:
        print_outcome(outcome, output)
    if isinstance(asked.scenario, OwnScenario):
        print_own_end(output)
    else:
        print_counts(outcomes, output)
    print_left_out(asked.left_out, output)


def _write_report(
    outcomes: Sequence[ExperimentResult], asked: _Asked, budget_name: str, file: Path
) -> None:
    own = isinstance(asked.scenario, OwnScenario)
    settings = {**(asked.scenario.to_dict() if own else asdict(asked.scenario))}
    settings["budget"] = budget_name
    page = reproduction_page(outcomes, settings, command_line(sys.argv), own=own)
    written(page, file)


def _pages(context: click.Context) -> Path | None:
    """Write the page that --page or --implications asks for, and return its path, else None."""
    results, proofs_at = context.params["page_of"], context.params["implications_at"]
    if results is not None:
        left_out(context, " with --page, which simulates nothing", ("page_of",))
        return rewrite_page(results)
    if proofs_at is not None:
        why = " with --implications, which simulates nothing"
        left_out(context, why, ("implications_at",))
        implications.write_page(proofs_at, implications.PROOFS)
        return Path(proofs_at)
    return None


def _own_results() -> str:
    """Return a regular expression for the names of all files that --out may write."""
    stems = "|".join(["comparison", "evaluation", *map(re.escape, names())])
    return rf"({stems})(-\d+)?\.(json|md|png|svg)"


def _scenario(options: Mapping[str, Any]) -> Scenario:
    scenario = scenario_of(options["config_file"], options["chip"], options["changes"])
    given = {
        key: options[key]
        for key in ("placement", "arrivals", "slo_system")
        if options[key] is not None
    }
    scenario = replace(scenario, **given)
    scenario.check()
    return scenario
