"""What an experiment simulates, step by step."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from accelflow import simulation
from accelflow.errors import InputError
from accelflow.reproduce.budgets import Budget
from accelflow.reproduce.definitions import Definition, Point, Slo
from accelflow.reproduce.measures import ServiceRow
from accelflow.reproduce.runs import Plan, Services
from accelflow.reproduce.scenario import OWN, Scenario

__all__ = ["UNLOADED_RPS", "Cells", "plan"]

#: By (point, system), the services' results of each seed.
Cells = dict[tuple[str, str], list[Services]]

#: The systems whose input queues look at deadlines.
BY_DEADLINE = ("accelflow_deadline", "accelflow_edf")

#: So few requests that each finds the server idle.
UNLOADED_RPS = 10.0


def plan(definition: Definition, scenario: Scenario, budget: Budget) -> Plan[Cells]:
    """The simulations of an experiment."""
    budget = replace(budget, requests=budget.requests * (4 if definition.long_run else 1))
    if definition.kind == "throughput":
        return _throughput(definition, scenario, budget)
    return _once(definition, scenario, budget)


#: A point, a system and a seed.
_Case = tuple[Point, str, int]


def _cases(definition: Definition, budget: Budget) -> list[_Case]:
    return [
        (point, system, seed)
        for point, system in product(definition.points, definition.systems)
        for seed in budget.seeds
    ]


def _once(definition: Definition, scenario: Scenario, budget: Budget) -> Plan[Cells]:
    """Every system at every point, with every seed; with SLOs, if the experiment has them."""
    cases = _cases(definition, budget)
    owed: list[dict[str, float]] = [{} for _ in cases]
    if definition.slo is not None:
        owed = yield from _owed(definition, definition.slo, scenario, budget, cases)
    wanted = [
        replace(
            scenario.experiment(system, definition.setup, point, budget.requests, seed),
            slo_us=owes,
        )
        for (point, system, seed), owes in zip(cases, owed, strict=True)
    ]
    results = yield wanted
    cells: Cells = {}
    for (point, system, _), services in zip(cases, results, strict=True):
        cells.setdefault((point.label, system), []).append(services)
    return cells


@dataclass
class _Search:
    """The highest rate of a grid at which a service meets what it owes.

    With a rate, all lower ones are taken to be met: bisection needs the logarithm of the grid's
    length. Services that share a server have the same rate. All searches have one grid, so that
    they share simulations, and the seed is that of the arrivals, so that all systems are offered
    the same requests at the same rate.
    """

    base: simulation.Experiment
    service: str
    owed_us: float
    grid: Sequence[float]
    low: int = -1
    high: int = field(init=False)
    best: ServiceRow | None = None

    def __post_init__(self) -> None:
        self.high = len(self.grid)

    @property
    def ended(self) -> bool:
        return self.high - self.low <= 1

    @property
    def next(self) -> simulation.Experiment:
        return replace(self.base, rate_rps=self.grid[(self.low + self.high) // 2])

    def look(self, results: Services) -> None:
        middle = (self.low + self.high) // 2
        row = results[self.service]
        if row["p99_us"] is not None and row["p99_us"] <= self.owed_us and not row["saturated"]:
            self.low, self.best = middle, row
        else:
            self.high = middle

    @property
    def found(self) -> ServiceRow:
        """The service at the highest rate, with that rate; None of it if not even the lowest."""
        if self.best is None:
            return {"service": self.service, "max_rps": None}
        return {**self.best, "max_rps": self.grid[self.low]}


def _throughput(definition: Definition, scenario: Scenario, budget: Budget) -> Plan[Cells]:
    """The highest load within the SLO, for every system at every point with every seed."""
    slo = definition.slo
    if slo is None:
        raise InputError(f"{definition.name}.toml: an experiment on throughput needs an slo")
    grid = _grid(slo, budget.rate_step)
    cases = _cases(definition, budget)
    owed = yield from _owed(definition, slo, scenario, budget, cases)
    searches: list[list[_Search]] = []
    for (point, system, seed), owes in zip(cases, owed, strict=True):
        base = scenario.experiment(system, definition.setup, point, budget.requests, seed)
        if system in BY_DEADLINE:
            base = replace(base, slo_us=owes)
        alone = base.placement == "isolated"
        searches.append(
            [
                _Search(_alone(base, name) if alone else base, name, owed_us, grid)
                for name, owed_us in owes.items()
            ]
        )
    yield from _bisect([one for group in searches for one in group])
    cells: Cells = {}
    for (point, system, _), group in zip(cases, searches, strict=True):
        cells.setdefault((point.label, system), []).append(
            {one.service: one.found for one in group}
        )
    return cells


def _alone(base: simulation.Experiment, service: str) -> simulation.Experiment:
    """A service on a server of its own."""
    slo_us = {name: us for name, us in base.slo_us.items() if name == service}
    return replace(base, services=(service,), slo_us=slo_us)


def _bisect(searches: Iterable[_Search]) -> Plan[None]:
    while open_ones := [one for one in searches if not one.ended]:
        results = yield [one.next for one in open_ones]
        for one, result in zip(open_ones, results, strict=True):
            one.look(result)


def _owed(
    definition: Definition,
    slo: Slo,
    scenario: Scenario,
    budget: Budget,
    cases: Sequence[_Case],
) -> Plan[list[dict[str, float]]]:
    """What each service owes in each case: a multiple of its unloaded mean response time.

    It is the same at all points, that of the point which the SLO names: a server with fewer
    or slower elements does not owe less. Of which system is the scenario's to say.
    """
    named = next(point for point in definition.points if point.label == slo.point)

    def unloaded(case: _Case) -> simulation.Experiment:
        _, system, seed = case
        chosen = system if scenario.slo_system == OWN else scenario.slo_system
        one = scenario.experiment(chosen, definition.setup, named, budget.requests, seed)
        return replace(one, placement="isolated", arrivals="poisson", rate_rps=UNLOADED_RPS)

    results = yield [unloaded(case) for case in cases]
    return [
        {name: slo.factor * row["mean_us"] for name, row in services.items()}
        for services in results
    ]


def _grid(slo: Slo, step: float) -> list[float]:
    """Rates from the lowest to the highest, each a step above the last."""
    steps = math.floor(math.log(slo.high_rps / slo.low_rps) / math.log(step))
    return [slo.low_rps * step**power for power in range(steps + 1)]
