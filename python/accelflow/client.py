"""Clients of other services: Thrift and gRPC by T9 and T10, JSON over HTTP/1.1 by T11 and T12.

docs/client.md describes them. ::

    client = Client("posts.thrift", "posts.internal:9090", tls=ClientTls(ca="ca.pem"))
    posts = client.call("PostStorage.ReadPosts", {"post_ids": [1, 2]}, timeout_s=0.5)
"""

import asyncio
import contextvars
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import PathLike
from types import NoneType
from typing import Any, Final, Generic, Literal, NamedTuple, TypeAlias, TypeVar, get_args

from accelflow import _native
from accelflow.errors import (
    CallError,
    DeclaredError,
    as_input,
    file_path,
    instance_of,
    number_within,
    one_of,
    refused,
    texts,
    whole_number,
)
from accelflow.operations import Pools
from accelflow.own_traces import ClientTraces, traces_of
from accelflow.parameters import check_numbers
from accelflow.requests import Metadata, current_scope, pairs, within_request
from accelflow.settings import ClientTls

__all__ = [
    "CallError",
    "CallLimits",
    "Cancel",
    "Client",
    "Connections",
    "DeclaredError",
    "GrpcClient",
    "GrpcResponse",
    "HttpClient",
    "HttpResponse",
]

#: A JSON value, as docs/message-conventions.md maps messages to it: structs are dicts, binary data
#: is base64 text.
Json: TypeAlias = dict[str, Any] | list[Any] | str | int | float | bool | None

#: The shortest and the longest time limit of a call, in seconds.
_SHORTEST_S: Final = 1e-9
_LONGEST_S: Final = 1e9

#: The largest number of threads for coroutines.
_MOST_THREADS: Final = 65_536

#: The protocol in which a Thrift client encodes messages.
Protocol: TypeAlias = Literal["binary", "compact"]

#: The compression algorithms of HTTP bodies.
Codec: TypeAlias = Literal["zstd", "gzip"]

#: A handle that cancels calls from another thread, with `cancel()`; `cancelled` is true after that.
Cancel = _native.Cancel

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallLimits:
    """Bounds and time limits of a client.

    `timeout_s` bounds a whole call: waiting for a connection, connecting (at most
    `connect_timeout_s`, including the TLS handshake), sending, the response, and further attempts.
    Up to `max_connections` connections are open, and up to `max_waiting` calls wait for one. A
    connection that was unused for `idle_timeout_s` is closed. A gRPC connection has up to
    `calls_per_connection` concurrent calls, or fewer if the service limits them. A call that may
    safely be repeated is attempted up to `max_attempts` times, after random pauses drawn with
    `seed`.
    """

    timeout_s: float = 10.0
    connect_timeout_s: float = 3.0
    idle_timeout_s: float = 60.0
    max_connections: int = 16
    calls_per_connection: int = 100
    max_waiting: int = 1024
    max_attempts: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        """Raise InputError for a number out of its range."""
        check_numbers("client", self, [n for n in self.__dataclass_fields__ if n != "seed"])
        whole_number("seed", self.seed, 0, 2**64 - 1)


_DEFAULT: Final = CallLimits()


class Connections(NamedTuple):
    """The state of a client's connection pool: the numbers of connections and waiting calls.

    `open` is the number of open connections, `idle` the number of those without a call, and
    `waiting` the number of calls that wait for a connection.
    """

    open: int
    idle: int
    waiting: int


_N = TypeVar("_N", _native.Client, _native.GrpcClient, _native.HttpClient)


class _Kept(Generic[_N]):
    """The common part of all clients: a pool of connections, and their traces."""

    _native: _N

    def set_traces(self, traces: ClientTraces | None) -> int:
        """Use your own traces for further calls; return how often traces were replaced so far.

        With None, the client returns to its built-in traces. Calls in progress end with the old
        traces. Raises AccelflowError for traces that do not fit the client's calls; the client then
        keeps the old ones.
        """
        traces_of(ClientTraces, traces)
        return self._native.set_traces(traces)

    def reload_traces(self) -> int:
        """Read the file of the traces again and use its traces; otherwise as :meth:`set_traces`.

        Raises AccelflowError also if the traces are not from a file.
        """
        return self._native.reload_traces()

    @property
    def connections(self) -> Connections:
        """The numbers of open and idle connections, and of calls that wait for a connection."""
        return Connections(*self._native.connections())

    def metrics(self) -> str:
        """Return the client's counters in the text format of Prometheus (docs/client.md)."""
        return self._native.metrics()


class Client(_Kept[_native.Client]):
    """A client of the Thrift service at ``host:port``: calls the functions of a `.thrift` file.

    `interface` is the path of this file. Files that it includes are looked up in its folder, then
    in `include_dirs`. `protocol` is Thrift's ``binary`` or ``compact``. With `tls`
    (:class:`ClientTls`), calls use TLS 1.3. With `compress`, arguments are compressed; with
    `multiplexed`, messages name the function ``service:method``. Calls of functions in `idempotent`
    may be repeated when a connection was lost.

    Software accelerators (encryption, serialization, ...) encode and decode the messages. With
    `workers` (:class:`accelflow.Pools`), they have threads and queues of their own. If a server's
    handler makes the calls while it serves a request, the queues may be ordered by this request's
    priority and deadline. With `traces` (:class:`ClientTraces`), calls use your own traces
    (programs of accelerator calls).

    Any number of threads may share a client. Raises InputError for invalid settings.
    """

    def __init__(  # noqa: PLR0913 (settings, by name)
        self,
        interface: str | PathLike[str],
        address: str,
        *,
        include_dirs: Iterable[str | PathLike[str]] = (),
        protocol: Protocol = "binary",
        tls: ClientTls | None = None,
        compress: bool = False,
        multiplexed: bool = False,
        idempotent: Collection[str] = (),
        limits: CallLimits = _DEFAULT,
        workers: Pools | None = None,
        traces: ClientTraces | None = None,
    ) -> None:
        """Read the interface, TLS and trace files; connections are opened when calls need them."""
        one_of("protocol", protocol, get_args(Protocol))
        instance_of("multiplexed", multiplexed, (bool,), "True or False")
        traces_of(ClientTraces, traces)
        with as_input():
            self._native = _native.Client(
                file_path("interface", interface),
                _address(address),
                include_dirs=texts("include_dirs", include_dirs),
                protocol=protocol,
                tls=_tls(tls),
                multiplexed=multiplexed,
                idempotent=texts("idempotent", idempotent),
                bounds=_bounds(limits, workers, compress=compress),
            )
            if traces is not None:
                self._native.set_traces(traces)

    def call(
        self,
        method: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout_s: float | None = None,
        cancel: _native.Cancel | None = None,
        idempotent: bool = False,
    ) -> Json:
        """Call the function `method`, ``Service.method``, and return its result; None for void.

        `arguments` maps the names of parameters to values. `timeout_s` can shorten the client's
        timeout, and `cancel` can end the call early. With `idempotent`, the call may be repeated
        after a lost connection even if the service may have executed it already. Raises
        DeclaredError for an exception that the interface declares, InputError for a setting that is
        not allowed, TypeError and ValueError for arguments that JSON cannot express, and CallError
        for other errors. `executed` of a CallError tells whether the service may have executed the
        call. An exception from a signal handler, such as KeyboardInterrupt, cancels the call.
        """
        _check_call(method, timeout_s, cancel, idempotent=idempotent)
        value: Json = self._native.call(
            method,
            _members("arguments", arguments),
            timeout_s=timeout_s,
            cancel=cancel,
            idempotent=idempotent,
            scope=current_scope(),
        )
        return value

    async def call_async(
        self,
        method: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout_s: float | None = None,
        idempotent: bool = False,
    ) -> Json:
        """Call as :meth:`call` does, on a thread of the event loop's executor.

        Cancelling the task cancels the call.
        """

        def work(cancel: _native.Cancel) -> Json:
            return self.call(
                method, arguments, timeout_s=timeout_s, cancel=cancel, idempotent=idempotent
            )

        return await _cancellable(work)


class GrpcResponse(NamedTuple):
    """The response of a gRPC service: its `value`, and the custom metadata that came with it.

    Initial metadata comes before the message, and trailing metadata with the status. Both are pairs
    of a name and a value: bytes where the name ends in ``-bin``, else text.
    """

    value: Any
    initial_metadata: list[tuple[str, str | bytes]]
    trailing_metadata: list[tuple[str, str | bytes]]


class GrpcClient(_Kept[_native.GrpcClient]):
    """A client of the gRPC service at ``host:port``: calls the unary methods of a `.proto` file.

    With `compress`, requests are compressed with gzip. Compressed responses are accepted in either
    case. Concurrent calls share connections as HTTP/2 streams. `call_async` uses up to
    `async_threads` threads of the client; further calls wait in order. The other settings are those
    of :class:`Client`.
    """

    def __init__(  # noqa: PLR0913 (settings, by name)
        self,
        interface: str | PathLike[str],
        address: str,
        *,
        include_dirs: Iterable[str | PathLike[str]] = (),
        tls: ClientTls | None = None,
        compress: bool = False,
        idempotent: Collection[str] = (),
        limits: CallLimits = _DEFAULT,
        workers: Pools | None = None,
        async_threads: int = 64,
    ) -> None:
        """Read the interface and TLS files; connections are opened when calls need them."""
        whole_number("async_threads", async_threads, 1, _MOST_THREADS)
        with as_input():
            self._native = _native.GrpcClient(
                file_path("interface", interface),
                _address(address),
                include_dirs=texts("include_dirs", include_dirs),
                tls=_tls(tls),
                idempotent=texts("idempotent", idempotent),
                bounds=_bounds(limits, workers, compress=compress),
            )
        # The executor starts its threads when coroutines call.
        self._threads = ThreadPoolExecutor(async_threads, "accelflow-grpc")

    def call(  # noqa: PLR0913 (settings, by name)
        self,
        method: str,
        request: Mapping[str, Any] | Json = None,
        *,
        metadata: Metadata | None = None,
        timeout_s: float | None = None,
        cancel: _native.Cancel | None = None,
        idempotent: bool = False,
    ) -> Any:
        """Call `method`, ``package.Service.Method`` or a shorter unique name; return the response.

        `request` and the response are dicts, with Protobuf's JSON mapping
        (docs/server-calls.md#grpc), or for well-known types the values of this mapping, such as
        text for ``google.protobuf.StringValue``. None is a message without fields, and null for
        ``google.protobuf.Value``. `metadata` maps names in lower case to text, or names that end in
        ``-bin`` to bytes. `timeout_s` can shorten the client's timeout; the time that is left is
        sent to the service. `cancel` can end the call early. With `idempotent`, the call may be
        repeated even if the service may have executed it already, such as after a lost connection.

        Raises AccelflowError for invalid metadata, InputError for a setting that is not allowed,
        TypeError and ValueError for a request that JSON cannot express, and CallError for other
        errors. A CallError's `code` is gRPC's name of the status, `details` the service's text, and
        `executed` tells whether the service may have executed the call. `status_details` are the
        details of the status (``google.rpc.Status``): a dict for each, with its type as ``@type``
        and the message's fields, or with the encoded message in base64 as ``value`` if the
        interface does not have the type. `initial_metadata` and `trailing_metadata` are those of
        :class:`GrpcResponse`. An exception from a signal handler, such as KeyboardInterrupt,
        cancels the call.
        """
        return self.call_with_metadata(
            method,
            request,
            metadata=metadata,
            timeout_s=timeout_s,
            cancel=cancel,
            idempotent=idempotent,
        ).value

    def call_with_metadata(  # noqa: PLR0913 (settings, by name)
        self,
        method: str,
        request: Mapping[str, Any] | Json = None,
        *,
        metadata: Metadata | None = None,
        timeout_s: float | None = None,
        cancel: _native.Cancel | None = None,
        idempotent: bool = False,
    ) -> GrpcResponse:
        """Call as :meth:`call` does; return the response with the metadata that came with it."""
        _check_call(method, timeout_s, cancel, idempotent=idempotent)
        message: Any = request
        if isinstance(request, Mapping):
            message = dict(request)
        try:
            response = self._native.call(
                method,
                message,
                pairs(metadata),
                timeout_s=timeout_s,
                cancel=cancel,
                idempotent=idempotent,
                scope=current_scope(),
            )
        except CallError as error:
            if message is None or isinstance(message, dict) or error.reason != "bad_json":
                raise
            # It may hold secrets, so that the refusal shows its type.
            allowed = "must be a mapping, None, or the JSON of the method's well-known type"
            raise refused("type of request", type(request).__name__, allowed) from None
        return GrpcResponse(*response)

    async def call_async(
        self,
        method: str,
        request: Mapping[str, Any] | Json = None,
        *,
        metadata: Metadata | None = None,
        timeout_s: float | None = None,
        idempotent: bool = False,
    ) -> Any:
        """Call as :meth:`call` does, on a client thread; cancelling the task cancels the call."""
        response = await self.call_with_metadata_async(
            method, request, metadata=metadata, timeout_s=timeout_s, idempotent=idempotent
        )
        return response.value

    async def call_with_metadata_async(
        self,
        method: str,
        request: Mapping[str, Any] | Json = None,
        *,
        metadata: Metadata | None = None,
        timeout_s: float | None = None,
        idempotent: bool = False,
    ) -> GrpcResponse:
        """Call as :meth:`call_async` does; return the response with the metadata that came with it.

        Raises the errors of :meth:`call`.
        """

        def work(cancel: _native.Cancel) -> GrpcResponse:
            return self.call_with_metadata(
                method,
                request,
                metadata=metadata,
                timeout_s=timeout_s,
                cancel=cancel,
                idempotent=idempotent,
            )

        return await _cancellable(work, self._threads)


class HttpResponse(NamedTuple):
    """The response of an HTTP server: its `status` code, also of an error, and its `body`."""

    status: int
    body: bytes

    def json(self) -> Json:
        """Return the body as a JSON value. Raises ValueError if it is not JSON."""
        value: Json = json.loads(self.body)
        return value


class HttpClient(_Kept[_native.HttpClient]):
    """A client that sends JSON to the HTTP/1.1 server at ``host:port`` and receives JSON.

    With `compress`, bodies of requests are compressed with `codec`: ``zstd``, or ``gzip``.
    Compressed responses are accepted in either case. The other settings are those of
    :class:`Client`.
    """

    def __init__(  # noqa: PLR0913 (settings, by name)
        self,
        address: str,
        *,
        tls: ClientTls | None = None,
        compress: bool = False,
        codec: Codec = "zstd",
        limits: CallLimits = _DEFAULT,
        workers: Pools | None = None,
    ) -> None:
        """Read the TLS files; connections are opened when requests need them."""
        one_of("codec", codec, get_args(Codec))
        with as_input():
            self._native = _native.HttpClient(
                _address(address),
                tls=_tls(tls),
                codec=codec,
                bounds=_bounds(limits, workers, compress=compress),
            )

    def request(  # noqa: PLR0913 (settings, by name)
        self,
        method: str,
        target: str,
        body: Json = None,
        *,
        headers: Mapping[str, str] | None = None,
        timeout_s: float | None = None,
        cancel: _native.Cancel | None = None,
        idempotent: bool = False,
    ) -> HttpResponse:
        """Send a request with `body` as JSON (None: without a body), and return the response.

        `method` is HTTP's, such as ``POST``, and `target` the path with the query. `headers` maps
        names of additional headers to text, without those that the client writes itself, such as
        ``host`` and ``content-type``. `timeout_s` can shorten the client's timeout, and `cancel`
        can end the request early. If `idempotent` is true, or HTTP defines `method` as idempotent
        (such as GET), the request may be repeated even if the server may have executed it already.
        Raises InputError for a setting that is not allowed, TypeError and ValueError for a body
        that JSON cannot express, and CallError for other errors.
        """
        _check_call(method, timeout_s, cancel, idempotent=idempotent)
        instance_of("target", target, (str,), "a path, such as /users/5")
        text = b"" if body is None else _native.HttpClient.json(body)
        response = self._native.request(
            method,
            target,
            text,
            _header_lines(headers),
            timeout_s=timeout_s,
            cancel=cancel,
            idempotent=idempotent,
            scope=current_scope(),
        )
        return HttpResponse(*response)

    async def request_async(  # noqa: PLR0913 (settings, by name)
        self,
        method: str,
        target: str,
        body: Json = None,
        *,
        headers: Mapping[str, str] | None = None,
        timeout_s: float | None = None,
        idempotent: bool = False,
    ) -> HttpResponse:
        """Send a request as :meth:`request` does, on a thread of the event loop's executor.

        Cancelling the task cancels the request.
        """

        def work(cancel: _native.Cancel) -> HttpResponse:
            return self.request(
                method,
                target,
                body,
                headers=headers,
                timeout_s=timeout_s,
                cancel=cancel,
                idempotent=idempotent,
            )

        return await _cancellable(work)


def _address(address: str) -> str:
    instance_of("address", address, (str,), "host:port")
    return address


def _tls(tls: ClientTls | None) -> ClientTls | None:
    instance_of("tls", tls, (ClientTls, NoneType), "a ClientTls or None")
    return tls


def _bounds(limits: CallLimits, workers: Pools | None, *, compress: bool) -> dict[str, Any]:
    instance_of("limits", limits, (CallLimits,), "a CallLimits")
    instance_of("workers", workers, (Pools, NoneType), "a Pools or None")
    instance_of("compress", compress, (bool,), "True or False")
    names = CallLimits.__dataclass_fields__
    own = {"compress": compress, "workers": workers}
    return {name: getattr(limits, name) for name in names} | own


def _check_call(
    method: str, timeout_s: float | None, cancel: Cancel | None, *, idempotent: bool
) -> None:
    """Raise InputError for a setting of a call that is not allowed."""
    instance_of("method", method, (str,), "the name of a method")
    if timeout_s is not None:
        number_within("timeout_s", timeout_s, _SHORTEST_S, _LONGEST_S)
    instance_of("cancel", cancel, (Cancel, NoneType), "a Cancel or None")
    instance_of("idempotent", idempotent, (bool,), "True or False")


def _members(name: str, given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return `given`, called `name`, as a dict: empty for None. Raises InputError for others.

    It may hold secrets, so that the refusal shows its type.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise refused(f"type of {name}", type(given).__name__, "must be a mapping, or None")
    return dict(given)


def _header_lines(headers: Mapping[str, str] | None) -> list[tuple[str, str]]:
    """Return headers as pairs of name and value. Raises InputError for what is not text."""
    lines = list(_members("headers", headers).items())
    for name, value in lines:
        if not isinstance(name, str):
            raise refused("type of a header's name", type(name).__name__, "must be str")
        if not isinstance(value, str):
            raise refused(f"type of header '{name}'", type(value).__name__, "must be str")
    return lines


async def _cancellable(
    work: Callable[[_native.Cancel], _T], threads: ThreadPoolExecutor | None = None
) -> _T:
    """Do `work` on one of `threads`, or of the event loop's; cancelling the task cancels it."""
    cancel = _native.Cancel()
    context = contextvars.copy_context()
    within = within_request(work)
    loop = asyncio.get_running_loop()
    try:
        return await loop.run_in_executor(threads, lambda: context.run(within, cancel))
    except asyncio.CancelledError:
        cancel.cancel()
        raise
