"""Summaries of results: text that fits a terminal of 80 by 24 characters, HTML for notebooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Final, Literal

from accelflow.page.document import Column, Table
from accelflow.page.table import table_html
from accelflow.report.answered import lacks_responses
from accelflow.report.own_arrivals import requests_text
from accelflow.report.results import Comparison, Interval, ServiceResult, SystemResult

__all__ = ["Summary", "of_comparison", "of_service", "of_system"]

#: Rows and characters of names beyond these are left out of texts.
_MOST_ROWS: Final = 16
_LONGEST: Final = 20
_HEADINGS: Final = ("mean_us", "p99_us", "throughput_rps", "slo_missed")
_ANSWERED: Final = "Some requests have no response; latencies are those of the others."
_SATURATED: Final = "* The system cannot keep up: its latency grows with the length of the run."


@dataclass(frozen=True, kw_only=True)
class Summary:
    """A small table of results, for a terminal or a notebook.

    `title` has the lines above the table, and `notes` those below it. `headings` has the texts of
    the table's first row, and `rows` those of the others. Each row begins with a name. `details` is
    a longer table that only the HTML has, folded until a reader opens it.
    """

    title: Sequence[str]
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str]
    details: Summary | None = None

    def to_text(self) -> str:
        """Return the table as text for a terminal of 80 columns and 24 lines.

        Only the first 16 rows are shown; a last line says how many more there are. Long lines and
        names are cut.
        """
        cut = [[_cut(row[0], _LONGEST), *row[1:]] for row in self.rows[:_MOST_ROWS]]
        lines = [list(self.headings), *cut]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        text = [_cut(line, 80) for line in self.title]
        for name, *cells in lines:
            aligned = (cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
            text.append(_cut("  ".join([name.ljust(widths[0]), *aligned]).rstrip(), 80))
        if len(self.rows) > _MOST_ROWS:
            text.append(f"... and {len(self.rows) - _MOST_ROWS} more")
        return "\n".join([*text, *self.notes])

    def to_html(self) -> str:
        """Return the table as HTML that has no scripts and loads no other files."""
        name, *others = self.headings
        table = table_html(
            Table(
                caption="\n".join(self.title),
                columns=[
                    Column(name=name),
                    *(Column(name=heading, form=_form(heading)) for heading in others),
                ],
                rows=self.rows,
                notes=self.notes,
            )
        )
        if self.details is None:
            return f"<div>{table}</div>"
        folded = f"<details><summary>By service</summary>{self.details.to_html()}</details>"
        return f"<div>{table}{folded}</div>"


def _form(heading: str) -> Literal["text", "written"]:
    return "written" if heading in _HEADINGS else "text"


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 3]}..."


def of_comparison(comparison: Comparison) -> Summary:
    """Return a summary of `comparison`: a row for each system, and details for each service."""
    services = len(comparison.service_names)
    of_all = (
        f"{len(comparison)} {'system' if len(comparison) == 1 else 'systems'}",
        f"{services} {'service' if services == 1 else 'services'}",
    )
    return Summary(
        title=_title(comparison, *of_all),
        headings=("system", *_HEADINGS),
        rows=[(system.id, *_measures(system)) for system in comparison.systems],
        notes=[
            "Latencies are means over the services; throughputs are sums.",
            *_notes(comparison),
        ],
        details=Summary(
            title=(),
            headings=("system", "service", *_HEADINGS),
            rows=[
                (system.id, result.service, *_measures(result))
                for system in comparison.systems
                for result in system.services
            ],
            notes=(),
        ),
    )


def of_system(comparison: Comparison) -> Summary:
    """Return a summary with a row for each service of the only system of `comparison`."""
    (system,) = comparison.systems
    return Summary(
        title=_title(comparison, system.id),
        headings=("service", *_HEADINGS),
        rows=[(result.service, *_measures(result)) for result in system.services],
        notes=_notes(comparison),
    )


def of_service(result: ServiceResult) -> str:
    """Return a service's latencies, throughput and share of requests beyond the SLO as text."""
    cells = _measures(result)
    measures = ", ".join(f"{name} {cell}" for name, cell in zip(_HEADINGS, cells, strict=True))
    return fill(f"{_cut(result.service, _LONGEST)}: {measures}", width=80, subsequent_indent="  ")


def _title(comparison: Comparison, *of_all: str) -> list[str]:
    return [
        f"{_cut(comparison.workload, _LONGEST)}: {', '.join(of_all)},"
        f" {requests_text(comparison)} a service",
        f"profile {comparison.profile}, {comparison.arrivals.get('kind', 'unknown')} arrivals,"
        f" {comparison.placement}, {comparison.seeds_text}",
    ]


def _notes(comparison: Comparison) -> list[str]:
    saturated = any(system.saturated for system in comparison.systems)
    several = len(comparison.seeds) > 1
    return [
        *(
            ["\N{PLUS-MINUS SIGN}: half of the 95 % confidence interval of the mean over seeds."]
            * several
        ),
        *([_SATURATED] * saturated),
        *([_ANSWERED] * any(lacks_responses(system) for system in comparison.systems)),
    ]


def _measures(result: SystemResult | ServiceResult) -> list[str]:
    mark = "*" if result.saturated else ""
    missed = result.slo_missed_share
    shown = result.latencies if isinstance(result, ServiceResult) else result
    return [
        _number(shown.mean_us, result.intervals, "mean_us") + mark,
        _number(shown.p99_us, result.intervals, "p99_us") + mark,
        _number(result.throughput_rps, result.intervals, "throughput_rps"),
        "-" if missed is None else f"{missed:.1%}",
    ]


def _number(value: float | None, intervals: Mapping[str, Interval], name: str) -> str:
    if value is None:
        return "-"
    text = f"{value:,.1f}" if value < 1_000 else f"{value:,.0f}"
    interval = intervals.get(name)
    if interval is None or not value:
        return text
    share = 100 * interval.half_width / value
    return f"{text} \N{PLUS-MINUS SIGN}{share:.{1 if share < 10 else 0}f}%"
