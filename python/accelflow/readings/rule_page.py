"""The section of ``readings.md`` on the rule by which the default scenario is chosen."""

from __future__ import annotations

import math
from typing import Final

from accelflow.findings.page import markdown_table
from accelflow.readings.choices import BASES
from accelflow.readings.rule import NOISE, Decision, Judged, decisions
from accelflow.readings.runs import Readings

__all__ = ["rule_section"]

_RULE: Final = (
    "The default of a choice is the reading with the best basis: the paper's text, then published "
    "data. Where several readings have the best basis, or all are assumed, it is the nearest to "
    "the rows of Fig. 11 marked `fit`. The distance is the root mean square difference of the "
    "logarithms of our latency ratios and the paper's; a reading that is nearer by at most "
    f"{NOISE:g} changes nothing. A reading that this rule prefers to the default is *set aside* "
    "for a stated reason: it cannot stand in these runs (a system is saturated, or at least half "
    "of the rows are not within a quarter of the paper's), or it is an *exception* to the rule. "
    "Distances are those of one change of the default scenario."
)


def rule_section(found: Readings) -> list[str]:
    """Return the section "How the default is chosen" of ``readings.md``, as lines of Markdown.

    Empty if `found` lacks the experiment Fig. 11: the rule decides by the numbers of this
    experiment.
    """
    decided = decisions(found)
    if not decided:
        return []
    rows = [
        (
            f"`{decision.choice.name}`",
            _judged(decision.default, decision) if decision.default else "none of the readings",
            BASES.get(decision.by, decision.by),
            "; ".join(_judged(other, decision) for other in decision.others) or "-",
        )
        for decision in decided
    ]
    stated = [
        f"- **Exception**: `{decision.choice.name}` = {reading.label}. {reading.set_aside}"
        for decision in decided
        for reading in (judged.reading for judged in decision.exceptions)
    ]
    stated += [
        f"- **`{decision.choice.name}` breaks the rule**: {text}."
        for decision in decided
        for text in decision.breaks
    ]
    columns = ("choice", "default, and its distance", "decided by", "other readings")
    return [
        "## How the default is chosen",
        "",
        _RULE,
        "",
        *markdown_table(columns, rows),
        *stated,
        *([""] if stated else []),
    ]


def _judged(judged: Judged, decision: Decision) -> str:
    """Return a reading as text with its basis and distance."""
    distance = "no distance" if math.isinf(judged.distance) else f"{judged.distance:.3f}"
    aside = ""
    if judged in decision.exceptions:
        aside = ", exception"
    elif judged.reading.set_aside and judged is not decision.default:
        aside = f", set aside: {judged.fails}" if judged.fails else ", set aside"
    return f"{judged.reading.label} ({judged.reading.basis}{aside}) {distance}"
