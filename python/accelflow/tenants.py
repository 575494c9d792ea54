"""Tenants of a server: their connections, traffic shaping and promises.

ARCUS's traffic shaper limits each tenant, and its control plane grants promises
(docs/server-limits.md, "Tenants").
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

    `accelerator_s_per_s` is the processor time per second that the server may spend on the tenant's
    requests, without their handlers. It is one limit for small, large and bursty requests. The time
    of a request is predicted from earlier requests of its size, and corrected afterwards.

    `burst_requests`, `burst_bytes` and `burst_accelerator_s` are the sizes of the token buckets:
    the most that may pass at once after a pause. The default is a hundredth of a second's traffic,
    and at least one token.
    """

    requests_per_s: float | None = None
    burst_requests: int | None = None
    bytes_per_s: float | None = None
    burst_bytes: int | None = None
    accelerator_s_per_s: float | None = None
    burst_accelerator_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class Control:
    """A server's control plane: it keeps the promises to tenants, and gives others the remainder.

    `capacity_s_per_s` is the accelerator time available per second (None: the number of cores that
    the process may use). `most` is the share of it that may be promised, or used by tenants without
    a promise. Promises are checked every `period_s`.
    """

    capacity_s_per_s: float | None = None
    most: float = 0.8
    period_s: float = 0.1


@dataclass(frozen=True, kw_only=True)
class Slo:
    """A requested promise: `requests_per_s` in `percent_of_periods` of all periods.

    It applies to requests with a mean accelerator time of `request_us`. If that is None, it is
    predicted from earlier requests of about `request_bytes`, and follows their current mean while
    there is capacity.

    `latency_percentile` and `latency_us` also promise a percentile of latencies, measured from the
    release of a request by the shaper to its answer, handler included.
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

    A connection belongs to the first tenant whose `networks` ("10.1.0.0/16") contain its address,
    or whose `identities` contain one proven by the client. Identities are DNS names and URIs of
    certificates, which a server with `client_ca` requires. `max_traces` limits concurrent traces,
    and `max_connections` open connections (None: no limit). `priority` and `due_within_s` apply to
    the queues of worker pools.
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
