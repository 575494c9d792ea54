"""A correction of services' results, made when results are read.

The simulator marks all services of an overloaded server as saturated. With isolated tenants,
:func:`own_overloads` removes the mark from the services that keep up by themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from accelflow.report.results import ServiceResult

__all__ = ["isolates_tenants", "own_overloads"]

#: A service cannot keep up if it answers less than this share of the requests that arrive ...
_SERVED_SHARE: Final = 0.95
#: ... or if more than this share of its counted requests is in the server at once, other than in
#: remote waits. The engine calls a server saturated from the same share on.
_IN_FLIGHT_SHARE: Final = 0.05
#: The parameters that keep the load of a tenant from the others, unless they are 0, the default.
_ISOLATING: Final = ("tenant.isolation", "tenant.max_traces")


def isolates_tenants(source: Mapping[str, Any], chip: str | None, services: Sequence[str]) -> bool:
    """Return whether a server protects each tenant from the load of the others.

    `source` has the settings of the results. `chip` is the name of the server's chip, or None if
    the results are of one chip. `services` are the names of the server's services. False for a
    server with fewer than two tenants.
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
    """Return the results with ``saturated`` set to None for services that keep up by themselves.

    The simulator sets ``saturated`` for all services of an overloaded server. If no service's own
    results show an overload, all results stay unchanged.
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
    Those that wait for remote sides or called services hold up nothing there.
    """
    if service.throughput_rps is None or service.offered_rps is None:
        return False
    ended_rps = service.throughput_rps / max(1 - service.unanswered_share, 1e-9)
    if ended_rps < _SERVED_SHARE * service.offered_rps:
        return True
    own_us = (service.mean_us or 0.0) - service.spent_us.get("remote", 0.0)
    in_flight = service.throughput_rps * own_us / 1e6
    return in_flight > _IN_FLIGHT_SHARE * service.completed
