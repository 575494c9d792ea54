"""Checks of the paper's statements in words (orders and trends) against our results."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from accelflow.errors import refused
from accelflow.findings.estimate import Estimate
from accelflow.findings.reasons import Reason
from accelflow.reproduce.definitions import Check, Row
from accelflow.reproduce.figures import (
    Cells,
    by_service,
    difference_of_measures,
    difference_of_points,
    difference_of_systems,
    lead,
    of_row,
    of_system,
    places_of,
)

__all__ = ["Statement", "judge", "steps_of"]

#: A point, a system and a measure.
_Place = tuple[str, str, str]


@dataclass(frozen=True)
class Statement:
    """A statement that the paper makes in words (`says`), and whether it holds in our results.

    Such a statement orders figures, such as "A is faster than B". `holds` is True if our figures
    have this order, and False if two of them have the opposite order or are equal for every seed.
    It is None if this cannot be decided: a figure could not be computed, or the confidence interval
    of a difference contains zero or is not known (one seed). `found` has our figures as text.
    `why_not` is the recorded reason why the statement does not hold, or None. `also` has the same
    statement, judged with figures that are computed in other ways.
    """

    says: str
    holds: bool | None
    found: str
    why_not: Reason | None = None
    also: tuple[Statement, ...] = ()


def judge(check: Check, cells: Cells) -> Statement:
    """Judge whether the paper's statement in `check` holds in our results `cells`.

    Raises InputError for a service that the results lack.
    """
    found = {"order": _order, "ranking": _ranking, "trend": _trend, "most": _most}[check.kind]
    also = tuple(judge(other, cells) for other in check.also)
    return replace(found(check, cells), also=also)


def _order(check: Check, cells: Cells) -> Statement:
    """Return whether every system of a group stands before every system of the next group."""
    found = {
        system: of_system(check.measure, cells[check.point, system])
        for group in check.groups
        for system in group
    }
    steps = [
        difference_of_systems(check.measure, cells, (check.point, before), (check.point, after))
        for before, after in _steps(check)
    ]
    return _in_groups(check, found, steps)


def _ranking(check: Check, cells: Cells) -> Statement:
    """Return whether every measure of a group is below every measure of the next group."""
    runs = cells[places_of(_row_of(check))[0]]
    found = {measure: of_system(measure, runs) for group in check.groups for measure in group}
    steps = [difference_of_measures(before, after, runs) for before, after in _steps(check)]
    return _in_groups(check, found, steps)


def steps_of(check: Check) -> list[tuple[list[_Place], list[_Place]]]:
    """Return the pairs of figures that `check` compares; empty for a check of the kind ``most``.

    Each figure is given as a list of the results from which it is computed: (point, system,
    measure).
    """
    if check.kind == "order":
        return [
            ([(check.point, before, check.measure)], [(check.point, after, check.measure)])
            for before, after in _steps(check)
        ]
    if check.kind == "ranking":
        point, system = places_of(_row_of(check))[0]
        return [([(point, system, a)], [(point, system, b)]) for a, b in _steps(check)]
    if check.kind == "trend":
        row = _row_of(check)
        measures = row.measure, row.to_measure or row.measure
        placed = [
            [(*place, measure) for place, measure in zip(places, measures, strict=False)]
            for places in (places_of(row, *pair) for pair in check.points)
        ]
        return list(pairwise(placed))
    return []


def _steps(check: Check) -> list[tuple[str, str]]:
    return [
        (before, after)
        for first, second in pairwise(check.groups)
        for before in first
        for after in second
    ]


def _in_groups(
    check: Check, found: Mapping[str, Estimate | None], steps: Sequence[Estimate | None]
) -> Statement:
    known = {name: estimate.mean for name, estimate in found.items() if estimate is not None}
    text = ", ".join(f"{name} {value:,.4g}" for name, value in sorted(known.items(), key=_second))
    if len(known) < len(found):
        return Statement(check.says, None, text, check.why_not)
    return Statement(check.says, _goes(check.direction, steps), text, check.why_not)


def _trend(check: Check, cells: Cells) -> Statement:
    """Return whether the figure goes in one direction from each point to the next."""
    row = _row_of(check)
    found = [of_row(row, cells, *pair) for pair in check.points]
    text = ", ".join(
        f"{label}: {'none' if estimate is None else format(estimate.mean, ',.4g')}"
        for (label, _), estimate in zip(check.points, found, strict=True)
    )
    steps = [
        difference_of_points(row, cells, first, second) for first, second in pairwise(check.points)
    ]
    return Statement(check.says, _goes(check.direction, steps), text, check.why_not)


def _most(check: Check, cells: Cells) -> Statement:
    """Return whether the figure of each named service is above the mean of the others'."""
    row = _row_of(check)
    found = by_service(row, cells)
    missing = [name for name in check.services if name not in found]
    if missing:
        raise refused(f"'{check.says}': service", missing[0], known=found)
    known = {name: estimate.mean for name, estimate in found.items() if estimate is not None}
    text = ", ".join(
        f"{name} {value:,.4g}" for name, value in sorted(known.items(), key=_second, reverse=True)
    )
    others = [name for name in found if name not in check.services]
    if len(known) < len(found) or not others:
        return Statement(check.says, None, text, check.why_not)
    mean = math.fsum(known[name] for name in others) / len(others)
    steps = [lead(row, cells, name, others) for name in check.services]
    return Statement(
        check.says, _goes("rises", steps), f"{text}; the others {mean:,.4g}", check.why_not
    )


def _goes(direction: str, steps: Sequence[Estimate | None]) -> bool | None:
    """Return whether all `steps` go in `direction`; None if undecided.

    False if a step is known to be 0 or to go in the other direction.
    """
    wanted = 1 if direction == "rises" else -1
    signs = {None if step is None else step.sign for step in steps}
    if signs & {0, -wanted}:
        return False
    return None if None in signs else True


def _row_of(check: Check) -> Row:
    if check.row is None:
        raise TypeError(f"'{check.says}' is of no figure")
    return check.row


def _second(item: tuple[str, float]) -> float:
    return item[1]
