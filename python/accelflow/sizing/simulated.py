"""A server's capacity by simulation: the second answer to a plan.

For each seed, a search finds the largest load at which the simulated server keeps every limit. All
loads of a search use the same requests, so the result for a seed is unique. The spread over the
seeds gives the confidence interval.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from accelflow.chip import element_counts
from accelflow.parallel import Stop, run_all
from accelflow.report.results import Comparison, ServiceResult
from accelflow.simulation import run
from accelflow.sizing.capacity import Binding, Capacity, elements_of
from accelflow.sizing.plan import LEAST_RPS, Plan
from accelflow.sizing.power import simulated_w

#: The relative precision of a load at which a search ends.
_PRECISION: Final = 0.02
#: The factor of the first steps away from the load of the closed form.
_STEP: Final = 1.3
#: The first load of a search, as a ratio to the load of the closed form. If even this is too much,
#: the load is divided by as much again, at most this many times.
_LEAST_SHARE: Final = 1e-3
_LOWERED: Final = 3
#: A P99 is longer than any limit if more than this share of the requests gets no response.
_TAIL: Final = 0.01


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The results of simulating one server at one load.

    `utilization` (0 to 1) is by resource; `p99_us` and `slo_us` are by service, with None for a
    missing value, such as the P99 of a service of which over 1 % of the requests get no response.
    `saturated` names the resource that could not keep up, or is None. `power_w` is the whole
    server's power by the power model. `core_utilization` is that of the cores, and
    `chip_utilization` the mean over all processing elements. `unanswered` has the services that
    have no SLO because the idle server never answers them: they exceed their limit at any load.
    """

    utilization: Mapping[str, float]
    p99_us: Mapping[str, float | None]
    slo_us: Mapping[str, float | None]
    saturated: str | None
    power_w: float
    core_utilization: float
    chip_utilization: float
    unanswered: tuple[str, ...] = ()

    @property
    def lateness(self) -> float:
        """The largest ratio of a service's P99 to its SLO; infinite if a service has no P99."""
        if self.unanswered:
            return math.inf
        shares = [
            math.inf if (p99_us := self.p99_us[service]) is None else p99_us / slo_us
            for service, slo_us in self.slo_us.items()
            if slo_us
        ]
        return max(shares, default=0.0)

    def broken(self, limit: float, *, polling: bool = False) -> Binding | None:
        """Return the resource or service that exceeds its limit most; None if none exceeds one.

        A saturated resource comes first. `limit` is the highest allowed utilisation of every
        resource (0 to 1); the limit of a service is its SLO. With `polling`, the utilisation of the
        cores is left out, since cores that poll are busy at any load.
        """
        if self.saturated is not None:
            return Binding("saturated", self.saturated)
        left_out = {"cores"} if polling else set()
        shares = {name: of for name, of in self.utilization.items() if name not in left_out}
        worst = max(shares.items(), key=lambda item: item[1])
        excess = {Binding("utilization", worst[0]): worst[1] / limit}
        for service, slo_us in self.slo_us.items():
            if slo_us is not None:
                p99_us = self.p99_us[service]
                share = math.inf if p99_us is None else p99_us / slo_us
                excess[Binding("p99", service, None, slo_us)] = share
        excess |= {Binding("p99", service): math.inf for service in self.unanswered}
        binding, most = max(excess.items(), key=lambda item: item[1])
        return binding if most > 1.0 else None


@dataclass(frozen=True, kw_only=True)
class Searched:
    """The capacities of one server under one system, one for each seed.

    `simulations` is the number of simulations of all searches.
    """

    system: str
    capacities: tuple[Capacity, ...]
    simulations: int
    #: Each load that was simulated, with the largest P99 of a service as a ratio to its SLO.
    tried: tuple[tuple[float, float], ...] = ()

    @property
    def binding(self) -> Binding:
        """The limit that sets the capacity for most seeds; of equally frequent ones, the first."""
        texts = [capacity.binding.text for capacity in self.capacities]
        common = max(texts, key=texts.count)
        return next(
            capacity.binding for capacity in self.capacities if capacity.binding.text == common
        )


def measure(  # noqa: PLR0913 (options, by name)
    plan: Plan,
    system: str,
    load: float,
    *,
    seed: int,
    recording: str | None,
    progress: Callable[[int, int], object] | None = None,
) -> Measured:
    """Simulate one server of `plan` under `system`.

    `load` is the ratio of the server's rates to those of the whole fleet. `recording` is the text
    of a recording with costs; if it is None, costs are those of the plan's recording or profile.
    `progress` is passed on to :func:`accelflow.simulation.run`.
    """
    asked = plan.scenario_of(load, system=system, seed=seed)
    if recording is not None:
        asked = replace(asked, recording=recording)
    results = run(asked, threads=1, progress=progress)
    rows = Comparison.from_dict(results).systems[0].services
    first = rows[0]
    elements = dict(first.accelerator_utilization)
    config = plan.server_config
    counts = element_counts(config, elements)
    busy = math.fsum(share * counts[name] for name, share in elements.items())
    chip_utilization = busy / max(1, sum(counts.values()))
    utilization = {"cores": first.core_utilization}
    utilization |= {elements_of(name): share for name, share in elements.items()}
    utilization["manager"] = _manager(results)
    return Measured(
        utilization=utilization,
        p99_us={row.service: _p99_us(row) for row in rows},
        slo_us={row.service: row.slo_us for row in rows},
        saturated=_saturated(rows),
        power_w=simulated_w(results, system, first.core_utilization, chip_utilization, config),
        core_utilization=first.core_utilization,
        chip_utilization=chip_utilization,
        unanswered=tuple(row.service for row in rows if row.idle_unanswered),
    )


def _p99_us(row: ServiceResult) -> float | None:
    return None if row.unanswered_share > _TAIL else row.latencies.p99_us


def _manager(results: Mapping[str, Any]) -> float:
    return float(results["systems"][0]["services"][0]["manager_utilization"])


def _saturated(rows: Sequence[ServiceResult]) -> str | None:
    return next((row.saturated for row in rows if row.saturated is not None), None)


def search(
    plan: Plan,
    system: str,
    guess: float,
    recording: str | None,
    progress: Callable[[], object] | None = None,
) -> Searched:
    """Find by simulation the largest load of one server within all limits, for each seed.

    The search begins at the load `guess`. `recording` is passed on to :func:`measure`. `progress`
    is called after each simulation, from several threads. An interrupt of the calling thread stops
    the simulations.
    """
    stop = Stop()
    count = [0]
    tried: list[tuple[float, float]] = []

    def one(seed: int) -> Capacity:
        def at(load: float) -> Measured:
            measured = measure(
                plan, system, load, seed=seed, recording=recording, progress=stop.look
            )
            count[0] += 1
            tried.append((load, measured.lateness))
            if progress is not None:
                progress()
            return measured

        return _search(plan, guess, at)

    calls = [partial(one, seed) for seed in range(1, plan.seeds + 1)]
    workers = min(plan.seeds, os.cpu_count() or 1)
    capacities = tuple(run_all(calls, threads=workers, stop=stop))
    return Searched(
        system=system, capacities=capacities, simulations=count[0], tried=tuple(sorted(tried))
    )


def _search(plan: Plan, guess: float, at: Callable[[float], Measured]) -> Capacity:
    limit = plan.limits.utilization_ratio
    begun = _begin(plan, guess, at)
    if isinstance(begun, Capacity):
        return begun
    low, high, binding = begun.low, begun.high, begun.binding
    load = guess if math.isinf(high) else math.sqrt(low * high)
    while math.isinf(high) or high > low * (1.0 + _PRECISION):
        broken = at(load).broken(limit, polling=begun.polling)
        if broken is None:
            low = load
        else:
            high, binding = load, broken
        if math.isinf(high):
            load = low * _STEP
        elif low < high / _STEP / _STEP:
            load = high / _STEP
            if load <= low:
                break
        else:
            load = math.sqrt(low * high)
    return Capacity(low, binding)


@dataclass(frozen=True, kw_only=True)
class _Begun:
    """The beginning of a search: a load that keeps all limits, and one that exceeds `binding`.

    `high` is infinite if no load has exceeded a limit yet. `polling` tells whether cores poll.
    """

    low: float
    high: float
    binding: Binding
    polling: bool


def _begin(plan: Plan, guess: float, at: Callable[[float], Measured]) -> _Begun | Capacity:
    """Return the beginning of a search, or the capacity 0 if even an idle server exceeds a limit.

    A guess that is far too high is lowered.
    """
    least = LEAST_RPS / min(plan.needed_rps.values())
    low = max(guess * _LEAST_SHARE, least)
    high, binding = math.inf, Binding("utilization", "cores")
    polling = False
    for left in reversed(range(_LOWERED + 1)):
        idle = at(low)
        if not polling and idle.core_utilization >= 1.0:
            # Overloaded cores are busy all the time, too, but not those of a server without work.
            polling = at(least).core_utilization >= 1.0
        broken = idle.broken(plan.limits.utilization_ratio, polling=polling)
        if broken is None:
            return _Begun(low=low, high=high, binding=binding, polling=polling)
        if not left or low <= least:
            break
        low, high, binding = max(low * _LEAST_SHARE, least), low, broken
    for service, slo_us in idle.slo_us.items():
        p99_us = idle.p99_us[service]
        if slo_us is not None and p99_us is not None and p99_us > slo_us:
            return Capacity(0.0, Binding("idle", service, p99_us, slo_us))
    return Capacity(0.0, broken or binding)
