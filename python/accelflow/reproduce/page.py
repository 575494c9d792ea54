"""The page of a run: every reported figure beside ours, with reasons for large differences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from accelflow.reproduce.budgets import Budget
from accelflow.reproduce.outcomes import LARGE, Compared, Outcome
from accelflow.reproduce.scenario import Scenario
from accelflow.reproduce.targets import targets, uncovered

__all__ = ["NO_REASON", "difference_text", "markdown", "number", "ours_text"]

#: Says that a reason has to be found; loud, so that nobody overlooks it.
NO_REASON: Final = "**NO REASON RECORDED**"

#: How many of the largest differences are listed first.
_LARGEST: Final = 10


def markdown(outcomes: Sequence[Outcome], scenario: Scenario, budget: Budget) -> str:
    """The page, equal for equal outcomes."""
    compared = [one for outcome in outcomes for one in outcome.compared]
    lines = [
        *_heading(scenario, budget),
        *_largest(compared),
        "## All rows",
        "",
        "| row | experiment | ours | 95 % CI | paper | difference | kind | |",
        "|---|---|---|---|---|---|---|---|",
        *(_line(one) for one in compared),
        "",
        *_saturated(compared),
        *_whys(compared),
        *_words(outcomes),
        *_missing(outcomes),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _heading(scenario: Scenario, budget: Budget) -> list[str]:
    config = ", ".join(f"{key} = {value:g}" for key, value in sorted(scenario.config.items()))
    return [
        "# The paper's evaluation, reproduced",
        "",
        f"Written by `accelflow reproduce --budget {budget.name}`; not edited by hand. One set of "
        f"parameters for all rows: {scenario.placement}, production arrivals "
        f"{scenario.arrivals}, TCP {scenario.tcp_cost_ns / 1e3:g} us a core, payload sizes "
        f"{_sizes(scenario)}, remote waits {scenario.remote}, SLOs from the idle response time of "
        f"{scenario.slo_system}; parameters of the server: "
        f"{config or 'defaults'}. Simulations of {budget.requests:,} requests a service (an "
        "experiment on rare events of four times as many), of which the first tenth is warm-up and "
        f"not counted, each with the seeds 1 to {budget.replications}; the interval is Student's, "
        "over the seeds. docs/reproduce.md says what each experiment measures, and how.",
        "",
        "`exact` rows follow from stated inputs, `fit` rows may have informed the parameters, "
        f"`check` rows have not. A row is marked if it is off by more than {LARGE:.0%} of the "
        "paper's figure, or, if exact, in a printed digit.",
        "",
    ]


def _sizes(scenario: Scenario) -> str:
    others = scenario.sizes_of("")
    return scenario.sizes if others == scenario.sizes else f"{scenario.sizes} (others: {others})"


def _largest(compared: Sequence[Compared]) -> list[str]:
    known = [one for one in compared if one.difference is not None]
    known.sort(key=lambda one: (-abs(one.difference or 0.0), one.target.row))
    if not known:
        return []
    lines = [
        f"- {_short(one)}: {ours_text(one)} here, {number(one.target.value)} in the paper "
        f"({difference_text(one)})"
        for one in known[:_LARGEST]
        if one.difference
    ]
    return ["## The largest differences", "", *lines, ""]


def _line(one: Compared) -> str:
    half = None if one.ours is None else one.ours.half_width
    interval = "" if not half else f"± {number(half)}"
    cells = (
        f"`{_short(one)}`",
        one.experiment,
        ours_text(one) + (" \\*" if one.saturated else ""),
        interval,
        number(one.target.value),
        difference_text(one),
        one.target.use or one.target.kind,
        "" if one.matches else "off",
    )
    return "| " + " | ".join(cells) + " |"


def _short(one: Compared) -> str:
    return one.target.row.removeprefix("accelflow.")


def ours_text(one: Compared) -> str:
    """Our figure as a person reads it."""
    return "none" if one.ours is None else number(one.ours.mean)


def difference_text(one: Compared) -> str:
    """The difference as a share of the paper's figure."""
    return "" if one.difference is None else f"{one.difference:+.0%}"


def number(value: float) -> str:
    """Four digits that count, without an exponent."""
    if value == round(value) and abs(value) < 1e7:
        return f"{value:,.0f}"
    digits = 0 if abs(value) >= 1000 else 1 if abs(value) >= 100 else 3
    return f"{value:,.{digits}f}"


def _saturated(compared: Iterable[Compared]) -> list[str]:
    if not any(one.saturated for one in compared):
        return []
    return [
        "\\* A system was saturated in at least one run: requests arrived faster than they ended, "
        "so its latency is a property of the run's length.",
        "",
    ]


def _whys(compared: Sequence[Compared]) -> list[str]:
    off = [one for one in compared if not one.matches]
    if not off:
        return []
    lines = [f"- `{_short(one)}`: {one.reason or NO_REASON}" for one in off]
    return ["## Why rows are off", "", *lines, ""]


def _words(outcomes: Sequence[Outcome]) -> list[str]:
    lines = [
        f"| {outcome.definition.name} | {one.says} | {_holds(one.holds)} | {one.found} |"
        for outcome in outcomes
        for one in outcome.told
    ]
    if not lines:
        return []
    head = ["## Orders and trends", "", "| experiment | the paper says | here | found |"]
    return [*head, "|---|---|---|---|", *lines, "", *_why_not(outcomes)]


def _why_not(outcomes: Sequence[Outcome]) -> list[str]:
    lines = [
        f"- {outcome.definition.name}, {one.says}: {one.why_not or NO_REASON}"
        for outcome in outcomes
        for one in outcome.told
        if one.holds is False
    ]
    return ["## Why they do not hold", "", *lines, ""] if lines else []


def _holds(holds: bool | None) -> str:
    return {True: "holds", False: "**does not hold**", None: "cannot be told"}[holds]


def _missing(outcomes: Sequence[Outcome]) -> list[str]:
    here = {one.target.row for outcome in outcomes for one in outcome.compared}
    texts: Mapping[str, str] = uncovered()
    lines = [
        f"- `{key}`: {text}"
        for key, text in texts.items()
        if not any(row in here for row in targets() if row == key or row.startswith(f"{key}."))
    ]
    return ["## Rows without an experiment", "", *lines, ""] if lines else []
