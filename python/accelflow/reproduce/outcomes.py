"""From simulations to figures: what is compared with the paper, and what is drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise

from accelflow.reproduce.budgets import Budget
from accelflow.reproduce.definitions import Check, Definition, Row
from accelflow.reproduce.figures import (
    Cells,
    difference,
    of_row,
    of_service,
    of_system,
    places_of,
    requests_of,
    saturated,
    too_little,
)
from accelflow.reproduce.statistics import Estimate
from accelflow.reproduce.tables import Table
from accelflow.reproduce.targets import Target, reasons, targets

__all__ = ["LARGE", "Compared", "Outcome", "Shown", "Told", "Verdict", "of_cells", "of_table"]

#: A difference that needs a reason.
LARGE = 0.25


class Verdict(StrEnum):
    """What a comparison with the paper comes to."""

    MATCHES = "matches"
    OFF = "off"
    #: Ours is not known well enough to say.
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Compared:
    """A reported figure beside ours, which is None if it could not be had.

    `requests` are those of its longest simulations, 0 for a figure that is computed. `lacking` says
    what it rests on too little of, such as responses beyond a percentile, and is empty if it does
    not.
    """

    target: Target
    experiment: str
    ours: Estimate | None
    saturated: tuple[str, ...] = ()
    requests: int = 0
    lacking: str = ""

    @property
    def difference(self) -> float | None:
        """Ours less the paper's, as a share of the paper's."""
        if self.ours is None:
            return None
        return (self.ours.mean - self.target.value) / abs(self.target.value)

    @property
    def verdict(self) -> Verdict:
        """An exact row matches to the printed digit, any other within a quarter.

        It is undecided if ours is not known to a quarter of the paper's figure, or rests on too
        little. What could not be had is off.
        """
        if self.difference is None or self.ours is None:
            return Verdict.OFF
        if self.target.kind == "exact":
            digits = len(f"{self.target.value!r}".partition(".")[2])
            same = math.isclose(round(self.ours.mean, digits), self.target.value, rel_tol=1e-9)
            return Verdict.MATCHES if same else Verdict.OFF
        if self.doubts:
            return Verdict.UNDECIDED
        return Verdict.MATCHES if abs(self.difference) <= LARGE else Verdict.OFF

    @property
    def matches(self) -> bool:
        """Whether it is known to be what the paper reports."""
        return self.verdict is Verdict.MATCHES

    @property
    def doubts(self) -> str:
        """Why ours is not known well enough to be compared; empty if it is."""
        found = [self.lacking] if self.lacking else []
        half = self.ours.half_width if self.ours else 0.0
        if half is None:
            found.append("one seed")
        elif half > LARGE * abs(self.target.value):
            found.append("wide interval")
        return ", ".join(found)

    @property
    def reason(self) -> str | None:
        """Why it does not match, if that is known."""
        return reasons().get(self.target.row)


@dataclass(frozen=True)
class Told:
    """What the paper says in words, and whether it is so here.

    None if that cannot be told: a figure could not be had, or a difference that counts is within
    its interval.
    """

    says: str
    holds: bool | None
    found: str
    why_not: str = ""


@dataclass(frozen=True)
class Shown:
    """A measure of one service of one system at one point."""

    point: str
    system: str
    service: str
    measure: str
    value: Estimate | None
    saturated: bool


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """All that came out of one experiment.

    Simulations have `requests` of a service with the mean rate, up to `most_requests` where figures
    needed them, of which the first tenth is not counted.
    """

    definition: Definition
    requests: int
    most_requests: int
    warmup_requests: int
    seeds: tuple[int, ...]
    compared: tuple[Compared, ...]
    told: tuple[Told, ...] = ()
    shown: tuple[Shown, ...] = ()
    table: Table | None = None
    by_cell: Mapping[tuple[str, str, str, str], Shown] = field(default_factory=dict)

    @property
    def requests_text(self) -> str:
        """The requests of its simulations, for a person."""
        if self.most_requests == self.requests:
            return f"{self.requests:,}"
        return f"{self.requests:,} to {self.most_requests:,}"

    @property
    def services(self) -> list[str]:
        """Every service that took part, in the order of first appearance."""
        return list(dict.fromkeys(one.service for one in self.shown))


def of_table(definition: Definition, table: Table) -> Outcome:
    """The outcome of what needs no simulation."""

    def computed(row: Row) -> Compared:
        value = table.figures.get(row.measure)
        ours = None if value is None else Estimate(value, 0.0, (value,))
        return Compared(targets()[row.target], definition.name, ours)

    return Outcome(
        definition=definition,
        requests=0,
        most_requests=0,
        warmup_requests=0,
        seeds=(),
        compared=tuple(computed(row) for row in definition.rows),
        table=table,
    )


def of_cells(definition: Definition, cells: Cells, budget: Budget) -> Outcome:
    """The outcome of simulations."""
    shown = tuple(_shown(definition, cells))
    fewest, most = requests_of(cells, cells)
    if not most:  # searches that found nothing
        fewest = most = budget.requests
    return Outcome(
        definition=definition,
        requests=fewest,
        most_requests=most,
        warmup_requests=fewest // 10,
        seeds=budget.seeds,
        compared=tuple(_compared(definition, row, cells, budget) for row in definition.rows),
        told=tuple(_told(definition, check, cells) for check in definition.checks),
        shown=shown,
        by_cell={(one.point, one.system, one.service, one.measure): one for one in shown},
    )


def _shown(definition: Definition, cells: Cells) -> list[Shown]:
    found = []
    for (point, system), runs in cells.items():
        for service in runs[0]:
            stuck = any(run[service].get("saturated") for run in runs)
            for measure in definition.measures:
                value = of_service(measure, runs, service)
                found.append(Shown(point, system, service, measure, value, stuck))
    return found


def _compared(definition: Definition, row: Row, cells: Cells, budget: Budget) -> Compared:
    lacking = too_little(row, cells)
    step = budget.rate_step - 1
    if definition.kind == "throughput" and step > LARGE:
        lacking = f"{lacking}, rates in steps of {step:.0%}".removeprefix(", ")
    return Compared(
        targets()[row.target],
        definition.name,
        of_row(row, cells),
        saturated=tuple(saturated(row, cells)),
        requests=requests_of(places_of(row), cells)[1],
        lacking=lacking,
    )


def _told(definition: Definition, check: Check, cells: Cells) -> Told:
    if check.row is None:
        return _order(check, cells)
    return _trend(definition, check, check.row, cells)


def _order(check: Check, cells: Cells) -> Told:
    """Whether every system of a group stands before every one of the next."""
    found = {
        system: of_system(check.measure, cells[check.point, system])
        for group in check.groups
        for system in group
    }
    known = {system: one.mean for system, one in found.items() if one is not None}
    text = ", ".join(
        f"{system} {value:,.4g}" for system, value in sorted(known.items(), key=_second)
    )
    if len(known) < len(found):
        return Told(check.says, None, text, check.why_not)
    steps = [
        difference(check.measure, cells, (check.point, one), (check.point, other))
        for first, second in pairwise(check.groups)
        for one in first
        for other in second
    ]
    return Told(check.says, _goes(check.direction, steps), text, check.why_not)


def _second(item: tuple[str, float]) -> float:
    return item[1]


def _goes(direction: str, steps: Sequence[Estimate | None]) -> bool | None:
    """Whether all `steps` go in `direction`; not if one is known to go the other way."""
    wanted = 1 if direction == "rises" else -1
    signs = {None if one is None else one.sign for one in steps}
    if -wanted in signs:
        return False
    return None if None in signs else True


def _trend(definition: Definition, check: Check, row: Row, cells: Cells) -> Told:
    """Whether the figure goes one way from each point to the next."""
    labels = [point.label for point in definition.points]
    found = [of_row(row, cells, label) for label in labels]
    text = ", ".join(
        f"{label}: {'none' if one is None else format(one.mean, ',.4g')}"
        for label, one in zip(labels, found, strict=True)
    )
    steps = [
        difference(row, cells, (one, row.of.system), (other, row.of.system))
        for one, other in pairwise(labels)
    ]
    return Told(check.says, _goes(check.direction, steps), text, check.why_not)
