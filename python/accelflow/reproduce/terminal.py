"""The output of experiments' results on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from rich.console import Console
from rich.markup import escape

from accelflow.findings import counts_text
from accelflow.findings.terminal import (
    plain_table,
    print_findings,
    print_own_figures,
    print_table,
)
from accelflow.reproduce.outcomes import ExperimentResult
from accelflow.reproduce.own_page import NOT_SHOWN
from accelflow.reproduce.tables import Table

__all__ = ["print_counts", "print_left_out", "print_outcome", "print_own_end"]

_HOLDS: Final = {True: "holds", False: "DOES NOT HOLD", None: "undecided"}


def print_outcome(outcome: ExperimentResult, console: Console) -> None:
    """Print an experiment's results: heading, table if any, figures, and checks of statements.

    The figures are our numbers beside the paper's. A statement of the paper in words is printed
    with "holds", "DOES NOT HOLD" or "undecided".
    """
    definition = outcome.definition
    console.print()
    heading = f"{definition.name}: {definition.title} ({definition.place})"
    console.print(heading, style="bold", markup=False, soft_wrap=True)
    if outcome.seeds:
        console.print(
            f"{outcome.requests_text} requests a service, the first tenth not counted, "
            f"{outcome.replications_text}",
            style="dim",
            highlight=False,
            soft_wrap=True,
        )
    if outcome.table is not None:
        _print_content(outcome.table, console)
    if outcome.own:
        print_own_figures(outcome.findings, console)
    elif outcome.findings:
        print_findings(outcome.findings, console, labels=True)
    for statement in outcome.statements:
        for prefix, found in (("", statement), *(("... ", other) for other in statement.also)):
            text = f"{_HOLDS[found.holds]}: {prefix}{found.says} ({found.found})"
            style = "" if found.holds else "yellow"
            console.print(escape(text), style=style, highlight=False, soft_wrap=True)


def print_counts(outcomes: Sequence[ExperimentResult], console: Console) -> None:
    """Print in one line how many of our figures agree with the paper's, are off, or are undecided.

    The counts are over all experiments in `outcomes`. Nothing is printed without figures.
    """
    findings = [finding for outcome in outcomes for finding in outcome.findings]
    if findings:
        console.print()
        console.print(counts_text(findings), style="bold", highlight=False)


def print_own_end(console: Console) -> None:
    """Print the closing line for a user's workload: the paper's figures are not shown."""
    console.print()
    console.print(NOT_SHOWN, style="bold", highlight=False, soft_wrap=True)


def print_left_out(left_out: Mapping[str, str], console: Console) -> None:
    """Print a line for each omitted experiment; `left_out` maps its name to the reason."""
    for name, reason in left_out.items():
        text = f"left out: {name}: {reason}"
        console.print(escape(text), style="dim", highlight=False, soft_wrap=True)


def _print_content(content: Table, console: Console) -> None:
    table = plain_table()
    for column in content.columns:
        table.add_column(column, no_wrap=True)
    for row in content.rows:
        table.add_row(*map(escape, row))
    print_table(table, console)
