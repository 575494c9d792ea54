"""How a server is operated: pools, steering, spans, faults on purpose (docs/server.md)."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = [
    "Fault",
    "FaultKind",
    "Policy",
    "Pools",
    "Steering",
    "SteeringPolicy",
    "Telemetry",
]

#: In which order a queue is worked off.
Policy: TypeAlias = Literal["fifo", "priority", "deadline", "edf"]

#: How LdB chooses the worker of a request.
SteeringPolicy: TypeAlias = Literal["affinity", "round_robin", "least_loaded"]

#: What happens to a step.
FaultKind: TypeAlias = Literal["fail", "panic", "delay"]


@dataclass(frozen=True, kw_only=True)
class Pools:
    """Ensemble execution: each accelerator has workers of its own behind bounded queues.

    There are so many `instances` of each accelerator, each with `workers`, an input queue and an
    overflow area; a step that finds no room in any is done by the connection's thread.
    """

    workers: int = 1
    instances: int = 1
    queue_entries: int = 64
    overflow_entries: int = 64
    policy: Policy = "fifo"


@dataclass(frozen=True, kw_only=True)
class Steering:
    """Handlers run on workers, one at a time each, and LdB chooses the worker by `policy`.

    By ``affinity`` that is the function's own, unless it has a quarter more to do than the mean; by
    ``round_robin`` the next, by ``least_loaded`` the one with the fewest requests. There are as
    many `workers` as the process may use cores, unless told otherwise; if `pinned`, each is bound
    to one of them.
    """

    policy: SteeringPolicy = "affinity"
    workers: int | None = None
    pinned: bool = False


@dataclass(frozen=True, kw_only=True)
class Telemetry:
    """Spans of requests, by OTLP over HTTP to `endpoint` (http://127.0.0.1:4318/v1/traces).

    `service` is the resource's ``service.name``; `sample_ratio` is the share of requests that are
    sampled, from 0 to 1.
    """

    endpoint: str
    service: str
    sample_ratio: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault that is injected into the `accelerator` (TCP, Encr, Decr, RPC, Ser, ...).

    Its step number `nth`, counted from 1, or a `share` of its steps, drawn with `seed`, fails as a
    device does, panics, or is delayed by `delay_s` seconds. A core then does the work.
    """

    accelerator: str
    kind: FaultKind
    nth: int | None = None
    share: float | None = None
    seed: int = 0
    delay_s: float = 0.0
