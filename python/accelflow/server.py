"""A server for standard Thrift and gRPC clients, with handlers in Python.

Every request is received by trace T1 and answered by T2, or by T3 if the response is compressed
(docs/server.md). ::

    server = Server("calculator.thrift")
    server.handle("Calculator.add", lambda arguments: arguments["a"] + arguments["b"])
    server.serve(port=9090)
"""

import contextlib
import datetime
import functools
import inspect
import json
import logging
import signal
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from types import MethodType, NoneType, TracebackType
from typing import Any, Final, Literal, Self, TypeAlias, get_args

from accelflow import _native
from accelflow.coroutines import Coroutines, log_failure
from accelflow.errors import (
    GIVEN,
    AccelflowError,
    DeclaredError,
    InputError,
    as_input,
    file_path,
    instance_of,
    number_within,
    one_of,
    refusals,
    refused,
    texts,
    whole_number,
)
from accelflow.own_traces import ServerTraces, is_file, traces_of
from accelflow.recordings import completed
from accelflow.requests import Request
from accelflow.settings import Execution, Limits, Observability, Timeouts, Tls
from accelflow.signals import StopSignals
from accelflow.tenants import Control, Shaping, Slo, Tenant

__all__ = ["DeclaredError", "Handler", "Request", "Server"]

#: A JSON value, as docs/message-conventions.md maps messages to it: structs are dicts, binary data
#: is base64 text.
Json: TypeAlias = dict[str, Any] | list[Any] | str | int | float | bool | None

#: A function that serves a call. It takes the arguments as a dict, and the :class:`Request` if it
#: has a second parameter. It returns the result, or a coroutine that does.
Handler: TypeAlias = (
    Callable[[dict[str, Any]], Json | Coroutine[Any, Any, Json]]
    | Callable[[dict[str, Any], Request], Json | Coroutine[Any, Any, Json]]
)

_LOG: Final = logging.getLogger(__name__)

#: The shortest and the longest time, in seconds.
_SHORTEST_S: Final = 1e-9
_LONGEST_S: Final = 1e9

#: The arguments and the request.
_MOST_PARAMETERS: Final = 2

#: When a server compresses a reply: never, if the request was compressed, or always.
Compression: TypeAlias = Literal["never", "like_request", "always"]

_LIMITS: Final = Limits()
_TIMEOUTS: Final = Timeouts()
_EXECUTION: Final = Execution()
_OBSERVABILITY: Final = Observability()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Settings:
    """The settings of the native server beside its interface."""

    include_dirs: list[str]
    tls: Tls | None
    limits: Limits
    timeouts: Timeouts
    execution: Execution
    observability: Observability
    compression: Compression
    tenants: list[Tenant]
    control: Control | None
    errors_to_caller: bool
    traces: ServerTraces | None


class Server:
    """A server for the functions of a `.thrift` file, or the gRPC methods of a `.proto` file.

    `interface` is the path of this file. Files that it includes are looked up in its folder, then
    in `include_dirs`.

    Clients use framed Thrift (binary or compact) or gRPC, over TCP. With `tls` (:class:`Tls`), they
    must use TLS 1.3. `limits` (:class:`Limits`) and `timeouts` (:class:`Timeouts`) bound what
    clients can use of the server's resources. `execution` (:class:`Execution`) chooses the serving
    threads, and `observability` (:class:`Observability`) is for operators.

    `compression` of replies is "never", "like_request" (if the request was compressed) or "always".
    With `tenants`, the server limits the traffic of each tenant (a customer) before processing.
    With `control`, a control plane as in the ARCUS paper sets these limits so that promises to
    tenants (:class:`Slo`) are kept.

    A handler may call other services. With `errors_to_caller`, an exception of such a service goes
    directly to the client whose request the handler serves: by the trace T10_error, or with gRPC as
    a status. In the handler, the call of the service raises a CallError of the reason ``answered``.
    With Thrift, a declared exception stays with the handler if its function does not declare it.

    With `traces` (:class:`ServerTraces`), requests are served with your own traces (programs of
    accelerator calls). Unsuitable traces are refused with the reason.

    Raises InputError for a setting that is not allowed, and for a file that cannot be used; the
    message names the place in the file.
    """

    def __init__(  # noqa: PLR0913 (settings, by name)
        self,
        interface: str | PathLike[str],
        *,
        include_dirs: Iterable[str | PathLike[str]] = (),
        tls: Tls | None = None,
        limits: Limits = _LIMITS,
        timeouts: Timeouts = _TIMEOUTS,
        execution: Execution = _EXECUTION,
        observability: Observability = _OBSERVABILITY,
        compression: Compression = "like_request",
        tenants: Sequence[Tenant] = (),
        control: Control | None = None,
        errors_to_caller: bool = False,
        traces: ServerTraces | None = None,
    ) -> None:
        """Read the interface, TLS and trace files; the server does not listen yet."""
        one_of("compression", compression, get_args(Compression))
        instance_of("tls", tls, (Tls, NoneType), "a Tls or None")
        instance_of("limits", limits, (Limits,), "a Limits")
        instance_of("timeouts", timeouts, (Timeouts,), "a Timeouts")
        instance_of("execution", execution, (Execution,), "an Execution")
        instance_of("observability", observability, (Observability,), "an Observability")
        instance_of("control", control, (Control, NoneType), "a Control or None")
        _check_tenants(tenants, tls, control)
        instance_of("errors_to_caller", errors_to_caller, (bool,), "True or False")
        traces_of(ServerTraces, traces)
        settings = _Settings(
            include_dirs=texts("include_dirs", include_dirs),
            tls=tls,
            limits=limits.resolved(),
            timeouts=timeouts.resolved(),
            execution=execution.resolved(),
            observability=observability,
            compression=compression,
            tenants=list(tenants),
            control=control,
            errors_to_caller=errors_to_caller,
            traces=traces,
        )
        with as_input():
            self._native = _native.Server(file_path("interface", interface), settings, _log_error)
        self._coroutines = Coroutines(self, measured=observability.record)
        self._has_file = is_file(traces)
        self._port: int | None = None
        self._stopped = False

    def handle(self, name: str, handler: Handler, *, due_within_s: float | None = None) -> None:
        """Set the handler of ``Service.method``, or of ``method`` if only one service has it.

        A handler receives a dict of the arguments and returns the function's value, or None for
        void. If its second parameter is required or called ``request``, it also receives the
        :class:`Request`. Several threads call the handler. Coroutines run in the server's event
        loop, and are cancelled when the client no longer waits. If the handler raises a
        DeclaredError, the client receives that exception of the interface (with gRPC, the status of
        that name). Any other exception is logged, and the client receives INTERNAL_ERROR, or with
        gRPC the status UNKNOWN, with the id of the log entry (with `verbose_errors`, the
        exception's type and text).

        `due_within_s` is the time in seconds in which requests should be answered. Queues ordered
        by deadline use it for the work of a request and of the calls that its handler makes. Late
        answers are still sent.

        Raises AccelflowError if the interface has no such function or the server was started, and
        InputError for a handler with other parameters and for a time that is not allowed. The
        function's handler is then unchanged.
        """
        instance_of("name", name, (str,), "the name of a function")
        if due_within_s is not None:
            number_within("due_within_s", due_within_s, _SHORTEST_S, _LONGEST_S)
        takes_request = _takes_request(name, handler)

        def call(*given: Any) -> Any:
            try:
                return handler(*given)
            except BaseException as raised:
                log_failure(name, raised, _native.current_scope())
                raise

        begin = functools.partial(self._coroutines.begin, name)
        self._native.handle(name, call, takes_request, begin)
        if due_within_s is not None:
            self._native.due_within(name, due_within_s)

    def start(self, host: str = "127.0.0.1", port: int = 0) -> int:
        """Listen on an IP address, serve in background threads, and return the port.

        A name such as ``localhost`` is resolved, to the first IPv4 address if there are several.
        Port 0 lets the system choose a port. A server can be started only once. Raises
        AccelflowError for an address or operators' port that cannot be bound, after which the
        server can be started again, and for settings that are refused at the start, such as an SLO
        beyond the capacity, after which it cannot. Raises InputError for an invalid port and for a
        name that has no address.
        """
        instance_of("host", host, (str,), "an IP address or a name")
        whole_number("port", port, 0, 65535)
        try:
            self._port = self._native.start(host, port)
        except AccelflowError as error:
            if str(error).startswith("host = "):
                raise InputError(str(error), "host") from error
            raise
        return self._port

    def stop(self, grace_s: float = 10.0) -> int:
        """Stop listening, and wait up to `grace_s` seconds for requests that have begun to arrive.

        Then the remaining connections are closed, and coroutines that still run are cancelled. If a
        coroutine blocks the event loop, the loop has up to 5 s to become free, and cancelled
        coroutines then have up to 5 s to end. A loop that takes longer is left behind, with a
        warning in the log. Returns the number of connections closed before their requests ended. A
        second call does nothing, nor does a call in a fork of the server's process.

        In the main thread, Ctrl-C ends the grace period. KeyboardInterrupt is raised after the
        connections have been closed and the coroutines cancelled.

        Raises AccelflowError if a coroutine handler calls this method, since the handler would wait
        for itself, and InputError for a time that is not from 0 to 1e9 seconds.
        """
        number_within("grace_s", grace_s, 0, _LONGEST_S)
        if self._coroutines.here:
            message = "a coroutine handler cannot stop its server; call stop from another thread"
            raise AccelflowError(message)
        try:
            return self._native.stop(grace_s)
        finally:
            # Also after Ctrl-C.
            self._coroutines.stop()
            self._stopped = True

    def serve(self, host: str = "127.0.0.1", port: int = 0, *, grace_s: float = 10.0) -> int:
        """Start, serve until SIGINT or SIGTERM, and then stop. For the main thread of a program.

        The arguments are those of :meth:`start` and :meth:`stop`. If the server's traces are from a
        file, the signal SIGHUP makes it read the file again (:meth:`reload_traces`) and log the
        result. Returns the number of connections that :meth:`stop` returns. A second Ctrl-C ends
        the grace period, with KeyboardInterrupt. Raises as :meth:`start` and :meth:`stop` do, and
        AccelflowError in another thread than the main one.
        """
        number_within("grace_s", grace_s, 0, _LONGEST_S)
        if threading.current_thread() is not threading.main_thread():
            message = (
                "serve waits for signals, which only the main thread gets; in another thread, call"
                " start() and later stop()"
            )
            raise AccelflowError(message)
        with StopSignals({signal.SIGHUP: self._reload} if self._has_file else None) as stop:
            self.start(host, port)
            _LOG.info("serving on %s port %s", host, self.port)
            stop.wait()
        return self.stop(grace_s)

    @property
    def port(self) -> int:
        """The port on which the server listens. Raises AccelflowError before :meth:`start`."""
        if self._port is None:
            message = "the server has not been started"
            raise AccelflowError(message)
        return self._port

    @property
    def admin_port(self) -> int:
        """The port of the HTTP pages for operators (`admin` in :class:`Observability`).

        Raises AccelflowError for a server without such pages, and before :meth:`start`.
        """
        port = self._native.admin_port()
        if port is None:
            message = "the server has no port for operators, or is not running"
            raise AccelflowError(message)
        return port

    def reshape(self, tenant: str, shaping: Shaping) -> None:
        """Replace the limits on a tenant's traffic while the server is running.

        The new rates also apply to requests that wait for their turn. A limit that is new starts
        with its full burst. Raises AccelflowError for an unknown tenant and for a server that is
        not running, and InputError for values of another type.
        """
        instance_of("tenant", tenant, (str,), "the name of a tenant")
        instance_of("shaping", shaping, (Shaping,), "a Shaping")
        self._native.reshape(tenant, shaping)

    def set_slo(self, tenant: str, slo: Slo) -> None:
        """Ask the server's control plane to promise the SLO `slo` (rate, latency) to a tenant.

        The new promise replaces the tenant's earlier one. If the capacity does not suffice,
        AccelflowError is raised with the remaining capacity, and the earlier promise stays. If
        `slo` lacks `request_us`, this time is predicted from measured requests; AccelflowError is
        raised if there are none yet. Also raises AccelflowError for an unknown tenant, for a server
        without a control plane, and for one that is not running. Raises InputError for a value of
        another type.
        """
        instance_of("tenant", tenant, (str,), "the name of a tenant")
        instance_of("slo", slo, (Slo,), "an Slo")
        self._native.set_slo(tenant, slo)

    def remove_slo(self, tenant: str) -> bool:
        """Cancel the promise to a tenant (:class:`Slo`); return whether there was one.

        Raises AccelflowError for an unknown tenant, for a server without a control plane and for
        one that is not running, and InputError for a tenant that is not a string.
        """
        instance_of("tenant", tenant, (str,), "the name of a tenant")
        return self._native.remove_slo(tenant)

    def slo_status(self) -> dict[str, Any]:
        """Return the promises to tenants, how well they were kept, and the remaining capacity.

        The result is the content of the operators' page ``/slo``. Raises AccelflowError for a
        server without a control plane, and for one that is not running.
        """
        status: dict[str, Any] = json.loads(self._native.slo_page())
        return status

    def set_tls(self, tls: Tls) -> None:
        """Use another certificate and key for later connections, such as renewed ones.

        Open connections go on. `tls` must have a `client_ca` if the server has one, whose
        authorities are then replaced. Call this also for the same files, which are read again.

        Raises AccelflowError for a file that cannot be used, for a `tls` that has a `client_ca` if
        the server's has none, or the reverse, for a server that was started without TLS, and for
        one that was stopped. The server then keeps the old settings. Raises InputError for a value
        of another type.
        """
        instance_of("tls", tls, (Tls,), "a Tls")
        self._native.set_tls(tls)

    def set_traces(self, traces: ServerTraces) -> int:
        """Serve later requests with other `traces`; return how often traces were replaced so far.

        Replacements count from the start of the server: before it, the result is 0, and the first
        one after it returns 1. Requests in progress are completed with the traces that they began
        with. Raises AccelflowError for traces that do not fit the server, which then keeps the old
        ones, and for a server that was stopped.
        """
        instance_of("traces", traces, (ServerTraces,), "a ServerTraces")
        turn = self._native.set_traces(traces)
        self._has_file = is_file(traces)
        return turn

    def remove_traces(self) -> int:
        """Serve later requests with the built-in traces; otherwise as :meth:`set_traces`."""
        turn = self._native.set_traces(None)
        self._has_file = False
        return turn

    def reload_traces(self) -> int:
        """Read the file of the traces again; return how often traces were replaced so far.

        The traces of the file replace the present ones as with :meth:`set_traces`, whose errors
        this method raises too. Raises AccelflowError also if the traces are not from a file, and
        unless the server is running.
        """
        return self._native.reload_traces()

    def _reload(self) -> None:
        try:
            turn = self.reload_traces()
        except AccelflowError as error:
            _LOG.error("the traces were not reloaded, and the old ones stay: %s", error)
        else:
            _LOG.info("the traces were read again; replacements so far: %s", turn)

    def metrics(self) -> str:
        """Return counters and histograms in Prometheus' text format (docs/server-operation.md).

        The text is empty unless the server is running.
        """
        return self._native.metrics()

    def recording(self, services: Mapping[str, str], *, base: str | None = None) -> str:
        """Return the costs of the latest requests as a recording (docs/recording-format.md).

        The simulator can then use the costs of this server. `services` maps functions
        (``Service.method``) to the names of services in the recording. A service's costs are those
        of the most common path of its requests. `base` is the text of another recording: the result
        is then `base`, in which these services replace those of the same names, or are added.
        Record over TLS: without it, connections use traces such as ``T1_plain``, which the
        simulator does not have. Record handlers that make their calls themselves, on their own
        threads: calls of coroutines are not recorded, and count neither as calls nor as work.

        Raises AccelflowError for a function without requests and for a server that does not record
        or is not running, and InputError for values of another type and for names of services that
        are not printable or occur twice.
        """
        instance_of("services", services, (Mapping,), "a mapping of functions to services")
        for name in (*services, *services.values()):
            instance_of("name in services", name, (str,), "a text")
        instance_of("base", base, (str, NoneType), "the text of a recording, or None")
        today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
        with refusals():
            text = self._native.recording(dict(services), today)
        if base is None:
            return text
        return completed(text, base)

    def __enter__(self) -> Self:
        """Start the server on 127.0.0.1 and a free port, unless it was started already.

        Raises AccelflowError as :meth:`start` does, also for a server that was stopped.
        """
        if self._port is None or self._stopped:
            self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the server as :meth:`stop` does, with its default `grace_s`."""
        self.stop()


def _log_error(  # noqa: PLR0913, PLR0917 (the native server calls it)
    number: str, code: str, function: str, peer: str, text: str, by_client: bool
) -> None:
    """Log an error that the native server reports."""
    level = logging.INFO if by_client else logging.ERROR
    _LOG.log(level, "error %s: %s, %s from %s: %s", number, code, function, peer, text)


def _takes_request(name: str, handler: Callable[..., Any]) -> bool:
    """Whether a handler takes the request in addition to the arguments."""
    if not callable(handler):
        raise refused(f"the handler of {name}", handler, "must be a function")
    try:
        parameters = _parameters(handler)
    except (TypeError, ValueError) as error:
        if _is_native(handler):
            return False  # Functions written in C may have no signature.
        allowed = f"must have parameters that can be found: {error}"
        raise refused(f"the handler of {name}", handler, allowed) from error
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    places = [parameter for parameter in parameters if parameter.kind in by_place]
    needed = [parameter for parameter in places if parameter.default is parameter.empty]
    any_number = any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters)
    named = [
        parameter
        for parameter in parameters
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.default is parameter.empty
    ]
    if named or len(needed) > _MOST_PARAMETERS or not (places or any_number):
        raise refused(
            f"the handler of {name}",
            handler,
            "must be callable as handler(arguments) or handler(arguments, request), without"
            " required keyword-only parameters",
        )
    second = places[1].name if len(places) > 1 else ""
    return len(needed) == _MOST_PARAMETERS or second == "request"


def _parameters(handler: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return a handler's own parameters, or those of the wrapped function if it passes on any.

    Raises TypeError or ValueError for a handler whose parameters cannot be found.
    """
    own = _own_parameters(handler)
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in own):
        # A wrapped function without a signature leaves what the handler itself takes.
        with contextlib.suppress(ValueError):
            return list(inspect.signature(handler).parameters.values())
    return own


def _own_parameters(handler: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        found = inspect.signature(handler, follow_wrapped=False)
    except ValueError:
        # inspect takes every object with __get__ for one that is written in C, also the objects of
        # decorators in Python. Their classes have the parameters.
        call = type(handler).__call__
        if inspect.isfunction(call):
            found = inspect.signature(MethodType(call, handler), follow_wrapped=False)
        else:  # a method or partial of such an object, or a decorator in C, as lru_cache
            found = inspect.signature(handler)
    return list(found.parameters.values())


def _is_native(handler: Callable[..., Any]) -> bool:
    """Whether a handler is written in C."""
    while isinstance(handler, functools.partial | MethodType):
        handler = handler.func if isinstance(handler, functools.partial) else handler.__func__
    return not any(map(inspect.isfunction, (handler, type(handler).__call__)))


def _check_tenants(tenants: Sequence[Tenant], tls: Tls | None, control: Control | None) -> None:
    """Raise InputError for tenants that need other settings of the server."""
    listed = isinstance(tenants, Sequence) and not isinstance(tenants, str)
    if not listed or not all(isinstance(tenant, Tenant) for tenant in tenants):
        raise refused("tenants", tenants, "must be a list of accelflow.Tenant")
    for tenant in tenants:
        place = f"tenant '{tenant.name}'"
        if tenant.identities and (tls is None or tls.client_ca is None):
            allowed = (
                "must be empty, since the server does not require client certificates"
                " (client_ca in its Tls)"
            )
            raise refused(f"{place}: identities", list(tenant.identities), allowed)
        if tenant.slo is not None and control is None:
            allowed = "must be None, since the server has no control plane (its setting control)"
            raise refused(f"{place}: slo", GIVEN, allowed)
        rate = tenant.shaping.accelerator_s_per_s
        if rate is not None and control is not None:
            allowed = "must be None, since the control plane sets it"
            raise refused(f"{place}: accelerator_s_per_s", rate, allowed)
