"""`accelflow why`: why slow requests take longer than others."""

import json
import sys
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console
from rich.table import Table

from accelflow import watching
from accelflow.cli import offered
from accelflow.cli.asking import one_system, scenario_asked
from accelflow.cli.output import Output, bar
from accelflow.cli.pages import REPORT, check_report
from accelflow.cli.pages import written as written_page
from accelflow.page import command_line
from accelflow.reports.why import row_name, why_page
from accelflow.scenario import resolved

__all__ = ["why"]

#: Rows that change the gap less are left out of the table.
_LEAST_SHARE: Final = 0.01
_OCCUPANTS: Final = 4


@click.command("why")
@click.argument("service", shell_complete=offered.services)
@click.option(
    "--percentile",
    type=float,
    default=99.0,
    show_default=True,
    metavar="P",
    help="The percentile of the service's response times to explain, above 55 and below 100.",
)
@one_system
@REPORT
@click.option(
    "--json", "as_json", is_flag=True, help="Print the results as one JSON object, not as text."
)
@click.pass_context
def why(
    context: click.Context,
    /,
    service: str,
    percentile: float,
    report_file: Path | None,
    as_json: bool,
    **_: Any,
) -> None:
    """Explain why slow requests to SERVICE take longer than the median ones.

    Compares requests around a percentile with requests around the median: the parts of their time,
    the services that occupied the resources for which these requests waited, and the arrivals just
    before these requests (docs/why.md).
    """
    check_report(report_file)
    scenario = scenario_asked(context)
    with bar(Console(stderr=True), "simulating") as advance:
        found = watching.why(scenario, service, percentile=percentile, progress=advance)
    if report_file is not None:
        page = why_page(found, _sentence(found), resolved(scenario), command_line(sys.argv))
        written_page(page, report_file)
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    console = Output(highlight=False)
    console.print(_sentence(found), markup=False, soft_wrap=True)
    console.print()
    console.print(_times(found))
    occupants = _occupants(found)
    if occupants is not None:
        console.print(occupants)
    console.print(_arrivals(found))


def _sentence(found: dict[str, Any]) -> str:
    verdict = found["verdict"]
    slow, median = verdict["slow_us"], verdict["median_us"]
    about = (
        f"Around P{found['percentile']:g}, {found['service']} takes {slow:,.1f} us under "
        f"{found['system']}, {slow / median:.2f} times as long as around the median "
        f"({median:,.1f} us)."
    )
    if verdict["share"] is None:
        return about
    about += f" {verdict['share']:.0%} of the difference is {_what(verdict)}"
    if verdict["occupied"] is not None:
        who = verdict["occupant"] or "work of no single request"
        about += (
            f"; {who} occupied it for {verdict['occupied']:.0%} of that time "
            f"({verdict['occupied_overall']:.0%} over the run)"
        )
    about += "."
    bursts = [f"{burst['ratio']:.1f} times for {burst['service']}" for burst in verdict["bursts"]]
    if bursts:
        about += (
            f" In the {found['window_us']:,.0f} us before, requests arrived more often than on "
            f"average: {', '.join(bursts)}."
        )
    return about


def _what(verdict: dict[str, Any]) -> str:
    """Return what most of the difference is."""
    at = verdict["at"]
    if verdict["waits"]:
        return f"waiting in the {at}"
    if verdict["part"] == "remote":
        return "waiting for remote sides" if at == "remote" else f"the {at}"
    return f"work at {at}"


def _times(found: dict[str, Any]) -> Table:
    table = Table(title="where their time went, in us", title_justify="left")
    table.add_column("place")
    for name in ("median", f"P{found['percentile']:g}", "more"):
        table.add_column(name, justify="right")
    table.add_column("of the gap", justify="right")
    gap = found["verdict"]["gap_us"]
    for row in found["times"]:
        more = row["slow_us"] - row["median_us"]
        share = more / gap if gap > 0.0 else 0.0
        if abs(share) < _LEAST_SHARE:
            continue
        times = (f"{us:,.1f}" for us in (row["median_us"], row["slow_us"], more))
        table.add_row(row_name(row), *times, f"{share:.0%}")
    return table


def _occupants(found: dict[str, Any]) -> Table | None:
    """Return a table of who occupied the resource with the greatest additional wait.

    None if the main cause is not a wait.
    """
    verdict = found["verdict"]
    rows = [row for row in found["occupied_by"] if row["at"] == verdict["at"]]
    if verdict["occupied"] is None:
        return None
    table = Table(title=f"who occupied it while they waited: {verdict['at']}", title_justify="left")
    table.add_column("service")
    for name in ("median", f"P{found['percentile']:g}", "over the run"):
        table.add_column(name, justify="right")
    for row in rows[:_OCCUPANTS]:
        shares = (row["median_share"], row["slow_share"], row["overall_share"])
        shown = ("-" if share is None else f"{share:.0%}" for share in shares)
        table.add_row(row["service"] or "(no single request)", *shown)
    return table


def _arrivals(found: dict[str, Any]) -> Table:
    table = Table(title="arrivals before, per second", title_justify="left")
    table.add_column("service")
    for name in ("median", f"P{found['percentile']:g}", "mean"):
        table.add_column(name, justify="right")
    for row in found["arrivals"]:
        rates = (row["median_rps"], row["slow_rps"], row["mean_rps"])
        table.add_row(row["service"], *(f"{rate:,.0f}" for rate in rates))
    return table
