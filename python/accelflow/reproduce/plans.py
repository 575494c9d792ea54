"""The plans of experiments: which simulations they need, step by step, and how long."""

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
from accelflow.reproduce.pooling import beyond, dwells_of
from accelflow.reproduce.runs import Plan, Services
from accelflow.reproduce.scenario import Setting
from accelflow.reproduce.searches import throughput

__all__ = ["Cells", "plan"]

#: The largest factor by which one step of a plan lengthens simulations of an imprecise figure.
MOST_AT_ONCE = 4


def plan(definition: Definition, scenario: Setting, budget: Budget) -> Plan[Cells]:
    """Return the plan (:data:`accelflow.reproduce.runs.Plan`) of an experiment's simulations.

    The plan's outcome has the results of each seed by point and system.
    """
    if definition.long_run:
        most = max(budget.most_requests, budget.requests * 4)
        budget = replace(budget, requests=budget.requests * 4, most_requests=most)
    if definition.kind == "throughput":
        return throughput(definition, scenario, budget)
    return _prolonged(definition, scenario, budget)


#: The number of requests of simulations, by (point, system).
_Lengths = dict[tuple[str, str], int]


def _prolonged(definition: Definition, scenario: Setting, budget: Budget) -> Plan[Cells]:
    """Return the plan that simulates every system at every point for as long as figures need.

    Simulations have SLOs if the experiment has. Their lengths depend on results alone, so they are
    the same for any number of threads.
    """
    cases = cases_of(definition, budget)
    owed: list[dict[str, float]] = [{} for _ in cases]
    if definition.slo is not None:
        slo = replace(definition.slo, factor=scenario.due(definition.slo.factor))
        owed = yield from owed_us(definition, slo, scenario, budget, cases)

    def wanted(case: Case, owes: dict[str, float], requests: int) -> simulation.Scenario:
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
            cells[case[0].label, case[1]].append(called_by_clients(services))
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
    # Compared systems (those at a point, and those of a row) serve the same requests.
    for places in together * len(together):
        longer.update(dict.fromkeys(places, max(longer[key] for key in places)))
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
    return min((found.half_width / goal) ** 2 if goal else math.inf, MOST_AT_ONCE)


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
        if not any(run[service].get("saturated") for run in runs)  # no run would be long enough
    ]
    ratios = [
        estimate.half_width / estimate.mean
        for estimate in found
        if estimate and estimate.half_width and estimate.mean
    ]
    widest = max(ratios, default=0.0)
    return min((widest / goal) ** 2, MOST_AT_ONCE) if widest > goal else 1.0
