"""Tenants of a server: their connections, how their traffic is shaped, what they are promised.

ARCUS's traffic shaper stands in front of each tenant, and its control plane gives promises
(docs/server-reference.md, "Tenants").
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

__all__ = ["Control", "Priority", "Shaping", "Slo", "Tenant"]

#: The priority of requests in queues by priority.
Priority: TypeAlias = Literal["low", "normal", "high"]


@dataclass(frozen=True, kw_only=True)
class Shaping:
    """Limits on the rate of a tenant's traffic. Without a rate there is no limit.

    `accelerator_s_per_s` is the processor time that the server may spend on the tenant's requests,
    without their handlers, in seconds each second: one limit for small, large and bursty requests.
    What a request takes is predicted from earlier ones of its size, and corrected afterwards.

    `burst_requests`, `burst_bytes` and `burst_accelerator_s` are the sizes of the token buckets:
    how much may pass at once after a pause. The default is a hundredth of a second's traffic, and
    at least one token.
    """

    requests_per_s: float | None = None
    burst_requests: int | None = None
    bytes_per_s: float | None = None
    burst_bytes: int | None = None
    accelerator_s_per_s: float | None = None
    burst_accelerator_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class Control:
    """The control plane of a server: it gives tenants what they are promised, and others the rest.

    `capacity_s_per_s` is how many seconds of accelerators there are each second (None: the number
    of cores that the process may use), and `most` the part of it that may be promised or used by
    those without a promise. Promises are looked at every `period_s`.
    """

    capacity_s_per_s: float | None = None
    most: float = 0.8
    period_s: float = 0.1


@dataclass(frozen=True, kw_only=True)
class Slo:
    """A promise that a tenant asks for: `requests_per_s` in `percent_of_periods` of all periods.

    It holds for requests that take `request_us` of accelerator time in the mean. If that is None,
    it is predicted from earlier requests whose messages had about `request_bytes`; given those, it
    follows what such requests take, while there is room.

    With `latency_percentile` and `latency_us`, that percentile of the times from when a request may
    pass to its answer, handler included, is promised too.
    """

    requests_per_s: float
    request_us: float | None = None
    request_bytes: int | None = None
    percent_of_periods: float = 99.0
    latency_percentile: float | None = None
    latency_us: float | None = None


@dataclass(frozen=True, kw_only=True)
class Tenant:
    """A tenant: its `name`, how its connections are recognised, its limits, and its promise `slo`.

    A connection belongs to the first tenant that has its address in one of its `networks`
    ("10.1.0.0/16"), or an identity that its client has proven among its `identities`: DNS names and
    URIs of certificates, which a server with `client_ca` asks for. `max_traces` bounds the traces
    that run at once, and `max_connections` the open connections (None: any number). `priority` and
    `due_within_s` are for the queues of worker pools.
    """

    name: str
    networks: Sequence[str] = ()
    identities: Sequence[str] = ()
    shaping: Shaping = field(default_factory=Shaping)
    slo: Slo | None = None
    max_traces: int | None = None
    max_connections: int | None = None
    priority: Priority = "normal"
    due_within_s: float | None = None
