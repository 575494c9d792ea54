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
    """Return a triple (point, system, seed) for each simulation of an experiment.

    These are all combinations of the experiment's points (values of its varied parameter), its
    systems, and the seeds of `budget`.
    """
    return [
        (point, system, seed)
        for point, system in product(definition.points, definition.systems)
        for seed in budget.seeds
    ]


def called_by_clients(services: Services) -> Services:
    """Return the results of `services` without services that only other services call."""
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
    """Return the plan that finds the SLO of each service in us, for each of `cases`.

    An SLO is a multiple of the service's mean response time on an idle server. The plan simulates
    this server, always with the settings of the one point that `slo` names. So the SLO is the same
    at all points, even at those with fewer or slower accelerators. The scenario chooses the idle
    server's system. The plan's outcome is a list in the order of `cases`: each item maps services
    to SLOs.
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
