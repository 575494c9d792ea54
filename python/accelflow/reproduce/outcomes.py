"""From simulations to figures: what is compared with the paper, and what is drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from accelflow.reproduce.budgets import Budget
from accelflow.reproduce.definitions import Cell, Check, Definition, Row
from accelflow.reproduce.measures import figure, read
from accelflow.reproduce.plans import Cells
from accelflow.reproduce.runs import Services
from accelflow.reproduce.statistics import Estimate, estimate
from accelflow.reproduce.tables import Table
from accelflow.reproduce.targets import Target, reasons, targets

__all__ = ["LARGE", "Compared", "Outcome", "Shown", "Told", "of_cells", "of_table"]

#: A difference that needs a reason.
LARGE = 0.25


@dataclass(frozen=True)
class Compared:
    """A reported figure beside ours, which is None if it could not be had."""

    target: Target
    experiment: str
    ours: Estimate | None
    saturated: tuple[str, ...] = ()

    @property
    def difference(self) -> float | None:
        """Ours less the paper's, as a share of the paper's."""
        if self.ours is None:
            return None
        return (self.ours.mean - self.target.value) / abs(self.target.value)

    @property
    def matches(self) -> bool:
        """An exact row to the printed digit; any other within a quarter."""
        if self.difference is None or self.ours is None:
            return False
        if self.target.kind == "exact":
            digits = len(f"{self.target.value!r}".partition(".")[2])
            return math.isclose(round(self.ours.mean, digits), self.target.value, rel_tol=1e-9)
        return abs(self.difference) <= LARGE

    @property
    def reason(self) -> str | None:
        """Why it does not match, if that is known."""
        return reasons().get(self.target.row)


@dataclass(frozen=True)
class Told:
    """What the paper says in words, and whether it is so here; None if it could not be found."""

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
    """All that came out of one experiment."""

    definition: Definition
    requests: int
    warmup_requests: int
    seeds: tuple[int, ...]
    compared: tuple[Compared, ...]
    told: tuple[Told, ...] = ()
    shown: tuple[Shown, ...] = ()
    table: Table | None = None
    by_cell: Mapping[tuple[str, str, str, str], Shown] = field(default_factory=dict)

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
        warmup_requests=0,
        seeds=(),
        compared=tuple(computed(row) for row in definition.rows),
        table=table,
    )


def of_cells(definition: Definition, cells: Cells, budget: Budget) -> Outcome:
    """The outcome of simulations."""
    factor = 4 if definition.long_run else 1
    shown = tuple(_shown(definition, cells))
    return Outcome(
        definition=definition,
        requests=budget.requests * factor,
        warmup_requests=budget.requests * factor // 10,
        seeds=budget.seeds,
        compared=tuple(_compared(definition, row, cells) for row in definition.rows),
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
                values = [_read(measure, run, service) for run in runs]
                found.append(Shown(point, system, service, measure, estimate(values), stuck))
    return found


def _read(measure: str, run: Services, service: str) -> float | None:
    row = run[service]
    if "mean_us" not in row:  # a search that found no rate has no results at it either
        return None
    return read(measure, row)


def _compared(definition: Definition, row: Row, cells: Cells) -> Compared:
    places = [row.of, *([row.to] if row.to else [])]
    stuck = [
        place.system
        for place in places
        if any(one.get("saturated") for run in cells[_at(place)] for one in run.values())
    ]
    ours = estimate(_figures(row, cells, row.of.point))
    return Compared(targets()[row.target], definition.name, ours, tuple(dict.fromkeys(stuck)))


def _at(cell: Cell, point: str = "") -> tuple[str, str]:
    return (cell.point or point, cell.system)


def _figures(row: Row, cells: Cells, point: str) -> list[float | None]:
    """The figure of `row` for each seed."""
    ours = cells[_at(row.of, point)]
    theirs: Sequence[Services | None] = cells[_at(row.to, point)] if row.to else [None] * len(ours)
    return [
        figure(row.form, row.summary, _values(row.measure, mine), _values(row.measure, other))
        for mine, other in zip(ours, theirs, strict=True)
    ]


def _values(measure: str, run: Services | None) -> dict[str, float | None]:
    return {service: _read(measure, run, service) for service in run} if run else {}


def _told(definition: Definition, check: Check, cells: Cells) -> Told:
    return (
        _order(check, cells) if check.row is None else _trend(definition, check, check.row, cells)
    )


def _order(check: Check, cells: Cells) -> Told:
    """Whether every system of a group stands before every one of the next, on average."""
    means: dict[str, float | None] = {}
    for system in (one for group in check.groups for one in group):
        runs = cells[check.point, system]
        found = estimate(
            [figure("value", "mean", _values(check.measure, run), None) for run in runs]
        )
        means[system] = None if found is None else found.mean
    known = {system: value for system, value in means.items() if value is not None}
    text = ", ".join(
        f"{system} {value:,.4g}" for system, value in sorted(known.items(), key=_second)
    )
    if len(known) < len(means):
        return Told(check.says, None, text)
    sign = 1 if check.direction == "rises" else -1
    holds = all(
        sign * known[one] < sign * known[other]
        for first, second in pairwise(check.groups)
        for one in first
        for other in second
    )
    return Told(check.says, holds, text, check.why_not)


def _second(item: tuple[str, float]) -> float:
    return item[1]


def _trend(definition: Definition, check: Check, row: Row, cells: Cells) -> Told:
    """Whether the figure goes one way from each point to the next, on average."""
    labels = [point.label for point in definition.points]
    found = [estimate(_figures(row, cells, label)) for label in labels]
    means = [one.mean for one in found if one is not None]
    text = ", ".join(
        f"{label}: {'none' if one is None else format(one.mean, ',.4g')}"
        for label, one in zip(labels, found, strict=True)
    )
    if len(means) < len(found):
        return Told(check.says, None, text)
    rises = check.direction == "rises"
    holds = all(a < b if rises else a > b for a, b in pairwise(means))
    return Told(check.says, holds, text, check.why_not)
