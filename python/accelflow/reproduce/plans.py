"""The simulations of an experiment, step by step, and their lengths."""

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
from accelflow.reproduce.figures import Cells, of_row, of_service, places_of, saturated
from accelflow.reproduce.measures import ServiceRow
from accelflow.reproduce.pooling import beyond, dwells_of
from accelflow.reproduce.runs import Plan, Services
from accelflow.reproduce.scenario import OWN, Setting

__all__ = ["Cells", "plan"]

#: The systems whose input queues use deadlines.
BY_DEADLINE = ("accelflow_deadline", "accelflow_edf")

#: The most by which a step multiplies the requests of an imprecise figure.
MOST_AT_ONCE = 4


def plan(definition: Definition, scenario: Setting, budget: Budget) -> Plan[Cells]:
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


def _prolonged(definition: Definition, scenario: Setting, budget: Budget) -> Plan[Cells]:
    """Every system at every point with every seed, for as long as its figures need.

    Simulations have SLOs if the experiment has. Lengths depend on results alone, so they are the
    same for any number of threads.
    """
    cases = _cases(definition, budget)
    owed: list[dict[str, float]] = [{} for _ in cases]
    if definition.slo is not None:
        slo = replace(definition.slo, factor=scenario.due(definition.slo.factor))
        owed = yield from _owed(definition, slo, scenario, budget, cases)

    def wanted(case: _Case, owes: dict[str, float], requests: int) -> simulation.Scenario:
        point, system, seed = case
        experiment = scenario.experiment(system, definition.setup, point, requests, seed)
        return replace(experiment, slo_us=owes)

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
            cells[case[0].label, case[1]].append(_with_requests(services))
        longer = _longer(definition, cells, lengths, budget)
        new = {key for key in lengths if longer[key] > lengths[key]}
        lengths = longer
    return cells


def _with_requests(services: Services) -> Services:
    """The services that clients call; those that only other services call answer no requests."""
    return {
        name: row
        for name, row in services.items()
        if row.get("offered_rps") != 0.0 or row["completed"]
    }


def _shortest(experiment: simulation.Scenario, budget: Budget) -> int:
    """The shortest length that draws the rate of the arrivals often enough, if there is one."""
    drawn = dwells_of(experiment) * budget.replications
    needed = experiment.requests * MIN_DWELLS / drawn
    return budget.length(needed) if needed <= budget.lengths[-1] else budget.requests


def _longer(definition: Definition, cells: Cells, lengths: _Lengths, budget: Budget) -> _Lengths:
    """The lengths that cells need, by their results at `lengths`."""
    needed: dict[tuple[str, str], float] = {
        key: lengths[key]
        * max(_for_percentiles(definition, runs), _for_precision(definition, runs, budget))
        for key, runs in cells.items()
    }
    together = [
        [(point.label, system) for system in definition.systems] for point in definition.points
    ]
    for row in definition.rows:
        places = places_of(row)
        together.append(places)
        more = _for_row(row, cells, budget)
        needed.update({key: max(needed[key], lengths[key] * more) for key in places})
    longer = {key: max(budget.length(value), lengths[key]) for key, value in needed.items()}
    # Systems that are compared have the same requests: those at a point, and those of a row.
    for places in together * len(together):
        longer.update(dict.fromkeys(places, max(longer[key] for key in places)))
    return longer


def _for_row(row: Row, cells: Cells, budget: Budget) -> float:
    """The factor by which the figure of `row` needs more requests."""
    found = of_row(row, cells)
    if found is None or found.half_width is None:
        return 1.0
    reported = targets().get(row.target)
    goal = budget.precision * abs(found.mean if reported is None else reported.value)
    if found.half_width <= goal:
        return 1.0
    if saturated(row, cells):  # then its latency grows with the run, and no run is long enough
        return 1.0
    return min((found.half_width / goal) ** 2 if goal else math.inf, MOST_AT_ONCE)


def _for_percentiles(definition: Definition, runs: Sequence[Services]) -> float:
    """The factor by which the percentiles of the experiment need more requests."""
    fewest = [
        beyond(measure, [run[service] for run in runs])
        for measure in definition.measures
        if measure == "p99_us"
        for service in runs[0]
    ]
    return max(1.0, MIN_BEYOND / max(min(fewest, default=math.inf), 1.0))


def _for_precision(definition: Definition, runs: Sequence[Services], budget: Budget) -> float:
    """The factor by which the P99s of services need more requests for the budget's precision."""
    goal = budget.tail_precision
    if goal is None or "p99_us" not in definition.measures:
        return 1.0
    found = [
        of_service("p99_us", runs, service)
        for service in runs[0]
        if not any(run[service].get("saturated") for run in runs)  # no run would be long enough
    ]
    ratios = [
        estimate.half_width / estimate.mean
        for estimate in found
        if estimate and estimate.half_width and estimate.mean
    ]
    widest = max(ratios, default=0.0)
    return min((widest / goal) ** 2, MOST_AT_ONCE) if widest > goal else 1.0


@dataclass
class _Search:
    """A search for the highest rate of a grid at which a service meets its SLO.

    If a rate meets it, all lower ones are taken to do so, so that bisection needs as many steps as
    the logarithm of the grid's length. Services that share a server have the same rate. All
    searches have one grid, so that they share simulations, and the seed is that of the arrivals, so
    that all systems are offered the same requests at the same rate.
    """

    base: simulation.Scenario
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
    def next(self) -> simulation.Scenario:
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
        """The service's results at the highest rate that meets its SLO; ``max_rps`` may be None."""
        if self.best is None:
            return {"service": self.service, "max_rps": None}
        return {**self.best, "max_rps": self.grid[self.low]}


def _throughput(definition: Definition, scenario: Setting, budget: Budget) -> Plan[Cells]:
    """The highest load within the SLO, for every system at every point with every seed."""
    slo = definition.slo
    if slo is None:
        raise InputError(f"{definition.name}.toml: a throughput experiment needs an slo")
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
    yield from _bisect([search for group in searches for search in group])
    cells: Cells = {}
    for (point, system, _), group in zip(cases, searches, strict=True):
        cells.setdefault((point.label, system), []).append(
            {search.service: search.found for search in group}
        )
    return cells


def _alone(base: simulation.Scenario, service: str) -> simulation.Scenario:
    """A service on a server of its own."""
    slo_us = {name: us for name, us in base.slo_us.items() if name == service}
    return replace(base, services=(service,), slo_us=slo_us)


def _bisect(searches: Iterable[_Search]) -> Plan[None]:
    while open_searches := [search for search in searches if not search.ended]:
        results = yield [search.next for search in open_searches]
        for search, result in zip(open_searches, results, strict=True):
            search.look(result)


def _owed(
    definition: Definition,
    slo: Slo,
    scenario: Setting,
    budget: Budget,
    cases: Sequence[_Case],
) -> Plan[list[dict[str, float]]]:
    """The SLO of each service in each case, in us: a multiple of its unloaded mean response time.

    It is the same at all points, that of the point which the SLO names: a server with fewer or
    slower elements has the same SLO. The scenario chooses the system.
    """
    named = next(point for point in definition.points if point.label == slo.point)

    def unloaded(case: _Case) -> simulation.Scenario:
        _, system, seed = case
        chosen = system if scenario.slo_system == OWN else scenario.slo_system
        experiment = scenario.experiment(chosen, definition.setup, named, budget.requests, seed)
        rate_rps = scenario.unloaded_rps
        return replace(experiment, placement="isolated", arrivals="poisson", rate_rps=rate_rps)

    results = yield [unloaded(case) for case in cases]
    return [
        {
            name: scenario.owed_us(name, row["mean_us"], slo.factor)
            for name, row in _with_requests(services).items()
        }
        for services in results
    ]


def _grid(slo: Slo, step: float) -> list[float]:
    """Rates from the lowest to the highest, each a step above the last."""
    steps = math.floor(math.log(slo.high_rps / slo.low_rps) / math.log(step))
    return [slo.low_rps * step**power for power in range(steps + 1)]
