"""The bottleneck of a system: the resource, or the work, that its requests wait for most.

The rule depends on the results alone. The first of the following that applies is the bottleneck:

1. The resource that could not keep up, as the engine names it (``saturated``).
2. The accelerator whose full queues turned away the largest share of its operations, if this share
   is at least 1 %. With RELIEF all accelerators share one queue, the manager's. If this queue
   turned away at least 1 % of all operations, the busiest accelerator is the bottleneck if it is
   used at least half of the time, since the queue then fills behind this accelerator. Otherwise the
   bottleneck is the manager's queue itself.
3. The largest of orchestration, queueing and communication, if it took at least 10 % of the mean
   latency. With "orchestration", the one of manager, cores and dispatchers is named that took the
   most time. With "queueing", the busiest resource (cores, an accelerator, manager, A-DMA engines
   or a link) is named if it is used at least half of the time, since waiting grows with
   utilisation. With "communication", the transfers are named.
4. The work itself: the largest of application logic, accelerators and remote waits. Application
   logic is called the cores' work if cores also execute traces: all traces, or at least one trace
   for every ten requests, as a fallback.

Shares of the mean latency are means over the services. A utilisation, or the share of operations
that full queues turned away, is that of the server where it is highest: a mean over the servers
would hide the overloaded one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from accelflow.report.results import ServiceResult, SystemResult
from accelflow.report.servers import server_text, servers_of

__all__ = [
    "BUSY_SHARE",
    "DENIED_SHARE",
    "MANAGER_QUEUE",
    "PARTS",
    "WAITING_SHARE",
    "Binding",
    "binding_of",
    "parts_of",
    "utilizations",
]

#: A full queue is the bottleneck if it turns away at least this share of an accelerator's
#: operations.
DENIED_SHARE: Final = 0.01
#: The share of the mean latency from which on orchestration, queueing or communication is the
#: bottleneck.
WAITING_SHARE: Final = 0.10
#: The least utilisation of a resource that explains queueing.
BUSY_SHARE: Final = 0.50

#: The parts of the response time that reports show; each is the sum of the simulator's parts named.
PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "application": ("cpu",),
    "accelerators": ("accelerator",),
    "orchestration": ("dispatcher", "manager", "cores"),
    "queueing": ("queueing",),
    "communication": ("communication",),
    "remote": ("remote",),
}
#: The queue for all accelerators at RELIEF's manager.
MANAGER_QUEUE: Final = "manager's queue"
_WAITING: Final = ("orchestration", "queueing", "communication")
_WORK: Final = {
    "application": "application logic",
    "accelerators": "accelerators' work",
    "remote": "remote waits",
}
#: The work of cores that execute traces, too.
_CORES_WORK: Final = "cores' work"
#: The reasons for which a core executes a trace.
_IN_SOFTWARE: Final = ("enqueue_denied", "overflow_full", "no_accelerator")
_ORCHESTRATORS: Final = {"manager": "manager", "cores": "cores", "dispatcher": "dispatchers"}

#: The services of one server.
_Server = tuple[ServiceResult, ...]

#: The kinds of bottlenecks: a saturated resource, full queues, three kinds of overhead, and the
#: work itself.
BindingKind = Literal["overload", "denials", "orchestration", "queueing", "communication", "work"]


@dataclass(frozen=True, kw_only=True)
class Binding:
    """The bottleneck of a system or a service.

    `kind` is one of :data:`BindingKind`, and `resource` the name of the resource, or of the work,
    that limits. For the kind ``denials`` (full queues), `share` is the share (0 to 1) of operations
    that were turned away. It is None for ``overload``; for other kinds it is the bottleneck's share
    of the mean latency. `used` is a utilisation (0 to 1): for the kind ``queueing`` that of the
    busiest resource, and for ``denials`` that of an accelerator which keeps the manager's queue
    full. For other bottlenecks, `used` is None. With several servers, `server` names the services
    on the server that has this utilisation or the full queue; otherwise `server` is empty.
    """

    kind: BindingKind
    resource: str
    share: float | None = None
    used: float | None = None
    server: tuple[str, ...] = ()

    @property
    def short(self) -> str:
        """The bottleneck in a few words, for the cell of a table."""
        if self.used is not None:
            busy = self.used >= BUSY_SHARE
            return f"{self.resource}, {self.used:.0%} used" if busy else "queueing"
        if self.kind == "orchestration":
            return f"orchestration, {self.resource}"
        full = ", full" if self.resource == MANAGER_QUEUE else ", full queue"
        endings = {"overload": ", overloaded", "denials": full}
        return self.resource + endings.get(self.kind, "")

    @property
    def sentence(self) -> str:
        """The bottleneck as words of a sentence: ``Cmp, which cannot keep up``.

        If `share` is not None, the words include it.
        """
        if self.kind == "overload":
            return f"{self.resource}, which cannot keep up"
        share = f"{(self.share or 0.0) * 100:.0f} %"
        if self.kind == "denials":
            return self._of_denials(share)
        if self.kind == "queueing":
            used = f"{(self.used or 0.0) * 100:.0f} %"
            busy = self.used is not None and self.used >= BUSY_SHARE
            most = f"most used: {self.resource}{self._where}, {used}"
            where = most if busy else f"no resource above {used}"
            return f"queueing, {share} of its time ({where})"
        beginnings = {"orchestration": "orchestration by the ", "work": "the work itself: "}
        return f"{beginnings.get(self.kind, '')}{self.resource}, {share} of its time"

    @property
    def _where(self) -> str:
        return f" on {server_text(self.server)}" if self.server else ""

    def _of_denials(self, share: str) -> str:
        where = self._where
        if self.used is not None:
            used = f"{self.used * 100:.0f} %"
            turned = f"turns away {share} of all operations"
            return (
                f"{self.resource}{where}, {used} used: the {MANAGER_QUEUE} fills behind it and"
                f" {turned}"
            )
        if self.resource == MANAGER_QUEUE:
            full = f"which is full and turns away {share} of all operations"
            return f"the {self.resource}{where}, {full}"
        return f"{self.resource}{where}, whose full queue turns away {share} of its operations"


def parts_of(result: SystemResult | ServiceResult) -> dict[str, float]:
    """Return the parts of the mean latency in us, by the names that reports use (:data:`PARTS`).

    For a system, the parts are means over its services. Empty if the results lack the parts, as in
    files of older versions.
    """
    spent = spent_of(result)
    return (
        {part: math.fsum(spent.get(name, 0.0) for name in names) for part, names in PARTS.items()}
        if spent
        else {}
    )


def spent_of(result: SystemResult | ServiceResult) -> dict[str, float]:
    """Return the parts of the mean latency in us, by the names of :attr:`ServiceResult.spent_us`.

    For a system, the parts are means over its services. Empty if the results lack the parts.
    """
    services = result.services if isinstance(result, SystemResult) else (result,)
    known = [service.spent_us for service in services if service.spent_us]
    names = dict.fromkeys(name for spent in known for name in spent)
    return {name: _mean(spent.get(name, 0.0) for spent in known) for name in names}


def binding_of(result: SystemResult | ServiceResult) -> Binding | None:
    """Return the bottleneck of a system or a service; None if the results lack the data."""
    servers = _servers(result)
    if result.saturated is not None:
        return Binding(kind="overload", resource=result.saturated)
    full = _full_queue(result, servers)
    if full is not None:
        return full
    parts = parts_of(result)
    total = math.fsum(parts.values())
    if not total:
        return None
    waiting = max(_WAITING, key=lambda part: parts[part])
    if parts[waiting] / total >= WAITING_SHARE:
        return _waiting(result, servers, waiting, parts[waiting] / total)
    work = max(_WORK, key=lambda part: parts[part])
    in_software = work == "application" and _executes_traces(result)
    resource = _CORES_WORK if in_software else _WORK[work]
    return Binding(kind="work", resource=resource, share=parts[work] / total)


def _executes_traces(result: SystemResult | ServiceResult) -> bool:
    """Return whether cores execute all traces, or those of a large share of the requests."""
    services = result.services if isinstance(result, SystemResult) else (result,)
    used = [share for service in services for share in service.accelerator_utilization.values()]
    if used and not any(used):
        return True
    fallen = sum(
        service.fallbacks.get(reason, 0) for service in services for reason in _IN_SOFTWARE
    )
    ended = sum(service.ended for service in services)  # 0 in files of older versions
    return ended > 0 and fallen >= WAITING_SHARE * ended


def _servers(result: SystemResult | ServiceResult) -> list[_Server]:
    """Return the services of each server; a service's own results are those of one server."""
    return servers_of(result) if isinstance(result, SystemResult) else [(result,)]


def _on(binding: Binding, server: _Server, servers: Sequence[_Server]) -> Binding:
    """Return `binding` with its server, if there are several."""
    names = tuple(service.service for service in server)
    return replace(binding, server=names) if len(servers) > 1 else binding


def _full_queue(result: SystemResult | ServiceResult, servers: Sequence[_Server]) -> Binding | None:
    """Return the bottleneck if a full queue turned operations away; None if it was hardly full."""
    if isinstance(result, SystemResult) and result.has_central_queue:
        of_server = _full_central
    else:
        # The shares are the server's. If tenants are isolated, the operations may all be of others.
        isolated = isinstance(result, SystemResult) and result.isolates_tenants
        servers = [server for server in servers if not isolated or _turned_away(server)]
        of_server = _full
    full = [
        _on(found, server, servers)
        for server in servers
        if (found := of_server(server)) is not None
    ]
    return max(full, key=lambda found: found.share or 0.0, default=None)


def _turned_away(services: _Server) -> int:
    """Return the number of operations that full queues turned away."""
    reasons = ("enqueue_denied", "overflow_full")
    return sum(service.fallbacks.get(reason, 0) for service in services for reason in reasons)


def _full(services: _Server) -> Binding | None:
    """Return the bottleneck if a full queue of one server turned operations away."""
    denied = _by_name(service.accelerator_denied for service in services)
    name, share = max(denied.items(), key=lambda item: item[1], default=("", 0.0))
    return Binding(kind="denials", resource=name, share=share) if share >= DENIED_SHARE else None


def _full_central(services: _Server) -> Binding | None:
    """Return the bottleneck if one server's queue of all accelerators turned operations away.

    The share turned away is that of all operations. `accelerator_denied` has it by accelerator, and
    is large for one of few operations.
    """
    denied = _turned_away(services)
    done = math.fsum(service.operations_per_request * service.ended for service in services)
    share = denied / (denied + done) if done else 0.0
    if share < DENIED_SHARE:
        return None
    used = _by_name(service.accelerator_utilization for service in services)
    busiest, most = max(used.items(), key=lambda item: item[1], default=("", 0.0))
    if most >= BUSY_SHARE:
        return Binding(kind="denials", resource=busiest, share=share, used=most)
    return Binding(kind="denials", resource=MANAGER_QUEUE, share=share)


def _waiting(
    result: SystemResult | ServiceResult, servers: Sequence[_Server], part: str, share: float
) -> Binding:
    """Return the bottleneck for `part`, a part of the latency that is not the work itself."""
    if part == "orchestration":
        spent = spent_of(result)
        most = max(_ORCHESTRATORS, key=lambda name: spent.get(name, 0.0))
        return Binding(kind="orchestration", resource=_ORCHESTRATORS[most], share=share)
    if part == "communication":
        return Binding(kind="communication", resource="transfers", share=share)
    busiest = [
        (server, *max(_of_server(server).items(), key=lambda item: item[1])) for server in servers
    ]
    server, resource, used = max(busiest, key=lambda item: item[2])
    found = Binding(kind="queueing", resource=resource, share=share, used=used)
    return _on(found, server, servers)


def utilizations(system: SystemResult) -> dict[str, float]:
    """Return the utilisation of each resource (0 to 1) by name.

    With several servers, it is the highest among the servers.
    """
    known = [_of_server(server) for server in servers_of(system)]
    names = dict.fromkeys(name for of_server in known for name in of_server)
    return {name: max(of_server.get(name, 0.0) for of_server in known) for name in names}


def _of_server(services: _Server) -> dict[str, float]:
    """Return the utilisation of each resource of one server, which all its services have."""
    return {
        "cores": _mean(service.core_utilization for service in services),
        **_by_name(service.accelerator_utilization for service in services),
        "manager": _mean(service.manager_utilization for service in services),
        "A-DMA engines": _mean(service.dma_utilization for service in services),
        "busiest link": _mean(
            (service.data or {}).get("busiest_link_utilization") or 0.0 for service in services
        ),
    }


def _by_name(shares: Iterable[Mapping[str, float]]) -> dict[str, float]:
    known = list(shares)
    names = dict.fromkeys(name for of_service in known for name in of_service)
    return {name: _mean(of_service.get(name, 0.0) for of_service in known) for name in names}


def _mean(values: Iterable[float]) -> float:
    known = list(values)
    return math.fsum(known) / len(known) if known else 0.0
