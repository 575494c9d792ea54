"""Tenants of a server: which connections belong to them, and how their traffic is shaped.

ARCUS's traffic shaper stands in front of each tenant (docs/server.md, "Tenants").
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

__all__ = ["Priority", "Shaping", "Tenant"]

#: The priority of requests in queues by priority.
Priority: TypeAlias = Literal["low", "normal", "high"]


@dataclass(frozen=True, kw_only=True)
class Shaping:
    """Limits on the rate of a tenant's traffic. Without a rate there is no limit.

    `burst_requests` and `burst_bytes` are the sizes of the token buckets: how much may pass at once
    after a pause. The default is a hundredth of a second's traffic, and at least one token.
    """

    requests_per_s: float | None = None
    burst_requests: int | None = None
    bytes_per_s: float | None = None
    burst_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class Tenant:
    """A tenant: its `name`, how its connections are recognised, and its limits.

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
    max_traces: int | None = None
    max_connections: int | None = None
    priority: Priority = "normal"
    due_within_s: float | None = None
