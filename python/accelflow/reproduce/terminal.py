"""What a terminal shows of an outcome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from accelflow.reproduce.outcomes import Compared, Outcome, Verdict
from accelflow.reproduce.page import (
    counts_text,
    difference_text,
    interval_text,
    mark_text,
    number,
    ours_text,
)

__all__ = ["print_counts", "print_outcome"]

_HOLDS: Final = {True: "holds", False: "DOES NOT HOLD", None: "cannot be told"}


def print_outcome(outcome: Outcome, console: Console) -> None:
    """Print the figures beside the paper's, or the table of an experiment that has one."""
    definition = outcome.definition
    console.print()
    heading = f"{definition.name}: {definition.title} ({definition.place})"
    console.print(heading, style="bold", markup=False, soft_wrap=True)
    if outcome.seeds:
        console.print(
            f"{outcome.requests_text} requests a service, the first tenth not counted, seeds "
            f"{', '.join(map(str, outcome.seeds))}",
            style="dim",
            highlight=False,
            soft_wrap=True,
        )
    if outcome.table is not None:
        _print(_content(outcome), console)
    if outcome.compared:
        _print(_comparison(outcome), console)
    for one in outcome.told:
        text = f"{_HOLDS[one.holds]}: {one.says} ({one.found})"
        style = "" if one.holds else "yellow"
        console.print(escape(text), style=style, highlight=False, soft_wrap=True)


def print_counts(outcomes: Sequence[Outcome], console: Console) -> None:
    """Print how many rows agree, are off and are undecided, if there are any."""
    if any(outcome.compared for outcome in outcomes):
        console.print()
        console.print(counts_text(outcomes), style="bold", highlight=False)


def _content(outcome: Outcome) -> RichTable:
    table = _plain()
    if outcome.table is None:
        return table
    for column in outcome.table.columns:
        table.add_column(column, no_wrap=True)
    for row in outcome.table.rows:
        table.add_row(*map(escape, row))
    return table


def _comparison(outcome: Outcome) -> RichTable:
    table = _plain()
    table.add_column("row", no_wrap=True)
    for heading in ("here", "95 % CI", "paper", "difference"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for one in outcome.compared:
        table.add_row(*_cells(one), style="" if one.matches else "yellow")
    return table


def _cells(one: Compared) -> list[str]:
    why = one.reason.kind.replace("_", " ") if one.reason else "no reason recorded"
    mark = mark_text(one) + (f", {why}" if one.verdict is Verdict.OFF else "")
    return [
        escape(one.target.row.removeprefix("accelflow.")),
        ours_text(one) + ("*" if one.saturated else ""),
        interval_text(one),
        number(one.target.value),
        difference_text(one),
        mark + (f" (* {', '.join(one.saturated)} saturated)" if one.saturated else ""),
    ]


def _plain() -> RichTable:
    return RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0))


def _print(table: RichTable, console: Console) -> None:
    """Print without cutting anything off: the console is widened if it has to be."""
    unbounded = console.options.update(width=10_000)
    console.width = max(console.width, console.measure(table, options=unbounded).maximum)
    console.print(table)
