"""Simulations of SocialNetwork's eight services on one server, under each system and load."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from accelflow import simulation
from accelflow.companions.together.closed import closed
from accelflow.companions.together.systems import (
    FLOODING,
    LOADS,
    PAIRS,
    SYSTEMS,
    System,
    estimated,
    ratios,
)
from accelflow.sizing import Plan
from accelflow.tenants import Shaping

__all__ = ["Setup", "base_server", "effects", "one_run", "rows", "runs"]

#: TCP's cost on a core by the reading under which software holds the load
#: (docs/results/readings.md).
_TCP_COST_NS: Final = 7_000.0
#: The tenant's rate under flood, and the rate that ARCUS promises the tenant, each as a multiple of
#: the tenant's rate at the even load.
_FLOOD: Final = 12
_PROMISED: Final = 2
#: The size of the token bucket of ARCUS's promise, in requests.
_BURST: Final = 32
#: The run that finds the accelerator time of a request on an idle server: its number of requests,
#: their rate, and a limit on accelerator time that they never reach.
_ALONE: Final = 500
_ALONE_RPS: Final = 100.0
_MOST_S_PER_S: Final = 100.0
#: The simulator's name for a backlog that comes from the tenant's own limit.
_OWN_LIMIT: Final = "tenant limit"
#: The names of a run's results, in the order of the page.
MEASURES: Final = ("mean_us", "p99_us", "flooding_p99_us", "core_us", "capacity_rps")
#: The names of the results that the closed form has as well.
CLOSED: Final = ("mean_us", "p99_us", "core_us", "capacity_rps")

#: The results of each seed's run, by load and system.
Runs = Mapping[tuple[str, str], list[dict[str, Any]]]


@dataclass(frozen=True, kw_only=True)
class Setup:
    """The simulated server and its loads, which all compared systems share.

    `rates_rps` has the rate of each service in requests per second under the load ``even``. Under
    the load ``flood``, one tenant (the service :data:`FLOODING`) sends `flood` times as much. ARCUS
    promises this tenant enough accelerator time for `promised` times its even rate. `workload` is a
    suite's name or the content of a workload's file. `recording` is the text of a recording, or
    None. `scenario` has other fields of :class:`accelflow.simulation.Scenario`.
    """

    rates_rps: Mapping[str, float]
    flood: float
    promised: float = _PROMISED
    workload: str | Mapping[str, Any] = "socialnetwork"
    recording: str | None = None
    scenario: Mapping[str, Any] = field(default_factory=dict)

    def rates(self, load: str) -> dict[str, float]:
        """Return each service's rate in requests per second; `load` is ``even`` or ``flood``."""
        rates = dict(self.rates_rps)
        rates[FLOODING] *= self.flood if LOADS[load] else 1.0
        return rates

    @property
    def promised_rps(self) -> float:
        """The rate that ARCUS promises to the tenant that floods, in requests per second."""
        return self.promised * self.rates_rps[FLOODING]

    def plan(self, load: str, system: System) -> Plan:
        """Return the input of the closed-form model, :mod:`accelflow.sizing`, for `load`.

        The plan describes the server with the parts that `system` has.
        """
        config = {**self.scenario.get("config", {}), **system.config}
        return Plan(
            workload=self.workload,
            systems=(system.orchestrator,),
            rates_rps=self.rates(load),
            scenario={**self.scenario, "config": config},
        )

    def promise_s_per_s(self, system: System, seed: int) -> float:
        """Return the accelerator time in s per s that ARCUS promises the tenant that floods.

        This is the time that requests at the promised rate take on an idle server. A simulation
        with `seed` finds it.
        """
        alone = replace(
            self.experiment("even", system, seed, _ALONE),
            services=(FLOODING,),
            rates_rps={FLOODING: _ALONE_RPS},
            warmup=0,
            shaping={1: Shaping(accelerator_s_per_s=_MOST_S_PER_S)},
        )
        (service,) = simulation.run(alone)["systems"][0]["services"]
        each_us: float = service["tenant"]["charged_us"] / service["responded"]
        return self.promised_rps * each_us * 1e-6

    def shaping(self, system: System, seed: int) -> dict[int, Shaping]:
        """Return ARCUS's limits on accelerator time by tenant ID; none if `system` lacks ARCUS."""
        if not system.held:
            return {}
        promise = self.promise_s_per_s(system, seed)
        burst_s = _BURST * promise / self.promised_rps
        return {1: Shaping(accelerator_s_per_s=promise, burst_accelerator_s=burst_s)}

    def experiment(
        self, load: str, system: System, seed: int, requests: int
    ) -> simulation.Scenario:
        """Return the scenario of one simulation, without ARCUS's limit (:meth:`shaping` has it)."""
        config = {**self.scenario.get("config", {}), **system.config}
        return simulation.Scenario(
            **{
                **self.scenario,
                "workload": self.workload,
                "recording": self.recording,
                "orchestrators": (system.orchestrator,),
                "slo_factor": None,
                "requests": requests,
                "by_rate": True,
                "seed": seed,
                "rates_rps": self.rates(load),
                "tenants": {FLOODING: 1},
                "config": config,
            }
        )


def base_server() -> Setup:
    """Return AccelFlow's server with the paper's mean rate of each service of SocialNetwork."""
    return Setup(
        rates_rps=dict.fromkeys(simulation.services(), simulation.PAPER_RATE_RPS),
        flood=_FLOOD,
        scenario={"profile": "paper", "tcp_cost_ns": _TCP_COST_NS},
    )


def runs(setup: Setup, *, seed: int, replications: int, requests: int, threads: int) -> Runs:
    """Simulate every load under every system; return the results by (load, system's name).

    There is a result for each of `replications` seeds, from `seed` on. Simulations have `requests`
    requests for each service, and use `threads` threads.
    """
    return {
        (load, name): [
            _run(replace(scenario, seed=seed + number), threads) for number in range(replications)
        ]
        for load in LOADS
        for name in SYSTEMS
        for scenario in [_scenario(setup, load, name, seed, requests)]
    }


def one_run(  # noqa: PLR0913 (what a run is of)
    setup: Setup, load: str, name: str, *, seed: int, requests: int, threads: int
) -> dict[str, Any]:
    """Simulate one load under the system called `name`; return the results by the measure's name.

    The measures are :data:`MEASURES`, ``flooding_rps`` (the throughput of the tenant that floods),
    ``busiest`` (the busiest resource) and ``saturated`` (the resources that could not keep up, and
    ``tenant limit`` if requests waited for their tenant's own limit).
    """
    return _run(_scenario(setup, load, name, seed, requests), threads)


def _scenario(setup: Setup, load: str, name: str, seed: int, requests: int) -> simulation.Scenario:
    """Return the scenario of a load and system; `seed` also finds the promised time."""
    system = SYSTEMS[name]
    return replace(
        setup.experiment(load, system, seed, requests), shaping=setup.shaping(system, seed)
    )


def _run(scenario: simulation.Scenario, threads: int) -> dict[str, Any]:
    (system,) = simulation.run(scenario, threads=threads)["systems"]
    services = system["services"]
    others = [service for service in services if service["service"] != FLOODING]
    (flooding,) = (service for service in services if service["service"] == FLOODING)
    throughput = math.fsum(service["throughput_rps"] or 0.0 for service in services)
    first = services[0]
    cores = _cores(scenario)
    used = {"cores": first["core_utilization"], **first["accelerator_utilization"]}
    busiest = max(used, key=lambda name: used[name] or 0.0)
    causes = {service["saturated"] for service in services if service["saturated"]}
    return {
        "mean_us": _mean([service["mean_us"] for service in others]),
        "p99_us": _mean([service["p99_us"] for service in others]),
        "flooding_p99_us": flooding["p99_us"],
        "flooding_rps": flooding["throughput_rps"],
        "core_us": 1e6 * first["core_utilization"] * cores / throughput,
        "capacity_rps": throughput / used[busiest],
        "busiest": busiest,
        "saturated": sorted(causes),
    }


def _cores(scenario: simulation.Scenario) -> float:
    """Return the number of cores of the server."""
    default = next(row.default for row in simulation.parameters() if row.key == "core.count")
    return float(scenario.config.get("core.count", default))


def _mean(values: list[float | None]) -> float | None:
    return None if None in values else math.fsum(v or 0.0 for v in values) / len(values)


def rows(setup: Setup, found: Runs) -> list[dict[str, Any]]:
    """Return a row of results for each load and system, as objects for JSON.

    A row has means over the seeds in `found`, and the values of the closed-form model.
    """
    return [_row(setup, load, name, same) for (load, name), same in found.items()]


def _row(setup: Setup, load: str, name: str, same: list[dict[str, Any]]) -> dict[str, Any]:
    system = SYSTEMS[name]
    form = closed(setup.plan(load, system), system, setup.promised_rps, setup.recording)
    causes = sorted({cause for run in same for cause in run["saturated"]})
    # A tenant that waits for its tokens does not make the others wait.
    overloaded = [cause for cause in causes if cause != _OWN_LIMIT]
    measures = (*MEASURES, "flooding_rps")
    return {
        "load": load,
        "system": name,
        **{measure: estimated([run[measure] for run in same]) for measure in measures},
        **{f"closed_{measure}": form[measure] for measure in CLOSED},
        "busiest": same[0]["busiest"],
        "overloaded": overloaded,
        "tenant_waits": causes != overloaded,
    }


def effects(found: Runs) -> list[dict[str, Any]]:
    """Return how each addition to a system, such as ARCUS, changes the P99.

    The P99 is that of the tenants that do not flood. There is an object for each load and addition.
    ``p99_ratio`` is the P99 without the addition divided by that with it: 2 means half the P99.
    ``beside_ratio`` is None unless the system already has another addition. It is the ``p99_ratio``
    of the new addition to this system, divided by its ``p99_ratio`` to AccelFlow alone. Below 1,
    the two additions reduce each other's gain.
    """
    rows = []
    for load in LOADS:
        gains = {
            added: ratios(found[load, without], found[load, with_it], "p99_us")
            for added, without, with_it in PAIRS
        }
        for added, values in gains.items():
            alone, where, _ = added.partition(", where ")
            both = list(zip(values, gains[alone], strict=True)) if where else []
            beside = [a / b if a and b else None for a, b in both]
            rows.append(
                {
                    "load": load,
                    "added": added,
                    "p99_ratio": estimated(values),
                    "beside_ratio": estimated(beside) if beside else None,
                }
            )
    return rows
