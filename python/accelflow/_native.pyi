from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt

__all__ = [
    "AccelflowError",
    "CallError",
    "Cancel",
    "Client",
    "Completion",
    "DeclaredError",
    "GrpcClient",
    "HttpClient",
    "Promise",
    "RegisteredTrace",
    "Request",
    "Scope",
    "Server",
    "SimulatedServer",
    "TraceArrival",
    "TraceConnection",
    "TraceEnsemble",
    "TraceError",
    "TraceExecutor",
    "TraceHandle",
    "TraceImage",
    "TraceInstruction",
    "TraceLibrary",
    "TraceNode",
    "TraceRun",
    "Waiting",
    "WaitingEntry",
    "accelerometer_break_even",
    "accelerometer_choices",
    "accelerometer_evaluate",
    "accelerometer_simulate",
    "accelerometer_sweep",
    "arcus_experiment",
    "arcus_experiments",
    "arcus_parameters",
    "arcus_plan",
    "arcus_plan_refusal",
    "arcus_plan_schema",
    "arcus_profile",
    "arcus_release",
    "arcus_shape",
    "arcus_table2",
    "area_model",
    "arrivals_dwell_us",
    "cerebros_designs",
    "cerebros_names",
    "cerebros_services",
    "cerebros_simulate",
    "check_recording",
    "chip_read",
    "chip_schema",
    "confidence_interval",
    "crc32c",
    "current_scope",
    "demo_request",
    "demo_secrets",
    "energy_model",
    "erlang_c",
    "executed_operations",
    "import_spans",
    "machine_name",
    "measure_bodies",
    "orchestrator_names",
    "parameter_value",
    "parameters",
    "power_model",
    "profile_parameters",
    "quantile_table",
    "record_services",
    "recording_lacks",
    "refusal",
    "relief_suite",
    "scenario_allowed",
    "scenario_check",
    "scenario_check_samples",
    "scenario_choices",
    "scenario_demands",
    "scenario_hash",
    "scenario_payloads",
    "scenario_read",
    "scenario_run",
    "scenario_schema",
    "scenario_spans",
    "scenario_timeline",
    "scenario_watch",
    "scenario_why",
    "server_setting",
    "service_breakdown",
    "service_names",
    "service_walk",
    "simulated_operations",
    "spans_timeline",
    "system_names",
    "timeouts_by_service",
    "toml_place",
    "trace_accel",
    "trace_branch",
    "trace_check",
    "trace_declarations",
    "trace_fork",
    "trace_join",
    "trace_kind",
    "trace_listing",
    "trace_notify",
    "trace_tail",
    "trace_templates",
    "trace_trans",
    "version",
    "workload_load",
    "workload_names",
    "workload_place",
    "workload_read",
    "workload_schema",
    "workload_suite",
    "workload_write",
]

_Values = float | npt.NDArray[np.float64]
_Costs = tuple[_Values, _Values, _Values, _Values, _Values]
_Design = tuple[str, str, bool | None, int]

def accelerometer_choices() -> list[tuple[str, list[str]]]:
    """Return the settings of a kernel that are chosen by name, each with the allowed names."""

def accelerometer_evaluate(request: str) -> str:
    """Compute the gain of offloading the kernels of a service, by Accelerometer's equations.

    `request` and the outcome are JSON. Raises AccelflowError for a value that is out of range or
    missing.
    """

def accelerometer_simulate(request: str) -> str:
    """Simulate the offloads of a service's kernels.

    `request` and the measurements are JSON. Raises AccelflowError for a value that is out of range
    or missing.
    """

def accelerometer_sweep(
    design: _Design,
    first: int,
    host: _Values,
    kernel_share: _Values,
    offloads: _Values,
    costs: _Costs,
    speedup: npt.NDArray[np.float64],
    latency_reduction: npt.NDArray[np.float64],
) -> None:
    """Fill `speedup` and `latency_reduction` with the ratios of each point.

    `design` is threading, placement, whether the driver waits, and the thread switches in the
    latency of Sync-OS; `costs` are setup, transfer, queue and thread switch in cycles, and the
    acceleration. Points are numbered from `first` on. Raises AccelflowError for a value out of
    range; the message names the column and the number of its point.
    """

def erlang_c(servers: int, offered: float) -> float:
    """Return the probability that an arrival at an M/M/k queue of `servers` waits (Erlang's C).

    `offered` is the load in erlangs, below `servers`.
    """

def measure_bodies(rounds: int, calls: int) -> str:
    """Measure the software bodies, offloads to them and thread switches on this machine.

    Returns JSON: `bodies` by name, each with `setup_ns`, `transfer_ns` (a value for each of the
    `rounds`) and `sizes`, and `thread_switch_ns`. A value is the median of `calls`. Raises
    AccelflowError for a count of 0, and if the process may use only one core.
    """

def crc32c(data: bytes, tables: bool) -> int:
    """Return the CRC-32C of `data`.

    The processor's instruction computes it if there is one; with `tables`, only tables do.
    """

def accelerometer_break_even(
    design: _Design,
    first: int,
    in_latency: bool,
    cycles_per_byte: _Values,
    complexity: _Values,
    transfer_per_byte: _Values,
    costs: _Costs,
    from_bytes: npt.NDArray[np.float64],
    to_bytes: npt.NDArray[np.float64],
) -> None:
    """Fill `from_bytes` and `to_bytes` with the sizes in bytes between which an offload pays."""

def relief_suite(request: str) -> str:
    """Return the maximum throughput of RELIEF's applications; request and outcome are JSON.

    Raises AccelflowError for an unknown application and if the simulation fails.
    """

def area_model(changes: str) -> str:
    """Return the areas of AccelFlow, section VI. `changes` (JSON) replaces inputs by name.

    Raises AccelflowError for an unknown input and a value out of range.
    """

def power_model(area_changes: str, power_changes: str) -> str:
    """Return the maximum powers of AccelFlow, section VII.B.5; the changes are JSON.

    Raises AccelflowError for an unknown input and a value out of range.
    """

def energy_model(request: str) -> str:
    """Return the energy in joules of a system's work in a window; `request` and outcome are JSON.

    Raises AccelflowError for an unknown system or accelerator and for impossible amounts.
    """

def cerebros_names() -> tuple[list[str], list[str]]:
    """Return the names of the services and of the designs, in the paper's order."""

def cerebros_services() -> str:
    """Return the services of the Cerebros paper, as JSON."""

def cerebros_simulate(request: str) -> str:
    """Serve requests of one service under one design; both are JSON.

    Raises AccelflowError for an unknown name and if the simulation fails.
    """

def cerebros_designs(request: str) -> str:
    """Return the RPC layer's cycles under each design, as JSON; `request` (JSON) sets parameters.

    Raises AccelflowError for a value out of range.
    """

class AccelflowError(Exception):
    """A failure that the user can act on.

    If it refuses a value, `place` is the name of the setting; otherwise None.
    """

    place: str | None

class DeclaredError(AccelflowError):
    """An exception that the interface declares for a function.

    Its arguments are the name of its field in `throws`, and the dict of its members.
    """

class CallError(AccelflowError):
    """A failed call to another service."""

    reason: str
    """A stable name of the reason, such as timeout or pool_full."""
    executed: str
    """Whether the service may have executed the call: no, perhaps or yes."""
    code: str | None
    """The name of the status code of a gRPC call."""
    details: str | None
    """The text of the status, if the service has sent one."""

class TraceError(AccelflowError):
    """A trace that cannot be built, registered, linked, read from a file or continued."""

    reason: str
    """A stable name of the reason, such as bad_condition or never_ends."""
    trace: str | None
    """The name of the trace that failed, if it is known."""
    step: int | None
    """The number of steps that the execution had completed; None outside executions."""
    position: int | None
    """The index of the offending character of a condition, from 0; None for anything else."""

@final
class Cancel:
    """Ends calls from another thread."""

    def __new__(cls) -> Cancel: ...
    def cancel(self) -> None:
        """End all calls that have this handle, and later calls with it."""
    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""

@final
class Client:
    """A client of the functions that a `.thrift` file declares; calls run the traces T9 and T10."""

    def __new__(
        cls,
        interface: str | PathLike[str],
        address: str,
        *,
        include_dirs: list[str],
        protocol: str,
        tls: Any,
        multiplexed: bool,
        idempotent: list[str],
        bounds: dict[str, Any],
    ) -> Client:
        """Read the interface and, for TLS, the certificates. Raises AccelflowError."""
    def call(
        self,
        method: str,
        arguments: dict[str, Any],
        *,
        timeout_s: float | None = None,
        cancel: Cancel | None = None,
        idempotent: bool = False,
        scope: Scope | None = None,
    ) -> Any:
        """Call `Service.method` with its arguments and return its value.

        Raises DeclaredError and CallError.
        """
    def set_traces(self, traces: Any) -> int:
        """Use `accelflow.own_traces.ClientTraces` for further calls; None: the built-in traces.

        Returns the number of replacements so far. Raises AccelflowError for traces that do not fit.
        """
    def reload_traces(self) -> int:
        """Read the file of the traces again, and replace them.

        Raises AccelflowError as `set_traces`, and if the traces are not from a file.
        """
    def drive(
        self,
        method: str,
        arguments: list[dict[str, Any]],
        due_s: list[float],
        callers: int,
        progress: Callable[[int, int], object] | None = None,
        until_s: float | None = None,
    ) -> list[tuple[float, float, bool]]:
        """Call `Service.method` when calls are due, on at most `callers` threads.

        Returns (lateness, response time from the due time, success) of each call, in us. Calls that
        have not begun `until_s` seconds after the start are neither made nor returned.
        """
    def connections(self) -> tuple[int, int, int]:
        """Return the numbers of open connections, idle connections, and waiting calls."""
    def metrics(self) -> str:
        """Return the metrics in the text format of Prometheus."""

@final
class GrpcClient:
    """A client of the methods that a `.proto` file declares, over HTTP/2.

    Calls run the traces T9 and T10.
    """

    def __new__(
        cls,
        interface: str | PathLike[str],
        address: str,
        *,
        include_dirs: list[str],
        tls: Any,
        idempotent: list[str],
        bounds: dict[str, Any],
    ) -> GrpcClient:
        """Read the interface and, for TLS, the certificates. Raises AccelflowError."""
    def call(
        self,
        method: str,
        request: dict[str, Any],
        metadata: list[tuple[str, str | bytes]],
        *,
        timeout_s: float | None = None,
        cancel: Cancel | None = None,
        idempotent: bool = False,
        scope: Scope | None = None,
    ) -> Any:
        """Call `Service.Method` with its request and return its response. Raises CallError."""
    def set_traces(self, traces: Any) -> int:
        """Use `accelflow.own_traces.ClientTraces` for further calls; None: the built-in traces.

        Returns the number of replacements so far. Raises AccelflowError for traces that do not fit.
        """
    def reload_traces(self) -> int:
        """Read the file of the traces again, and replace them.

        Raises AccelflowError as `set_traces`, and if the traces are not from a file.
        """
    def connections(self) -> tuple[int, int, int]:
        """Return the numbers of open connections, idle connections, and waiting calls."""
    def metrics(self) -> str:
        """Return the metrics in the text format of Prometheus."""

@final
class HttpClient:
    """A client of one HTTP/1.1 server; requests run the traces T11 and T12."""

    def __new__(
        cls,
        address: str,
        *,
        tls: Any,
        codec: str,
        bounds: dict[str, Any],
    ) -> HttpClient:
        """Read, for TLS, the certificates. Raises AccelflowError."""
    def request(
        self,
        method: str,
        target: str,
        body: bytes,
        headers: list[tuple[str, str]],
        *,
        timeout_s: float | None = None,
        cancel: Cancel | None = None,
        idempotent: bool = False,
        scope: Scope | None = None,
    ) -> tuple[int, bytes]:
        """Send a request and return status and body of the response. Raises CallError."""
    @staticmethod
    def json(value: Any) -> bytes:
        """Return the JSON text of a value.

        Raises TypeError and ValueError for a value that JSON cannot represent.
        """
    def set_traces(self, traces: Any) -> int:
        """Use `accelflow.own_traces.ClientTraces` for further calls; None: the built-in traces.

        Returns the number of replacements so far. Raises AccelflowError for traces that do not fit.
        """
    def reload_traces(self) -> int:
        """Read the file of the traces again, and replace them.

        Raises AccelflowError as `set_traces`, and if the traces are not from a file.
        """
    def connections(self) -> tuple[int, int, int]:
        """Return the numbers of open connections, idle connections, and waiting calls."""
    def metrics(self) -> str:
        """Return the metrics in the text format of Prometheus."""

@final
class TraceNode:
    """One element of a trace's source. Made by the functions of `accelflow.trace`; immutable.

    Attributes that a kind of node lacks are None, or an empty list for `arms`.
    """

    @property
    def kind(self) -> str:
        """accelerator, branch, trans, fork, join, meet, tail, continue or notify."""
    @property
    def name(self) -> str | None:
        """The accelerator that is called, or the trace or part that a tail or continue leads to."""
    @property
    def declaration(self) -> str | None:
        """The declaration of a custom accelerator."""
    @property
    def condition(self) -> str | None:
        """The condition of a branch, in normal form."""
    @property
    def likely(self) -> bool | None:
        """The expected outcome of a branch, if its author stated one."""
    @property
    def arms(self) -> list[list[TraceNode]]:
        """The true and the false arm of a branch, or the arms of a fork or join."""
    @property
    def src(self) -> str | None:
        """The format before a transformation."""
    @property
    def dst(self) -> str | None:
        """The format after a transformation."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...

def trace_accel(name: str) -> TraceNode:
    """Return a call of the accelerator `name`. Raises TraceError if it is not one of the nine."""

def trace_kind(name: str, directions: str, yields: Sequence[tuple[str, str]]) -> TraceNode:
    """Declare a custom accelerator, and return a call of it.

    The accelerator processes messages of `directions` (both, receives or sends) and yields facts,
    each a name and a type (number or text). Raises TraceError for an invalid declaration.
    """

def trace_declarations(nodes: Sequence[TraceNode]) -> str:
    """Return the declarations of the custom accelerators that `nodes` call, a line each."""

def trace_branch(
    condition: str,
    on_true: Sequence[TraceNode],
    on_false: Sequence[TraceNode],
    likely: bool | None = None,
) -> TraceNode:
    """Return a branch on `condition`.

    Raises TraceError, with the position of the offending character, for a condition that does not
    parse or type-check.
    """

def trace_trans(src: str, dst: str) -> TraceNode:
    """Return a change of format. Raises TraceError for an unknown format and for two equal ones."""

def trace_fork(arms: Sequence[Sequence[TraceNode]]) -> TraceNode:
    """Return a fork: `arms` run in parallel, each to its own end."""

def trace_join(arms: Sequence[Sequence[TraceNode]]) -> TraceNode:
    """Return a join: `arms` run in parallel, and the next node runs once all have reached it."""

def trace_tail(name: str) -> TraceNode:
    """Return the end of a trace that is followed by the trace called `name`."""

def trace_notify() -> TraceNode:
    """Return the end of a trace, where the core is notified."""

def trace_listing(nodes: Sequence[TraceNode]) -> str:
    """Return the source text of `nodes`, indented."""

def trace_check(nodes: Sequence[TraceNode]) -> list[str]:
    """Return warnings about the trace `nodes`. Raises TraceError if it is invalid."""

def trace_templates() -> list[tuple[str, str, list[TraceNode]]]:
    """Name, description by Table II, and source of each template of the paper."""

@final
class RegisteredTrace:
    """A trace of a library."""

    @property
    def name(self) -> str:
        """The name."""
    @property
    def nodes(self) -> list[TraceNode]:
        """The source as registered."""
    @property
    def warnings(self) -> list[str]:
        """Warnings about the trace."""
    @property
    def parts(self) -> list[tuple[str, list[TraceNode]]]:
        """The names and nodes of the pieces that fit a word each, the entry first."""

@final
class TraceLibrary:
    """Named traces that may refer to one another in any order of registration.

    Safe to use from several threads.
    """

    def __new__(cls, *, templates: bool = True) -> TraceLibrary:
        """A library with or without the templates of the paper."""
    def register(
        self, name: str, nodes: Sequence[TraceNode], *, replace: bool = False
    ) -> list[str]:
        """Check `nodes`, add them as `name` and return warnings about them.

        The same trace may be registered twice. Raises TraceError for an impossible trace and, if
        not `replace`, for a name that another trace has; the library is then as it was.
        """
    def of_service(self, name: str) -> TraceLibrary:
        """Return the library as the service `name` sees it.

        The service may run its own traces and those without an owner, and replace and remove only
        its own. Raises TraceError for an invalid name, and for another service's view.
        """
    @property
    def service_name(self) -> str | None:
        """The service whose view of the library this is; None for the operator's."""
    def owner(self, name: str) -> str | None:
        """Return the service that a trace belongs to; None if all may use it.

        Raises TraceError if there is no such trace.
        """
    def remove(self, name: str) -> bool:
        """Remove the trace called `name`, and return whether it was there.

        Raises TraceError for a trace that is not the service's. Linked images keep it.
        """
    def names(self) -> list[str]:
        """Return the names of all traces, in the order of registration."""
    def get(self, name: str) -> RegisteredTrace:
        """Return the trace `name`. Raises TraceError, with the known names, for an unknown one."""
    def link(self) -> TraceImage:
        """Lay all traces out in a trace memory.

        Raises TraceError for a dangling tail, a chain that never ends, too many conditions or a
        full memory.
        """
    def link_from(self, name: str) -> TraceImage:
        """Lay out the trace called `name` and those that its tails lead to.

        Raises TraceError as link does, but only for errors in these traces.
        """
    def __contains__(self, key: str, /) -> bool: ...
    def __len__(self, /) -> int: ...

@final
class TraceImage:
    """A linked trace memory: words, their names and the predicates that they test. Immutable.

    Every image that exists obeys the rules of the language, so all its traces end.
    """

    @staticmethod
    def from_bytes(data: bytes) -> TraceImage:
        """Return the image in the bytes of a trace file. Raises TraceError for any other bytes."""
    def to_bytes(self) -> bytes:
        """Return the image as the bytes of a trace file."""
    @property
    def words(self) -> list[int]:
        """All words, by address, as integers of 64 bits."""
    @property
    def names(self) -> list[str]:
        """The name of each word: a trace's, or NAME.1, NAME.2 ... for the later parts of one."""
    @property
    def traces(self) -> list[str]:
        """The names of all traces, by address."""
    @property
    def predicates(self) -> list[str]:
        """The conditions that words name by index."""
    @property
    def fields(self) -> list[str]:
        """The facts that the predicates read, by index: fields, bytes, bits, texts."""
    @property
    def kinds(self) -> list[str]:
        """The declarations of the custom accelerators that words call, by number."""
    def entry(self, name: str) -> int:
        """Return the address of the first word of the trace called `name`.

        Raises TraceError, which lists the names, for an unknown one.
        """
    def decode(self, address: int) -> list[TraceInstruction]:
        """Return the instructions of the word at `address`, from its first nibble to its last.

        Each of the trailing zero nibbles is one `end`. Raises IndexError outside the memory.
        """
    def disassemble(self) -> list[tuple[str, list[TraceNode]]]:
        """Return the names and sources of all words; linking these gives the same image."""
    def walk(
        self, name: str, facts: Mapping[str, int], *, max_visits: int = 100_000
    ) -> list[tuple[str, str]]:
        """Return the steps of the trace `name`, with tails, for a payload with the fields `facts`.

        Steps are pairs such as ('enter', 'T1'), ('receive', 'TCP'), ('call', 'Decr'),
        ('trans', 'JSON>str'), ('fork', ''), ('notify', ''). A join is ('scatter', ''), then
        ('wait', '') where an arm reaches it and ('join', '') for the last arm. Arms follow one
        another. Raises TraceError, with the number of the step, for a missing field, and after
        `max_visits` visits: each fork doubles the work after it, so a trace may be very long.
        """
    def __eq__(self, other: object, /) -> bool: ...
    def __len__(self, /) -> int: ...

@final
class TraceInstruction:
    """One instruction of a word. Attributes that it lacks are None."""

    @property
    def position(self) -> int:
        """The index of its first nibble in the word, 0 to 15."""
    @property
    def nibbles(self) -> str:
        """Its nibbles in hexadecimal."""
    @property
    def operation(self) -> str:
        """end, call, branch, trans, fork, scatter, join, tail, jump or continue."""
    @property
    def name(self) -> str | None:
        """The accelerator of a call, or both formats of a transformation, as in JSON>str."""
    @property
    def predicate(self) -> int | None:
        """The index of the predicate that a branch tests."""
    @property
    def target(self) -> int | None:
        """The position where a jump, a failed branch or the second execution of a fork continues.

        It is at most 16, the end of the word.
        """
    @property
    def address(self) -> int | None:
        """The address that a tail or a continue loads."""

@final
class Request:
    """The function, client, deadline and metadata of the request that a handler serves."""

    @property
    def service(self) -> str:
        """The service that declares the function."""
    @property
    def method(self) -> str:
        """The function."""
    @property
    def peer(self) -> str:
        """Address and port of the client."""
    @property
    def peer_identities(self) -> list[str]:
        """The DNS names and URIs in the client's verified certificate.

        Empty unless the server has `client_ca`.
        """
    @property
    def abandoned(self) -> bool:
        """Whether the client is known to have abandoned the request; only gRPC reports it."""
    @property
    def metadata(self) -> list[tuple[str, str | bytes]]:
        """The client's metadata, in pairs of name and value; only gRPC has it.

        Values are bytes where the name ends in ``-bin``. Names are lower case.
        """
    def get(self, name: str) -> str | bytes | None:
        """Return the first value of the metadata called `name`; None if the request has none."""
    def time_left_s(self) -> float | None:
        """Return the seconds until the client's deadline; None without one (only gRPC has them)."""

@final
class Scope:
    """Deadline and trace of a request, for other threads that work for it."""

    @property
    def abandoned(self) -> bool:
        """Whether the client is known to have stopped waiting."""

    def time_left_s(self) -> float | None:
        """Return the seconds until the request's deadline; None without one."""

def current_scope() -> Scope | None:
    """Return the scope of this thread's request; None if that has neither deadline nor trace."""

@final
class Promise:
    """The pending answer of a coroutine.

    It is given once; if it is dropped, the request is answered with an error.
    """

    def keep(self, value: Any) -> None:
        """Answer the request with a value."""
    def fail(self, raised: BaseException) -> None:
        """Answer the request with an exception."""
    def when_abandoned(self, tell: Callable[[], object]) -> None:
        """Register `tell` to be called once, from any thread, when the request is abandoned."""

@final
class Server:
    """A server of the functions that a `.thrift` file declares.

    Requests run T1, the handler, and T2 or T3.
    """

    def __new__(
        cls,
        interface: str | PathLike[str],
        settings: Any,
        error_log: Callable[[str, str, str, str, str, bool], None],
    ) -> Server:
        """Read the interface and the files of `settings`, those of `accelflow.server`.

        `error_log` is called with each error's id, code, function, peer and text, and whether the
        request is at fault. Raises AccelflowError.
        """
    def handle(
        self,
        name: str,
        handler: Callable[..., Any],
        takes_request: bool,
        begin: Callable[[Coroutine[Any, Any, Any], Promise], object],
    ) -> None:
        """Set the handler of `Service.method`.

        It is given the dict of arguments, and the request if it takes that, and returns the value
        or a coroutine; `begin` is given each coroutine and the promise of its value. Raises
        AccelflowError for a function that the interface lacks, and once the server was started.
        """
    def due_within(self, name: str, within_s: float) -> None:
        """Set the time within which calls of `Service.method` are to be answered.

        Raises AccelflowError for a function that the interface lacks, and a time out of its range.
        """
    def set_traces(self, traces: Any) -> int:
        """Serve with `accelflow.own_traces.ServerTraces` from now on; None: the built-in traces.

        Returns the number of replacements since the start. Raises AccelflowError for traces that do
        not fit.
        """
    def reload_traces(self) -> int:
        """Read the file of the traces again, and replace them.

        Raises AccelflowError as `set_traces`, and if the traces are not from a file.
        """
    def start(self, host: str, port: int) -> int:
        """Listen on `host`, an IP address or a name, and return the port.

        Port 0 lets the system choose one. Raises AccelflowError if the server cannot listen there.
        """
    def admin_port(self) -> int | None:
        """Return the operators' port; None without one."""
    def reshape(self, tenant: str, shaping: object) -> None:
        """Replace the shaping of a tenant's traffic. Raises AccelflowError."""
    def set_slo(self, tenant: str, slo: object) -> None:
        """Request an SLO for a tenant. Raises AccelflowError if it is refused."""
    def remove_slo(self, tenant: str) -> bool:
        """Remove a tenant's SLO; return whether it had one. Raises AccelflowError."""
    def slo_page(self) -> str:
        """Return the tenants' SLOs, use and results, and the remaining capacity, as JSON.

        Raises AccelflowError without a control plane, or if the server is not running.
        """
    def metrics(self) -> str:
        """Return the metrics in Prometheus' text format; empty unless the server is running."""
    def recording(self, services: dict[str, str], date: str) -> str:
        """Return a recording of the latest requests, as JSON.

        `services` maps `Service.method` to the name in the recording. Raises AccelflowError if
        there were none.
        """
    def stop(self, grace_s: float) -> int:
        """Stop listening, and wait up to `grace_s` for requests in progress.

        Returns the number of connections that were closed before their requests had ended.
        """

@final
class TraceConnection:
    """One end of a connection: its interface, its keys, and its sequence numbers.

    Runs continue it, one after the other.
    """

    def __new__(
        cls,
        interface: str | PathLike[str],
        *,
        include_dirs: Sequence[str | PathLike[str]] = ...,
        read_secret: bytes | None = None,
        write_secret: bytes | None = None,
        suite: str = "TLS_AES_128_GCM_SHA256",
        read_record: int = 0,
        write_record: int = 0,
        local: str | None = None,
        peer: str | None = None,
        cores: int = 36,
    ) -> TraceConnection:
        """A connection whose messages are of a `.thrift` interface.

        With secrets it has TLS 1.3: those are its application traffic secrets, as SSLKEYLOGFILE has
        them, `read_record` and `write_record` the numbers of the next records. With addresses,
        payloads are packets of IPv4; without, the bytes that a socket gives. Raises TraceError for
        what cannot be used.
        """
    def run(
        self, image: TraceImage, name: str, payload: bytes, *, call: Sequence[str] | None = None
    ) -> TraceRun:
        """Run the trace `name` of `image` on `payload`, over this connection.

        Raises TraceError; what the run read and wrote then counts for nothing, unless it had sent
        something.
        """
    @property
    def records(self) -> tuple[int, int] | None:
        """The numbers of the next records, read and written; None without TLS."""

@final
class TraceExecutor:
    """Runs traces on bytes, inline on the calling thread, with the software bodies.

    Threads run them at the same time.
    """

    def __new__(cls, *, cores: int) -> TraceExecutor:
        """An executor whose LdB balances over `cores` cores. Raises TraceError for 0 cores."""
    def run(
        self, image: TraceImage, name: str, payload: bytes, *, call: Sequence[str] | None = None
    ) -> TraceRun:
        """Run the trace `name` of `image` on `payload`.

        Without `call`, `payload` is packets from the demo's client. With `call`, a kind of message,
        it is the JSON to send, or for a cache's response the packets received. Raises TraceError,
        with the number of the step, for the first step that fails.
        """
    def add_body(self, kind: TraceNode, body: Callable[..., object]) -> None:
        """Register `body` for the custom accelerator that `kind` calls, in the whole process.

        `body` is a function of the payload and a
        dict of the facts. It returns the new payload, or None to keep it, or a pair of that and a
        dict of the facts that `kind` yields. Raises TraceError for a node that calls no custom
        accelerator.
        """
    @property
    def counters(self) -> tuple[int, dict[str, int]]:
        """The number of runs that reached their end, and of those that failed, by reason."""

@final
class TraceEnsemble:
    """The ensemble: accelerators with queues and workers of their own."""

    def __new__(cls, settings: object, *, cores: int) -> TraceEnsemble:
        """Start the workers, with an LdB that balances over `cores` cores.

        `settings` has the members of `accelflow.trace.Ensemble`. Raises TraceError.
        """
    def enqueue(self, image: TraceImage, name: str, payload: bytes, terms: object) -> TraceHandle:
        """Begin the trace `name` of `image` on `payload`, and return at once.

        Raises TraceError if there is no room.
        """
    @property
    def counters(self) -> list[tuple[str, list[tuple[str, int]]]]:
        """The counters of each accelerator, by name. Raises TraceError once closed."""
    @property
    def small(self) -> int:
        """Traces that calling threads ran, since their payloads were small.

        Raises TraceError once closed.
        """
    def close(self) -> None:
        """Finish the runs and stop the workers."""

@final
class TraceHandle:
    """A trace that runs in the ensemble."""

    def done(self) -> bool:
        """Whether the run has ended."""
    def wait(self, timeout_s: float | None = None) -> TraceRun:
        """Wait for the end of the run, and return its record.

        Raises TraceError if it ended early, and TimeoutError after `timeout_s`.
        """
    def next_arrival(self, timeout_s: float | None = None) -> TraceArrival | None:
        """Return the next execution that ends before the run does; None after the run has ended.

        Raises TimeoutError after `timeout_s`.
        """
    def on_done(self, callback: Callable[[], object]) -> None:
        """Call `callback` when the run ends, or now if it has ended."""

@final
class TraceRun:
    """The outcome of a run."""

    @property
    def arrivals(self) -> list[TraceArrival]:
        """The end of each execution, in order: one, and one more for each fork."""
    @property
    def visits(self) -> list[tuple[str, str]]:
        """Everything that was visited, in the form of `TraceImage.walk`."""
    @property
    def steps(self) -> list[tuple[str, int, str, int, int]]:
        """The accelerator calls: trace, arm, accelerator, bytes read, bytes written."""
    @property
    def sent(self) -> list[tuple[str, bytes]]:
        """The messages that were sent: trace and packets."""

@final
class TraceArrival:
    """The end of one execution: what the core finds when it is notified."""

    @property
    def trace(self) -> str:
        """The trace that ended."""
    @property
    def arm(self) -> int:
        """The number of the execution: 0 for the first, then one for each that a fork started."""
    @property
    def data(self) -> bytes:
        """The application data, or the packets where the execution ended with sending."""
    @property
    def format(self) -> str:
        """The format of the data."""
    @property
    def core(self) -> int | None:
        """The core that LdB chose, if LdB ran."""
    @property
    def facts(self) -> dict[str, int]:
        """The integer facts that branches can test."""
    @property
    def texts(self) -> dict[str, str]:
        """The facts that are text, such as the method."""

def demo_request(method: str, *, seed: int = 1, index: int = 0, compressed: bool = False) -> bytes:
    """Return the packets of the demo client's call of `method`, the input for T1.

    Raises TraceError for an unknown method.
    """

def demo_secrets(number: int = 0) -> tuple[bytes, bytes]:
    """Return the TLS application traffic secrets of a demo connection: client's, server's."""

def arcus_table2() -> str:
    """Return the registers of ARCUS's Table 2 and the rates that they give, as a JSON list."""

def arcus_shape(values: tuple[int, int, int, int], unit: str) -> str:
    """Return the rate and burst of registers (refill, bucket, interval, clock in Hz), as JSON.

    Use `accelflow.arcus.shape`. Raises AccelflowError for a value out of range.
    """

def arcus_release(
    values: tuple[int, int, int, int],
    unit: str,
    messages: Sequence[tuple[int, int]],
    split: tuple[int, int] | None = None,
) -> list[tuple[int, int, bool, int, int, int]]:
    """Pass `messages` (time in ps, bytes) through the registers `values`; return their segments.

    A segment is (message, index, whether it is the last, bytes, granted ps, released ps). Use
    `accelflow.arcus.release`. Raises AccelflowError for a value out of range, a message that could
    never pass, and times that run backwards.
    """

def arcus_parameters() -> str:
    """Return all parameters of the shaper and of the shared platform, as a JSON list."""

def arcus_experiments() -> str:
    """Return the paper's experiments as a JSON list: name, title and number of seeds."""

def arcus_experiment(name: str, seed: int, replications: int | None, threads: int) -> str:
    """Run an experiment and return its report as JSON. Use `accelflow.arcus.experiment`."""

def arcus_plan_refusal(request: str) -> str | None:
    """Check a plan (JSON); return its refusal, message and keys, as JSON, or None if allowed."""

def arcus_plan(request: str, profiles: str | None = None) -> str:
    """Admit the flows of a plan (JSON), run them, and return the outcome as JSON.

    Use `accelflow.arcus.plan`.

    Raises AccelflowError for a value that is not allowed.
    """

def arcus_profile(
    request: str, sizes: Sequence[int], paths: Sequence[str], most: int, threads: int
) -> str:
    """Profile contexts on the platform of a plan (JSON), and return the table as JSON.

    Use `accelflow.arcus.profile`.

    Raises AccelflowError for a value that is not allowed.
    """

def arcus_plan_schema() -> str:
    """Return the JSON Schema of plan files, as text."""

def version() -> str:
    """Return the version of accelflow."""

def scenario_read(document: str, recording: str | None = None) -> str:
    """Return the scenario in `document` (JSON) with all fields, as JSON.

    Raises AccelflowError for an unknown field and for a value that a field cannot have.
    """

def scenario_check(document: str, recording: str | None = None) -> str:
    """Check a scenario and return it with every default filled in; both are JSON.

    Raises AccelflowError, which names the field, its value and what is allowed.
    """

def scenario_demands(document: str, recording: str | None = None) -> str:
    """Return the core time and accelerator time of one request to each service, as JSON.

    Use `accelflow.simulation.demands`. Raises AccelflowError as `scenario_check`.
    """

def scenario_payloads(
    document: str, recording: str | None, requests: int
) -> list[tuple[str, int, int]]:
    """Return (accelerator, bytes before, bytes after) of each operation of all services.

    Each service is invoked `requests` times. Use `accelflow.simulation.payloads`. Raises
    AccelflowError for a scenario that is not allowed.
    """

def scenario_check_samples(document: str, recording: str | None, samples: int, runs: int) -> None:
    """Raise AccelflowError if `runs` runs of a scenario would keep too many requests.

    Each run keeps up to `samples` requests of each service.
    """

def scenario_hash(document: str, recording: str | None = None) -> str:
    """Return the stable hash of a scenario (JSON): 64 hexadecimal digits.

    Raises AccelflowError as `scenario_check`.
    """

def scenario_run(
    document: str,
    recording: str | None,
    options: tuple[int, float, int, bool | None, int],
    progress: Callable[[int, int], object] | None = None,
    others: list[Any] = ...,
) -> tuple[str, list[tuple[int, str, list[tuple[str, bytes]]]]]:
    """Simulate a scenario (JSON) and return its results (JSON), and samples.

    `options` are threads, the share of the tail, the most samples of a service, whether
    percentiles are exact (None: up to 10,000,000 requests), and the most intervals of use over
    time. Samples are the system's place in the results, the service, and columns of 8-byte values
    by name. `others` are systems in Python (`accelflow.policies.System`). Use
    `accelflow.simulation.run`. Raises AccelflowError if the simulation fails.
    """

@final
class Completion:
    """The end of an operation. An orchestrator decides who handles it."""

    @property
    def accelerator(self) -> str:
        """The accelerator that has completed: TCP, Encr, ..."""

    @property
    def kind(self) -> Literal["forward", "park", "end"]:
        """What comes next: another accelerator, a wait at a TCP for a message, or nothing."""

    @property
    def next(self) -> str | None:
        """The next accelerator; None unless `kind` is ``forward``."""

    @property
    def branches(self) -> int:
        """Number of branches resolved."""

    @property
    def loads(self) -> int:
        """Number of words read from the trace memory."""

    @property
    def transforms(self) -> int:
        """Number of transformations of the payload before the next operation."""

    @property
    def size_bytes(self) -> int:
        """Size of the payload."""

    @property
    def arm(self) -> Literal["none", "waits", "last"]:
        """The effect on the join that comes next.

        ``none`` without one; ``waits`` for other arms; ``last`` starts the next operation.
        """

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class SimulatedServer:
    """The simulated server of one simulation: its parameters by key, and its links."""

    def __getitem__(self, key: str, /) -> float:
        """Return the value of the parameter `key`, in its unit; `accelflow explain` lists all.

        Costs of software are those of the server's generation of cores. Raises AccelflowError for
        an unknown key.
        """

    def linked(self, start: str, end: str) -> bool:
        """Whether the accelerator `start` has a static link to `end`, as Cohort has them.

        Raises AccelflowError for an unknown accelerator.
        """

    def properties(self, like: str) -> tuple[Any, ...]:
        """Return the properties of the native system `like`, in the order of `policies.Properties`.

        Raises AccelflowError for an unknown system.
        """

    def decision(
        self, like: str, completion: Completion
    ) -> tuple[float, int, tuple[float, float] | None, float, float]:
        """Return the decision of the native system `like`, in the order of `policies.Decision`.

        Raises AccelflowError for an unknown system.
        """

@final
class Waiting:
    """The entries that wait in an accelerator's queue, in the order in which they became ready."""

    @property
    def accelerator(self) -> str:
        """The accelerator: TCP, Encr, ..."""

    @property
    def instance(self) -> int:
        """The index of the accelerator's instance."""

    @property
    def is_overflow(self) -> bool:
        """Whether it is the overflow area, from which entries move up to the input queue."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> WaitingEntry: ...
    def __iter__(self) -> Iterator[WaitingEntry]: ...

@final
class WaitingEntry:
    """An entry that waits: an operation of a request."""

    @property
    def service(self) -> str:
        """The name of the request's service."""

    @property
    def arrival_ns(self) -> float:
        """The time of the request's arrival at the server, since the simulation began."""

    @property
    def deadline_ns(self) -> float:
        """The operation's deadline, since the simulation began; infinity without one."""

    @property
    def estimated_ns(self) -> float:
        """The time for which the operation holds a processing element of an idle server."""

    @property
    def priority(self) -> int:
        """The level of the request's service; the highest is the most urgent."""

    @property
    def tenant(self) -> int:
        """The number of the request's tenant."""

    @property
    def position(self) -> int:
        """The place in the queue: 0 became ready first."""

def scenario_spans(document: str, recording: str | None, path: Path) -> int:
    """Write the spans of a scenario's requests as lines of OTLP; return the number of requests.

    Use `accelflow.simulation.write_spans`. Raises AccelflowError for a scenario of several systems,
    and if the simulation or the file fails.
    """

def scenario_timeline(
    document: str,
    recording: str | None,
    path: Path,
    shown: tuple[float, float | None, list[str], list[int], int | None],
) -> tuple[int, int]:
    """Write a timeline of a scenario (JSON); return the numbers of systems and requests.

    `shown` are the beginning and the length of the window in us, names of services, numbers of
    requests, and how many of the slowest. Use `accelflow.watching.write_timeline`. Raises
    AccelflowError for what is not allowed, cannot be simulated or cannot be written.
    """

def spans_timeline(
    kind: str,
    paths: list[str],
    path: Path,
    shown: tuple[float, float | None, list[str], int | None],
) -> tuple[int, int]:
    """Draw spans in files into a timeline; return numbers of requests and spans.

    `shown` are the beginning and the length of the window in us, names of services, and how many
    of the slowest. Use `accelflow.watching.write_spans_timeline`. Raises AccelflowError for what is
    not allowed, cannot be read or cannot be written.
    """

def scenario_watch(
    document: str,
    recording: str | None,
    service: str,
    request: int | None,
    percentile: float,
    progress: Callable[[int, int], object] | None = None,
) -> str:
    """Return the time of one request of a scenario (JSON) piece by piece (JSON).

    Use `accelflow.watching.watch`. Raises AccelflowError for what is not allowed or cannot be
    simulated.
    """

def scenario_why(
    document: str,
    recording: str | None,
    service: str,
    percentile: float,
    progress: Callable[[int, int], object] | None = None,
) -> str:
    """Explain why requests of a scenario (JSON) are slow: return their waits beside others' (JSON).

    Use `accelflow.watching.why`. Raises AccelflowError for what is not allowed or cannot be
    simulated.
    """

def scenario_schema() -> str:
    """Return the JSON Schema of a scenario."""

def scenario_choices() -> list[tuple[str, list[str]]]:
    """Return the fields of a scenario that are chosen by name, each with the allowed names."""

def scenario_allowed(field: str) -> str | None:
    """Return the words after "must be" for a scenario's field; None for an unknown field."""

def import_spans(kind: str, paths: Sequence[str], options_json: str = "{}") -> str:
    """Derive a workload from spans; return it and a report as {"workload": ..., "report": ...}.

    `kind` is jaeger or otlp. `options_json` is an object with any of `name`, `sampling`,
    `app_share`, `shapes`, `waits`, `calls`, `servers`, `window_spans` and `strict`;
    docs/import-spans.md says what they are. Raises AccelflowError for options that are not allowed
    and for files that cannot be read, are not of the kind, end too early or have no request.
    """

def service_walk(name: str, workload: str | None = None) -> str:
    """Return the service `name` as JSON: method, path, traces, accelerators and sequences.

    `workload` is a suite's name or the tree of a file (JSON); None searches all suites. Raises
    AccelflowError for an unknown service or workload.
    """

def service_names(workload: str) -> list[str]:
    """Return the names of the services of a workload, a suite's name or a tree (JSON).

    Raises AccelflowError for an unknown workload.
    """

def timeouts_by_service(workload: str, remote: str, timeout_us: float) -> list[tuple[str, float]]:
    """Return the mean number of messages of a request that time out, by service.

    Raises AccelflowError for an unknown workload or remote.
    """

def workload_names() -> list[tuple[str, float, float | None]]:
    """Return the suites: name, share of sequences that branch, share that the paper prints."""

def workload_read(text: str, name: str) -> str:
    """Check the text (TOML or JSON) of a workload's file called `name`, and return it as JSON.

    Raises AccelflowError with file, line, column, field, value and what is allowed.
    """

def workload_load(
    text: str, name: str, folder: str | PathLike[str], modules: Mapping[str, str]
) -> tuple[str, list[str]]:
    """Return a workload (JSON) with the contents of the files that it names, and warnings.

    `modules` has the traces of Python modules as text. Raises AccelflowError as `workload_read`.
    """

def workload_place(text: str, name: str, path: str) -> tuple[int, int] | None:
    """Return the line and column of the value at `path` in a workload's text, if it has one.

    Raises AccelflowError as `workload_read`.
    """

def workload_suite(name: str) -> str:
    """Return the file of a suite, as text. Raises AccelflowError for an unknown name."""

def workload_write(document: str) -> str:
    """Return a workload (JSON) as canonical TOML. Raises AccelflowError as `workload_read`."""

def workload_schema() -> str:
    """Return the JSON Schema of a workload's file."""

def arrivals_dwell_us(kind: str) -> float | None:
    """Return the mean time in us between rate changes of arrivals; None for a constant rate.

    Raises AccelflowError for unknown arrivals.
    """

def orchestrator_names() -> list[tuple[str, str]]:
    """Return the default orchestrators of a comparison: identifiers and the paper's names."""

def system_names() -> list[tuple[str, str]]:
    """Return all systems that can be simulated: identifiers and the paper's names."""

def machine_name() -> str:
    """Return the processor and system of this machine."""

def record_services(
    date: str,
    progress: Callable[[int, int], object] | None = None,
    workload: str = "socialnetwork",
    names: list[str] = ...,
) -> str:
    """Run services of `workload` on real bytes and measure every step; the recording as JSON.

    Use `accelflow.calibration`. `workload` is a suite's name or a tree as JSON; all its services
    run if `names` is empty. Raises AccelflowError if the machine has no loopback sockets, for an
    unknown name, and for a service without built-in messages.
    """

def executed_operations(name: str, seed: int) -> list[tuple[int, int, str, int, str]]:
    """Return the steps of one invocation on real bytes: (phase, chain, trace, arm, accelerator).

    Use `accelflow.calibration.executed_operations`. Raises AccelflowError for an unknown service.
    """

def simulated_operations(name: str, orchestrator_id: str) -> list[tuple[int, int, str, str, bool]]:
    """Return the operations of one invocation on an idle simulated server.

    Each is (phase, chain, trace, accelerator, whether on a core).

    Use `accelflow.simulation.simulated_operations`. Raises AccelflowError for an unknown name.
    """

def service_breakdown(tcp_cost_ns: float) -> str:
    """Return the core time of each service without accelerators, by category, as JSON."""

def confidence_interval(observations: list[float]) -> tuple[float, float] | None:
    """Return (mean, half width of the 95 % interval) of independent observations.

    Returns None for fewer than two.
    """

def check_recording(text: str) -> None:
    """Raise AccelflowError if `text` is not a recording."""

def recording_lacks(text: str) -> list[str]:
    """Return what a recording lacks for simulations with its distributions, a sentence each.

    Raises AccelflowError if `text` is not a recording.
    """

def quantile_table(samples: list[float]) -> list[tuple[float, float]]:
    """Return the quantiles of `samples` as recordings have them, with the same mean."""

def parameters(tcp_cost_ns: float | None = None) -> str:
    """Return the engines with their parameters, as a JSON list.

    With `tcp_cost_ns`, the cost of TCP on a core, the profile `paper` is the last one.
    """

def chip_read(text: str) -> str:
    """Read a chip from TOML and return name, description and config, as JSON.

    Raises AccelflowError, which begins with line and column, for a text that is not a chip.
    """

def toml_place(text: str, keys: list[str | int]) -> tuple[int, int] | None:
    """Return the line and column, counted from 1, of the value at the path `keys` in a TOML text.

    A key is the name of a field or the index of an element. If a key is missing, the place is that
    of the last value before it; None if the first key is missing.
    """

def chip_schema() -> str:
    """Return the JSON Schema of a chip's file."""

def server_setting(key: str, value: object) -> tuple[str, float]:
    """Return the key of a simulated server's parameter as results spell it, and the number.

    `value` is a number or the name of a choice. Raises AccelflowError for an unknown key and for a
    value that is not allowed.
    """

def parameter_value(engine: str, key: str, value: object) -> float:
    """Return the number for `value` of the parameter `key` of `engine`.

    `value` is a number or the name of a choice. Raises AccelflowError for an unknown engine or key
    and for a value that is not allowed.
    """

def refusal(place: str, value: object, allowed: str, known: Sequence[str] = ...) -> str:
    """Return the text of the refusal of `value`: ``PLACE = VALUE: must be ..., did you mean ...?``.

    `allowed` is the clause that begins with ``must``; it may be empty if `known` lists the allowed
    names. Names in `known` that are similar to `value` are proposed.
    """

def profile_parameters(tcp_cost_ns: float) -> str:
    """Return the parameters of the profile `paper` as a JSON list, for a TCP cost in ns."""
