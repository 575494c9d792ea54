"""Worker pools, steering, telemetry and injected faults of a server (docs/server.md)."""

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

#: The order in which a queue is processed.
Policy: TypeAlias = Literal["fifo", "priority", "deadline", "edf"]

#: The policy by which LdB chooses the worker of a request.
SteeringPolicy: TypeAlias = Literal["affinity", "round_robin", "least_loaded"]

#: What an injected fault does to a step.
FaultKind: TypeAlias = Literal["fail", "panic", "delay"]


@dataclass(frozen=True, kw_only=True)
class Pools:
    """Ensemble execution: each accelerator has workers of its own behind bounded queues.

    There are `instances` of each accelerator, each with `workers` threads, an input queue of
    `queue_entries` and an overflow area of `overflow_entries`. A step that finds all of them full
    runs on the connection's thread.
    """

    workers: int = 1
    instances: int = 1
    queue_entries: int = 64
    overflow_entries: int = 64
    policy: Policy = "fifo"


@dataclass(frozen=True, kw_only=True)
class Steering:
    """Handlers run on workers, one at a time each, and LdB chooses the worker by `policy`.

    ``affinity`` chooses the function's own worker, unless that has a quarter more to do than the
    mean; ``round_robin`` the next one; ``least_loaded`` the one with the fewest requests. By
    default there are as many `workers` as cores that the process may use; if `pinned`, each is
    bound to one of them.
    """

    policy: SteeringPolicy = "affinity"
    workers: int | None = None
    pinned: bool = False


@dataclass(frozen=True, kw_only=True)
class Telemetry:
    """Sends spans of requests by OTLP over HTTP to `endpoint` (http://127.0.0.1:4318/v1/traces).

    `service` is the resource's ``service.name``; `sample_ratio` is the share of requests that are
    sampled, from 0 to 1.
    """

    endpoint: str
    service: str
    sample_ratio: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault that is injected into the `accelerator` (TCP, Encr, Decr, RPC, Ser, ...).

    The step with number `nth` (from 1), or a random `share` of the steps drawn with `seed`, fails
    as a device does, panics, or is delayed by `delay_s` seconds. After a failure or a panic, a core
    does the work.
    """

    accelerator: str
    kind: FaultKind
    nth: int | None = None
    share: float | None = None
    seed: int = 0
    delay_s: float = 0.0
