"""The figures that the AccelFlow paper reports, and which comparisons they belong to."""

import math
from typing import Final

from accelflow.findings import targets
from accelflow.report.results import Comparison

__all__ = ["EXPERIMENT", "PAPER_REDUCTIONS", "other_experiment"]

#: AccelFlow's mean reduction of (P99, mean) latency over each orchestrator, as the paper reports it
#: (AccelFlow, Fig. 11 and section VII.A).
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

#: The experiment that the paper's figures are of, as a sentence for tables and pages.
EXPERIMENT: Final = (
    "SocialNetwork's eight services, 13,400 requests a second each, on the server of Table III,"
    " with the paper's costs of operations"
)

_SERVICES: Final = frozenset(
    ("CPost", "ReadH", "StoreP", "Follow", "Login", "CUrls", "UniqId", "RegUsr")
)
_RATE_RPS: Final = 13_400.0
#: What the paper's production arrivals are read as: Alibaba's rates, or their mean alone.
_ARRIVALS: Final = ("poisson", "alibaba")
#: The base server's order of input queues, first in, first out, may be asked for by name.
_SAME_SERVER: Final = {"scheduling.policy": 0.0}


def other_experiment(comparison: Comparison) -> str | None:
    """Why `comparison` is not the experiment of the paper's Fig. 11; None if it is.

    It is if all of these hold: the workload is socialnetwork, and every system ran its eight
    services; costs are those of the profile ``paper``; each service was offered 13,400 requests a
    second on average, in arrivals poisson or alibaba; no parameter of the server was set, and no
    tenant, priority or shaper. What the paper leaves open may be anything: placement, payload
    sizes, what TCP costs a core, remote waits, facts, how the services share the rate, seed and
    number of requests. Results that do not say one of these are not the paper's experiment.
    """
    source = comparison.source
    kind = comparison.arrivals.get("kind")
    ran = [{result.service for result in system.services} for system in comparison.systems]
    reasons = (
        (comparison.workload != "socialnetwork", f"the workload is {comparison.workload}"),
        (any(names != _SERVICES for names in ran), "some of the eight services are left out"),
        (comparison.profile != "paper", f"costs are those of the profile {comparison.profile}"),
        (not _has_paper_rate(comparison), "the rate is not 13,400 a second of each service"),
        (kind not in _ARRIVALS, f"arrivals are {kind or 'unknown'}"),
        (source.get("config", "") not in ({}, _SAME_SERVER), "parameters of the server are set"),
        (any(source.get(key) for key in ("tenants", "priorities")), "services are of tenants"),
        (bool(source.get("shaping")), "tenants are shaped"),
    )
    return next((why for other, why in reasons if other), None)


def _has_paper_rate(comparison: Comparison) -> bool:
    rate = comparison.arrivals.get("rate_rps")
    return isinstance(rate, int | float) and math.isclose(rate, _RATE_RPS)
