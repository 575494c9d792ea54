"""Corrections of services' results, made when results are read.

The simulator gives no SLO to a service that the idle server never answers; :func:`late_if_idle`
counts its requests as late. The simulator calls a whole server overloaded; with isolated tenants,
:func:`own_overloads` keeps this for overloaded services only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from accelflow.report.results import ServiceResult

__all__ = ["isolates_tenants", "late_if_idle", "own_overloads"]

#: A service cannot keep up if it answers less than this share of the requests that arrive ...
_SERVED_SHARE: Final = 0.95
#: ... or if more than this share of its counted requests is in the server at once. The engine calls
#: a server saturated from the same share on.
_IN_FLIGHT_SHARE: Final = 0.05
#: The parameters that keep the load of a tenant from the others, unless they are 0, the default.
_ISOLATING: Final = ("tenant.isolation", "tenant.max_traces")


def isolates_tenants(source: Mapping[str, Any], chip: str | None, services: Sequence[str]) -> bool:
    """Return whether results are of a server that keeps the load of a tenant from the others.

    `source` has the settings of the results, `chip` is the chip's name if there are several, and
    `services` are those of the server.
    """
    tenants = _table(source.get("tenants"))
    if len({tenants.get(service, 0) for service in services}) < 2:
        return False
    config = dict(_table(source.get("config")))
    chips = source.get("chips")
    for of_chip in map(_table, chips if isinstance(chips, list) else ()):
        if of_chip.get("name") == chip:
            config |= _table(of_chip.get("config"))
    return any(config.get(key) for key in _ISOLATING)


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def own_overloads(services: Sequence[ServiceResult]) -> tuple[ServiceResult, ...]:
    """Return the results with ``saturated`` removed from services that keep up.

    If no service's own results show an overload, all results stay unchanged.
    """
    behind = [service.saturated is not None and _is_behind(service) for service in services]
    if not any(behind):
        return tuple(services)
    return tuple(
        service if late else replace(service, saturated=None)
        for service, late in zip(services, behind, strict=True)
    )


def _is_behind(service: ServiceResult) -> bool:
    """Return whether a service's own results show that it does not keep up.

    By Little's law, the mean number of its requests in the server is their rate times their time.
    """
    ended_rps = service.throughput_rps / max(1 - service.unanswered_share, 1e-9)
    if ended_rps < _SERVED_SHARE * service.offered_rps:
        return True
    in_flight = service.throughput_rps * (service.mean_us or 0.0) / 1e6
    return in_flight > _IN_FLIGHT_SHARE * service.completed


def late_if_idle(services: Sequence[ServiceResult], each: int) -> tuple[ServiceResult, ...]:
    """Return the results, with all requests late for services that the idle server never answers.

    The SLO is a multiple of the response time on the idle server, so such a service has no SLO, and
    its results lack the number of counted requests. The number is `each`, that of the scenario. If
    services have different numbers, it is estimated from those of the others and from the rates.
    """
    known = [service for service in services if service.slo_requests]
    if any(service.slo_requests != each for service in known):
        rate_rps = math.fsum(service.offered_rps for service in known)
        per_rps = sum(service.slo_requests for service in known) / rate_rps if rate_rps else 0.0
        counts = [round(per_rps * service.offered_rps) for service in services]
    else:
        counts = [each for _ in services]
    return tuple(
        replace(service, slo_requests=count, slo_missed=count)
        if service.slo_us is None and not service.slo_requests and service.timed_out
        else service
        for service, count in zip(services, counts, strict=True)
    )
