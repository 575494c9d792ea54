"""What an experiment simulates, step by step, and for how long."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from accelflow import simulation
from accelflow.errors import InputError
from accelflow.findings.targets import targets
from accelflow.reproduce.budgets import MIN_BEYOND, MIN_DWELLS, Budget
from accelflow.reproduce.definitions import Definition, Point, Row, Slo
from accelflow.reproduce.figures import Cells, of_row, places_of, saturated
from accelflow.reproduce.measures import ServiceRow
from accelflow.reproduce.pooling import beyond, dwells_of
from accelflow.reproduce.runs import Plan, Services
from accelflow.reproduce.scenario import OWN, Scenario

__all__ = ["UNLOADED_RPS", "Cells", "plan"]

#: The systems whose input queues look at deadlines.
BY_DEADLINE = ("accelflow_deadline", "accelflow_edf")

#: So few requests that each finds the server idle.
UNLOADED_RPS = 10.0

#: A figure that needs more requests to be sure may have so many times as many at once.
MOST_AT_ONCE = 4


def plan(definition: Definition, scenario: Scenario, budget: Budget) -> Plan[Cells]:
    """The simulations of an experiment."""
    if definition.long_run:
        most = max(budget.most_requests, budget.requests * 4)
        budget = replace(budget, requests=budget.requests * 4, most_requests=most)
    if definition.kind == "throughput":
        return _throughput(definition, scenario, budget)
    return _prolonged(definition, scenario, budget)


#: A point, a system and a seed.
_Case = tuple[Point, str, int]
#: By (point, system), the requests of its simulations.
_Lengths = dict[tuple[str, str], int]


def _cases(definition: Definition, budget: Budget) -> list[_Case]:
    return [
        (point, system, seed)
        for point, system in product(definition.points, definition.systems)
        for seed in budget.seeds
    ]


def _prolonged(definition: Definition, scenario: Scenario, budget: Budget) -> Plan[Cells]:
    """Every system at every point, with every seed, for as long as its figures need.

    With SLOs, if the experiment has them. How long depends on nothing but results, so it is the
    same on any day and for any number of threads.
    """
    cases = _cases(definition, budget)
    owed: list[dict[str, float]] = [{} for _ in cases]
    if definition.slo is not None:
        owed = yield from _owed(definition, definition.slo, scenario, budget, cases)

    def wanted(case: _Case, owes: dict[str, float], requests: int) -> simulation.Experiment:
        point, system, seed = case
        one = scenario.experiment(system, definition.setup, point, requests, seed)
        return replace(one, slo_us=owes)

    lengths = {
        (case[0].label, case[1]): _shortest(wanted(case, owes, budget.requests), budget)
        for case, owes in zip(cases, owed, strict=True)
    }
    cells: Cells = {}
    new = set(lengths)
    while new:
        now = [
            (case, owes)
            for case, owes in zip(cases, owed, strict=True)
            if (case[0].label, case[1]) in new
        ]
        results = yield [wanted(case, owes, lengths[case[0].label, case[1]]) for case, owes in now]
        cells.update({key: [] for key in lengths if key in new})
        for (case, _), services in zip(now, results, strict=True):
            cells[case[0].label, case[1]].append(services)
        longer = _longer(definition, cells, lengths, budget)
        new = {key for key in lengths if longer[key] > lengths[key]}
        lengths = longer
    return cells


def _shortest(one: simulation.Experiment, budget: Budget) -> int:
    """The length at which the rate of the arrivals is drawn often enough, if there is one."""
    drawn = dwells_of(one) * budget.replications
    needed = one.requests * MIN_DWELLS / drawn
    return budget.length(needed) if needed <= budget.lengths[-1] else budget.requests


def _longer(definition: Definition, cells: Cells, lengths: _Lengths, budget: Budget) -> _Lengths:
    """The lengths that cells need by what was found at `lengths`."""
    needed: dict[tuple[str, str], float] = {
        key: lengths[key] * _for_percentiles(definition, runs) for key, runs in cells.items()
    }
    together = [[(it.label, one) for one in definition.systems] for it in definition.points]
    for row in definition.rows:
        places = places_of(row)
        together.append(places)
        more = _for_row(row, cells, budget)
        needed.update({key: max(needed[key], lengths[key] * more) for key in places})
    longer = {key: max(budget.length(value), lengths[key]) for key, value in needed.items()}
    # What is compared has the same requests: the systems at a point, and what rows connect.
    for places in together * len(together):
        longer.update(dict.fromkeys(places, max(longer[key] for key in places)))
    return longer


def _for_row(row: Row, cells: Cells, budget: Budget) -> float:
    """How many times as many requests the figure of `row` needs."""
    found = of_row(row, cells)
    goal = budget.precision * abs(targets()[row.target].value)
    if found is None or found.half_width is None or found.half_width <= goal:
        return 1.0
    if saturated(row, cells):  # then its latency grows with the run, and no run is long enough
        return 1.0
    return min((found.half_width / goal) ** 2 if goal else math.inf, MOST_AT_ONCE)


def _for_percentiles(definition: Definition, runs: Sequence[Services]) -> float:
    """How many times as many requests percentiles need that the experiment has."""
    fewest = [
        beyond(measure, [run[service] for run in runs])
        for measure in definition.measures
        if measure == "p99_us"
        for service in runs[0]
    ]
    return max(1.0, MIN_BEYOND / max(min(fewest, default=math.inf), 1.0))


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
