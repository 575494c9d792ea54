"""The plans of experiments: which simulations they need, and of which length, step by step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from accelflow import simulation
from accelflow.findings.targets import targets
from accelflow.reproduce.budgets import MIN_BEYOND, MIN_DWELLS, Budget
from accelflow.reproduce.definitions import Definition, Row
from accelflow.reproduce.figures import Cells, of_row, of_service, places_of, saturated
from accelflow.reproduce.owed import Case, called_by_clients, cases_of, owed_us
from accelflow.reproduce.pooling import beyond, dwells_of, together
from accelflow.reproduce.runs import Plan, Services
from accelflow.reproduce.scenario import Setting
from accelflow.reproduce.searches import throughput

__all__ = ["Cells", "plan"]

#: The largest factor by which one step of a plan lengthens simulations of an imprecise figure.
MOST_AT_ONCE = 4

#: The same factor for budgets that add simulations. They repeat none, so small steps cost nothing,
#: and end nearer to the length that is needed: the width of an interval is itself an estimate.
MOST_ADDED = 1.5


def plan(definition: Definition, scenario: Setting, budget: Budget) -> Plan[Cells]:
    """Return a generator that asks for an experiment's simulations, step by step (a plan).

    Later steps depend on earlier results: the plan prolongs simulations until figures are precise,
    or searches for a rate. The plan's outcome has the results of each seed by (point, system).
    :func:`accelflow.reproduce.runs.run_plans` runs plans.
    """
    budget = budget.for_experiment(long_run=definition.long_run, tails=definition.tails)
    if definition.kind == "throughput":
        return throughput(definition, scenario, budget)
    return _prolonged(definition, scenario, budget)


#: The number of requests of each replication, by (point, system).
_Lengths = dict[tuple[str, str], int]


def _prolonged(definition: Definition, scenario: Setting, budget: Budget) -> Plan[Cells]:
    """Return the plan that simulates every system at every point for as long as figures need.

    Simulations have SLOs if the experiment has. A replication consists of one or several of them.
    Lengths depend on results alone, so they are the same for any number of threads.
    """
    cases = cases_of(definition, budget)
    owed: list[dict[str, float]] = [{} for _ in cases]
    if definition.slo is not None:
        slo = replace(definition.slo, factor=scenario.due(definition.slo.factor))
        owed = yield from owed_us(definition, slo, scenario, budget, cases)

    def wanted(case: Case, owes: dict[str, float], requests: int) -> list[simulation.Scenario]:
        point, system, first = case
        runs = [
            scenario.experiment(system, definition.setup, point, each, seed)
            for seed, each in budget.runs(first, requests)
        ]
        return [replace(run, slo_us=owes) for run in runs]

    lengths = {
        (case[0].label, case[1]): _shortest(wanted(case, owes, budget.requests)[0], budget)
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
        asked = [wanted(case, owes, lengths[case[0].label, case[1]]) for case, owes in now]
        results = iter((yield [experiment for runs in asked for experiment in runs]))
        cells.update({key: [] for key in lengths if key in new})
        for (case, _), runs in zip(now, asked, strict=True):
            services = together([called_by_clients(next(results)) for _ in runs])
            cells[case[0].label, case[1]].append(services)
        longer = _longer(definition, cells, lengths, budget)
        new = {key for key in lengths if longer[key] > lengths[key]}
        lengths = longer
    return cells


def _shortest(experiment: simulation.Scenario, budget: Budget) -> int:
    """Return the shortest length with enough changes of the arrival rate, if there is one."""
    drawn = dwells_of(experiment) * budget.replications
    needed = experiment.requests * MIN_DWELLS / drawn
    return budget.length(needed) if needed <= budget.lengths[-1] else budget.requests


def _longer(definition: Definition, cells: Cells, lengths: _Lengths, budget: Budget) -> _Lengths:
    """Return the lengths that `cells` need, according to their results at `lengths`."""
    needed: dict[tuple[str, str], float] = {
        key: lengths[key] * _for_percentiles(definition, runs) for key, runs in cells.items()
    }
    compared = [
        [(point.label, system) for system in definition.systems] for point in definition.points
    ]
    for row in definition.rows:
        places = places_of(row)
        compared.append(places)
        more = _for_row(row, cells, budget)
        needed.update({key: max(needed[key], lengths[key] * more) for key in places})
    longer = {key: max(budget.length(value), lengths[key]) for key, value in needed.items()}
    if budget.longest_run is None:
        # Compared systems (those at a point, and those of a row) serve the same requests.
        for places in compared * len(compared):
            longer.update(dict.fromkeys(places, max(longer[key] for key in places)))
    for key, runs in cells.items():
        more = lengths[key] * _for_precision(definition, runs, budget)
        longer[key] = max(longer[key], budget.length(more))
    return longer


def _for_row(row: Row, cells: Cells, budget: Budget) -> float:
    """Return the factor by which the figure of `row` needs more requests; at least 1."""
    found = of_row(row, cells)
    if found is None or found.half_width is None:
        return 1.0
    reported = targets().get(row.target)
    goal = budget.precision * (abs(found.mean) if reported is None else reported.scale)
    if found.half_width <= goal:
        return 1.0
    if saturated(row, cells):  # then its latency grows with the run, and no run is long enough
        return 1.0
    return min((found.half_width / goal) ** 2 if goal else math.inf, _most(budget))


def _for_percentiles(definition: Definition, runs: Sequence[Services]) -> float:
    """Return the factor by which the experiment's percentiles need more requests."""
    fewest = [
        beyond(measure, [run[service] for run in runs])
        for measure in definition.measures
        if measure == "p99_us"
        for service in runs[0]
    ]
    return max(1.0, MIN_BEYOND / max(min(fewest, default=math.inf), 1.0))


def _for_precision(definition: Definition, runs: Sequence[Services], budget: Budget) -> float:
    """Return the factor by which the services' P99s need more requests for `budget`."""
    goal = budget.tail_precision
    if goal is None or "p99_us" not in definition.measures:
        return 1.0
    found = [
        of_service("p99_us", runs, service)
        for service in runs[0]
        if not any(_overloaded(run, service) for run in runs)  # no run would be long enough
    ]
    ratios = [
        estimate.half_width / estimate.mean
        for estimate in found
        if estimate and estimate.half_width and estimate.mean
    ]
    widest = max(ratios, default=0.0)
    return min((widest / goal) ** 2, _most(budget)) if widest > goal else 1.0


def _most(budget: Budget) -> float:
    """Return the largest factor by which one step of a plan lengthens replications."""
    return MOST_AT_ONCE if budget.longest_run is None else MOST_ADDED


def _overloaded(run: Services, service: str) -> bool:
    """Return whether the server of `service` is saturated, even if only by other services."""
    row = run[service]
    shared = row["run"]["placement"] == "colocated"
    return any(other["saturated"] for other in (run.values() if shared else [row]))
