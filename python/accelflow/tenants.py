"""Tenants of a server: whose a connection is, and what of its traffic may pass.

ARCUS's traffic shaper stands in front of each tenant (docs/server.md, "Tenants").
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

__all__ = ["Priority", "Shaping", "Tenant"]

#: What goes first in queues by priority.
Priority: TypeAlias = Literal["low", "normal", "high"]


@dataclass(frozen=True, kw_only=True)
class Shaping:
    """What of a tenant's traffic may pass. Without a rate, everything does.

    `burst_requests` and `burst_bytes` are what may pass at once after a pause, the size of the
    token bucket; by default a hundredth of a second's traffic, and at least one token.
    """

    requests_per_s: float | None = None
    burst_requests: int | None = None
    bytes_per_s: float | None = None
    burst_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class Tenant:
    """A tenant: its `name`, and how its connections are known.

    They come from one of its `networks` ("10.1.0.0/16"), or their clients have proven to be one of
    its `identities`, DNS names and URIs in certificates that a server with `client_ca` asks for.
    Of several tenants that a connection may be of, it is the first one's. `max_traces` is how many
    of its traces run at once, `max_connections` how many connections it has (None: any number).
    `priority` and `due_within_s` are for the queues of worker pools.
    """

    name: str
    networks: Sequence[str] = ()
    identities: Sequence[str] = ()
    shaping: Shaping = field(default_factory=Shaping)
    max_traces: int | None = None
    max_connections: int | None = None
    priority: Priority = "normal"
    due_within_s: float | None = None
