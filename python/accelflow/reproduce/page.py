"""The page ``comparison.md``: the paper's figures and ours, with reasons for large differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from accelflow.findings import NO_REASON, Reason, targets, uncovered
from accelflow.findings.page import (
    definitions,
    largest,
    markdown_table,
    page,
    saturated_note,
    table,
    whys,
)
from accelflow.reproduce.budgets import MIN_BEYOND, MIN_DWELLS, Budget
from accelflow.reproduce.outcomes import ExperimentResult
from accelflow.reproduce.scenario import Scenario

__all__ = ["markdown", "others_text"]


def markdown(outcomes: Sequence[ExperimentResult], scenario: Scenario, budget: Budget) -> str:
    """Return the text of ``comparison.md``, a page with our results beside the paper's.

    `outcomes` are the results of the experiments; `scenario` and `budget` are those with which they
    ran. Equal results give equal text.
    """
    findings = [finding for outcome in outcomes for finding in outcome.findings]
    body = [
        *largest(findings),
        "## All rows",
        "",
        *table(findings),
        *saturated_note(findings),
        *definitions(findings),
        *whys(findings),
        *_statements(outcomes),
        *_missing(outcomes),
        *_pictures(outcomes),
    ]
    about = [*_about(scenario, budget), *_precision(outcomes)]
    return page("The paper's evaluation, reproduced", findings, about, body)


def _about(scenario: Scenario, budget: Budget) -> list[str]:
    config = ", ".join(f"{key} = {value:g}" for key, value in sorted(scenario.config.items()))
    return [
        f"Written by `accelflow reproduce --budget {budget.name}`; not edited by hand. One set of "
        f"parameters for all rows: {scenario.placement}, production arrivals "
        f"{scenario.arrivals}, TCP {scenario.tcp_cost_ns / 1e3:g} us a core, payload sizes "
        f"{_sizes(scenario)}, remote waits {scenario.remote}, SLOs from the idle response time of "
        f"{scenario.slo_system}; parameters of the server: {config or 'defaults'}. "
        f"{_lengths(budget)} docs/reproduce.md describes what each experiment measures, and how.",
        f"A figure's sample is too small if a percentile has fewer than {MIN_BEYOND} responses"
        f" beyond it, or if the rate of the arrivals was drawn fewer than {MIN_DWELLS} times.",
    ]


def _precision(outcomes: Sequence[ExperimentResult]) -> list[str]:
    """Return lines on the precision of single services' P99s, without saturated systems."""
    stuck = {
        (outcome.definition.name, cell.point, cell.system)
        for outcome in outcomes
        for cell in outcome.shown
        if cell.saturated
    }
    found = [
        (cell.value.half_width / cell.value.mean, f"{cell.service} under {cell.system}", outcome)
        for outcome in outcomes
        for cell in outcome.shown
        if cell.measure == "p99_us"
        if (outcome.definition.name, cell.point, cell.system) not in stuck
        if cell.value is not None and cell.value.half_width is not None and cell.value.mean
    ]
    if not found:
        return []
    within = {share: sum(ratio <= share for ratio, *_ in found) for share in (0.02, 0.05, 0.1)}
    widest, name, outcome = max(found, key=lambda row: row[0])
    shares = ", ".join(f"{count:,} within ± {share:.0%}" for share, count in within.items())
    return [
        f"Precision reached: of the {len(found):,} P99s of a service under a system that is not "
        f"saturated, {shares} (95 %). The widest is ± {widest:.0%}, of {name} in "
        f"{outcome.definition.name}."
    ]


def _lengths(budget: Budget) -> str:
    several = budget.longest_run is not None
    more = (
        f"with further simulations of {budget.longest_run:,} with other seeds (at most "
        f"{budget.lengths[-1]:,} requests of a replication)"
        if several
        else f"doubled up to {budget.lengths[-1]:,}"
    )
    doubled = (
        f", {more} until the interval is within ± "
        f"{budget.precision:.0%} of the paper's figure{_tails(budget)}"
        if len(budget.lengths) > 1
        else ""
    )
    seeds = (
        f"There are {budget.replications} replications"
        if several
        else f"Each has the seeds 1 to {budget.replications}"
    )
    over = "replications" if several else "seeds"
    return (
        f"Simulations of {budget.requests:,} requests of a service with the mean rate{doubled}; "
        f"the first tenth is warm-up and not counted. {seeds}, whose responses count "
        f"together; the interval is the jackknife's over the {over}.{others_text(budget)}"
    )


def others_text(budget: Budget) -> str:
    """Return a sentence on the simulations of experiments without P99s and of searches.

    The sentence names the budget :attr:`accelflow.reproduce.Budget.without_tails`. Empty if
    `budget` has none, since all experiments then have the same budget.
    """
    other = budget.without_tails
    return (
        ""
        if other is None
        else f" Searches, and experiments without P99s, have the simulations of `{other.name}`."
    )


def _tails(budget: Budget) -> str:
    asked = budget.tail_precision
    return "" if asked is None else f", and that of each P99 within ± {asked:.0%}"


def _sizes(scenario: Scenario) -> str:
    others = scenario.sizes_of("")
    return scenario.sizes if others == scenario.sizes else f"{scenario.sizes} (others: {others})"


def _statements(outcomes: Sequence[ExperimentResult]) -> list[str]:
    rows = [
        (outcome.definition.name, says, _HOLDS[found.holds], found.found)
        for outcome in outcomes
        for statement in outcome.statements
        for says, found in (
            (statement.says, statement),
            *((f"... {other.says}", other) for other in statement.also),
        )
    ]
    if not rows:
        return []
    columns = ("experiment", "the paper says", "here", "found")
    lines = markdown_table(columns, rows)
    return ["## Orders and trends", "", *lines, *_why_not(outcomes)]


_HOLDS: Final = {True: "holds", False: "**does not hold**", None: "undecided"}


def _why_not(outcomes: Sequence[ExperimentResult]) -> list[str]:
    lines = [
        f"- {outcome.definition.name}, {statement.says}: {_reason(statement.why_not)}"
        for outcome in outcomes
        for statement in outcome.statements
        if statement.holds is False
    ]
    return ["## Why they do not hold", "", *lines, ""] if lines else []


def _reason(reason: Reason | None) -> str:
    return NO_REASON if reason is None else reason.sentence()


def _pictures(outcomes: Sequence[ExperimentResult]) -> list[str]:
    """Return the section with the experiments' pictures."""
    lines = []
    for outcome in outcomes:
        definition = outcome.definition
        if definition.plot is not None:
            place = definition.place.partition(",")[0]
            lines += [f"### {place}: {definition.title}", ""]
            lines += [f"![{definition.title}]({definition.name}.png)", ""]
    return ["## Pictures", "", *lines] if lines else []


def _missing(outcomes: Sequence[ExperimentResult]) -> list[str]:
    here = {finding.key for outcome in outcomes for finding in outcome.findings}
    lines = [
        f"- `{key}`: {text}"
        for key, text in uncovered().items()
        if not any(row in here for row in targets() if row == key or row.startswith(f"{key}."))
    ]
    return ["## Rows without an experiment", "", *lines, ""] if lines else []
