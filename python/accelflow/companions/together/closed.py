"""The closed form of Accelerometer for a server with a mix of services.

This is the model of :mod:`accelflow.sizing`: each accelerator is one of Accelerometer's kernels,
and the cores are a queue. The model needs no simulation.
"""

from __future__ import annotations

import math
from typing import Any

from accelflow.companions.together.systems import FLOODING, System
from accelflow.sizing import Plan
from accelflow.sizing.closed import closed_form
from accelflow.sizing.plan import demands

__all__ = ["closed"]


def closed(
    plan: Plan, system: System, promised_rps: float | None, recording: str | None
) -> dict[str, float | None]:
    """Return ``mean_us``, ``p99_us``, ``core_us`` and ``capacity_rps`` by a closed-form model.

    ``mean_us`` and ``p99_us`` are averages over the services of the tenants that do not flood.
    ``core_us`` is the core time of an average request, and ``capacity_rps`` the largest rate of all
    services together. With ARCUS, the flooding tenant is served at most `promised_rps` requests per
    second. `recording` is the text of a recording, or None for the plan's costs. Mean and P99 are
    None for a load at which a resource is always busy. All values are None for a system that the
    model (:mod:`accelflow.sizing`) does not cover.
    """
    rates = dict(plan.rates_rps)
    if system.held and promised_rps is not None:
        rates[FLOODING] = min(rates[FLOODING], promised_rps)
    plan = _changed(plan, rates_rps=rates)
    demanded = demands(plan, recording)
    # The demands contain the recorded times; the plan only gives the server's parameters.
    settled = {key: value for key, value in plan.scenario.items() if key != "recorded_times"}
    form = closed_form(_changed(plan, scenario=settled), system.orchestrator, demanded, {})
    if form is None:
        return dict.fromkeys(("mean_us", "p99_us", "core_us", "capacity_rps"))
    total_rps = math.fsum(rates.values())
    busiest = max(form.utilization(1.0).values())
    others = [name for name in rates if name != FLOODING]
    means = [form.mean_us(name, 1.0) for name in others]
    tails = [form.p99_us(name, 1.0) for name in others]
    return {
        "mean_us": _mean(means) if busiest < 1.0 else None,
        "p99_us": _mean(tails) if busiest < 1.0 else None,
        "core_us": form.busy_ns["cores"] * 1e-3,
        "capacity_rps": total_rps / busiest,
    }


def _changed(plan: Plan, **fields: Any) -> Plan:
    given: dict[str, Any] = {name: getattr(plan, name) for name in plan.__dataclass_fields__}
    return Plan(**{**given, **fields})


def _mean(values: list[float]) -> float | None:
    mean = math.fsum(values) / len(values)
    return mean if math.isfinite(mean) else None
