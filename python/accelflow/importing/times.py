"""Response times in imported data, beside those of the workload that was made from them."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from accelflow.comparing import simulate
from accelflow.errors import AccelflowError, refused

__all__ = ["TIMED_SYSTEM", "Traced", "check_requests", "timed"]

#: The orchestrator of the simulation: imported data is of servers without accelerators.
TIMED_SYSTEM: Final = "non_acc"

#: The most requests of each service, and of all together, that :func:`timed` simulates by default.
_EACH: Final = 1_000
_ALL: Final = 20_000
#: The application time of all requests that is simulated by default, in us: each second of it takes
#: some 8 ms.
_ALL_US: Final = 100e6
#: The fewest requests that can be simulated, as a mean over the services.
_FEWEST: Final = 100
#: The longest application time, in us, that is simulated where the rest can be added afterwards.
_LONG_US: Final = 10_000.0
#: The most that may be asked for.
_MOST: Final = 1_000_000

#: The number of cores that the simulated load keeps busy: the server is nearly idle.
_BUSY_CORES: Final = 0.5
#: The lowest and the highest rate of a service in requests per second.
_RATES: Final = (0.001, 1.0)


@dataclass(frozen=True)
class Traced:
    """The durations of the requests to an operation, as the imported data states them.

    `operation` is what the data calls it. `mean_us` is the mean of its `requests`, and `p99_us`
    their 99th percentile, in us; None if the data does not state it.
    """

    operation: str
    requests: int
    mean_us: float
    p99_us: float | None = None


def check_requests(name: str, requests: int | None) -> None:
    """Raise InputError unless :func:`timed` takes `requests`; the message calls it `name`.

    It takes None, 0, and whole numbers from 100 to 1,000,000.
    """
    if requests is None:
        return
    whole = isinstance(requests, int) and not isinstance(requests, bool)
    if not whole or not (requests == 0 or _FEWEST <= requests <= _MOST):
        allowed = f"must be 0, or a whole number from {_FEWEST} to {_MOST:,}"
        raise refused(name, requests, allowed)


def timed(
    tree: Mapping[str, Any], traced: Mapping[str, Traced], requests: int | None = None
) -> dict[str, Any]:
    """Return the times in `traced`, by service, beside those of the workload `tree`, for JSON.

    The simulated server has no accelerators (:data:`TIMED_SYSTEM`), like the servers of the
    imported data, and is nearly idle: the waits in the data already contain the queues of other
    servers. Each service that clients call gets `requests`
    requests; by default 1,000, but fewer (100 at least) for over 20 services, or if one request to
    each takes over 0.1 s of application time. With 0, nothing is simulated.

    The object has `orchestrator`, `requests`, and a row for each service in `services`. Of a
    service that has no simulated response, the simulated times are None. `refused` is the reason if
    the workload cannot be simulated, else None. Raises InputError for `requests` other than None, 0
    and 100 to 1,000,000.
    """
    check_requests("requests", requests)
    idle, rest_us = _idle(tree, traced)
    if requests is None:
        app_us = sum(map(_app_us, idle["services"]))
        most = min(_EACH, _ALL // max(len(traced), 1), int(_ALL_US / max(app_us, 1.0)))
        requests = max(most, _FEWEST)
    found: Mapping[str, tuple[float, float]] = {}
    reason = None
    if requests:
        try:
            found = _simulated(idle, requests)
        except AccelflowError as error:
            reason = str(error)
    rows = [_row(name, of, found.get(name), rest_us.get(name, 0.0)) for name, of in traced.items()]
    return {
        "orchestrator": TIMED_SYSTEM,
        "requests": requests,
        "refused": reason,
        "services": rows,
    }


def _row(
    name: str, of: Traced, simulated: tuple[float, float] | None, rest_us: float
) -> dict[str, Any]:
    mean_us, p99_us = (time + rest_us for time in simulated) if simulated else (None, None)
    return {
        "service": name,
        "operation": of.operation,
        "requests": of.requests,
        "traced_mean_us": of.mean_us,
        "traced_p99_us": of.p99_us,
        "simulated_mean_us": mean_us,
        "simulated_p99_us": p99_us,
        "mean_ratio": mean_us / of.mean_us if mean_us is not None and of.mean_us > 0 else None,
    }


def _idle(
    tree: Mapping[str, Any], traced: Mapping[str, Traced]
) -> tuple[dict[str, Any], dict[str, float]]:
    """Return a copy of `tree` with equally few requests to each service, and times to add to these.

    The services are those that clients call; if no service has a rate, those that no other calls.
    To save simulation time, long application times of services that neither call nor are called are
    cut. On idle cores, what was cut can be added to each response time.
    """
    idle = copy.deepcopy(dict(tree))
    services = idle["services"]
    called = {chain["calls"] for service in services for chain in _calling(service["path"])}
    rated = {service["name"] for service in services if "rate_rps" in service}
    clients = rated or {service["name"] for service in services} - called
    busy_us = sum(of.mean_us for of in traced.values())
    least, most = _RATES
    rate_rps = min(max(1e6 * _BUSY_CORES / busy_us if busy_us else most, least), most)
    rest_us = {}
    for service in services:
        service.pop("arrivals", None)
        service.pop("rate_rps", None)
        if service["name"] in clients:
            service["rate_rps"] = rate_rps
        alone = service["name"] not in called and not _calling(service["path"])
        if alone and service.get("app_us", 0.0) > _LONG_US:
            rest_us[service["name"]] = service["app_us"] - _LONG_US
            service["app_us"] = _LONG_US
    return idle, rest_us


def _app_us(service: Mapping[str, Any]) -> float:
    phases = [phase["cpu_us"] for phase in service["path"] if "cpu_us" in phase]
    return float(sum(phases) + service.get("app_us", 0.0))


def _calling(path: Any) -> list[Any]:
    chains = [chain for phase in path for chain in phase.get("parallel", [phase])]
    return [chain for chain in chains if "calls" in chain]


def _simulated(tree: Mapping[str, Any], requests: int) -> dict[str, tuple[float, float]]:
    """Return the mean and the P99 of each service of `tree` that answers, in us."""
    results = simulate(tree, TIMED_SYSTEM, requests=requests)
    found: dict[str, tuple[float, float]] = {}
    for service in results.services:
        by_others = service.called
        times = (service.mean_us, service.p99_us)
        if by_others is not None and not service.completed:
            times = (by_others.mean_us, by_others.p99_us)
        if times[0] is not None and times[1] is not None:
            found[service.service] = (times[0], times[1])
    return found
