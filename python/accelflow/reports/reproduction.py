"""The HTML page of `accelflow reproduce`: our numbers, the paper's, and plots of all measures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from accelflow.findings import Finding, Verdict, counts_text
from accelflow.findings.text import COLUMNS, OWN_COLUMNS, cells, own_cells
from accelflow.page import Column, Figure, Page, Section, Selector, Table, repeated
from accelflow.page.document import Cell
from accelflow.page.plots import dots
from accelflow.reports.common import beside_the_paper, configuration
from accelflow.reproduce.outcomes import ExperimentResult
from accelflow.reproduce.own_page import NOT_SHOWN

__all__ = ["reproduction_page"]

_HOLDS = {True: "holds", False: "does not hold", None: "undecided"}


def reproduction_page(
    outcomes: Sequence[ExperimentResult],
    settings: dict[str, Any],
    command: str | None,
    *,
    own: bool = False,
) -> Page:
    """Return the page of experiments of the paper: our numbers, the paper's, and plots of measures.

    The plots show a value for each service under each system, a mean over the seeds. `settings` are
    those of the scenario, by name. `command` is the command that repeats the experiments, or None.
    With `own`, the experiments ran with a user's workload, which `settings` names in ``workload``.
    """
    findings = [finding for outcome in outcomes for finding in outcome.findings]
    titles = ", ".join(outcome.definition.name for outcome in outcomes[:4])
    more = f" and {len(outcomes) - 4} more" if len(outcomes) > 4 else ""
    seeds = sorted({seed for outcome in outcomes for seed in outcome.seeds})
    counted = counts_text(findings) if findings else "Nothing is compared with the paper."
    title = "AccelFlow's evaluation: our results and the paper's"
    question = "Do the paper's results hold here?"
    if own:
        title = f"The paper's experiments with {settings['workload']}"
        question, counted = "What do the paper's experiments show with this workload?", NOT_SHOWN
    overview = _overview(findings)
    return Page(
        title=title,
        question=f"{question} ({titles}{more})",
        answer=counted,
        sections=[
            *([Section(title="Overview", parts=[overview])] if overview else []),
            *map(_experiment, outcomes),
            configuration(settings, "simulation", "profile"),
            repeated(f"seeds {', '.join(map(str, seeds))}" if seeds else "no seeds", command),
        ],
    )


def _overview(findings: Sequence[Finding]) -> Figure | None:
    rows = [
        (f"{finding.short_key} {finding.label}".rstrip(), str(finding.verdict), finding.difference)
        for finding in findings
        if finding.difference is not None and finding.paper is not None
    ]
    return beside_the_paper(rows, [str(verdict) for verdict in Verdict]) if rows else None


def _experiment(outcome: ExperimentResult) -> Section:
    definition = outcome.definition
    text = [definition.place]
    if outcome.seeds:
        text.append(
            f"{outcome.requests_text} requests a service, the first tenth not counted, seeds"
            f" {', '.join(map(str, outcome.seeds))}."
        )
    text += [
        f"{_HOLDS[statement.holds]}: {statement.says} ({statement.found})"
        for statement in outcome.statements
    ]
    parts: list[Figure | Table] = []
    if outcome.findings:
        parts.append(_findings(outcome))
    if outcome.table is not None:
        columns = [Column(name=name) for name in outcome.table.columns]
        parts.append(Table(caption=definition.title, columns=columns, rows=outcome.table.rows))
    measures = _measures(outcome)
    return Section(
        title=f"{definition.name}: {definition.title}",
        text=text,
        parts=[*parts, *([measures] if measures else [])],
    )


def _findings(outcome: ExperimentResult) -> Table:
    numbers = {"ours", "value", "95 % CI", "paper", "difference"}
    if outcome.own:
        return Table(
            caption=f"{outcome.definition.name}, figures",
            columns=[
                Column(name=name, form="written" if name in numbers else "text")
                for name in OWN_COLUMNS
            ],
            rows=[own_cells(finding) for finding in outcome.findings],
        )
    rows: list[list[Cell]] = []
    for finding in outcome.findings:
        off = finding.verdict is Verdict.OFF and finding.why is not None
        rows.append([*cells(finding), finding.why.text if off and finding.why else None])
    return Table(
        caption=f"{outcome.definition.name}: our results and the paper's",
        columns=[
            *(Column(name=name, form="written" if name in numbers else "text") for name in COLUMNS),
            Column(name="reason"),
        ],
        rows=rows,
    )


def _measures(outcome: ExperimentResult) -> Figure | None:
    """Return a plot of every measure by service, system and point; None without simulations."""
    shown = [cell for cell in outcome.shown if cell.value is not None]
    if not shown:
        return None
    points = list(dict.fromkeys(cell.point for cell in shown))
    measures = list(dict.fromkeys(cell.measure for cell in shown))
    names = list(dict.fromkeys(cell.system for cell in shown))
    spec = dots(
        names=names,
        colors={},
        rows=outcome.services,
        title="value of the measure",
        parameters={"measure": measures[0], "point": points[0]},
    )
    return Figure(
        title=f"{outcome.definition.name}: measures by service",
        text="Each measure of each service under each system, as a mean over the seeds. Units are "
        "in the names of measures.",
        spec=spec,
        data={
            "row": [cell.service for cell in shown],
            "name": [cell.system for cell in shown],
            "measure": [cell.measure for cell in shown],
            "point": [cell.point for cell in shown],
            "value": [cell.value.mean if cell.value else None for cell in shown],
        },
        controls=[
            Selector(parameter="measure", label="Measure", options=measures),
            *([Selector(parameter="point", label="Point", options=points)] if points[1:] else []),
        ],
    )
