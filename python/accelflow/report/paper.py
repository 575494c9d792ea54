"""The AccelFlow paper's latency reductions, and the comparisons to which they apply."""

import json
import math
from typing import Final

from accelflow import _native
from accelflow.findings import targets
from accelflow.report.results import Comparison, SystemResult

__all__ = ["EXPERIMENT", "PAPER_REDUCTIONS", "compared", "other_experiment"]

#: The paper's reductions of (P99, mean) latency by AccelFlow, by the orchestrator with which it is
#: compared (AccelFlow, Fig. 11 and section VII.A).
PAPER_REDUCTIONS: Final = {
    system: (
        targets()[f"accelflow.p99_reduction.{name}"].value,
        targets()[f"accelflow.mean_latency_reduction.{name}"].value,
    )
    for system, name in (
        ("non_acc", "Non-acc"),
        ("cpu_centric", "CPU-Centric"),
        ("relief", "RELIEF"),
        ("cohort", "Cohort"),
    )
}

_WORKLOAD: Final = "socialnetwork"
_SERVICES: Final = frozenset(_native.service_names(_WORKLOAD))
#: The mean rate of each service in requests per second, the default of a scenario.
_RATE_RPS: Final[float] = json.loads(_native.scenario_check("{}", None))["rate_rps"]

#: A description of the experiment to which the paper's figures belong, for tables and pages.
EXPERIMENT: Final = (
    f"SocialNetwork's eight services, {_RATE_RPS:,.0f} requests a second each, on the server of"
    " Table III, with the paper's costs of operations"
)

#: The kinds of arrivals that can represent the paper's production arrivals.
_ARRIVALS: Final = ("poisson", "alibaba")
#: The default order of input queues; setting it does not change the server.
_SAME_SERVER: Final = {"scheduling.policy": 0.0}


def other_experiment(comparison: Comparison) -> str | None:
    """Return why `comparison` is not the paper's Fig. 11 experiment; None if it is.

    In that experiment the workload is socialnetwork and every system runs its eight services on one
    kind of chip, with the costs of the profile ``paper``. Each service receives 13,400 requests a
    second on average, with arrivals poisson or alibaba. No parameter of the server, tenant,
    priority or shaper is set. Results that lack the rate or the parameters are not the experiment.
    This check ignores what the paper does not specify: placement, payload sizes, the cost of TCP,
    remote waits, facts, the services' shares of the rate, seed and number of requests.
    """
    source = comparison.source
    kind = comparison.arrivals.get("kind")
    ran = [{result.service for result in system.services} for system in comparison.systems]
    reasons = (
        (comparison.workload != _WORKLOAD, f"the workload is {comparison.workload}"),
        (any(names != _SERVICES for names in ran), "some of the eight services are left out"),
        (comparison.profile != "paper", f"costs are those of the profile {comparison.profile}"),
        (
            not _has_paper_rate(comparison),
            f"the rate is not {_RATE_RPS:,.0f} requests a second of each service",
        ),
        (kind not in _ARRIVALS, f"arrivals are {kind or 'unknown'}"),
        (bool(comparison.chips), "several chips are compared"),
        (source.get("config", "") not in ({}, _SAME_SERVER), "parameters of the server are set"),
        (any(source.get(key) for key in ("tenants", "priorities")), "services are of tenants"),
        (bool(source.get("shaping")), "tenants are shaped"),
    )
    return next((why for other, why in reasons if other), None)


def _has_paper_rate(comparison: Comparison) -> bool:
    rate = comparison.arrivals.get("rate_rps")
    return isinstance(rate, int | float) and math.isclose(rate, _RATE_RPS)


def compared(comparison: Comparison) -> list[tuple[SystemResult, SystemResult]]:
    """Return a pair (AccelFlow, other) of results for each system that the paper compares it with.

    Both systems of a pair are on the same chip. Empty if AccelFlow did not take part.
    """
    rivals = [s for s in comparison.systems if s.orchestrator in PAPER_REDUCTIONS]
    pairs = [(comparison.system("accelflow", rival.chip), rival) for rival in rivals]
    return [(ours, rival) for ours, rival in pairs if ours is not None]
