"""Tables of findings for the terminal, the same for all papers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from accelflow.findings.finding import Finding, Verdict
from accelflow.findings.text import COLUMNS, OWN_COLUMNS, cells, own_cells

__all__ = ["plain_table", "print_findings", "print_own_figures", "print_table"]

_NUMBERS: Final = frozenset({"ours", "value", "95 % CI", "paper", "difference"})


def print_findings(findings: Sequence[Finding], console: Console, *, labels: bool = False) -> None:
    """Print a table of our values beside the paper's; rows that are off or undecided are yellow.

    With `labels`, a row's key is followed by its label, which describes the value.
    """
    table = plain_table()
    for column in COLUMNS:
        table.add_column(column, justify="right" if column in _NUMBERS else "left", no_wrap=True)
    for finding in findings:
        key, *others, verdict = cells(finding)
        label = f" ({finding.label})" if labels and finding.label else ""
        row = [key + label, *others, verdict + _details(finding)]
        known = finding.agrees or finding.paper is None
        table.add_row(*map(escape, row), style="" if known else "yellow")
    print_table(table, console)


def print_own_figures(findings: Sequence[Finding], console: Console) -> None:
    """Print a table of our values only, for `findings` that no paper reports."""
    table = plain_table()
    for column in OWN_COLUMNS:
        table.add_column(column, justify="right" if column in _NUMBERS else "left", no_wrap=True)
    for finding in findings:
        table.add_row(*map(escape, own_cells(finding)))
    print_table(table, console)


def _details(finding: Finding) -> str:
    """Return a text with the class of the reason, and the systems that were saturated."""
    text = ""
    if finding.verdict is Verdict.OFF:
        kind = finding.why.kind.replace("_", " ") if finding.why else "no reason recorded"
        text = f", {kind}" if kind else ""
    if finding.saturated:
        text += f" (* {', '.join(finding.saturated)} saturated)"
    return text


def plain_table() -> Table:
    """Return an empty table without borders or lines between cells."""
    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))


def print_table(table: Table, console: Console) -> None:
    """Print `table` with all its columns in full; makes the console wider if they need it."""
    unbounded = console.options.update(width=10_000)
    console.width = max(console.width, console.measure(table, options=unbounded).maximum)
    console.print(table)
