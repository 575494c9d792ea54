"""Worker pools, steering, telemetry and injected faults of a server (docs/server-operation.md)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, get_args

from accelflow.errors import instance_of, number_within, one_of, refused, whole_number
from accelflow.parameters import check_count, check_numbers

__all__ = [
    "Fault",
    "FaultKind",
    "Policy",
    "Pools",
    "RpcProcessor",
    "Steering",
    "SteeringPolicy",
    "Telemetry",
]

#: The order of an accelerator's input queue: ``fifo`` (first in, first out), by ``priority``, by
#: ``deadline`` (a late entry swaps places with one that has slack), or ``edf`` (earliest deadline
#: first).
Policy: TypeAlias = Literal["fifo", "priority", "deadline", "edf"]

#: The policy by which LdB chooses the worker of a request.
SteeringPolicy: TypeAlias = Literal["affinity", "function_map", "round_robin", "least_loaded"]

#: The effect of an injected fault on a step.
FaultKind: TypeAlias = Literal["fail", "panic", "delay"]

#: The largest number of threads of one kind: memory for all is allocated before the first starts.
_MOST_THREADS: Final = 65_536

#: The largest number that a random number generator starts from, or that counts steps.
_MOST_STEPS: Final = 2**64 - 1

#: The longest time, in seconds.
_LONGEST_S: Final = 1e9

#: What the numbers of workers by accelerator must be.
_WORKERS: Final = "a mapping from names of accelerators to numbers of workers"

#: The fields of :class:`Pools` that are numbers.
_POOL_NUMBERS: Final = (
    "workers",
    "instances",
    "core_workers",
    "queue_entries",
    "overflow_entries",
    "least_bytes",
)


@dataclass(frozen=True, kw_only=True)
class Pools:
    """Settings of threads and queues for the software accelerators of a server or client.

    Each kind of accelerator (TCP, Encr, ...) has `instances` instances. An instance has `workers`
    threads (`workers_of` sets another number by accelerator), an input queue and an output queue of
    `queue_entries` entries each, and an overflow area of `overflow_entries`. An accelerator call
    that finds all queues full, or calls a custom accelerator, runs on one of `core_workers`
    threads, which act as cores. `policy` is the order of the queues: ``fifo`` (first in, first
    out), ``priority``, ``deadline`` (a late entry swaps places with one that has slack) or ``edf``
    (earliest deadline first). With `pinned`, each worker is bound to a core.

    There may be at most 65,536 core workers, and at most 65,536 workers for each accelerator (all
    its instances together).

    A trace is a program of accelerator calls. If the payload that a trace starts with has fewer
    than `least_bytes` bytes, the trace runs on the calling thread, since its offload would cost
    more than it saves (docs/ensemble.md, "Selective offload").
    """

    workers: int = 1
    workers_of: Mapping[str, int] = field(default_factory=dict)
    instances: int = 1
    core_workers: int = 1
    queue_entries: int = 64
    overflow_entries: int = 64
    least_bytes: int = 0
    policy: Policy = "fifo"
    pinned: bool = False

    def __post_init__(self) -> None:
        """Raise InputError for a value that is not allowed, and for too many threads."""
        check_numbers("server.pools", self, _POOL_NUMBERS)
        instance_of("workers_of", self.workers_of, (Mapping,), _WORKERS)
        for name, workers in self.workers_of.items():
            instance_of("workers_of", name, (str,), _WORKERS)
            whole_number(f"workers_of.{name}", workers, 1, _MOST_THREADS)
        one_of("policy", self.policy, get_args(Policy))
        instance_of("pinned", self.pinned, (bool,), "True or False")
        workers = max([self.workers, *self.workers_of.values()])
        if self.instances * workers > _MOST_THREADS:
            allowed = (
                f"must be at most {_MOST_THREADS // workers}, with {workers} workers each: an"
                f" accelerator may have at most {_MOST_THREADS:,} workers"
            )
            raise refused("instances", self.instances, allowed)
        # The native code reads a dict, and no other mapping.
        object.__setattr__(self, "workers_of", dict(self.workers_of))


@dataclass(frozen=True, kw_only=True)
class Steering:
    """Settings of a server's workers, the threads that run handlers, and the choice among them.

    A worker runs one handler at a time. The load-balancing accelerator, LdB, chooses the worker of
    each request by `policy`.

    ``affinity`` chooses the worker that a hash of the requested function selects, or if that worker
    would have over 1.25 times the mean number of requests, the next worker below this bound.
    ``function_map`` chooses among the workers below the same bound that have the requested function
    among their last `function_map_depth` functions: the worker with the fewest requests. Without
    such a worker, it chooses the worker with the fewest requests among all (Cerebros, section 4.3).
    ``round_robin`` chooses the next worker, and ``least_loaded`` the one with the fewest requests.

    By default, `workers` is the number of cores that the process may use; the largest number is
    65,536. With `pinned`, each worker is bound to one of the cores.
    """

    policy: SteeringPolicy = "affinity"
    workers: int | None = None
    pinned: bool = False
    function_map_depth: int = 1

    def __post_init__(self) -> None:
        """Raise InputError for a value that is not allowed."""
        one_of("policy", self.policy, get_args(SteeringPolicy))
        if self.workers is not None:
            whole_number("workers", self.workers, 1, _MOST_THREADS)
        instance_of("pinned", self.pinned, (bool,), "True or False")
        check_numbers("server.steering", self, ["function_map_depth"])


@dataclass(frozen=True, kw_only=True)
class RpcProcessor:
    """Settings of a server's RPC accelerator: which parts of Cerebros's RPC processor it has.

    These parts do not change the results of requests.

    With `split_schema`, the deserializer (Dser) records the positions of lists, sets, maps and
    structs in Thrift arguments, so that handlers in Rust can skip fields that they do not need.
    Handlers in Python get all fields.

    With `arena_bytes`, all requests share an area of memory of this size; a message that is alone
    in it may be larger. Until its handler has returned, a message reserves its own size in the
    area, and `reservation_ratio` times its size for its decoded form. If too little memory is free
    after `patience_s` seconds (rounded to nanoseconds), the client receives a retryable error: the
    Thrift exception LOADSHEDDING (11), or gRPC's REFUSED_STREAM. Oneway calls, which have no
    response, wait for memory instead.

    Source: Cerebros, sections 4.1 and 4.3; docs/server-reasons.md has the cost of each part.
    """

    split_schema: bool = False
    arena_bytes: int | None = None
    reservation_ratio: int = 4
    patience_s: float = 0.0

    def __post_init__(self) -> None:
        """Raise InputError for a value that is not allowed."""
        instance_of("split_schema", self.split_schema, (bool,), "True or False")
        check_count("server.rpc", "arena_bytes", self.arena_bytes)
        check_numbers("server.rpc", self, ["reservation_ratio", "patience_s"])


@dataclass(frozen=True, kw_only=True)
class Telemetry:
    """Settings for sending spans of distributed tracing to a collector, by OTLP over HTTP.

    `endpoint` is the collector's address, such as ``http://127.0.0.1:4318/v1/traces``. `service` is
    the ``service.name`` in the spans. `sample_ratio` is the share of requests that have spans, 0 to
    1; a gRPC request with a ``traceparent`` has spans if its caller asks for them.
    """

    endpoint: str
    service: str
    sample_ratio: float = 1.0

    def __post_init__(self) -> None:
        """Raise InputError for a value that is not allowed."""
        allowed = "a URL such as http://127.0.0.1:4318/v1/traces"
        instance_of("endpoint", self.endpoint, (str,), allowed)
        instance_of("service", self.service, (str,), "the name of a service")
        check_numbers("server", self, ["sample_ratio"])


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault that a server injects into calls of one software accelerator, for tests.

    `accelerator` is the name of the accelerator, such as TCP or Encr. The fault affects either the
    accelerator's `nth` call (from 1), or a random `share` of its calls (0 to 1), drawn with `seed`;
    set one of the two. `kind` is the effect: the call fails as on broken hardware (``fail``),
    panics (``panic``), or takes `delay_s` seconds longer (``delay``). After a failure or a panic, a
    core runs the trace (the program that made the call) again on the same input.
    """

    accelerator: str
    kind: FaultKind
    nth: int | None = None
    share: float | None = None
    seed: int = 0
    delay_s: float = 0.0

    def __post_init__(self) -> None:
        """Raise InputError for a value that is not allowed."""
        instance_of("accelerator", self.accelerator, (str,), "the name of an accelerator")
        one_of("kind", self.kind, get_args(FaultKind))
        if self.nth is not None:
            whole_number("nth", self.nth, 1, _MOST_STEPS)
        if self.share is not None:
            number_within("share", self.share, 0, 1)
        whole_number("seed", self.seed, 0, _MOST_STEPS)
        number_within("delay_s", self.delay_s, 0, _LONGEST_S)
        if self.delay_s and self.kind != "delay":
            allowed = f"must be left out of a fault of kind {self.kind!r}, which does not delay"
            raise refused("delay_s", self.delay_s, allowed)
