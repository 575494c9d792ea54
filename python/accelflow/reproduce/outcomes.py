"""From simulations to figures: what is compared with the paper, and what is drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from accelflow.reproduce.budgets import Budget
from accelflow.reproduce.definitions import Definition, Row
from accelflow.reproduce.figures import (
    Cells,
    of_row,
    of_service,
    places_of,
    requests_of,
    saturated,
    too_little,
)
from accelflow.reproduce.reasons import Reason, reasons
from accelflow.reproduce.statistics import Estimate
from accelflow.reproduce.tables import Table
from accelflow.reproduce.targets import Target, targets
from accelflow.reproduce.words import Told, tell

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
    not. `also` is ours by other definitions, each with what says which.
    """

    target: Target
    experiment: str
    ours: Estimate | None
    saturated: tuple[str, ...] = ()
    requests: int = 0
    lacking: str = ""
    also: tuple[tuple[str, Estimate | None], ...] = ()

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
    def reason(self) -> Reason | None:
        """Why it does not match, if that is known."""
        return reasons().get(self.target.row)


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
        told=tuple(tell(check, cells) for check in definition.checks),
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
        also=tuple((one.says, of_row(one.row, cells)) for one in row.also),
    )
