"""Build workloads in Python: services with the paths of their requests.

The fields are those of a workload's file (docs/workloads.md), and follow the same rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from os import PathLike
from typing import Any, Final, Self, Unpack

from accelflow.errors import refused
from accelflow.phases import (
    Arrivals,
    Chain,
    ChainOptions,
    Costs,
    Cpu,
    Defaults,
    Parallel,
    Phase,
    Sizes,
    Timed,
    Times,
    Traces,
)
from accelflow.workload import load_workload, workload_text, write_workload

__all__ = ["Service", "Workload", "chain", "cpu", "parallel"]

#: The schema of a workload's file.
SCHEMA: Final = "accelflow.workload/1"


def cpu(time_us: float | Times | None = None) -> Timed | Cpu:
    """Return a phase of application logic, which takes `time_us` microseconds of a core.

    A phase is one part of a service's path. `time_us` is a number, or a distribution from which
    each request's time is drawn. All phases for which it is None share one time equally: the
    service's `app_us` or, without `app_us`, the application time in the service's costs.
    """
    if time_us is None:
        return {"cpu": True}
    if isinstance(time_us, Mapping):
        return {"cpu": time_us}
    return {"cpu_us": time_us}


def chain(trace: str, **options: Unpack[ChainOptions]) -> Chain:
    """Return a phase that runs a chain of traces: `trace`, and all traces that follow it.

    A trace is a program of accelerator calls. `options` are the optional fields of a chain
    (:class:`accelflow.phases.ChainOptions`).
    """
    return {"trace": trace, **options}


def parallel(*chains: Chain) -> Parallel:
    """Return a phase that runs several chains of traces in parallel, and ends with the last one.

    Detached chains do not count for its end.
    """
    return {"parallel": list(chains)}


@dataclass(frozen=True, kw_only=True)
class Service:
    """A service: the path of its requests through phases, and their rate.

    `path` is the sequence of phases (application logic, or chains of traces); the first receives
    the request, and the last sends the answer. `method` is the remote procedure that clients call.
    `tenant` is the tenant's number. In queues ordered by priority, the highest `priority` goes
    first. `server` names the server on which the service runs. `rate_rps` is the rate in requests
    per second. But if a scenario sets the mean rate of the services, the rate is `rate_share` times
    this mean. The SLO (limit of response times) is `slo_us`, or `slo_factor` times the mean
    response time on an idle server. `app_us` is the total time of the phases of application logic
    without a time of their own. `arrivals`, `sizes` of messages, `costs` of operations and `waits`
    for other servers have types of :mod:`accelflow.phases`.

    A field that is None has the value in the workload's `defaults`, if they have one.
    """

    name: str
    path: Sequence[Phase]
    method: str | None = None
    tenant: int | None = None
    priority: int | None = None
    server: str | None = None
    rate_rps: float | None = None
    rate_share: float | None = None
    slo_us: float | None = None
    slo_factor: float | None = None
    app_us: float | None = None
    arrivals: Arrivals | None = None
    sizes: Sizes | None = None
    costs: Costs | None = None
    waits: Mapping[str, Times] | None = None

    def to_document(self) -> dict[str, Any]:
        """Return the service as the table in a workload's file: a dict of plain values."""
        given = {attribute.name: getattr(self, attribute.name) for attribute in fields(self)}
        return {key: value for key, value in given.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A workload: a set of services that are simulated together.

    ::

        from accelflow.services import chain, cpu

        shop = accelflow.Workload(
            name="shop",
            services=[
                accelflow.Service(
                    name="Checkout",
                    rate_rps=4000.0,
                    path=[chain("T1", facts={"T1": {"compressed": 0}}), cpu(60.0), chain("T2")],
                )
            ],
        )
        result = accelflow.simulate(shop)

    `defaults` has the values of fields that services omit. `traces` are the workload's own traces
    (programs of accelerator calls). `description` is a text for readers. `rest` has the other
    tables of a workload's file by name: ``kinds``, ``rates``, ``origin`` and ``printed``.
    """

    name: str
    services: Sequence[Service]
    description: str | None = None
    defaults: Defaults = field(default_factory=Defaults)
    traces: Sequence[Traces] = ()
    rest: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Self:
        """Read the workload in the file at `path`, with the files to which it refers.

        Raises InputError as :func:`accelflow.workload.load_workload` does.
        """
        return cls.from_document(load_workload(path))

    @classmethod
    def from_document(cls, tree: Mapping[str, Any]) -> Self:
        """Make a workload from the content of a workload's file, as a dict.

        Raises InputError for a dict that is not a workload.
        """
        workload_text(tree)
        own = {attribute.name for attribute in fields(cls)} - {"services", "rest"}
        known = {key: value for key, value in tree.items() if key in own}
        rest = {key: tree[key] for key in tree if key not in {*own, "services", "schema"}}
        services = [Service(**service) for service in tree["services"]]
        return cls(**known, services=services, rest=rest)

    def to_document(self) -> dict[str, Any]:
        """Return the content of the workload's file, as a dict of plain values.

        Raises InputError for the first value that is not allowed.
        """
        if any(not isinstance(service, Service) for service in self.services):
            raise refused("services", self.services, "must be a list of accelflow.Service")
        tree: dict[str, Any] = {"schema": SCHEMA, "name": self.name}
        if self.description is not None:
            tree["description"] = self.description
        tree |= {"defaults": dict(self.defaults)} if self.defaults else {}
        tree |= {"traces": list(self.traces)} if self.traces else {}
        tree["services"] = [service.to_document() for service in self.services]
        tree |= dict(self.rest)
        workload_text(tree)
        return tree

    def write(self, path: str | PathLike[str]) -> None:
        """Write the workload to the file at `path`, whole or not at all.

        Raises InputError for a value that is not allowed, and for a file that cannot be written.
        """
        write_workload(self.to_document(), path)

    def service(self, name: str) -> Service:
        """Return the service called `name`. Raises InputError for an unknown name."""
        for service in self.services:
            if service.name == name:
                return service
        raise refused("service", name, known=[other.name for other in self.services])
