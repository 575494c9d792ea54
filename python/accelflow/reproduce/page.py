"""The page of a run: every reported figure beside ours, with reasons for large differences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from accelflow.reproduce.budgets import MIN_BEYOND, MIN_DWELLS, Budget
from accelflow.reproduce.outcomes import LARGE, Compared, Outcome, Verdict
from accelflow.reproduce.reasons import Reason
from accelflow.reproduce.scenario import Scenario
from accelflow.reproduce.statistics import Estimate
from accelflow.reproduce.targets import targets, uncovered

__all__ = [
    "NO_REASON",
    "counts_text",
    "difference_text",
    "interval_text",
    "mark_text",
    "markdown",
    "number",
    "ours_text",
]

#: Says that a reason has to be found; loud, so that nobody overlooks it.
NO_REASON: Final = "**NO REASON RECORDED**"

#: How many of the largest differences are listed first.
_LARGEST: Final = 10


def markdown(outcomes: Sequence[Outcome], scenario: Scenario, budget: Budget) -> str:
    """The page, equal for equal outcomes."""
    compared = [one for outcome in outcomes for one in outcome.compared]
    lines = [
        *_heading(scenario, budget, outcomes),
        *_largest(compared),
        "## All rows",
        "",
        "| row | experiment | requests | ours | 95 % CI | paper | difference | kind | |",
        "|---|---|---|---|---|---|---|---|---|",
        *(_line(one) for one in compared),
        "",
        *_saturated(compared),
        *_definitions(compared),
        *_whys(compared),
        *_words(outcomes),
        *_missing(outcomes),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _heading(scenario: Scenario, budget: Budget, outcomes: Sequence[Outcome]) -> list[str]:
    config = ", ".join(f"{key} = {value:g}" for key, value in sorted(scenario.config.items()))
    return [
        "# The paper's evaluation, reproduced",
        "",
        f"**{counts_text(outcomes)}.**",
        "",
        f"Written by `accelflow reproduce --budget {budget.name}`; not edited by hand. One set of "
        f"parameters for all rows: {scenario.placement}, production arrivals "
        f"{scenario.arrivals}, TCP {scenario.tcp_cost_ns / 1e3:g} us a core, payload sizes "
        f"{_sizes(scenario)}, remote waits {scenario.remote}, SLOs from the idle response time of "
        f"{scenario.slo_system}; parameters of the server: "
        f"{config or 'defaults'}. {_lengths(budget)} docs/reproduce.md says what each experiment "
        "measures, and how.",
        "",
        "`exact` rows follow from stated inputs, `fit` rows may have informed the parameters, "
        f"`check` rows have not. A row is *off* if it differs by more than {LARGE:.0%} of the "
        "paper's figure, or, if exact, in a printed digit. It is *undecided* if ours is not known "
        f"that well: the interval is wider than ± {LARGE:.0%} of the paper's figure, a percentile "
        f"has fewer than {MIN_BEYOND} responses beyond it, or the rate of the arrivals was drawn "
        f"fewer than {MIN_DWELLS} times.",
        "",
    ]


def _lengths(budget: Budget) -> str:
    doubled = (
        f", doubled up to {budget.lengths[-1]:,} until the interval is within ± "
        f"{budget.precision:.0%} of the paper's figure"
        if len(budget.lengths) > 1
        else ""
    )
    return (
        f"Simulations of {budget.requests:,} requests of a service with the mean rate{doubled}; "
        "the first tenth is warm-up and not counted. Each has the seeds 1 to "
        f"{budget.replications}, whose responses count together; the interval is the jackknife's "
        "over the seeds."
    )


def counts_text(outcomes: Sequence[Outcome]) -> str:
    """How many rows agree with the paper, are off, and are undecided."""
    verdicts = [one.verdict for outcome in outcomes for one in outcome.compared]
    agree, off, undecided = (verdicts.count(one) for one in Verdict)
    return (
        f"{agree} {'row agrees' if agree == 1 else 'rows agree'}, {off} off, {undecided} undecided"
    )


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
        f"({difference_text(one)}{', undecided' if one.verdict is Verdict.UNDECIDED else ''})"
        for one in known[:_LARGEST]
        if one.difference
    ]
    return ["## The largest differences", "", *lines, ""]


def _line(one: Compared) -> str:
    cells = (
        f"`{_short(one)}`",
        one.experiment,
        f"{one.requests:,}" if one.requests else "",
        ours_text(one) + (" \\*" if one.saturated else ""),
        interval_text(one),
        number(one.target.value),
        difference_text(one),
        one.target.use or one.target.kind,
        mark_text(one),
    )
    return "| " + " | ".join(cells) + " |"


def interval_text(one: Compared) -> str:
    """Half the interval; nothing if the figure is computed, or is the same with every seed."""
    half = None if one.ours is None else one.ours.half_width
    return f"± {number(half)}" if half else ""


def mark_text(one: Compared) -> str:
    """What is to be said of a row that is not known to match."""
    if one.verdict is Verdict.MATCHES:
        return ""
    doubts = one.doubts if one.verdict is Verdict.UNDECIDED else ""
    return one.verdict.value + (f" ({doubts})" if doubts else "")


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


def _definitions(compared: Sequence[Compared]) -> list[str]:
    """Ours by other definitions of what the paper reports."""
    lines = [
        f"| `{_short(one)}` | {says} | {_estimated(found)} | {number(one.target.value)} |"
        for one in compared
        if one.also
        for says, found in (("as above", one.ours), *one.also)
    ]
    if not lines:
        return []
    head = ["## By other definitions", "", "| row | definition | ours | paper |"]
    return [*head, "|---|---|---|---|", *lines, ""]


def _estimated(found: Estimate | None) -> str:
    if found is None:
        return "none"
    return number(found.mean) + (f" ± {number(found.half_width)}" if found.half_width else "")


#: What the classes of reasons mean, on the page.
_CLASSES: Final = (
    "*contradiction*: other printed figures rule this one out, under the reading that the proof "
    "states; docs/results/what-the-paper-implies.md has the proofs. *definition*: it depends on "
    "what is meant; ours by other definitions stand above. *not printed*: it depends on an input "
    "that the paper does not give. *open*: not known."
)


def _reason(reason: Reason | None) -> str:
    return NO_REASON if reason is None else reason.sentence()


def _whys(compared: Sequence[Compared]) -> list[str]:
    off = [one for one in compared if one.verdict is Verdict.OFF]
    if not off:
        return []
    lines = [f"- `{_short(one)}`: {_reason(one.reason)}" for one in off]
    return ["## Why rows are off", "", _CLASSES, "", *lines, ""]


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
        f"- {outcome.definition.name}, {one.says}: {_reason(one.why_not)}"
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
