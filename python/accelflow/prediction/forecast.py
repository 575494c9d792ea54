"""Forecasts of a recorded service's response times: in closed form, and simulated."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from accelflow.errors import AccelflowError, one_of
from accelflow.report.results import Comparison
from accelflow.simulation import run
from accelflow.sizing.closed import closed_form
from accelflow.sizing.plan import Plan, demands

__all__ = ["RUNGS", "Forecast", "Workload", "forecast"]

#: The forecasting methods by name, each with the recorded times that it uses: distributions or
#: medians.
RUNGS: Final[Mapping[str, str]] = {
    "closed_form": "distribution",
    "medians": "median",
    "simulator": "distribution",
}
#: A live server executes traces in software.
_SYSTEM: Final = "non_acc"
#: The recorded time outside steps contains thread wake-ups and switches.
_OUTSIDE: Final = {"core.context_switch_ns": 0.0, "core.wake_ns": 0.0}


@dataclass(frozen=True, kw_only=True)
class Workload:
    """The input of a forecast: a recorded service, on a server with `cores` cores.

    `recording` is the text of the recording, and `service` the service's name. `workload` is a
    suite's name or the content of a workload's file as a dict; it contains the service. `config`
    sets parameters of the simulated server by key.
    """

    recording: str
    service: str
    workload: str | Mapping[str, Any] = "socialnetwork"
    cores: int = 1
    config: Mapping[str, float | str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """The predicted response times in us; infinite for a server that cannot take the load."""

    mean_us: float
    p99_us: float


def forecast(
    workload: Workload, rung: str, rate_rps: float, *, requests: int, seed: int = 1
) -> Forecast:
    """Forecast the response times of `workload` at `rate_rps` by the method `rung`.

    `rung` is a key of :data:`RUNGS`. ``closed_form`` is the closed-form model of
    :mod:`accelflow.sizing`, with the means of the recorded distributions. ``medians`` simulates
    `requests` requests, each with the recorded median times, as comparisons do by default.
    ``simulator`` simulates them with times drawn from the recorded distributions. All but
    ``medians`` take the time that a request spends outside of traces and application logic from the
    recording. ``medians`` uses the simulator's own context switches and wake-ups instead.

    Raises AccelflowError for a recording that does not fit the workload, and InputError for an
    unknown `rung` and other invalid values.
    """
    one_of("rung", rung, RUNGS)
    plan = _plan(workload, rung, rate_rps, requests)
    if rung == "closed_form":
        form = closed_form(plan, _SYSTEM, demands(plan, workload.recording), {})
        if form is None:
            raise AccelflowError(f"{_SYSTEM} has no closed form")
        return Forecast(
            mean_us=form.mean_us(workload.service, 1.0), p99_us=form.p99_us(workload.service, 1.0)
        )
    scenario = replace(
        plan.scenario_of(1.0, system=_SYSTEM, seed=seed), recording=workload.recording
    )
    (row,) = Comparison.from_dict(run(scenario)).systems[0].services
    if row.saturated is not None or row.mean_us is None or row.latencies.p99_us is None:
        return Forecast(mean_us=math.inf, p99_us=math.inf)
    return Forecast(mean_us=row.mean_us, p99_us=row.latencies.p99_us)


def _plan(workload: Workload, rung: str, rate_rps: float, requests: int) -> Plan:
    times = RUNGS[rung]
    own = _OUTSIDE if times == "distribution" else {}
    return Plan(
        workload=workload.workload,
        systems=(_SYSTEM,),
        rates_rps={workload.service: rate_rps},
        requests=requests,
        scenario={
            "recording": workload.recording,
            "recorded_times": times,
            "config": {"core.count": float(workload.cores), **own, **workload.config},
        },
    )
