"""A server's capacity in closed form: the first answer to a plan.

The work that remains for the cores follows from the Accelerometer model, with one kernel per
accelerator. Utilisations follow from the utilisation law, and response times from the cores' queues
(:class:`accelflow.sizing.queues.CoreQueues`). Queues of accelerators, data movement, bursts within
a request, and fallbacks are only in the simulator (docs/sizing.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any, Final

from accelflow import accelerometer
from accelflow.parameters import CUSTOM, accelerators, parameters
from accelflow.scenario import resolved
from accelflow.sizing.capacity import Binding, Capacity, elements_of
from accelflow.sizing.plan import Plan, small_share
from accelflow.sizing.queues import CoreQueues

#: The number of instructions of a dispatch (AccelFlow, section VII.B.2: 18 on average).
_DISPATCH_INSTRUCTIONS: Final = 18.0
#: A cycle of the model is a nanosecond, so that costs need no clock.
_CYCLES_PER_S: Final = 1e9
_P99_TAIL: Final = 0.01
#: The relative precision with which loads are found.
_PRECISION: Final = 1e-6


#: A function that computes a number from a service's demands.
_OfService = Callable[[Mapping[str, Any]], float]


@dataclass(frozen=True, kw_only=True)
class Overheads:
    """The times that a system's orchestration adds to a request, in ns.

    `core_ns` has the core time by what takes it: an ``operation`` on an accelerator, a ``received``
    message, a message ``received_by_tcp`` or ``sent_by_tcp`` (by the accelerator TCP), a ``phase``
    of application logic, the start of a ``chain``, an attempt of a chain that is ``repeated``, a
    wait for a message that is ``parked`` after an operation on an accelerator, a chain that
    ``ended`` with one, a trace that ``falls_back`` to a core, and a ``request``. What takes less
    than an ``operation`` states has a negative time. `hand_over_ns` is the latency between two
    operations. `manager_ns` is the time for which an operation or a chain occupies RELIEF's
    manager.
    """

    core_ns: Mapping[str, float]
    hand_over_ns: float = 0.0
    manager_ns: float = 0.0

    def of(self, row: Mapping[str, Any]) -> float:
        """Return the core time in ns that orchestration adds to a request.

        `row` has the demands of the request's service, an element of ``services`` in the result of
        :func:`accelflow.sizing.plan.demands`.
        """
        messages, by_tcp = _messages(row)
        counts = {
            "operation": _accelerated(row),
            "received": row["received"],
            "received_by_tcp": row["received"] * by_tcp,
            "sent_by_tcp": (messages - row["received"]) * by_tcp,
            "phase": row["cpu_phases"],
            "chain": row["started_chains"],
            "repeated": row["repeated"],
            "parked": row["parked"],
            "ended": row["ended"],
            "falls_back": row["fallbacks"],
            "request": 1,
        }
        return math.fsum(counts[name] * each for name, each in self.core_ns.items())


@dataclass(frozen=True, kw_only=True)
class ClosedForm:
    """The closed-form model of a server under one system.

    `rates_rps` has the fleet's rate of each service, with the requests from other services, and
    `slo_us` the SLOs. For a request of each service, `serial_ns` is the mean response time on an
    idle server. `visits` is the mean number of times that the request needs a core and may wait for
    it, also in the services that it calls. A *resource* is the cores, an accelerator's elements or
    the manager. `busy_ns` is the mean time for which a request of the mix occupies each resource,
    and `servers` the number of the resource's units. `element_names` are the resources that are
    elements. `core_visit_ns` is the mean time on a core for each visit. `queues` models the waits
    for a core. `speedup_ratio` is Accelerometer's speedup of the cores' work.
    """

    rates_rps: Mapping[str, float]
    serial_ns: Mapping[str, float]
    visits: Mapping[str, float]
    slo_us: Mapping[str, float]
    busy_ns: Mapping[str, float]
    servers: Mapping[str, int]
    element_names: Sequence[str]
    core_visit_ns: float
    queues: CoreQueues
    speedup_ratio: float

    def utilization(self, load: float) -> dict[str, float]:
        """Return each resource's utilisation (0 to 1, above 1 if overloaded) at the load `load`.

        `load` is the ratio of the server's rates to those of the whole fleet.
        """
        total_rps = math.fsum(self.rates_rps.values()) * load
        return {
            name: total_rps * busy * 1e-9 / self.servers[name]
            for name, busy in self.busy_ns.items()
        }

    def _core_share(self, load: float) -> float | None:
        """Return the utilisation of the cores; None if a resource is overloaded.

        Only the cores' queues are in closed form, so other resources may be busy all the time.
        """
        utilization = self.utilization(load)
        share = utilization["cores"]
        return None if share >= 1.0 or max(utilization.values()) > 1.0 else share

    def p99_us(self, service: str, load: float) -> float:
        """Return the P99 of the response time of `service` in us.

        It is infinite if the cores are always busy, or another resource is overloaded. `load` is
        the ratio of the server's rates to those of the whole fleet. The waits for cores have a
        distribution, and all else takes the mean time.
        """
        share = self._core_share(load)
        if share is None:
            return math.inf
        waits = self.queues.quantile(share, self.visits[service], _P99_TAIL)
        return (self.serial_ns[service] + waits * self.core_visit_ns) * 1e-3

    def mean_us(self, service: str, load: float) -> float:
        """Return the mean response time of `service` in us.

        It is infinite if the cores are always busy, or another resource is overloaded. `load` is
        the ratio of the server's rates to those of the whole fleet.
        """
        share = self._core_share(load)
        if share is None:
            return math.inf
        waiting, drain = self.queues.wait(share)
        wait_ns = waiting * drain * self.core_visit_ns
        return (self.serial_ns[service] + self.visits[service] * wait_ns) * 1e-3

    def capacity(self, limit: float) -> Capacity:
        """Return the largest load within all limits, and the limit that sets it.

        The limits are the utilisation `limit` (0 to 1) of each resource, and the SLO of each
        service. The load is 0 if a service misses its SLO on an idle server, and infinite if
        nothing limits it.
        """
        at_one = self.utilization(1.0)
        name, most = max(at_one.items(), key=lambda item: item[1])
        best = Capacity(limit / most, Binding("utilization", name)) if most > 0 else None
        for service, slo_us in self.slo_us.items():
            idle_us = self.p99_us(service, 0.0)
            if idle_us > slo_us:
                return Capacity(0.0, Binding("idle", service, idle_us, slo_us))
            least = best.load if best else math.inf

            def late(load: float, service: str = service, slo_us: float = slo_us) -> bool:
                return self.p99_us(service, load) > slo_us

            if math.isfinite(least) and late(least):
                best = Capacity(_last(late, least), Binding("p99", service, None, slo_us))
        if best is None:
            return Capacity(math.inf, Binding("utilization", "cores"))
        return best


def _last(late: Callable[[float], bool], most: float) -> float:
    """Return the largest load below `most` at which the service is not `late`."""
    low, high = 0.0, most
    while high - low > _PRECISION * most:
        middle = (low + high) / 2
        low, high = (low, middle) if late(middle) else (middle, high)
    return low


def overheads(plan: Plan, system: str) -> Overheads | None:
    """Return the times that the orchestration of `system` adds; None if it has no closed form.

    Without accelerators, a received message wakes a thread. With CPU-Centric, each operation ends
    with an interrupt, whose handler switches to a thread that submits the next operation, and back.
    There is no next operation to submit at a wait for a message, and the end of a chain only
    interrupts. RELIEF's manager starts
    operations, but interrupts a core for work that the manager cannot do (section VII.A.1): twice
    for a message that TCP receives, at the trace's branch and at its end, and once for a message
    that TCP sends, at the trace's tail. With AccelFlow, a core starts a chain, notices its end, and
    resumes the request. With Ideal, a core only resumes the request.
    """
    value = _values(plan, system)
    switch, interrupt = value("core.context_switch_ns"), value("core.interrupt_ns")
    submit, move = value("core.submit_ns"), value("network.dma_setup_ns")
    dispatch = _DISPATCH_INSTRUCTIONS / value("dispatcher.ipc") / value("core.clock_ghz")
    driver = interrupt + 2 * switch + submit
    known = {
        "non_acc": Overheads(
            core_ns={
                "received": switch + value("core.wake_ns"),
                "repeated": switch,
                "request": switch,
            }
        ),
        "cpu_centric": Overheads(
            core_ns={
                "operation": driver,
                "parked": -submit,
                "ended": -(2 * switch + submit),
                "phase": switch,
                "chain": submit,
                "repeated": switch,
                "falls_back": switch,
            },
            hand_over_ns=move,
        ),
        "relief": Overheads(
            core_ns={
                "received_by_tcp": 2 * (interrupt + submit) + 3 * switch,
                "sent_by_tcp": interrupt + switch,
                "repeated": switch,
                "falls_back": switch,
            },
            hand_over_ns=value("relief.latency_ns") + move,
            manager_ns=value("relief.occupancy_ns"),
        ),
        "accelflow": Overheads(
            core_ns={
                "phase": switch,
                "chain": value("core.enqueue_ns") + value("core.notice_ns"),
                "repeated": switch,
                "falls_back": switch,
                "request": value("core.notice_ns"),
            },
            hand_over_ns=dispatch + move,
        ),
        "ideal": Overheads(core_ns={"phase": switch, "repeated": switch, "falls_back": switch}),
    }
    return known.get(system)


def _values(plan: Plan, system: str) -> Callable[[str], float]:
    """Return a function from the key of a server's parameter to its value in `plan`."""
    asked = plan.scenario_of(small_share(plan), system=system, seed=1)
    changed = resolved(asked)["config"]
    defaults = {parameter.key: parameter.default for parameter in parameters()}
    return lambda key: float(changed.get(key, defaults[key]))


def _balancing(plan: Plan, system: str) -> str:
    """Return the name of the simulated server's policy for choosing cores."""
    number = _values(plan, system)("core.balancing")
    known = {parameter.key: parameter for parameter in parameters()}["core.balancing"]
    return known.text(number)


def closed_form(
    plan: Plan,
    system: str,
    demands: Mapping[str, Any],
    slo_us: Mapping[str, float],
    factors: Mapping[str, float] | None = None,
) -> ClosedForm | None:
    """Return the closed form of a server under `system`; None if the system has none.

    `demands` is the result of :func:`accelflow.sizing.plan.demands`, and `slo_us` has the SLO of
    each service in us. `factors` multiply costs: those of an accelerator's operations, by its name;
    those of the custom accelerators without a factor of their own, by ``own``; and those of the
    application logic, by ``app``.
    """
    over = overheads(plan, system)
    if over is None:
        return None
    services = {row["service"]: _scaled(row, factors or {}) for row in demands["services"]}
    rates_rps = _effective_rps(plan.needed_rps, services)
    total_rps = math.fsum(rates_rps.values())
    weights = {name: rate / total_rps for name, rate in rates_rps.items()}
    bare = system == "non_acc"

    def mix(of: _OfService) -> float:
        return math.fsum(weights[name] * of(row) for name, row in services.items())

    times = {name: mix(_time(name, "accelerator_ns")) for name in demands["elements"]}
    counts: Mapping[str, int] = {} if bare else demands["elements"]
    used = [name for name, count in counts.items() if count and times[name] > 0]
    core_ns = mix(_core_ns)
    speedup = _speedup(mix, core_ns, over, used) if used else 1.0
    # Accelerometer has no orchestration for a host without accelerators, so it is added here.
    added = 0.0 if used else mix(over.of) + mix(_outside_ns(bare=bare))
    busy = {"cores": core_ns / speedup + added}
    busy |= {elements_of(name): times[name] for name in used}
    servers = {"cores": demands["cores"], **{elements_of(name): counts[name] for name in used}}
    if over.manager_ns > 0:
        # The manager also starts each chain.
        events = mix(lambda row: _accelerated(row) + row["started_chains"] + 1)
        busy["manager"], servers["manager"] = over.manager_ns * events, 1
    visits = {name: max(1, row["cpu_phases"]) for name, row in services.items()}
    visits_mean = mix(lambda row: max(1, row["cpu_phases"]))
    lengths = [
        (weights[name] * visits[name], _kept_ns(row, over, bare=bare) / visits[name])
        for name, row in services.items()
    ]
    return ClosedForm(
        rates_rps=rates_rps,
        serial_ns=_serial_ns(services, over, bare=bare),
        visits=_all_visits(services, visits),
        slo_us=slo_us,
        busy_ns=busy,
        servers=servers,
        element_names=[elements_of(name) for name in used],
        core_visit_ns=busy["cores"] / visits_mean,
        queues=CoreQueues(
            cores=demands["cores"],
            balancing=_balancing(plan, system),
            visits=visits_mean,
            visit_variation=_variation(lengths),
        ),
        speedup_ratio=speedup,
    )


def idle_mean_us(plan: Plan, demands: Mapping[str, Any]) -> dict[str, float]:
    """Return each service's mean response time on an idle server with AccelFlow, in us.

    `demands` is the result of :func:`accelflow.sizing.plan.demands`.
    """
    over = overheads(plan, "accelflow") or Overheads(core_ns={})
    services = {row["service"]: row for row in demands["services"]}
    found = _serial_ns(services, over, bare=False)
    return {name: time * 1e-3 for name, time in found.items()}


def _scaled(row: Mapping[str, Any], factors: Mapping[str, float]) -> dict[str, Any]:
    """Return a service's demands with the costs of each kind of work multiplied by its factor."""
    if not factors:
        return dict(row)
    papers = accelerators()

    def factor(name: str) -> float:
        return factors.get(name, 1.0 if name in papers else factors.get(CUSTOM, 1.0))

    operations = {
        name: {
            "count": of["count"],
            "core_ns": of["core_ns"] * factor(name),
            "accelerator_ns": of["accelerator_ns"] * factor(name),
            "on_core": of["on_core"],
            "on_core_ns": of["on_core_ns"] * factor(name),
        }
        for name, of in row["operations"].items()
    }

    def grown(key: str) -> float:
        before = math.fsum(of[key] for of in row["operations"].values())
        after = math.fsum(of[key] for of in operations.values())
        return after / before if before else 1.0

    return {
        **row,
        "operations": operations,
        "app_ns": row["app_ns"] * factors.get("app", 1.0),
        "phases": [[_grown(chain, grown) for chain in chains] for chains in row["phases"]],
    }


def _grown(chain: Mapping[str, Any], grown: Callable[[str], float]) -> dict[str, Any]:
    """Return a chain's demands, with costs that grow as much as those of its service."""
    core, accelerator = grown("core_ns"), grown("accelerator_ns")
    return {
        **chain,
        "core_ns": chain["core_ns"] * core,
        "on_core_ns": chain["on_core_ns"] * core,
        "accelerator_ns": chain["accelerator_ns"] * accelerator,
    }


def _time(accelerator: str, key: str) -> _OfService:
    """Return a function that reads the demand `key` of `accelerator`; 0 for no operations."""
    return lambda row: float(row["operations"].get(accelerator, {}).get(key, 0.0))


def _outside_ns(*, bare: bool) -> _OfService:
    """Return a function that reads the core time outside of operations and application logic.

    With accelerators (`bare` False) the time is 0, since the other work of cores is orchestration.
    """
    return lambda row: float(row["outside_core_ns"]) if bare else 0.0


def _core_ns(row: Mapping[str, Any]) -> float:
    """Return the core time of a request without accelerators, in ns."""
    return float(row["app_ns"]) + math.fsum(of["core_ns"] for of in row["operations"].values())


def _kept_ns(row: Mapping[str, Any], over: Overheads, *, bare: bool) -> float:
    """Return the core time of a request without the operations that accelerators execute."""
    on_cores = (of["core_ns" if bare else "on_core_ns"] for of in row["operations"].values())
    own_ns = float(row["app_ns"]) + math.fsum(on_cores)
    return own_ns + over.of(row) + _outside_ns(bare=bare)(row)


def _variation(times: Sequence[tuple[float, float]]) -> float:
    """Return the squared coefficient of variation of `times`, pairs of weight and time."""
    whole = math.fsum(weight for weight, _ in times)
    mean = math.fsum(weight * time for weight, time in times) / whole
    square = math.fsum(weight * time * time for weight, time in times) / whole
    return square / (mean * mean) - 1.0 if mean > 0.0 else 0.0


def _operations(row: Mapping[str, Any]) -> float:
    return float(sum(of["count"] for of in row["operations"].values()))


def _messages(row: Mapping[str, Any]) -> tuple[float, float]:
    """Return how many messages a request receives and sends, and TCP's accelerator's share."""
    tcp = row["operations"].get("TCP")
    if tcp is None:
        return float(row["received"]), 0.0
    return float(tcp["count"]), 1.0 - tcp["on_core"] / tcp["count"]


def _accelerated(row: Mapping[str, Any]) -> float:
    """Return how many operations of a request the chip's accelerators execute."""
    return float(sum(of["count"] - of["on_core"] for of in row["operations"].values()))


def _serial_ns(
    services: Mapping[str, Mapping[str, Any]], over: Overheads, *, bare: bool
) -> dict[str, float]:
    """Return each service's response time on an idle server, the sum of its phases, in ns.

    A chain that calls a service waits for that service's response time before each answer.
    """
    found: dict[str, float] = {}

    def awaited(chain: Mapping[str, Any]) -> Mapping[str, Any]:
        if chain["calls"] is None:
            return chain
        called_ns = chain["answers"] * found[chain["calls"]]
        return {**chain, "remote_ns": chain["remote_ns"] + called_ns}

    def whole(row: Mapping[str, Any]) -> float:
        own_ns = float(row["app_ns"]) + _outside_ns(bare=bare)(row)
        core_ns = over.of(row) / max(_operations(row), 1.0)
        phases = (
            _phase_ns([awaited(chain) for chain in chains], core_ns, over, bare=bare)
            for chains in row["phases"]
            if chains
        )
        return own_ns + float(row["outside_client_ns"]) + math.fsum(phases)

    for name in _callees_first(services):
        found[name] = whole(services[name])
    return {name: found[name] for name in services}


def _callees_first(services: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the services: those without calls, then those that call them alone, and so on."""
    called = {name: set(row["calls"]) for name, row in services.items()}
    return list(TopologicalSorter(called).static_order())


def _effective_rps(
    needed_rps: Mapping[str, float], services: Mapping[str, Mapping[str, Any]]
) -> dict[str, float]:
    """Return each service's rate, with the requests from other services added to `needed_rps`."""
    found = {name: needed_rps.get(name, 0.0) for name in services}
    for name in reversed(_callees_first(services)):
        for callee, calls in services[name]["calls"].items():
            found[callee] += found[name] * calls
    return found


def _all_visits(
    services: Mapping[str, Mapping[str, Any]], own: Mapping[str, float]
) -> dict[str, float]:
    """Return how often a request of each service waits for a core, in it and in services it calls.

    `own` has the visits within each service. Calls at the same time wait at the same time, so those
    with the most visits count.
    """
    found: dict[str, float] = {}
    for name in _callees_first(services):
        calls = (
            max((chain["answers"] * found.get(chain["calls"], 0.0) for chain in chains), default=0)
            for chains in services[name]["phases"]
        )
        found[name] = own[name] + math.fsum(calls)
    return {name: found[name] for name in services}


def _phase_ns(
    chains: Sequence[Mapping[str, Any]], core_ns: float, over: Overheads, *, bare: bool
) -> float:
    """Return the time in ns until the last of several parallel chains ends, on an idle server.

    Orchestration costs a core `core_ns` for each operation. Chains wait for their remote sides and
    for different accelerators at the same time. But one core does the core work of all chains in
    turn, and so does the manager. The time is that of the longest chain, the core or the manager.
    """
    operations = [float(chain["operations"]) for chain in chains]
    on_core = [
        count * core_ns + float(chain["core_ns" if bare else "on_core_ns"])
        for chain, count in zip(chains, operations, strict=True)
    ]
    elsewhere = [
        float(chain["remote_ns"]) + (0.0 if bare else _accelerated_ns(chain, over))
        for chain in chains
    ]
    longest = max(map(sum, zip(on_core, elsewhere, strict=True)))
    started = math.fsum(float(chain["attempts"]) for chain in chains)
    managed_ns = over.manager_ns * (math.fsum(operations) + started)
    return max(longest, math.fsum(on_core), managed_ns)


def _accelerated_ns(chain: Mapping[str, Any], over: Overheads) -> float:
    """Return the time of a chain on the chip's accelerators, with that between them, in ns."""
    handed_over = float(chain["operations"]) - float(chain["on_core"])
    return float(chain["accelerator_ns"]) + handed_over * over.hand_over_ns


def _speedup(
    mix: Callable[[_OfService], float],
    core_ns: float,
    over: Overheads,
    used: Sequence[str],
) -> float:
    """Return Accelerometer's throughput of a host with accelerators over that without.

    It is infinite if the accelerators take all work, and offloads cost cores nothing.

    Each accelerator is a kernel. No thread waits for its offloads: another request uses the core
    meanwhile. The core's work for an offload is its setup (o0), the same for all offloads. Together
    they are the whole orchestration of a request.
    """
    setup_ns = mix(over.of) / max(mix(_accelerated), 1e-9)
    offloaded_ns = {
        name: mix(_time(name, "core_ns")) - mix(_time(name, "on_core_ns")) for name in used
    }
    left_ns = core_ns - math.fsum(offloaded_ns.values())
    if setup_ns == 0.0 and left_ns <= _PRECISION * core_ns:
        return math.inf  # nothing is left to the cores
    kernels = []
    for name in used:
        share = offloaded_ns[name] / core_ns
        count = mix(_time(name, "count")) - mix(_time(name, "on_core"))
        on_accelerator = mix(_time(name, "accelerator_ns"))
        kernels.append(
            accelerometer.Kernel(
                name=name,
                threading="async_same_thread",
                placement="off_chip",
                driver_waits=False,
                kernel_share_ratio=share,
                offloads_per_s=count / core_ns * _CYCLES_PER_S,
                setup_cycles=setup_ns,
                acceleration_ratio=share * core_ns / on_accelerator,
            )
        )
    service = accelerometer.Service(host_cycles_per_s=_CYCLES_PER_S, kernels=kernels)
    return float(accelerometer.evaluate(service)["speedup_ratio"])
