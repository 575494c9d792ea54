"""The Markdown page of the paper's experiments with a user's workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from accelflow.findings.page import definitions, markdown_table, own_table, saturated_note
from accelflow.reproduce.budgets import MIN_BEYOND, MIN_DWELLS, Budget
from accelflow.reproduce.outcomes import ExperimentResult
from accelflow.reproduce.own import OwnScenario
from accelflow.reproduce.page import others_text

__all__ = ["HOLDS", "NOT_SHOWN", "OWN_PAGE", "own_markdown"]

#: The file name of the page of the experiments with a user's workload.
OWN_PAGE: Final = "evaluation.md"

#: The sentence that replaces the paper's figures.
NOT_SHOWN: Final = "The paper's figures are not shown, since they belong to its own services."

#: The words for a statement that holds, does not hold, or is undecided.
HOLDS: Final = {True: "holds", False: "does not hold", None: "undecided"}


def own_markdown(
    outcomes: Sequence[ExperimentResult],
    scenario: OwnScenario,
    budget: Budget,
    left_out: Mapping[str, str],
) -> str:
    """Return the Markdown page with the results of the paper's experiments on a user's workload.

    `left_out` maps the names of experiments that do not apply to the workload to the reasons.
    """
    findings = [finding for outcome in outcomes for finding in outcome.findings]
    lines = [f"# The paper's experiments with {scenario.name}", ""]
    for paragraph in _about(scenario, budget):
        lines += [paragraph, ""]
    lines += [
        "## Figures",
        "",
        *own_table(findings),
        *saturated_note(findings),
        *definitions(findings),
        *_statements(outcomes),
        *_tables(outcomes),
        *_left_out(left_out),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _about(scenario: OwnScenario, budget: Budget) -> list[str]:
    config = ", ".join(f"{key} = {value:g}" for key, value in sorted(scenario.config.items()))
    up_to = f" to {budget.lengths[-1]:,}" if len(budget.lengths) > 1 else ""
    made = "Simulations" if budget.longest_run is None else "Replications"
    return [
        NOT_SHOWN,
        f"Written by `accelflow reproduce --workload FILE --budget {budget.name}`; not edited by "
        "hand. "
        f"{scenario.name} with {scenario.rate_rps:g} requests a second of a service on average, "
        f"shared as {scenario.rates}; {scenario.placement}; requests arrive as "
        f"{scenario.arrivals or 'the workload says'} where the paper has its production load; "
        f"parameters of the server: {config or 'defaults'}. Other loads are multiples of that "
        "rate, those that the paper's are of 13,400 a second, with Poisson arrivals. SLOs are "
        "those of the workload, or else five times the mean response time on an idle server.",
        f"{made} of {budget.requests:,}{up_to} requests of a service with the mean rate; the first"
        f" tenth is not counted. {_replications(budget)} A figure's sample is too small if a"
        f" percentile has fewer than {MIN_BEYOND} responses beyond it, or if the rate of the"
        f" arrivals was drawn fewer than {MIN_DWELLS} times. A figure is the mean over the services"
        " that clients call; without a unit it is a share of 1.",
    ]


def _replications(budget: Budget) -> str:
    if budget.longest_run is None:
        each = f"Each has the seeds 1 to {budget.replications}; the interval is the jackknife's"
        return f"{each} over the seeds."
    return (
        f"The {budget.replications} replications consist of simulations of at most"
        f" {budget.longest_run:,} requests; the interval is the jackknife's over the replications."
        f"{others_text(budget)}"
    )


def _statements(outcomes: Sequence[ExperimentResult]) -> list[str]:
    rows = [
        (outcome.definition.name, statement.says, HOLDS[statement.holds], statement.found)
        for outcome in outcomes
        for statement in outcome.statements
    ]
    if not rows:
        return []
    columns = ("experiment", "the paper says of its services", "for these", "found")
    return ["## Orders and trends", "", *markdown_table(columns, rows)]


def _tables(outcomes: Sequence[ExperimentResult]) -> list[str]:
    lines = []
    for outcome in outcomes:
        if outcome.table is not None:
            rows = [[text.replace("|", "\\|") for text in row] for row in outcome.table.rows]
            lines += [f"## {outcome.definition.title}", ""]
            lines += markdown_table(outcome.table.columns, rows)
    return lines


def _left_out(left_out: Mapping[str, str]) -> list[str]:
    lines = [f"- {name}: {reason}" for name, reason in left_out.items()]
    return ["## Experiments left out", "", *lines, ""] if lines else []
