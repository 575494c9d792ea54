"""The points of a plot that shows, by load, how close services' P99 is to their SLOs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final

from accelflow.sizing.answer import recording_of
from accelflow.sizing.closed import closed_form
from accelflow.sizing.plan import Plan, demands
from accelflow.sizing.simulated import Searched

__all__ = ["sweep"]

_POINTS: Final = 40
#: The multiple of a server's capacity, and the multiple of an SLO, at which a sweep ends.
_BEYOND: Final = 1.25
_MOST_SLOS: Final = 3.0


def sweep(
    plan: Plan, slo_us: Mapping[str, float], searches: Iterable[Searched]
) -> list[tuple[str, str, float, float]]:
    """Return the points of a plot for each system: P99 divided by SLO, against a server's load.

    A point is (system, ``closed form`` or ``simulated``, load, ratio). The load is the part of the
    plan's request rates that one server gets. The ratio is a service's P99 response time divided by
    the service's SLO; the largest ratio of all services counts. `slo_us` has the SLOs in us. Points
    with a ratio above three are omitted. Points in closed form are calculated by queueing theory.
    Simulated points are the loads in `searches`, each with the mean ratio over the seeds that
    simulated it. Raises AccelflowError if a point cannot be computed.
    """
    needed = demands(plan, recording_of(plan))
    points = []
    for system in plan.systems:
        form = closed_form(plan, system, needed, slo_us)
        load = 0.0 if form is None else form.capacity(plan.limits.utilization_ratio).load
        if form is None or not 0.0 < load < math.inf:
            continue
        for step in range(1, _POINTS + 1):
            at = load * _BEYOND * step / _POINTS
            late = max(form.p99_us(name, at) / limit for name, limit in slo_us.items())
            points.append((system, "closed form", at, late))
    simulated = [
        (found.system, "simulated", load, late)
        for found in searches
        for load, late in _means(found.tried)
    ]
    return [point for point in [*points, *simulated] if point[3] <= _MOST_SLOS]


def _means(tried: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return each load once, in order, with the mean of its ratios.

    A line through the points of several seeds would go up and down at one load.
    """
    ratios: dict[float, list[float]] = {}
    for load, late in sorted(tried):
        ratios.setdefault(load, []).append(late)
    return [(load, sum(of) / len(of)) for load, of in ratios.items()]
