"""The output of a comparison on a terminal: verdict, row of each system, tables by service."""

from typing import Final

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from accelflow import _native
from accelflow.findings.estimate import Estimate
from accelflow.report.answered import lacks_responses
from accelflow.report.errors import error_columns
from accelflow.report.notes import P999_RESPONSES, notes_of
from accelflow.report.overview import krps_text, latency_text, print_overview
from accelflow.report.own_arrivals import requests_text
from accelflow.report.paper import EXPERIMENT, PAPER_REDUCTIONS, compared, other_experiment
from accelflow.report.reductions import left_out_notes, reduction
from accelflow.report.results import Comparison, ServiceResult, SystemResult

#: The workloads for which a reader may expect the paper's figures.
_SUITES: Final = frozenset(dict(_native.scenario_choices())["workload"])

#: The columns about a whole server: the use of its cores, and the accelerator that is used most.
_SERVER_HEADINGS: Final = ("Cores", "Busiest")

_WHY_DIFFERENT: Final = (
    "Differences from the paper are expected, since it leaves inputs open. README.md explains them"
    "\nunder 'Differences from the paper'."
)


def print_comparison(comparison: Comparison, console: Console, *, by_service: bool = False) -> None:
    """Print a comparison: its verdict, a row for each system, where the time goes, and notes.

    With `by_service`, also prints a row for each service, and AccelFlow's reductions of latency.
    Without it, reductions are printed only if the comparison is the paper's Fig. 11 experiment. The
    tables may be wider than the console, so that no number is cut off.
    """
    print_overview(comparison, console)
    console.print()
    if by_service:
        _print_services(comparison, console)
    hint = [] if by_service else ["--by-service prints every service."]
    for note in [*notes_of(comparison, by_service=by_service), *hint]:
        console.print(escape(note), soft_wrap=not console.is_terminal)
    if not by_service and other_experiment(comparison) is not None:
        return
    reductions = reductions_table(comparison)
    if reductions is not None:
        console.print()
        _print_table(reductions, console)
        for note in _reduction_notes(comparison):
            console.print(note, soft_wrap=True)


def _print_services(comparison: Comparison, console: Console) -> None:
    # The title wraps at the terminal's width, which the table may not have.
    console.print(
        _title(comparison),
        style="bold",
        markup=False,
        highlight=False,
        soft_wrap=not console.is_terminal,
    )
    _print_table(services_table(comparison), console)
    servers = server_table(comparison)
    if servers is not None:
        console.print()
        _print_table(servers, console)


def services_table(comparison: Comparison) -> Table:
    """Return a table with a block of rows for each service, one row for each orchestrator.

    The columns about the server are omitted if all services share one server, and those of errors,
    retries and time-outs if there are none.
    """
    own = not _share_a_server(comparison)
    table = _plain_table()
    table.add_column("", no_wrap=True)
    chips = _add_chip_column(table, comparison)
    counted = error_columns(result for system in comparison.systems for result in system.services)
    headings = ["Mean", "P50", "P99", "P99.9", "Served", *_SERVER_HEADINGS[: 2 * own], "Fallbacks"]
    for heading in [*headings, *(name for name, _ in counted)]:
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_row(
        "", *[""] * chips, *["us"] * 4, "krps", *["used", "unit"][: 2 * own], "", style="dim"
    )
    for name in comparison.service_names:
        results = [(system, system.service(name)) for system in comparison.systems]
        present = [(system, result) for system, result in results if result is not None]
        offered = dict.fromkeys(krps_text(result.offered_rps) for _, result in present)
        table.add_row(name, *[""] * (4 + chips), "/".join(offered), style="bold")
        for system, result in present:
            style = "green" if system.orchestrator == "accelflow" else ""
            chip = _chip_cell(system)
            cells = [*_cells(result, own=own), *(f"{count(result):,}" for _, count in counted)]
            table.add_row(f" {system.name}", *chip, *cells, style=style)
    return table


def _add_chip_column(table: Table, comparison: Comparison) -> bool:
    """Add a column for the names of chips if there are several; return whether it was added."""
    several = bool(comparison.chips)
    if several:
        table.add_column("Chip", no_wrap=True)
    return several


def _chip_cell(system: SystemResult) -> list[str]:
    return [] if system.chip is None else [escape(system.chip)]


def server_table(comparison: Comparison) -> Table | None:
    """Return a table of the shared server's utilisation, a row for each orchestrator.

    None unless all services share one server.
    """
    if not _share_a_server(comparison):
        return None
    table = _plain_table("The shared server")
    table.add_column("", no_wrap=True)
    chips = _add_chip_column(table, comparison)
    for heading in _SERVER_HEADINGS:
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_row("", *[""] * chips, "used", "unit", style="dim")
    for system in comparison.systems:
        style = "green" if system.orchestrator == "accelflow" else ""
        cells = _server_cells(system.services[0])
        table.add_row(system.name, *_chip_cell(system), *cells, style=style)
    return table


def _share_a_server(comparison: Comparison) -> bool:
    """Return whether all services share one server, so that all have the same core utilisation."""
    loads = [
        {service.core_utilization for service in system.services} for system in comparison.systems
    ]
    return comparison.placement == "colocated" and all(len(of) <= 1 for of in loads)


def _title(comparison: Comparison) -> str:
    return (
        f"{comparison.workload}, {requests_text(comparison)} a service, profile"
        f" {comparison.profile}, {comparison.seeds_text}\n"
        f"{comparison.arrivals.get('kind', 'unknown')} arrivals, {comparison.placement};"
        " offered load: next to the service's name"
    )


def reductions_table(comparison: Comparison) -> Table | None:
    """Return a table of AccelFlow's reductions of P99 and mean latency, means over services.

    The paper's figures are added if the comparison is the paper's experiment
    (:func:`accelflow.report.paper.other_experiment`). A star marks a reduction where one of the two
    systems is saturated. The result is None if the comparison lacks AccelFlow, or all orchestrators
    with which the paper compares it.
    """
    pairs = compared(comparison)
    if not pairs:
        return None
    papers = other_experiment(comparison) is None
    table = _plain_table("AccelFlow's reduction of latency, mean over the services")
    table.add_column("Against", no_wrap=True)
    _add_chip_column(table, comparison)
    for heading in ("P99", "Mean"):
        for whose in ("here", "paper") if papers else ("here",):
            table.add_column(f"{heading} {whose}", justify="right", no_wrap=True, min_width=12)
    for ours, rival in pairs:
        cells = _reduction_cells(ours, rival, papers=papers)
        table.add_row(rival.name, *_chip_cell(rival), *cells)
    return table


def _reduction_notes(comparison: Comparison) -> list[str]:
    notes = []
    if len(comparison.seeds) > 1:
        notes.append(
            "Intervals are 95 % and paired: both systems have the same requests for each seed."
        )
    notes += left_out_notes(compared(comparison))
    if any(_saturated(system) for pair in compared(comparison) for system in pair):
        notes.append(
            "* One of the two systems cannot keep up: its latency, and so the reduction, depends on"
            " the length of the run."
        )
    other = other_experiment(comparison)
    if other is None:
        notes.append(_WHY_DIFFERENT)
    elif comparison.workload in _SUITES:
        notes.append(
            f"The paper's figures are not shown, since {other}. They apply to {EXPERIMENT}."
        )
    return [escape(note) for note in notes]


def _saturated(system: SystemResult) -> bool:
    return any(result.saturated for result in system.services)


def _plain_table(title: str | None = None) -> Table:
    return Table(
        title=title and escape(title),
        title_justify="left",
        title_style="bold",
        box=None,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )


def _print_table(table: Table, console: Console) -> None:
    unbounded = console.options.update(width=10_000)
    console.width = max(console.width, console.measure(table, options=unbounded).maximum)
    console.print(table)


def _reduction_cells(ours: SystemResult, rival: SystemResult, *, papers: bool) -> list[str]:
    cells = []
    mark = "*" if _saturated(ours) or _saturated(rival) else ""
    both = zip(("p99_us", "mean_us"), PAPER_REDUCTIONS[rival.orchestrator], strict=True)
    for statistic, paper in both:
        here = reduction(ours, rival, statistic)
        cells.append("-" if here is None else _reduction_text(here) + mark)
        cells += [f"{paper:.1%}"] if papers else []
    return cells


def _reduction_text(found: Estimate) -> str:
    interval = "" if found.half_width is None else f" ±{found.half_width:.1%}"
    return f"{found.mean:.1%}{interval}"


def _server_cells(result: ServiceResult) -> list[str]:
    busiest = result.busiest_accelerator
    return [
        f"{result.core_utilization:.0%}",
        f"{busiest[0]} {busiest[1]:.0%}" if busiest else "-",
    ]


def _cells(result: ServiceResult, *, own: bool) -> list[str]:
    shown = result.latencies
    p999_us = shown.p999_us if shown.completed >= P999_RESPONSES else None
    latencies = [shown.mean_us, shown.p50_us, shown.p99_us, p999_us]
    mark = "*" if result.saturated else ""
    answered = "a" * lacks_responses(result)
    of_calls = "" if shown is result else "c"
    return [
        *(
            latency_text(value) + mark + (of_calls + answered if value else "")
            for value in latencies
        ),
        krps_text(result.throughput_rps),
        *(_server_cells(result) if own else ()),
        f"{result.total_fallbacks:,}",
    ]
