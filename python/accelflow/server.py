"""A server for stock Thrift and gRPC clients, with handlers in Python.

Every request is received by trace T1 and answered by T2, or by T3 if it was compressed
(docs/server.md). ::

    server = Server("calculator.thrift")
    server.handle("Calculator.add", lambda arguments: arguments["a"] + arguments["b"])
    server.serve(port=9090)
"""

import asyncio
import contextlib
import datetime
import functools
import inspect
import logging
import secrets
import signal
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from os import PathLike, fspath
from types import FrameType, TracebackType
from typing import Any, Final, Literal, Self, TypeAlias, get_args

from accelflow import _native
from accelflow.errors import (
    AccelflowError,
    CallError,
    DeclaredError,
    InputError,
    texts,
    whole_number,
)
from accelflow.operations import Fault, Pools, Steering, SteeringPolicy, Telemetry
from accelflow.recordings import completed
from accelflow.requests import Outcome, Request, in_scope
from accelflow.tenants import Shaping, Tenant

__all__ = ["DeclaredError", "Handler", "Request", "Server"]

#: What JSON has, by docs/message-conventions.md: structs are dicts, binary is base64 text.
Json: TypeAlias = dict[str, Any] | list[Any] | str | int | float | bool | None

#: From the dict of a function's arguments, and perhaps the :class:`Request`, to its value, now or
#: when it is awaited.
Handler: TypeAlias = (
    Callable[[dict[str, Any]], Json | Coroutine[Any, Any, Json]]
    | Callable[[dict[str, Any], Request], Json | Coroutine[Any, Any, Json]]
)

_LOG: Final = logging.getLogger(__name__)

#: How long coroutines may take to be cancelled when the server stops.
_FAREWELL_S: Final = 5.0

#: The arguments and the request.
_MOST_PARAMETERS: Final = 2

#: No count is larger.
_MOST: Final = 2**31 - 1

#: No number of bytes that is computed from one is larger.
_MOST_BYTES: Final = 4 * _MOST

#: The library that reads messages of gRPC into trees goes no deeper.
_DEEPEST: Final = 100

#: When a reply is compressed: never, if its request was, or always.
Compression: TypeAlias = Literal["never", "like_request", "always"]


class Server:
    """Serves the functions of a `.thrift` file, or the methods of a `.proto` file with gRPC.

    Files that it includes are looked for beside it, then in the folders `include_dirs`.

    Clients speak framed Thrift, binary or compact, over TCP; with a `certificate` chain and its
    `key` (files in PEM form), over TLS 1.3 and nothing else. With `client_ca`, a file of
    authorities, clients must prove who they are by a certificate that one of these has signed.
    Connections beyond `max_connections` are closed at once, and so are those beyond
    `max_connections_per_address` from one address (by default a quarter of all, and any number from
    this machine), those that would take one of the last `reserved_descriptors` descriptors that
    the process may have, and those that send nothing for `first_byte_timeout_s`, then pause longer
    than `idle_timeout_s` between messages, or `message_timeout_s` within one. Clients of gRPC have
    up to `max_concurrent_streams` requests at once on a connection.

    A message has at most `max_message_bytes`, and once it is decompressed `max_decompressed_bytes`
    and `max_decompression_ratio` times what it was; at most `max_elements` fields and elements, all
    that it holds counted together, `max_value_bytes` of text and binary data (twice
    `max_message_bytes` by default), and `max_depth` structs and containers within each other. What
    is beyond is refused before memory is taken for it; the connection goes on. Replies are
    compressed as `compression` says: "never", "like_request" or "always". A client has
    `write_timeout_s` to take a reply (`message_timeout_s` by default). What a client of gRPC has
    not taken holds up its further requests as `max_unsent_bytes` of its connection are reached
    (4 times `max_message_bytes` by default).

    The accelerators are called on the thread of the connection. With `workers`, each has that many
    threads of its own behind a bounded queue, as in the paper's hardware (:class:`Pools` has more
    settings); the results are the same. Handlers are called on the threads of connections, those
    of gRPC on up to `handler_threads` threads that all connections share, and on as many more for
    connections that have none of these. With `handler_threads` 0, they are called on the threads of
    connections, too, which is faster for handlers that do not block. Coroutines that they return
    hold no thread. With `steering`, handlers are called on workers that LdB chooses
    (:class:`Steering`, or its policy alone). With `record`, the costs of the latest requests are
    kept for :meth:`recording`. With `tenants`, what each of them sends is shaped before anything is
    done for it. With `telemetry`, spans of requests go to a collector. With `admin`, an address
    such as "127.0.0.1:9100", operators are answered there over HTTP (/metrics, /recording).
    `faults` are injected into accelerators.

    Of errors that it has not declared, a client is told a code and an id, under which the log
    ``accelflow.server`` has the rest: at level ERROR, or INFO if the request is what is wrong. With
    `verbose_errors` clients are told all: exceptions' texts, traces and steps, and known functions.

    Raises AccelflowError for a file that cannot be used; the message names the place in it.
    """

    def __init__(  # noqa: PLR0913 (settings, by name)
        self,
        interface: str | PathLike[str],
        *,
        include_dirs: Iterable[str | PathLike[str]] = (),
        certificate: str | PathLike[str] | None = None,
        key: str | PathLike[str] | None = None,
        client_ca: str | PathLike[str] | None = None,
        max_connections: int = 1024,
        max_connections_per_address: int | None = None,
        reserved_descriptors: int = 64,
        max_concurrent_streams: int = 100,
        max_message_bytes: int = 16 << 20,
        idle_timeout_s: float = 300.0,
        first_byte_timeout_s: float = 10.0,
        message_timeout_s: float = 10.0,
        write_timeout_s: float | None = None,
        compression: Compression = "like_request",
        max_decompressed_bytes: int = 16 << 20,
        max_decompression_ratio: int = 256,
        max_depth: int = 64,
        max_elements: int = 1 << 17,
        max_value_bytes: int | None = None,
        max_unsent_bytes: int | None = None,
        workers: int | Pools | None = None,
        steering: SteeringPolicy | Steering | None = None,
        handler_threads: int = 64,
        record: bool = False,
        tenants: Sequence[Tenant] = (),
        faults: Sequence[Fault] = (),
        telemetry: Telemetry | None = None,
        admin: str | None = None,
        verbose_errors: bool = False,
    ) -> None:
        """Read the files; nothing listens yet."""
        whole_number("max_connections", max_connections, 1, _MOST)
        if max_connections_per_address is not None:
            whole_number("max_connections_per_address", max_connections_per_address, 1, _MOST)
        whole_number("reserved_descriptors", reserved_descriptors, 0, _MOST)
        whole_number("max_concurrent_streams", max_concurrent_streams, 1, _MOST)
        whole_number("max_message_bytes", max_message_bytes, 1, _MOST)
        whole_number("handler_threads", handler_threads, 0, _MOST)
        limits = {
            "max_decompressed_bytes": max_decompressed_bytes,
            "max_decompression_ratio": max_decompression_ratio,
            "max_elements": max_elements,
            "max_value_bytes": _or_else(max_value_bytes, 2 * max_message_bytes),
            "max_unsent_bytes": _or_else(max_unsent_bytes, 4 * max_message_bytes),
        }
        for limit, value in limits.items():
            whole_number(limit, value, 1, _MOST_BYTES)
        whole_number("max_depth", max_depth, 1, _DEEPEST)
        patience_s = message_timeout_s if write_timeout_s is None else write_timeout_s
        if isinstance(patience_s, bool) or not isinstance(patience_s, int | float):
            message = f"write_timeout_s = {patience_s!r}: must be a number of seconds"
            raise InputError(message)
        if compression not in get_args(Compression):
            allowed = ", ".join(repr(it) for it in get_args(Compression))
            message = f"compression = {compression!r}: must be one of {allowed}"
            raise InputError(message)
        pools = Pools(workers=workers) if isinstance(workers, int) else workers
        steered = Steering(policy=steering) if isinstance(steering, str) else steering
        _check_operations(pools, steered, faults)
        _check_tenants(tenants)
        self._native = _native.Server(
            fspath(interface),
            include_dirs=texts("include_dirs", include_dirs),
            certificate=None if certificate is None else fspath(certificate),
            key=None if key is None else fspath(key),
            client_ca=None if client_ca is None else fspath(client_ca),
            max_connections=max_connections,
            max_connections_per_address=max_connections_per_address,
            reserved_descriptors=reserved_descriptors,
            max_concurrent_streams=max_concurrent_streams,
            max_message_bytes=max_message_bytes,
            idle_timeout_s=idle_timeout_s,
            first_byte_timeout_s=first_byte_timeout_s,
            message_timeout_s=message_timeout_s,
            write_timeout_s=patience_s,
            compression=compression,
            max_depth=max_depth,
            **limits,
            pools=pools,
            handler_threads=handler_threads,
            steering=steered,
            record=record,
            tenants=list(tenants),
            faults=list(faults),
            telemetry=telemetry,
            admin=admin,
            verbose_errors=verbose_errors,
            error_log=_log_error,
        )
        self._coroutines = _Coroutines()
        self._port: int | None = None

    def handle(self, name: str, handler: Handler) -> None:
        """Set the handler of ``Service.method``, or of ``method`` where one service has it.

        A handler gets the dict of the arguments and returns the function's value; None for void.
        With a second parameter that is needed, or called ``request``, it gets the
        :class:`Request`, too. It is called from several threads. Coroutines that it returns run in
        one event loop of the server's; they are cancelled when their client waits no more. A
        DeclaredError becomes that exception of the interface. Anything else that is raised is
        logged, and the client is told INTERNAL_ERROR with the log's id for it (`verbose_errors`:
        with its type and text).

        Raises AccelflowError for no function of the interface, InputError for a handler that takes
        something else.
        """
        takes_request = _takes_request(name, handler)

        def call(*given: Any) -> Any:
            try:
                return handler(*given)
            except BaseException as raised:
                _log_failure(name, raised)
                raise

        begin = functools.partial(self._coroutines.begin, name)
        self._native.handle(name, call, takes_request, begin)

    def start(self, host: str = "127.0.0.1", port: int = 0) -> int:
        """Listen on an IP address, serve in threads of its own, and return the port.

        A name such as ``localhost`` is looked up; of several addresses the first of IPv4 is taken.
        Port 0 lets the system choose one. A server is started once. Raises AccelflowError for an
        address that is not to be had, InputError for a port that is none.
        """
        whole_number("port", port, 0, 65535)
        self._port = self._native.start(host, port)
        return self._port

    def stop(self, grace_s: float = 10.0) -> int:
        """Stop listening and wait up to `grace_s` for requests that have begun to arrive.

        Return how many connections had to be cut off. Coroutines that still run then are cancelled.
        A second call does nothing. Raises AccelflowError in a coroutine of the server's, for which
        it would wait.
        """
        if threading.current_thread() is self._coroutines.thread:
            message = "a coroutine handler cannot stop its server: another thread can"
            raise AccelflowError(message)
        cut_off = self._native.stop(grace_s)
        self._coroutines.stop()
        return cut_off

    def serve(self, host: str = "127.0.0.1", port: int = 0, *, grace_s: float = 10.0) -> int:
        """Serve until SIGINT or SIGTERM, then :meth:`stop`. For the main thread of a program."""
        stopped = threading.Event()

        def wake(_number: int, _frame: FrameType | None) -> None:
            stopped.set()

        before = {number: signal.signal(number, wake) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            self.start(host, port)
            _LOG.info("serving on %s port %s", host, self.port)
            stopped.wait()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        return self.stop(grace_s)

    @property
    def port(self) -> int:
        """Where it listens."""
        if self._port is None:
            message = "the server has not been started"
            raise AccelflowError(message)
        return self._port

    @property
    def admin_port(self) -> int:
        """Where operators are answered."""
        port = self._native.admin_port()
        if port is None:
            message = "the server has no port for operators, or is not running"
            raise AccelflowError(message)
        return port

    def reshape(self, tenant: str, shaping: Shaping) -> None:
        """Replace what of a tenant's traffic may pass, while the server is running.

        Requests that wait go by the new rates. A bucket that was not there before is full.
        """
        self._native.reshape(tenant, shaping)

    def metrics(self) -> str:
        """Counters and histograms in the text format of Prometheus (docs/server.md)."""
        return self._native.metrics()

    def recording(self, services: Mapping[str, str], *, base: str | None = None) -> str:
        """Return what the latest requests cost, in the form of docs/recording-format.md.

        `services` maps functions (``Service.method``) to the names of services in the recording,
        each on its most common path. They take the places of those in `base`, the text of another
        recording, if there is one: for services whose calls this server has not seen. Only requests
        over TLS take the traces that the simulator knows.

        Raises AccelflowError for a function without requests.
        """
        today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
        text = self._native.recording(dict(services), today)
        if base is None:
            return text
        return completed(text, base)

    def __enter__(self) -> Self:
        """Start on 127.0.0.1, unless it has been started."""
        if self._port is None:
            self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop with the default grace."""
        self.stop()


def _log_error(  # noqa: PLR0913, PLR0917 (the native server calls it)
    number: str, code: str, function: str, peer: str, text: str, by_client: bool
) -> None:
    """Log what the native server says of an error."""
    level = logging.INFO if by_client else logging.ERROR
    _LOG.log(level, "error %s: %s, %s from %s: %s", number, code, function, peer, text)


def _or_else(value: int | None, default: int) -> int:
    return default if value is None else value


class _Coroutines:
    """The event loop that coroutines of handlers run in, on a thread that the first one starts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.thread: threading.Thread | None = None

    def begin(
        self, name: str, coroutine: Coroutine[Any, Any, Json], promise: _native.Promise
    ) -> None:
        """Have a coroutine run, and cancelled once nobody waits for its value any more."""
        answering = in_scope(_native.current_scope(), coroutine)
        self._running().call_soon_threadsafe(_begin, name, answering, promise)

    def stop(self) -> None:
        """Cancel what still runs, and end the thread."""
        with self._lock:
            loop, thread = self._loop, self.thread
            if loop is None or thread is None or loop.is_closed():
                return
            ended = asyncio.run_coroutine_threadsafe(_cancel_all(), loop)
            with contextlib.suppress(TimeoutError):
                ended.result(_FAREWELL_S)
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                loop = asyncio.new_event_loop()
                self._loop = loop
                name = "accelflow-async"
                self.thread = threading.Thread(target=loop.run_forever, name=name, daemon=True)
                self.thread.start()
            return self._loop


def _begin(
    name: str, answering: Coroutine[Any, Any, Outcome[Json]], promise: _native.Promise
) -> None:
    """Run what handles a request, in the loop that this is called in."""
    loop = asyncio.get_running_loop()
    task = loop.create_task(answering)
    promise.when_abandoned(functools.partial(loop.call_soon_threadsafe, task.cancel))
    task.add_done_callback(functools.partial(_keep, name, promise))


def _keep(name: str, promise: _native.Promise, task: asyncio.Task[Outcome[Json]]) -> None:
    """Answer a request with what its coroutine has returned or raised."""
    if task.cancelled() and task.cancelling() > 0:
        # By the server: nobody waits, or it stops. The handler has not failed.
        cancelled = asyncio.CancelledError("the handler was cancelled")
        number = _numbered(cancelled)
        _LOG.info("error %s: the handler of %s was cancelled", number, name)
        promise.fail(cancelled)
        return
    try:
        value = task.result().get()
    except BaseException as raised:
        _log_failure(name, raised)
        promise.fail(raised)
    else:
        promise.keep(value)


def _log_failure(name: str, raised: BaseException) -> None:
    """Log what a handler has raised under an id, which it is given, unless that is a result."""
    if isinstance(raised, DeclaredError):
        return
    # Where a call was made is of less use than what became of it.
    shown = None if isinstance(raised, CallError) else raised
    number = _numbered(raised)
    _LOG.error("error %s: the handler of %s failed: %s", number, name, raised, exc_info=shown)


def _numbered(raised: BaseException) -> str:
    """Give an exception the id that the log and the client know it by, and return the id."""
    number = secrets.token_hex(8)
    # An exception without a place for it gets a second id in the log.
    with contextlib.suppress(AttributeError):
        raised._accelflow_error_id = number  # type: ignore[attr-defined]
    return number


async def _cancel_all() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _takes_request(name: str, handler: Callable[..., Any]) -> bool:
    """Whether a handler takes the request beside the arguments."""
    if not callable(handler):
        raise InputError(f"the handler of {name}, {handler!r}: must be a function")
    try:
        parameters = _parameters(handler)
    except (TypeError, ValueError):
        return False  # What is written in C need not tell.
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    places = [it for it in parameters if it.kind in by_place]
    needed = [it for it in places if it.default is it.empty]
    any_number = any(it.kind is it.VAR_POSITIONAL for it in parameters)
    named = [it for it in parameters if it.kind is it.KEYWORD_ONLY and it.default is it.empty]
    if named or len(needed) > _MOST_PARAMETERS or not (places or any_number):
        raise InputError(
            f"the handler of {name}, {handler!r}: must take the arguments, and perhaps the request"
        )
    second = places[1].name if len(places) > 1 else ""
    return len(needed) == _MOST_PARAMETERS or second == "request"


def _parameters(handler: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return those that it has itself, or of what it wraps if it passes on any."""
    own = list(inspect.signature(handler, follow_wrapped=False).parameters.values())
    if any(it.kind is it.VAR_POSITIONAL for it in own):
        return list(inspect.signature(handler).parameters.values())
    return own


def _check_tenants(tenants: Sequence[Tenant]) -> None:
    """Raise InputError for settings that cannot be."""
    for tenant in tenants:
        place = f"tenant '{tenant.name}'"
        texts(f"{place}: networks", tenant.networks)
        texts(f"{place}: identities", tenant.identities)
        for setting in ("max_traces", "max_connections"):
            count = getattr(tenant, setting)
            if count is not None:
                whole_number(f"{place}: {setting}", count, 1, _MOST)


def _check_operations(
    pools: Pools | None, steering: Steering | None, faults: Sequence[Fault]
) -> None:
    """Raise InputError for counts that cannot be."""
    if pools is not None:
        for name in ("workers", "instances", "queue_entries"):
            whole_number(name, getattr(pools, name), 1, _MOST)
        whole_number("overflow_entries", pools.overflow_entries, 0, _MOST)
    if steering is not None and steering.workers is not None:
        whole_number("workers", steering.workers, 1, _MOST)
    for fault in faults:
        if fault.nth is not None:
            whole_number("nth", fault.nth, 1, 2**64 - 1)
        whole_number("seed", fault.seed, 0, 2**64 - 1)
