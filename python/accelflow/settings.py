"""Settings of servers and clients, in groups: TLS, limits, timeouts, execution, observability.

Each group is an immutable dataclass, checked on creation. docs/server-calls.md, server-limits.md
and server-operation.md describe the settings. ::

    Server(
        "calculator.thrift",
        tls=Tls(certificate="cert.pem", key="key.pem"),
        limits=Limits(max_connections=4096),
    )
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from types import NoneType
from typing import Final, Self, get_args

from accelflow.errors import LEFT_OUT, instance_of, one_of, refused
from accelflow.operations import (
    Fault,
    Pools,
    RpcProcessor,
    Steering,
    SteeringPolicy,
    Telemetry,
)
from accelflow.parameters import check_count, check_numbers

__all__ = [
    "ClientTls",
    "Execution",
    "Limits",
    "Observability",
    "Timeouts",
    "Tls",
]

#: The RPC accelerator as it is.
_RPC: Final = RpcProcessor()

#: The fields of :class:`Limits` that may be None.
_OPTIONAL_LIMITS: Final = ("max_connections_per_address", "max_value_bytes", "max_unsent_bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """A server's settings for TLS 1.3: its `certificate` chain and private `key`, both PEM files.

    The server's own certificate is the first of the chain. With `client_ca`, a PEM file of
    authorities, clients must present a certificate that one of these authorities has signed.
    """

    certificate: str | PathLike[str]
    key: str | PathLike[str]
    client_ca: str | PathLike[str] | None = None

    def __post_init__(self) -> None:
        """Raise InputError for a value that is not a path."""
        instance_of("certificate", self.certificate, (str, PathLike), "a path")
        instance_of("key", self.key, (str, PathLike), "a path")
        instance_of("client_ca", self.client_ca, (str, PathLike, NoneType), "a path or None")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientTls:
    """A client's settings for TLS 1.3: the authorities that it trusts, and its own certificate.

    `ca` is a PEM file of authorities: one of them must have signed the service's certificate, for
    the name `server_name` (by default the host of the service's address). A `certificate` chain and
    its private `key` (PEM files, both or neither) authenticate the client.
    """

    ca: str | PathLike[str]
    server_name: str | None = None
    certificate: str | PathLike[str] | None = None
    key: str | PathLike[str] | None = None

    def __post_init__(self) -> None:
        """Raise InputError for a value of another type, and for a certificate without its key."""
        instance_of("ca", self.ca, (str, PathLike), "a path")
        instance_of("server_name", self.server_name, (str, NoneType), "a name or None")
        instance_of("certificate", self.certificate, (str, PathLike, NoneType), "a path or None")
        instance_of("key", self.key, (str, PathLike, NoneType), "a path or None")
        if (self.certificate is None) != (self.key is None):
            missing, given = ("key", "certificate") if self.key is None else ("certificate", "key")
            raise refused(missing, LEFT_OUT, f"must be given, since {given} is given")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """A server's bounds on connections, on messages and on memory.

    Connections beyond `max_connections` are closed at once. So are connections from one address
    beyond `max_connections_per_address` (None: a quarter of `max_connections`; no bound for this
    machine), and those that would use one of the last `reserved_descriptors` file descriptors of
    the process. Instead of the new connection, an idle one may be closed (`evict_after_s` in
    :class:`Timeouts`). A gRPC client may have up to `max_concurrent_streams` concurrent requests on
    a connection.

    A message has at most `max_message_bytes`; after decompression, at most `max_decompressed_bytes`
    and `max_decompression_ratio` times its compressed size. This ratio applies neither to messages
    of up to 64 KiB after decompression nor to gzip, which gRPC uses: gzip's format allows a ratio
    of 1,032 at most. A message has at most `max_elements` fields and elements in total,
    `max_value_bytes` bytes of text and binary data (None: twice `max_message_bytes`), and
    `max_depth` nested structs and containers. A message beyond a limit is refused before memory is
    allocated for it. Its connection stays open, unless a Thrift message exceeds
    `max_message_bytes`.

    The responses of a gRPC connection that are being made, or that the client has not read, have at
    most `max_unsent_bytes` in total (None: 4 times `max_message_bytes`; a single one may have
    more). A request waits until its response is expected to fit into half of this size.
    """

    max_connections: int = 1024
    max_connections_per_address: int | None = None
    reserved_descriptors: int = 64
    max_concurrent_streams: int = 512
    max_message_bytes: int = 16 << 20
    max_decompressed_bytes: int = 16 << 20
    max_decompression_ratio: int = 256
    max_depth: int = 64
    max_elements: int = 1 << 17
    max_value_bytes: int | None = None
    max_unsent_bytes: int | None = None

    def __post_init__(self) -> None:
        """Raise InputError for a number out of its range."""
        for name in _OPTIONAL_LIMITS:
            check_count("server", name, getattr(self, name))
        always = [name for name in self.__dataclass_fields__ if name not in _OPTIONAL_LIMITS]
        check_numbers("server", self, always)

    def resolved(self) -> Self:
        """Return a copy in which `max_value_bytes` and `max_unsent_bytes` are numbers, not None.

        Their defaults are 2 times and 4 times `max_message_bytes`.
        """
        values, unsent = self.max_value_bytes, self.max_unsent_bytes
        return replace(
            self,
            max_value_bytes=2 * self.max_message_bytes if values is None else values,
            max_unsent_bytes=4 * self.max_message_bytes if unsent is None else unsent,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """A server's time limits in seconds, after most of which it closes a connection.

    `first_byte_timeout_s` limits the wait for the first byte, `idle_timeout_s` the wait between
    messages. If there is no place for a new connection, the connection that has been idle longest
    is closed, if it has been idle for at least `evict_after_s`. `message_timeout_s` limits the time
    from a message's first byte to its last, and `write_timeout_s` the time until the client takes a
    reply (None: as `message_timeout_s`).

    There are special cases. `message_timeout_s` limits a TLS handshake. With gRPC, it also limits
    the wait for the client's preface (the start of a connection), and `first_byte_timeout_s` has no
    effect; a slow message or reply ends only its request, unless a frame of HTTP/2 stays incomplete
    or the client takes no bytes. With Thrift, `idle_timeout_s` also limits the wait for the first
    byte.
    """

    idle_timeout_s: float = 300.0
    evict_after_s: float = 10.0
    first_byte_timeout_s: float = 10.0
    message_timeout_s: float = 10.0
    write_timeout_s: float | None = None

    def __post_init__(self) -> None:
        """Raise InputError for a timeout that is not a positive number."""
        given = [name for name in self.__dataclass_fields__ if name != "write_timeout_s"]
        if self.write_timeout_s is not None:
            given.append("write_timeout_s")
        check_numbers("server", self, given)

    def resolved(self) -> Self:
        """Return a copy whose `write_timeout_s` is `message_timeout_s` if it was None."""
        own = self.write_timeout_s
        return replace(self, write_timeout_s=self.message_timeout_s if own is None else own)


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """A server's settings for the threads that run software accelerators and request handlers.

    By default both run on the threads of connections. With `workers`, each accelerator (encryption,
    serialization, ...) has this many threads of its own, behind a bounded queue, as in the paper's
    hardware (:class:`Pools` has more settings); the results are the same. With `steering`, handlers
    run on worker threads that the load balancer LdB chooses (:class:`Steering`, or only its
    policy).

    gRPC handlers run on up to `handler_threads` threads that all connections share. The server
    reserves more threads (docs/server-limits.md): another `handler_threads` for connections without
    a running handler, and one per tenant for when no handler of the tenant runs. With 0, handlers
    run on the threads of connections, which is faster for handlers that do not block.

    With `overwrites_freed_memory`, glibc overwrites the memory that the whole process frees, from
    the start of the server on, except blocks of up to 1,032 bytes. Freed memory of Python objects
    then holds no large part of a message (docs/server-reasons.md#wiping-freed-memory).

    `rpc` has settings that replace the RPC accelerator by parts of Cerebros's RPC processor.
    `faults` are injected into calls of accelerators, for tests.
    """

    workers: int | Pools | None = None
    steering: SteeringPolicy | Steering | None = None
    handler_threads: int = 64
    overwrites_freed_memory: bool = True
    rpc: RpcProcessor = _RPC
    faults: Sequence[Fault] = ()

    def __post_init__(self) -> None:
        """Raise InputError for a number out of its range."""
        check_numbers("server", self, ["handler_threads"])
        instance_of(
            "workers", self.workers, (int, Pools, NoneType), "a whole number, Pools or None"
        )
        instance_of(
            "overwrites_freed_memory", self.overwrites_freed_memory, (bool,), "True or False"
        )
        policies = ", ".join(get_args(SteeringPolicy))
        allowed = f"one of {policies}, a Steering or None"
        instance_of("steering", self.steering, (str, Steering, NoneType), allowed)
        if isinstance(self.steering, str):
            one_of("steering", self.steering, get_args(SteeringPolicy))
        listed = isinstance(self.faults, Sequence) and not isinstance(self.faults, str)
        if not listed or not all(isinstance(fault, Fault) for fault in self.faults):
            raise refused("faults", self.faults, "must be a list of accelflow.Fault")
        instance_of("rpc", self.rpc, (RpcProcessor,), "an RpcProcessor")
        self._pools()  # refuses a number out of its range

    def _pools(self) -> Pools | None:
        return Pools(workers=self.workers) if isinstance(self.workers, int) else self.workers

    def _steering(self) -> Steering | None:
        return Steering(policy=self.steering) if isinstance(self.steering, str) else self.steering

    def resolved(self) -> Self:
        """Return a copy with `workers` as :class:`Pools` and `steering` as :class:`Steering`.

        Both stay None if not set. `rpc.patience_s` is rounded to nanoseconds, and `faults` is a
        list.
        """
        return replace(
            self,
            workers=self._pools(),
            steering=self._steering(),
            # The native server counts nanoseconds: less than half of one is no patience.
            rpc=replace(self.rpc, patience_s=round(self.rpc.patience_s, 9)),
            faults=list(self.faults),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Observability:
    """A server's settings for operators (metrics, recordings, spans) and for the detail of errors.

    With `record`, the server measures and keeps the costs of the latest requests for
    :meth:`Server.recording`. With `telemetry`, it sends spans of distributed tracing to a
    collector. With `admin`, an address such as "127.0.0.1:9100", it serves pages for operators over
    HTTP (/metrics, /slo, /recording, /traces; docs/server-operation.md#metrics).

    For an error that the interface does not declare, a client receives a code and an id. The log
    ``accelflow.server`` has the details under that id: at level ERROR, or INFO if the request is
    wrong. With `verbose_errors`, clients receive the details: texts of exceptions, traces and
    steps, and the names of known functions.

    With `reflection`, gRPC clients such as grpcurl can ask the server for its interface.
    """

    record: bool = False
    telemetry: Telemetry | None = None
    admin: str | None = None
    verbose_errors: bool = False
    reflection: bool = False

    def __post_init__(self) -> None:
        """Raise InputError for a value of another type."""
        instance_of("record", self.record, (bool,), "True or False")
        instance_of("telemetry", self.telemetry, (Telemetry, NoneType), "a Telemetry or None")
        instance_of("admin", self.admin, (str, NoneType), "an address such as 127.0.0.1:9100")
        instance_of("verbose_errors", self.verbose_errors, (bool,), "True or False")
        instance_of("reflection", self.reflection, (bool,), "True or False")
