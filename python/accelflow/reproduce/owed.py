"""The simulations of an experiment (point, system, seed), and the SLOs of their services."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

from accelflow import simulation
from accelflow.reproduce.budgets import Budget
from accelflow.reproduce.definitions import Definition, Point, Slo
from accelflow.reproduce.runs import Plan, Services
from accelflow.reproduce.scenario import OWN, Setting

__all__ = ["Case", "called_by_clients", "cases_of", "owed_us"]

#: One simulation of an experiment: (point, system, seed).
Case = tuple[Point, str, int]


def cases_of(definition: Definition, budget: Budget) -> list[Case]:
    """Return all simulations of an experiment: combinations of points, systems and seeds."""
    return [
        (point, system, seed)
        for point, system in product(definition.points, definition.systems)
        for seed in budget.seeds
    ]


def called_by_clients(services: Services) -> Services:
    """Return those of `services` that clients call, without those that only other services call."""
    return {
        name: row
        for name, row in services.items()
        if row.get("offered_rps") != 0.0 or row["completed"]
    }


def owed_us(
    definition: Definition,
    slo: Slo,
    scenario: Setting,
    budget: Budget,
    cases: Sequence[Case],
) -> Plan[list[dict[str, float]]]:
    """Return the plan (the simulations) that finds each service's SLO in us, for each of `cases`.

    An SLO is a multiple of the service's mean response time on an idle server with the settings of
    the point that `slo` names. So all points have the same SLO, even those with fewer or slower
    elements. The scenario chooses the idle server's system. The plan's outcome has SLOs by service,
    in the order of `cases`.
    """
    named = next(point for point in definition.points if point.label == slo.point)

    def unloaded(case: Case) -> simulation.Scenario:
        _, system, seed = case
        chosen = system if scenario.slo_system == OWN else scenario.slo_system
        experiment = scenario.experiment(chosen, definition.setup, named, budget.requests, seed)
        rate_rps = scenario.unloaded_rps
        return replace(experiment, placement="isolated", arrivals="poisson", rate_rps=rate_rps)

    results = yield [unloaded(case) for case in cases]
    return [
        {
            name: scenario.owed_us(name, row["mean_us"], slo.factor)
            for name, row in called_by_clients(services).items()
        }
        for services in results
    ]
