"""Texts for findings, as pages and terminals show them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

from accelflow.findings.estimate import Estimate
from accelflow.findings.finding import Finding, Verdict

__all__ = [
    "COLUMNS",
    "NO_REASON",
    "OWN_COLUMNS",
    "cells",
    "counts_text",
    "difference_text",
    "estimate_text",
    "interval_text",
    "notes_text",
    "number",
    "ours_text",
    "own_cells",
    "paper_text",
    "predictions_text",
    "reasons_text",
    "verdict_text",
]

#: The columns of every table of findings.
COLUMNS: Final = (
    "row",
    "experiment",
    "ours",
    "95 % CI",
    "paper",
    "unit",
    "difference",
    "kind",
    "verdict",
)

#: The columns of a table of values that no paper reports.
OWN_COLUMNS: Final = ("figure", "experiment", "value", "95 % CI", "unit", "doubts")

#: Relative half intervals below this are rounding errors and count as 0.
_ROUNDING: Final = 1e-9

#: The text in place of a missing reason, conspicuous on purpose.
NO_REASON: Final = "**NO REASON RECORDED**"


def cells(finding: Finding) -> list[str]:
    """Return the cells of the finding's row in a table with :data:`COLUMNS`.

    A star after our value marks a saturated system.
    """
    return [
        *_own_figure(finding),
        paper_text(finding),
        finding.unit,
        difference_text(finding),
        _kind_text(finding),
        verdict_text(finding),
    ]


def own_cells(finding: Finding) -> list[str]:
    """Return the cells of the finding's row in a table with :data:`OWN_COLUMNS`.

    A star after the value marks a saturated system.
    """
    return [*_own_figure(finding), finding.unit, finding.doubts]


def _own_figure(finding: Finding) -> list[str]:
    """Return cells: key, source, our value and half the width of its interval."""
    experiment = finding.experiment
    if finding.requests:
        experiment += f", {finding.requests:,} requests"
    return [
        finding.short_key,
        experiment.removeprefix(", "),
        ours_text(finding) + ("*" if finding.saturated else ""),
        interval_text(finding),
    ]


def _kind_text(finding: Finding) -> str:
    """Return the kind of a finding as text: ``exact``, its use, or both."""
    if finding.paper is None:
        return ""
    exact = ["exact"] if finding.kind == "exact" else []
    return ", ".join([*exact, *([finding.use] if finding.use else [])])


def counts_text(findings: Iterable[Finding]) -> str:
    """Return as text how many of `findings` agree with the paper, are off, and are undecided."""
    verdicts = [finding.verdict for finding in findings]
    agree = verdicts.count(Verdict.AGREES) + verdicts.count(Verdict.AS_PRINTED)
    off, undecided = (verdicts.count(verdict) for verdict in (Verdict.OFF, Verdict.UNDECIDED))
    return (
        f"{agree} {'row agrees' if agree == 1 else 'rows agree'}, {off} off, {undecided} undecided"
    )


def predictions_text(findings: Sequence[Finding]) -> str:
    """Return as text how many predictions agree with the paper, are off, and are undecided.

    Predictions are values that no parameter was chosen to match (use ``check``). The text then has
    the same counts for the values of use ``fit`` or ``input``, taken together.
    """
    used = [finding for finding in findings if finding.use is not None]
    predicted = [finding for finding in used if finding.use == "check"]
    others = counts_text(finding for finding in used if finding.use != "check")
    return f"Predictions (`check`): {counts_text(predicted)}. `fit` and `input`: {others}."


def ours_text(finding: Finding) -> str:
    """Return our value as text; ``none`` if the value could not be computed."""
    return "none" if finding.ours is None else number(finding.ours.mean)


def interval_text(finding: Finding) -> str:
    """Return half the width of our value's confidence interval as text, such as ``± 0.05``.

    Empty if our value could not be computed or has no interval: for a single seed, for a value that
    does not depend on seeds, and for one that is equal for all seeds.
    """
    return "" if finding.ours is None else _half_text(finding.ours)


def _half_text(estimate: Estimate) -> str:
    """Return half the width of the estimate's confidence interval as text.

    Empty if it is unknown, or only a rounding error.
    """
    half = estimate.half_width
    if not half or not math.isfinite(half) or half <= _ROUNDING * abs(estimate.mean):
        return ""
    return f"± {number(half, 2)}"


def estimate_text(estimate: Estimate | None) -> str:
    """Return an estimate as text, with half the width of its interval; ``none`` for None."""
    if estimate is None:
        return "none"
    return f"{number(estimate.mean)} {_half_text(estimate)}".rstrip()


def paper_text(finding: Finding) -> str:
    """Return the paper's value as text with its printed digits; empty without a value."""
    return "" if finding.paper is None else finding.paper.text


def difference_text(finding: Finding) -> str:
    """Return the relative difference between our value and the paper's as text, in per cent.

    The difference is divided by the paper's value or, for a `change` (a ratio compared by its
    difference from 1), by that value's difference from 1. Empty if there is no difference to
    compute.
    """
    if finding.difference is None:
        return ""
    text = f"{finding.difference:+.0%}"
    text = "0%" if text in ("+0%", "-0%") else text
    return f"{text} of the change" if finding.change else text


def verdict_text(finding: Finding) -> str:
    """Return the verdict as text; ``undecided`` is followed by the reasons in brackets."""
    if finding.verdict is Verdict.UNDECIDED:
        return f"{finding.verdict} ({finding.doubts})"
    return str(finding.verdict or "")


def reasons_text(findings: Sequence[Finding]) -> dict[str, list[str]]:
    """Return the keys of the findings that are off, grouped by the text of their reason.

    The text of findings without a reason is :data:`NO_REASON`.
    """
    return _by_text(
        (finding, finding.why.sentence() if finding.why else NO_REASON)
        for finding in findings
        if finding.verdict is Verdict.OFF
    )


def notes_text(findings: Sequence[Finding]) -> dict[str, list[str]]:
    """Return the keys of findings with a note that are not off, grouped by the note's text."""
    return _by_text(
        (finding, finding.note)
        for finding in findings
        if finding.note and finding.verdict is not Verdict.OFF
    )


def _by_text(pairs: Iterable[tuple[Finding, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for finding, text in pairs:
        keys = found.setdefault(text, [])
        if finding.short_key not in keys:
            keys.append(finding.short_key)
    return found


def number(value: float, significant: int = 3) -> str:
    """Format a number without an exponent.

    Whole numbers have no decimals. Other numbers have three decimals below 100, one below 1,000,
    and none beyond. Numbers below 0.1 have `significant` significant digits. Below a millionth the
    text is 0.000.
    """
    if not math.isfinite(value):
        return str(value)
    if value == round(value) and abs(value) < 1e7:
        return f"{value + 0.0:,.0f}"  # -0.0 + 0.0 is 0.0
    size = abs(value)
    if size < 1e-6:
        return "0.000"
    if size >= 0.1:
        digits = 0 if size >= 1000 else 1 if size >= 100 else 3
    else:
        digits = significant - 1 - math.floor(math.log10(size))
    return f"{value:,.{digits}f}"
