"""The answer to a plan: each system's fleet, in closed form and by simulation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Final

from accelflow import _native
from accelflow.calibration import calibrated
from accelflow.errors import refused
from accelflow.scenario import resolved
from accelflow.sizing.capacity import Binding, Capacity
from accelflow.sizing.closed import ClosedForm, closed_form, idle_mean_us, overheads
from accelflow.sizing.fleet import (
    Fleet,
    break_even_price,
    server_cost_per_year,
    server_w,
    servers_for,
)
from accelflow.sizing.plan import Plan, demands, left_out, small_share
from accelflow.sizing.power import BASELINE, modelled_w
from accelflow.sizing.simulated import Measured, Searched, measure, search

__all__ = ["SCHEMA", "recording_of", "size"]

#: The name and version of the object that :func:`size` returns.
SCHEMA: Final = "accelflow.size/1"

#: The number of standard errors within which 95 % of a normal distribution are.
_NORMAL_95: Final = 1.96
#: The differences of utilisation, and of P99s as a ratio, from which on the two answers disagree.
_NOTABLE: Final = 0.05
_NOTABLE_P99: Final = 0.25

_WHY_LIMIT: Final = "each answer names its own nearest limit"
_WHY_UTILIZATION: Final = {
    "cores": "only in the simulation, cores run operations that fall back, and the branches and "
    "transformations that a manager leaves them",
    "manager": "only the simulation models repeated requests to a manager after a refusal",
}
_WHY_BASELINE: Final = "only the simulation has drawn sizes and time slices"
_WHY_ELEMENTS: Final = (
    "only in the simulation, elements are busy with the data that they load and store, too, and"
    " operations fall back to cores"
)
_WHY_PATHS: Final = "only the simulation draws odds; the closed form has the means of all paths"
_WHY_P99: Final = (
    "only the simulation has random sizes, phases of different lengths, queues of accelerators, "
    "and data that moves"
)


@dataclass(frozen=True, kw_only=True)
class _Side:
    """One of the two answers for a system: a server's capacity, and the server at work.

    `low` and `high` are the ends of the capacity's 95 % interval. `elements` is the mean
    utilisation of the accelerators' elements.
    """

    capacity: Capacity
    low: float
    high: float
    utilization: Mapping[str, float]
    p99_us: Mapping[str, float | None]
    power_w: float
    elements: float
    #: The server's load as a ratio to the fleet's rates, for which the other fields hold.
    load: float = 0.0

    @property
    def cores(self) -> float:
        return self.utilization["cores"]


def size(
    plan: Plan,
    *,
    simulate: bool = True,
    progress: Callable[[str], object] | None = None,
    tried: Callable[[Searched], object] | None = None,
) -> dict[str, Any]:
    """Return how many servers `plan` needs under each system, with their cost and power.

    The result is an object of schema ``accelflow.size/1``. First, queueing theory gives an estimate
    in about a second (the closed form). Unless `simulate` is False, a search by simulation then
    finds the load of one server under each system. `progress` is called with the system's name
    after each simulation, and `tried` with the result of each system's search. Raises
    InputError for a plan that the scenario does not allow, and without simulation for one whose
    systems all lack a closed form. Raises AccelflowError if a simulation fails.
    """
    if not simulate and all(overheads(plan, system) is None for system in plan.systems):
        allowed = "must include a system with a closed form, unless the plan is simulated"
        raise refused("systems", list(plan.systems), allowed)
    recording = recording_of(plan)
    needed = demands(plan, recording)
    slo_us = _slo_us(plan, needed)
    systems = []
    for system in plan.systems:
        form = closed_form(plan, system, needed, slo_us)
        first = _closed_side(plan, system, form, needed, slo_us) if form else None
        second = None
        if simulate:
            one_more = partial(progress, system) if progress else None
            found = search(plan, system, _guess(first, plan), recording, one_more)
            if tried is not None:
                tried(found)
            second = _simulated_side(plan, first, found, recording)
        systems.append(_system(plan, system, first, second))
    _add_break_even(plan, systems)
    return {
        "schema": SCHEMA,
        "plan": {**asdict(plan), "workload": _workload_name(plan)},
        "needed_rps": plan.needed_rps,
        "left_out": left_out(plan),
        "slo_us": slo_us,
        "systems": systems,
    }


def _workload_name(plan: Plan) -> str:
    workload = plan.workload
    return workload if isinstance(workload, str) else str(workload["name"])


def recording_of(plan: Plan) -> str | None:
    """Return this machine's recording of costs, as text, if `plan` uses it; otherwise None.

    If this machine has no saved recording, the costs are measured first.
    """
    asked = plan.scenario_of(small_share(plan), system=plan.systems[0], seed=1)
    costs = resolved(asked)["costs"]
    return calibrated()[0] if costs == "measured" and asked.recording is None else None


def _guess(first: _Side | None, plan: Plan) -> float:
    if first is not None and 0.0 < first.capacity.load < math.inf:
        return first.capacity.load
    return 1e4 / math.fsum(plan.needed_rps.values())


def _slo_us(plan: Plan, needed: Mapping[str, Any]) -> dict[str, float]:
    """Return each service's SLO in us: its own, or a multiple of its time on an idle server."""
    idle_us = idle_mean_us(plan, needed)
    return {
        row["service"]: row["slo_us"] or row["slo_factor"] * idle_us[row["service"]]
        for row in needed["services"]
    }


def _closed_side(
    plan: Plan,
    system: str,
    form: ClosedForm,
    needed: Mapping[str, Any],
    slo_us: Mapping[str, float],
) -> _Side:
    limit = plan.limits.utilization_ratio
    capacity = form.capacity(limit)
    spread = _error(plan, system, capacity, needed, slo_us)
    load = _at_work(plan, capacity.load)
    utilization = form.utilization(load)
    busy = math.fsum(utilization[name] * form.servers[name] for name in form.element_names)
    elements = busy / max(1, sum(needed["elements"].values()))
    return _Side(
        capacity=capacity,
        low=capacity.load * (1.0 - spread),
        high=capacity.load * (1.0 + spread),
        utilization=utilization,
        p99_us={name: _finite(form.p99_us(name, load)) for name in form.rates_rps},
        power_w=modelled_w(system, utilization["cores"], elements, plan.server_config),
        elements=elements,
        load=load,
    )


def _finite(number: float) -> float | None:
    """Return `number`, or None if it is infinite since the server is saturated."""
    return number if math.isfinite(number) else None


def _error(
    plan: Plan,
    system: str,
    capacity: Capacity,
    needed: Mapping[str, Any],
    slo_us: Mapping[str, float],
) -> float:
    """Return the relative half width of the capacity's interval that follows from cost errors.

    Each cost is changed by its standard error. The effects add in squares, since the errors of a
    profile's counts are nearly independent.
    """
    limit = plan.limits.utilization_ratio
    total = 0.0
    for name, error in plan.relative_error.items():
        # A custom accelerator with its own error does not also get the error for all custom ones.
        factors = {**dict.fromkeys(plan.relative_error, 1.0), name: 1.0 + error}
        moved = closed_form(plan, system, needed, slo_us, factors)
        if moved is not None and 0.0 < capacity.load < math.inf:
            total += (moved.capacity(limit).load / capacity.load - 1.0) ** 2
    return min(_NORMAL_95 * math.sqrt(total), 0.999)


def _simulated_side(
    plan: Plan, first: _Side | None, found: Searched, recording: str | None
) -> _Side:
    loads = [capacity.load for capacity in found.capacities]
    mean = math.fsum(loads) / len(loads)
    if any(load == 0.0 for load in loads):
        idle = next(capacity for capacity in found.capacities if capacity.load == 0.0)
        nothing: Mapping[str, float] = {"cores": 0.0}
        return _Side(
            capacity=idle,
            low=0.0,
            high=0.0,
            utilization=nothing,
            p99_us={},
            power_w=0.0,
            elements=0.0,
        )
    interval = _native.confidence_interval(loads)
    by_seed = (interval[1] if interval else 0.0) / mean
    of_costs = 1.0 - first.low / first.capacity.load if first and first.capacity.load else 0.0
    spread = min(math.hypot(by_seed, of_costs), 0.999)
    load = _at_work(plan, mean)
    at: Measured = measure(plan, found.system, load, seed=1, recording=recording)
    return _Side(
        capacity=Capacity(mean, found.binding),
        low=mean * (1.0 - spread),
        high=mean * (1.0 + spread),
        utilization={name: share for name, share in at.utilization.items() if share > 0},
        p99_us=at.p99_us,
        power_w=at.power_w,
        elements=at.chip_utilization,
        load=load,
    )


def _at_work(plan: Plan, load: float) -> float:
    """Return each server's load if the whole fleet works, as a ratio to the fleet's rates."""
    if not 0.0 < load < math.inf:
        return 0.0
    return 1.0 / servers_for(plan, load)


def _system(plan: Plan, system: str, first: _Side | None, second: _Side | None) -> dict[str, Any]:
    return {
        "system": system,
        "closed_form": _shown(plan, system, first),
        "simulated": _shown(plan, system, second),
        "disagreements": _disagreements(plan, system, first, second) if first and second else [],
    }


def _shown(plan: Plan, system: str, side: _Side | None) -> dict[str, Any] | None:
    if side is None:
        return None
    binding = side.capacity.binding
    row: dict[str, Any] = {
        "load_per_server_ratio": side.capacity.load,
        "binding": _binding(binding),
        "fleet": None,
        "utilization": dict(side.utilization),
        "p99_us": dict(side.p99_us),
    }
    if 0.0 < side.capacity.load < math.inf:
        row["fleet"] = asdict(_fleet(plan, system, side))
    return row


def _binding(binding: Binding) -> dict[str, Any]:
    return {**asdict(binding), "text": binding.text}


def _fleet(plan: Plan, system: str, side: _Side) -> Fleet:
    servers = servers_for(plan, side.capacity.load)
    working = servers - plan.limits.spare_servers
    accelerated = system != BASELINE
    watts = server_w(
        plan,
        accelerated=accelerated,
        model_w=side.power_w,
        core=side.cores,
        elements=side.elements,
    )
    price = plan.chip.price if accelerated else 0.0
    return Fleet(
        servers=servers,
        servers_low=servers_for(plan, side.high),
        servers_high=servers_for(plan, side.low),
        headroom_ratio=working * side.capacity.load - 1.0,
        watts=servers * watts,
        cost_per_year=servers * server_cost_per_year(plan, watts=watts, chip_price=price),
    )


def _add_break_even(plan: Plan, systems: Sequence[dict[str, Any]]) -> None:
    """Add the price of a chip at which each fleet costs as much as servers without a chip."""
    baseline = next((row for row in systems if row["system"] == BASELINE), None)
    for row in systems:
        for kind in ("closed_form", "simulated"):
            answer, of_baseline = row[kind], baseline[kind] if baseline else None
            if answer is None or row is baseline:
                continue
            fleets = (answer["fleet"], of_baseline["fleet"] if of_baseline else None)
            answer["break_even_chip_price"] = None
            if fleets[0] and fleets[1]:
                answer["break_even_chip_price"] = break_even_price(
                    plan,
                    servers=fleets[0]["servers"],
                    watts=fleets[0]["watts"] / fleets[0]["servers"],
                    baseline_servers=fleets[1]["servers"],
                    baseline_watts=fleets[1]["watts"] / fleets[1]["servers"],
                )


def _disagreements(plan: Plan, system: str, first: _Side, second: _Side) -> list[dict[str, Any]]:
    """Return the notable differences of the two answers: limit, utilisations, and P99s."""
    rows: list[dict[str, Any]] = []

    def differ(what: str, closed: object, simulated: object, why: str) -> None:
        if plan.varies:
            why = f"{_WHY_PATHS}; {why}"
        rows.append({"what": what, "closed_form": closed, "simulated": simulated, "why": why})

    binding = (first.capacity.binding.text, second.capacity.binding.text)
    if binding[0] != binding[1]:
        differ("limit", *binding, _WHY_LIMIT)
    if not first.load or not second.load:
        return rows
    for name in sorted({*first.utilization, *second.utilization}):
        shares = [side.utilization.get(name, 0.0) / side.load for side in (first, second)]
        at_work = [share * second.load for share in shares]
        if abs(at_work[0] - at_work[1]) > _NOTABLE:
            differ(
                f"utilisation of {name}",
                at_work[0],
                at_work[1],
                _WHY_BASELINE if system == BASELINE else _WHY_UTILIZATION.get(name, _WHY_ELEMENTS),
            )
    pairs = {name: (first.p99_us.get(name), p99_us) for name, p99_us in second.p99_us.items()}
    apart = {name: abs(math.log(a / b)) for name, (a, b) in pairs.items() if a and b}
    if apart:
        name = max(apart, key=lambda name: apart[name])
        if apart[name] > math.log1p(_NOTABLE_P99):
            differ(f"P99 of {name}, us", *pairs[name], _WHY_P99)
    return rows
