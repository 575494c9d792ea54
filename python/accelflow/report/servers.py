"""The servers of a system's results: which services share one, and how busy the busiest is."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Final

from accelflow.report.answered import listed

if TYPE_CHECKING:
    from accelflow.report.results import ServiceResult, SystemResult

__all__ = ["server_text", "servers_of"]

#: The largest number of services that name a server.
_NAMED: Final = 3


def servers_of(system: SystemResult) -> list[tuple[ServiceResult, ...]]:
    """Return the results of services, grouped by server.

    All services of a server have its utilisation. Results of older versions do not say which
    services share a server: services with the same utilisation are then grouped.
    """
    if system.source.get("placement") == "isolated":
        return [(service,) for service in system.services]
    stated = system.source.get("servers")
    lists = stated if isinstance(stated, list) else []
    places = {
        name: place
        for place, names in enumerate(lists)
        if isinstance(names, list)
        for name in names
        if isinstance(name, str)
    }
    found: dict[Hashable, list[ServiceResult]] = {}
    for service in system.services:
        key = places.get(service.service, _load(service))
        found.setdefault(key, []).append(service)
    return [tuple(server) for server in found.values()]


def _load(service: ServiceResult) -> Hashable:
    return service.core_utilization, tuple(sorted(service.accelerator_utilization.items()))


def server_text(services: Sequence[str]) -> str:
    """Return words for the server of `services`: ``the server of Cart``."""
    if len(services) > _NAMED:
        shown = services[: _NAMED - 1]
        services = [*shown, f"{len(services) - len(shown)} others"]
    return f"the server of {listed(services)}"
