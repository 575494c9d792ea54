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
    "await_ended_ensembles",
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
    "is_optimized",
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
    "scenario_rates",
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
    """Return the Accelerometer model's inputs whose values are names, such as ``threading``.

    Each is a pair (input, list of the allowed names).
    """

def accelerometer_evaluate(request: str) -> str:
    """Compute the speedup of a service with offloaded kernels, by the Accelerometer model.

    `request` and the returned result are JSON; the result has confidence intervals and
    sensitivities if the request asks for them. Raises AccelflowError for a value that is missing or
    not allowed.
    """

def accelerometer_simulate(request: str) -> str:
    """Simulate a service that offloads kernels to accelerators.

    `request` and the returned measurements are JSON. Raises AccelflowError for a value that is
    missing or not allowed.
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
    """Compute the speedup and the latency reduction of many design points.

    Fills the arrays `speedup` and `latency_reduction` with one ratio for each point. `design` is
    (threading, placement, whether the driver waits for the accelerator, number of thread switches
    that count in a request's latency with the threading Sync-OS: 1 or 2). `costs` are (setup,
    transfer, wait in the queue, thread switch, acceleration): four costs in cycles, and a ratio.
    `host` is the host's cycles per second, `kernel_share` the fraction of these cycles that the
    kernel takes, `offloads` the offloads per second. Raises AccelflowError for a value out of
    range; the message names the quantity and the index of the point, where indices begin at
    `first`.
    """

def erlang_c(servers: int, offered: float) -> float:
    """Return the probability that an arrival at an M/M/k queue has to wait (Erlang's C formula).

    The queue has `servers` servers; `offered` is the load in erlangs, below `servers`.
    """

def measure_bodies(rounds: int, calls: int) -> str:
    """Measure the times of the accelerators' software and of thread switches on this machine.

    There are `rounds` rounds of `calls` calls each. Returns JSON: `thread_switch_ns`, and `bodies`
    by accelerator. A body has `setup_ns` and `transfer_ns`, the costs of an offload. It also has
    `sizes`: for each size of the input, the times of a call on the host's core and on a worker's
    core. All these times are lists with one value per round; for a call, this is the round's
    median. Raises AccelflowError for a count of 0, and if the process may use only one core.
    """

def crc32c(data: bytes, tables: bool) -> int:
    """Return the CRC-32C checksum (Castagnoli) of `data`.

    With `tables`, software with lookup tables computes it, otherwise the processor's instruction if
    there is one.
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
    """Compute the range of offload sizes, in bytes, that pay off, for many design points.

    Fills the arrays `from_bytes` and `to_bytes` with the smallest and largest such size of each
    point; both are infinite if no size pays off. `in_latency` asks for sizes that reduce latency,
    instead of sizes that increase throughput. On the host, the kernel takes `cycles_per_byte` times
    the size to the power of `complexity` cycles. An offload takes `transfer_per_byte` cycles per
    byte in addition to `costs`. `design`, `costs` and `first` are those of `accelerometer_sweep`.
    Raises AccelflowError for a value out of range; the message names the quantity and the point.
    """

def relief_suite(request: str) -> str:
    """Simulate RELIEF's applications and return their maximum throughput as JSON.

    The applications run under FCFS, RELIEF and AccelFlow. `request` (JSON) has the names of the
    applications, the number of task graphs to run of each, the seed and the platform's options.
    Raises AccelflowError for an unknown application, for a value that is not allowed and if the
    simulation fails.
    """

def area_model(changes: str) -> str:
    """Return the chip areas of AccelFlow (section VI) in mm2, as JSON.

    `changes` (JSON) replaces inputs of the model by name. Raises AccelflowError for an unknown
    input and a value out of range.
    """

def power_model(area_changes: str, power_changes: str) -> str:
    """Return AccelFlow's maximum powers in W and energies per instruction and byte in J, as JSON.

    The paper reports the powers in section VII.B.5.

    `area_changes` and `power_changes` (JSON) replace inputs of the models of area and power by
    name. Raises AccelflowError for an unknown input and a value out of range.
    """

def energy_model(request: str) -> str:
    """Return the energy that a system uses in a time window, in joules, as JSON.

    `request` (JSON) has the system, the length of the window, and the activity in it: busy times,
    instructions and moved bytes. Raises AccelflowError for an unknown system or accelerator and for
    impossible amounts.
    """

def cerebros_names() -> tuple[list[str], list[str]]:
    """Return the names of the services and of the designs of Cerebros, in the paper's order."""

def cerebros_services() -> str:
    """Return the Cerebros paper's services as JSON: functions, messages, schemas, working sets."""

def cerebros_simulate(request: str) -> str:
    """Simulate requests to a service of the Cerebros paper under one design, and return JSON.

    `request` (JSON) names the service and the design, and sets the load and the parameters. Raises
    AccelflowError for an unknown name, for a value that is not allowed and if the simulation fails.
    """

def cerebros_designs(request: str) -> str:
    """Return the RPC layer's cycles per request under each Cerebros design, as JSON.

    `request` (JSON) replaces parameters of the analytic model. Raises AccelflowError for an unknown
    parameter and for a value out of range.
    """

class AccelflowError(Exception):
    """A failure that the user can act on.

    `place` is the name of the setting or field whose value is not allowed. `place` is None for all
    other failures, and for refused values whose place only the message states.
    """

    place: str | None

class DeclaredError(AccelflowError):
    """An exception that the service's interface declares for a function.

    The arguments of a DeclaredError are a name and the dict of the exception's members. With
    Thrift, the name is that of the exception's field in the function's `throws` clause. With gRPC,
    it is the name of a status code, the member `message` is the status's text, and `details` a list
    of its details: dicts with a type as ``@type`` and the fields of a message of that type.
    """

class CallError(AccelflowError):
    """A failed call to another service."""

    reason: str
    """A stable name of the reason, such as timeout or pool_full."""
    executed: str
    """Whether the service may have executed the call, in any attempt: no, perhaps or yes."""
    code: str | None
    """The name of the status code of a gRPC call."""
    details: str | None
    """The text of the status, if the service has sent one."""
    status_details: Sequence[dict[str, Any]]
    """The details of the status, each with its type as `@type`."""
    initial_metadata: Sequence[tuple[str, str | bytes]]
    """The metadata that came before the status of a gRPC call."""
    trailing_metadata: Sequence[tuple[str, str | bytes]]
    """The metadata that came with the status of a gRPC call."""

class TraceError(AccelflowError):
    """A trace that cannot be built, registered, linked, read from a file or executed to its end."""

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
    """A handle that cancels calls from another thread."""

    def __new__(cls) -> Cancel: ...
    def cancel(self) -> None:
        """Cancel all calls that were given this handle, and later calls with it."""
    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""

@final
class Client:
    """A client of the functions that a Thrift file (`.thrift`) declares.

    By default, a call executes variants of two of the paper's traces: T9 sends the request, and
    T10 receives the response.
    """

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
        """Create a client of the service at `address` (HOST:PORT).

        Reads the interface and, if `tls` is given, the certificates. `idempotent` lists the
        functions that may be called again after a failure; `bounds` limits times, retries and
        connections. Raises AccelflowError for a file that cannot be used and for a setting that is
        not allowed.
        """
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
        """Call the function `method` (`Service.method`) with its arguments and return its value.

        Raises DeclaredError for an exception that the interface declares, and CallError for a
        failed call.
        """
    def set_traces(self, traces: Any) -> int:
        """Use other traces for further calls: an `accelflow.own_traces.ClientTraces`.

        None restores the built-in traces. Returns how often traces have been replaced so far.
        Raises AccelflowError for traces that do not fit the client's calls.
        """
    def reload_traces(self) -> int:
        """Read the trace file again and use its traces for further calls.

        Returns how often traces have been replaced so far. Raises AccelflowError for traces that do
        not fit the client's calls, and if the traces are not from a file.
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
        """Call `method` (`Service.method`) at given times on `callers` threads, to generate load.

        Calls use `arguments` in turn. A call begins at its time in `due_s`, in seconds from the
        start, or as soon as a thread is free. Returns for each call (start, end, whether it
        succeeded). Start and end are in us after the time when the call was due. `progress` is
        called regularly with the number of finished calls and the total number; an
        exception that it raises ends the load. Calls that have not begun `until_s` seconds after
        the start are neither made nor returned.
        """
    def connections(self) -> tuple[int, int, int]:
        """Return the numbers of (open connections, idle connections, calls that wait for one)."""
    def metrics(self) -> str:
        """Return the client's metrics in Prometheus' text format."""

@final
class GrpcClient:
    """A gRPC client (over HTTP/2) of the methods that a `.proto` file declares.

    By default, a call executes variants of two of the paper's traces: T9 sends the request, and
    T10 receives the response.
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
        """Create a client of the service at `address` (HOST:PORT).

        Reads the interface and, if `tls` is given, the certificates. `idempotent` lists the methods
        that may be called again after a failure; `bounds` limits times, retries and connections.
        Raises AccelflowError for a file that cannot be used and for a setting that is not allowed.
        """
    def call(
        self,
        method: str,
        request: Any,
        metadata: list[tuple[str, str | bytes]],
        *,
        timeout_s: float | None = None,
        cancel: Cancel | None = None,
        idempotent: bool = False,
        scope: Scope | None = None,
    ) -> tuple[Any, list[tuple[str, str | bytes]], list[tuple[str, str | bytes]]]:
        """Call `method` (`Service.Method`) with the JSON value `request`.

        Returns (response, initial metadata, trailing metadata), each metadata as pairs of name and
        value. Raises CallError for a failed call.
        """
    def set_traces(self, traces: Any) -> int:
        """Use other traces for further calls: an `accelflow.own_traces.ClientTraces`.

        None restores the built-in traces. Returns how often traces have been replaced so far.
        Raises AccelflowError for traces that do not fit the client's calls.
        """
    def reload_traces(self) -> int:
        """Read the trace file again and use its traces for further calls.

        Returns how often traces have been replaced so far. Raises AccelflowError for traces that do
        not fit the client's calls, and if the traces are not from a file.
        """
    def connections(self) -> tuple[int, int, int]:
        """Return the numbers of (open connections, idle connections, calls that wait for one)."""
    def metrics(self) -> str:
        """Return the client's metrics in Prometheus' text format."""

@final
class HttpClient:
    """A client of one HTTP/1.1 server.

    By default, a call executes two of the paper's traces: T11 sends the request, and T12 receives
    the response. Without TLS, these are the variants `T11_plain` and `T12_plain`.
    """

    def __new__(
        cls,
        address: str,
        *,
        tls: Any,
        codec: str,
        bounds: dict[str, Any],
    ) -> HttpClient:
        """Create a client of the server at `address` (HOST:PORT).

        Reads the certificates if `tls` is given. `codec` is the compression of bodies (zstd, snappy
        or gzip); `bounds` limits times, retries and connections. Raises AccelflowError for a file
        that cannot be used and for a setting that is not allowed.
        """
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
        """Send an HTTP request and return the status code and the body of the response.

        Raises CallError for a failed call.
        """
    @staticmethod
    def json(value: Any) -> bytes:
        """Return the JSON text of a value, as bytes.

        Raises TypeError and ValueError for a value that JSON cannot represent.
        """
    def set_traces(self, traces: Any) -> int:
        """Use other traces for further calls: an `accelflow.own_traces.ClientTraces`.

        None restores the built-in traces. Returns how often traces have been replaced so far.
        Raises AccelflowError for traces that do not fit the client's calls.
        """
    def reload_traces(self) -> int:
        """Read the trace file again and use its traces for further calls.

        Returns how often traces have been replaced so far. Raises AccelflowError for traces that do
        not fit the client's calls, and if the traces are not from a file.
        """
    def connections(self) -> tuple[int, int, int]:
        """Return the numbers of (open connections, idle connections, calls that wait for one)."""
    def metrics(self) -> str:
        """Return the client's metrics in Prometheus' text format."""

@final
class TraceNode:
    """One element of a trace's source: a call, a branch, a fork, a tail, ... Immutable.

    The functions of `accelflow.trace` create nodes. An attribute that does not apply to a kind of
    node is None, or an empty list for `arms`.
    """

    @property
    def kind(self) -> str:
        """The kind of node: accelerator, branch, trans, fork, join, meet, tail, continue or notify.

        `trans` is a change of the payload's format, `meet` the point where the arms of a join meet,
        `continue` the load of another word of a long trace.
        """
    @property
    def name(self) -> str | None:
        """The name of the called accelerator, or of what a tail or a continue leads to.

        A tail leads to a trace, a continue to another word of a long trace, such as NAME.1.
        """
    @property
    def declaration(self) -> str | None:
        """The declaration of the custom accelerator that is called, in the language of traces."""
    @property
    def condition(self) -> str | None:
        """The condition of a branch, as text in its normal form."""
    @property
    def likely(self) -> bool | None:
        """The outcome of a branch that the trace's author expects; None if not stated."""
    @property
    def arms(self) -> list[list[TraceNode]]:
        """The true and the false arm of a branch, or the arms of a fork or join."""
    @property
    def src(self) -> str | None:
        """The payload's format before a transformation."""
    @property
    def dst(self) -> str | None:
        """The payload's format after a transformation."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...

def trace_accel(name: str) -> TraceNode:
    """Return a call of the accelerator `name`. Raises TraceError if it is not one of the nine."""

def trace_kind(name: str, directions: str, yields: Sequence[tuple[str, str]]) -> TraceNode:
    """Declare a custom accelerator, and return a call of it.

    The accelerator processes messages of `directions` (both, receives or sends). `yields` lists the
    facts that it adds to the payload and that branches can test: pairs of a fact's name and type
    (number or text). Raises TraceError for an invalid declaration.
    """

def trace_declarations(nodes: Sequence[TraceNode]) -> str:
    """Return the declarations of the custom accelerators that `nodes` call, one per line."""

def trace_branch(
    condition: str,
    on_true: Sequence[TraceNode],
    on_false: Sequence[TraceNode],
    likely: bool | None = None,
) -> TraceNode:
    """Return a branch: if `condition` holds for the payload, `on_true` runs, otherwise `on_false`.

    `likely` is the outcome that the author expects. Raises TraceError, with the position of the
    offending character, for a condition that does not parse or type-check.
    """

def trace_trans(src: str, dst: str) -> TraceNode:
    """Return a transformation of the payload from the format `src` to the format `dst`.

    Raises TraceError for an unknown format, and if `src` and `dst` are equal.
    """

def trace_fork(arms: Sequence[Sequence[TraceNode]]) -> TraceNode:
    """Return a fork: the traces in `arms` run in parallel, each to its own end."""

def trace_join(arms: Sequence[Sequence[TraceNode]]) -> TraceNode:
    """Return a join: the traces in `arms` run in parallel, then the next node runs."""

def trace_tail(name: str) -> TraceNode:
    """Return the end of a trace after which the trace called `name` runs."""

def trace_notify() -> TraceNode:
    """Return the end of a trace that notifies the core."""

def trace_listing(nodes: Sequence[TraceNode]) -> str:
    """Return the source text of `nodes`, in the language of traces."""

def trace_check(nodes: Sequence[TraceNode]) -> list[str]:
    """Return warnings about the trace `nodes`. Raises TraceError if they are not a valid trace."""

def trace_templates() -> list[tuple[str, str, list[TraceNode]]]:
    """Return the paper's traces T1 to T12, with their variants and error subtraces.

    Each is (name, description, source); descriptions of T1 to T12 are those of Table II.
    """

@final
class RegisteredTrace:
    """A trace that is registered in a `TraceLibrary`."""

    @property
    def name(self) -> str:
        """The trace's name."""
    @property
    def nodes(self) -> list[TraceNode]:
        """The trace's source, as it was registered."""
    @property
    def warnings(self) -> list[str]:
        """Warnings about the trace, one sentence each."""
    @property
    def parts(self) -> list[tuple[str, list[TraceNode]]]:
        """The parts of the trace, each of which fits a 64-bit word, in order: (name, nodes)."""

@final
class TraceLibrary:
    """A collection of named traces, which may refer to one another.

    A trace may be registered before the traces that its tails name. Safe to use from several
    threads.
    """

    def __new__(cls, *, templates: bool = True) -> TraceLibrary:
        """Create a library, with the paper's traces T1 to T12 if `templates` is true."""
    @staticmethod
    def from_text(text: str) -> tuple[TraceLibrary, list[str]]:
        """Create a library of the paper's traces and of those in `text`.

        Also returns the names of the traces in `text`, which is in the language of traces. A trace
        in `text` replaces the paper's trace of the same name. Branches may test facts that no
        accelerator yields, as in a workload that states them. Raises TraceError for a line that is
        not in the language (the message has its number), for an invalid trace, and for different
        traces of the same name in `text`.
        """
    def register(
        self, name: str, nodes: Sequence[TraceNode], *, replace: bool = False
    ) -> list[str]:
        """Register the trace `nodes` as `name`, and return warnings about it.

        An equal trace may be registered again. Raises TraceError for an invalid trace and, unless
        `replace` is true, for a name that another trace has; the library is then unchanged.
        """
    def of_service(self, name: str) -> TraceLibrary:
        """Return a view of the library with the rights of the service `name`.

        The service may run its own traces and those without an owner, and replace and remove only
        its own. Raises TraceError for an invalid name, and if this view belongs to another service.
        """
    @property
    def service_name(self) -> str | None:
        """The service with whose rights the library is viewed; None for the operator's view."""
    def owner(self, name: str) -> str | None:
        """Return the service that a trace belongs to; None if all may use it.

        Raises TraceError if there is no such trace.
        """
    def remove(self, name: str) -> bool:
        """Remove the trace called `name`, and return whether it was registered.

        Trace memories that are already linked keep the trace. Raises TraceError for a trace that
        the service does not own.
        """
    def names(self) -> list[str]:
        """Return the names of all traces, in the order of registration.

        A service's view has only the traces that the service may run.
        """
    def get(self, name: str) -> RegisteredTrace:
        """Return the trace `name`. Raises TraceError, with the known names, for an unknown one."""
    def link(self) -> TraceImage:
        """Link all traces into a trace memory.

        Raises TraceError for a tail to a trace that is not registered, a chain that never ends, too
        many conditions or a full memory.
        """
    def link_from(self, name: str) -> TraceImage:
        """Link the trace called `name`, and the traces that its tails lead to, into a trace memory.

        Raises TraceError as `link` does, but only for errors of these traces.
        """
    def __contains__(self, key: str, /) -> bool: ...
    def __len__(self, /) -> int: ...

@final
class TraceImage:
    """A linked trace memory (ATM): the words of traces, and the conditions that they test.

    Immutable.

    Every image obeys the rules of the language, so all its traces end.
    """

    @staticmethod
    def from_bytes(data: bytes) -> TraceImage:
        """Read an image from the bytes of a trace file. Raises TraceError for any other bytes."""
    def to_bytes(self) -> bytes:
        """Return the image as the bytes of a trace file."""
    @property
    def words(self) -> list[int]:
        """The 64-bit words of the memory, in the order of their addresses."""
    @property
    def names(self) -> list[str]:
        """The name of each word, in the order of addresses.

        A name is that of a trace, or NAME.1, NAME.2 and so on for later words of a long trace.
        """
    @property
    def traces(self) -> list[str]:
        """The names of all traces, in the order of their addresses."""
    @property
    def predicates(self) -> list[str]:
        """The conditions of branches, in the order of the indices by which words refer to them."""
    @property
    def fields(self) -> list[str]:
        """The facts of payloads that the conditions read, in the order of their indices.

        A fact is the value of a field, a byte or a bit, or whether a field or bytes equal a text.
        """
    @property
    def kinds(self) -> list[str]:
        """The declarations of the custom accelerators that words call, in order of index."""
    def entry(self, name: str) -> int:
        """Return the address of the first word of the trace called `name`.

        Raises TraceError, which lists the names, for an unknown one.
        """
    def decode(self, address: int) -> list[TraceInstruction]:
        """Return the instructions of the word at `address`, in order.

        A nibble is 4 bits of the word. Each of the trailing zero nibbles is one `end`. Raises
        IndexError for an address outside the memory.
        """
    def disassemble(self) -> list[tuple[str, list[TraceNode]]]:
        """Return the name and the source of each word; linking all sources gives the same image."""
    def walk(
        self, name: str, facts: Mapping[str, int], *, max_visits: int = 100_000
    ) -> list[tuple[str, str]]:
        """Return the steps of the trace `name` and its successors for a payload with `facts`.

        `facts` are integers by name. Steps are pairs such as ('enter', 'T1'), ('receive', 'TCP'),
        ('call', 'Decr'), ('trans', 'JSON>str'), ('fork', ''), ('notify', ''). A join is ('scatter',
        ''), then ('wait', '') where an arm reaches it and ('join', '') for the last arm. The arms
        of a fork or join follow one another. Raises TraceError, with the index of the step, for a
        fact that is missing, and if there are more than `max_visits` steps: each fork can double
        the number of steps after it. Raises TraceError for an unknown trace, for a fact that is no
        integer of 64 bits, and for a `max_visits` that is no whole number of at least 0.
        """
    def __eq__(self, other: object, /) -> bool: ...
    def __len__(self, /) -> int: ...

@final
class TraceInstruction:
    """One instruction of a word of trace memory. Attributes that it lacks are None."""

    @property
    def position(self) -> int:
        """The index of the instruction's first nibble (4 bits) in the word, 0 to 15."""
    @property
    def nibbles(self) -> str:
        """The instruction's nibbles (4 bits each) in hexadecimal."""
    @property
    def operation(self) -> str:
        """The instruction: end, call, branch, trans, fork, scatter, join, tail, jump or continue.

        `trans` changes the payload's format, `scatter` starts the arms of a join, and `continue`
        loads another word of a long trace.
        """
    @property
    def name(self) -> str | None:
        """The accelerator of a call, or both formats of a transformation, as in JSON>str."""
    @property
    def predicate(self) -> int | None:
        """The index of a branch's condition in the trace memory; None for other instructions."""
    @property
    def target(self) -> int | None:
        """The index of the nibble to which the instruction jumps; 16 for the end of the word.

        A branch jumps if its condition is false. A fork or a scatter starts another execution
        there.
        """
    @property
    def address(self) -> int | None:
        """The trace-memory address of the word that a tail or a continue loads."""

@final
class Request:
    """The request that a handler serves: its function, client, deadline and metadata."""

    @property
    def service(self) -> str:
        """The name of the service that declares the function."""
    @property
    def method(self) -> str:
        """The name of the called function."""
    @property
    def peer(self) -> str:
        """The client's address and port."""
    @property
    def peer_identities(self) -> list[str]:
        """The DNS names and URIs in the client's verified certificate.

        Empty unless the server has the setting `client_ca`.
        """
    @property
    def abandoned(self) -> bool:
        """Whether the client is known to have stopped waiting; only gRPC reports it.

        With the server's setting `handler_threads` = 0, only a passed deadline is noticed.
        """
    @property
    def metadata(self) -> list[tuple[str, str | bytes]]:
        """The metadata of a gRPC call, as pairs of name and value; empty for other protocols.

        Names are lower case. Values are bytes where the name ends in ``-bin``.
        """
    def add_initial_metadata(self, name: str, value: str | bytes) -> None:
        """Add a value under `name` to the initial metadata of a gRPC response.

        The client receives it before the message or the status. Names are lower case; `value` is
        bytes if the name ends in ``-bin``, else text. Raises AccelflowError for metadata that is
        not allowed, and for other protocols.
        """
    def add_trailing_metadata(self, name: str, value: str | bytes) -> None:
        """Add a value under `name` to the trailing metadata of a gRPC response.

        The client receives it with the status. Names and values are as in `add_initial_metadata`.
        """
    def get(self, name: str) -> str | bytes | None:
        """Return the first value of the metadata called `name`; None if the request has none.

        Names are lower case.
        """
    def time_left_s(self) -> float | None:
        """Return the seconds until the client's deadline; None without one (only gRPC has them)."""

@final
class Scope:
    """The context of a request, for other threads that work on the request.

    The context holds the deadline, distributed trace, tenant and priority of the request.
    """

    @property
    def abandoned(self) -> bool:
        """Whether the client is known to have stopped waiting."""

    def time_left_s(self) -> float | None:
        """Return the seconds until the request's deadline; None without one."""

def current_scope() -> Scope | None:
    """Return the context of the request that this thread serves, such as its deadline.

    None if the thread serves no request, or a request without such a context.
    """

@final
class Promise:
    """The pending response of a request whose handler is a coroutine.

    Only the first answer counts. If the promise is dropped without one, the request is answered
    with an error.
    """

    def keep(self, value: Any, worked_ns: int | None = None) -> None:
        """Answer the request with the value that the coroutine returned.

        `worked_ns` is the processor time of the coroutine in nanoseconds, for recordings; None if
        it is not measured.
        """
    def fail(self, raised: BaseException) -> None:
        """Answer the request with the exception that the coroutine raised."""
    def when_abandoned(self, tell: Callable[[], object]) -> None:
        """Call `tell` once, from any thread, when the client stops waiting for the answer."""

@final
class Server:
    """A server of the functions that a Thrift (`.thrift`) or gRPC (`.proto`) file declares.

    By default, the paper's trace T1 receives a request. After the handler, T2 sends the response,
    or T3 sends it compressed.
    """

    def __new__(
        cls,
        interface: str | PathLike[str],
        settings: Any,
        error_log: Callable[[str, str, str, str, str, bool], None],
    ) -> Server:
        """Create a server from an interface file and `settings` (of `accelflow.server`).

        `error_log` is called for each error with its id, code, function, client and text, and
        whether the request is at fault. Raises AccelflowError for a file that cannot be used and
        for a setting that is not allowed.
        """
    def handle(
        self,
        name: str,
        handler: Callable[..., Any],
        takes_request: bool,
        begin: Callable[[Coroutine[Any, Any, Any], Promise], object],
    ) -> None:
        """Set the handler of the function `name` (`Service.method`).

        The handler is called with the dict of arguments and, if `takes_request`, with the request.
        The handler returns the value or a coroutine; `begin` is called with each coroutine and the
        promise of its value. Raises AccelflowError for a function that the interface lacks, and
        once the server was started.
        """
    def due_within(self, name: str, within_s: float) -> None:
        """Set the time in seconds in which calls of `name` (`Service.method`) should be answered.

        Raises AccelflowError for a function that the interface lacks, a time out of range, and once
        the server was started.
        """
    def set_tls(self, tls: Any) -> None:
        """Use another certificate and key for later connections: an `accelflow.settings.Tls`.

        Raises AccelflowError for files that cannot be used, for a server that runs without TLS, for
        one that is stopped, and if only one of the old and the new settings has `client_ca`.
        """

    def set_traces(self, traces: Any) -> int:
        """Serve requests with other traces from now on: an `accelflow.own_traces.ServerTraces`.

        None restores the built-in traces. Returns how often traces have been replaced since the
        start, 0 before it. Raises AccelflowError for traces that do not fit (the server then keeps
        its current traces), and for a server that was stopped.
        """
    def reload_traces(self) -> int:
        """Read the trace file again and serve requests with its traces from now on.

        Returns how often traces have been replaced since the start. Raises AccelflowError for
        traces that do not fit, if the traces are not from a file, and unless the server is running.
        """
    def start(self, host: str, port: int) -> int:
        """Start the server on `host` (an IP address or a name) and `port`, and return the port.

        Port 0 lets the system choose one. Raises AccelflowError if the server cannot listen there,
        and once it was started or stopped.
        """
    def admin_port(self) -> int | None:
        """Return the port of the operators' interface; None without one or while stopped."""
    def reshape(self, tenant: str, shaping: object) -> None:
        """Replace the limits on a tenant's traffic by `shaping`, an `accelflow.tenants.Shaping`.

        Raises AccelflowError for an unknown tenant or a value that is not allowed, and unless the
        server is running.
        """
    def set_slo(self, tenant: str, slo: object) -> None:
        """Request a service-level objective for a tenant from the control plane.

        Raises AccelflowError if the SLO is refused or not allowed, for an unknown tenant, and
        unless the server is running with a control plane.
        """
    def remove_slo(self, tenant: str) -> bool:
        """Remove a tenant's service-level objective, and return whether it had one.

        Raises AccelflowError for an unknown tenant, and unless the server is running with a control
        plane.
        """
    def slo_page(self) -> str:
        """Return the tenants' SLOs, whether they were kept, and the remaining capacity, as JSON.

        The JSON also has each tenant's promised and measured accelerator time per second.
        Raises AccelflowError unless the server is running with a control plane.
        """
    def metrics(self) -> str:
        """Return the metrics in Prometheus' text format; empty unless the server is running."""
    def recording(self, services: dict[str, str], date: str) -> str:
        """Return a recording (JSON): operations of the latest requests, their sizes and costs.

        `services` maps `Service.method` to the service's name in the recording; `date` is written
        into the recording. Raises AccelflowError for a function without successful requests, for a
        date or service's name that is not allowed, for a name that is given twice, and unless the
        server is running and records.
        """
    def stop(self, grace_s: float) -> int:
        """Stop the server after at most `grace_s` seconds, in which requests in progress may end.

        Returns the number of connections that were closed before their requests had ended. On the
        main thread, an exception of a signal's handler, such as KeyboardInterrupt, ends the grace
        period, and is raised once the server has stopped.
        """

@final
class TraceConnection:
    """One end of a network connection, whose messages traces receive and send.

    One Thrift file declares the messages. A connection keeps the TLS keys, and the sequence
    numbers of TLS and TCP: each run of a trace continues where the last run ended.
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
        """Create a connection for messages that a Thrift file (`.thrift`) declares.

        `read_secret` and `write_secret`, the application traffic secrets as SSLKEYLOGFILE has them,
        make the connection use TLS 1.3 with the cipher suite `suite`. `read_record` and
        `write_record` are then the sequence numbers of the next TLS records to read and to write.
        With the addresses `local` and `peer`, payloads are IPv4 packets; otherwise they are the
        bytes that a socket gives. LdB balances over `cores` cores. Raises TraceError for an
        interface, secret or address that cannot be used.
        """
    def run(
        self, image: TraceImage, name: str, payload: bytes, *, call: Sequence[str] | None = None
    ) -> TraceRun:
        """Run the trace `name` of `image` on `payload`, over this connection.

        `call` is the kind of message, as for `TraceExecutor.run`. Raises TraceError if a step
        fails; the connection is then unchanged, unless the run had sent a message.
        """
    @property
    def records(self) -> tuple[int, int] | None:
        """The sequence numbers of the next TLS records to read and to write; None without TLS."""

@final
class TraceExecutor:
    """Runs traces on bytes, on the calling thread.

    Software does the operations of the accelerators. Several threads may use one executor at the
    same time.
    """

    def __new__(cls, *, cores: int) -> TraceExecutor:
        """Create an executor whose LdB balances over `cores` cores.

        Raises TraceError for 0 cores.
        """
    def run(
        self, image: TraceImage, name: str, payload: bytes, *, call: Sequence[str] | None = None
    ) -> TraceRun:
        """Run the trace `name` of `image` on `payload`, to its end.

        `call` is the kind of message, as for `accelflow.trace.run_trace`. With `call`, `payload` is
        the JSON to send or, for a cache's response, the packets received. Without `call`, `payload`
        is the packets of a request, as `demo_request` returns them. Raises TraceError, with the
        index of the step, for the first step that fails. An exception of a body that is not an
        Exception, such as KeyboardInterrupt, is raised unchanged.
        """
    def add_body(self, kind: TraceNode, body: Callable[..., object]) -> None:
        """Set the software of the custom accelerator that the node `kind` calls.

        The software serves all executors and ensembles of the process, and replaces earlier
        software of that accelerator. `body` is a function of the payload and a dict of the facts.
        `body` returns the new payload (None: unchanged), or a pair of the new payload and a dict of
        the facts that `kind` yields. If `body` raises an Exception, the run fails. Raises
        TraceError for a node that calls no custom accelerator.
        """
    @property
    def counters(self) -> tuple[int, dict[str, int]]:
        """The number of runs that reached their end, and the number of failed runs by reason."""

def await_ended_ensembles() -> None:
    """Wait until all ensembles that were closed, or are no longer used, have ended.

    A body must not run any more when the interpreter ends. What a signal's handler raises, such as
    KeyboardInterrupt, ends the wait.
    """

@final
class TraceEnsemble:
    """An ensemble of accelerators in software: queues and worker threads that run traces."""

    def __new__(cls, settings: object, *, cores: int) -> TraceEnsemble:
        """Start the worker threads, with an LdB that balances over `cores` cores.

        `settings` has the attributes of `accelflow.trace.Ensemble`. Raises TraceError for a setting
        that is not allowed, and if a thread cannot start.
        """
    def enqueue(self, image: TraceImage, name: str, payload: bytes, terms: object) -> TraceHandle:
        """Start the trace `name` of `image` on `payload`, and return a handle of the run at once.

        If the payload has fewer than `least_bytes` bytes, the calling thread first runs the trace.
        `terms` has the run's tenant, priority and deadline, the kind of the payload, and whether
        `next_arrival` will be called. Raises TraceError for terms that are not allowed, if the
        queues are full, if the ensemble or the tenant has too many runs in progress, once the
        ensemble was closed, and in a fork of the process that started the ensemble.
        """
    @property
    def counters(self) -> list[tuple[str, list[tuple[str, int]]]]:
        """The event counters of each accelerator, as (accelerator, [(counter, count), ...]).

        Raises TraceError once closed.
        """
    @property
    def too_small(self) -> int:
        """The number of runs of payloads below `least_bytes` bytes, which calling threads did.

        Raises TraceError once closed.
        """
    def close(self) -> None:
        """Wait for runs in progress, and stop the worker threads.

        Runs that wait for a message from outside fail. In a fork of the process that started the
        ensemble, this does nothing. What a signal's handler raises, such as KeyboardInterrupt, ends
        the wait; the threads then end by themselves.
        """

@final
class TraceHandle:
    """A run of a trace in the software ensemble."""

    def done(self) -> bool:
        """Return whether the run has ended."""
    def wait(self, timeout_s: float | None = None) -> TraceRun:
        """Wait for the end of the run, for at most `timeout_s` seconds, and return its record.

        None sets no limit; with 0, the call does not wait. Raises TraceError if the run failed or
        if a body calls this function, and TimeoutError if the run has not ended in time.
        """
    def next_arrival(self, timeout_s: float | None = None) -> TraceArrival | None:
        """Wait for the next result that the run delivers before its end, and return it.

        The trace and each arm that a fork starts deliver a result when they end, if the run's terms
        ask for this. Returns None once the run has ended. Raises TimeoutError without a result
        within `timeout_s` seconds (None: no limit); with 0, the call does not wait. Raises
        TraceError if a body calls this function.
        """
    def on_done(self, callback: Callable[[], object]) -> None:
        """Call `callback()` when the run ends, or at once if it has ended.

        Callbacks that wait for the end are called in the order in which they were given.
        Exceptions of `callback` are reported like those of a destructor, and have no other effect.
        Raises TraceError in a fork of the process in which the trace runs.
        """

@final
class TraceRun:
    """The record of a finished run of a trace."""

    @property
    def arrivals(self) -> list[TraceArrival]:
        """The ends of the trace and of each arm that a fork started, in the order of notification.

        Left out are those that `TraceHandle.next_arrival` has returned.
        """
    @property
    def visits(self) -> list[tuple[str, str]]:
        """The steps that were executed, in the form of `TraceImage.walk`."""
    @property
    def steps(self) -> list[tuple[str, int, str, int, int]]:
        """The calls of accelerators, in order.

        Each is (trace, index of the execution, accelerator, bytes read, bytes written).
        """
    @property
    def sent(self) -> list[tuple[str, bytes]]:
        """The sent messages, each as (name of the sending trace, packets of the message)."""

@final
class TraceArrival:
    """The end of one execution of a trace: what the core finds when it is notified."""

    @property
    def trace(self) -> str:
        """The name of the trace that ended."""
    @property
    def arm(self) -> int:
        """The index of the execution: 0 for the trace itself, 1 and up for those of forks."""
    @property
    def data(self) -> bytes:
        """The payload: application data, or the packets if the execution ended with sending."""
    @property
    def format(self) -> str:
        """The name of the payload's format."""
    @property
    def core(self) -> int | None:
        """The index of the core that LdB chose; None if LdB did not run."""
    @property
    def facts(self) -> dict[str, int]:
        """The facts of the payload that are integers, by name."""
    @property
    def texts(self) -> dict[str, str]:
        """The facts of the payload that are text, such as the method, by name."""

def demo_request(method: str, *, seed: int = 1, index: int = 0, compressed: bool = False) -> bytes:
    """Return the packets with which the demo's client calls `method`. Trace T1 can receive them.

    `seed` and `index` choose the content of the message. Raises TraceError for an unknown method.
    """

def demo_secrets(number: int = 0) -> tuple[bytes, bytes]:
    """Return the TLS traffic secrets of the demo connection `number`: (client's, server's)."""

def arcus_table2() -> str:
    """Return the registers of ARCUS's Table 2 and the rates that they allow, as a JSON list."""

def arcus_shape(values: tuple[int, int, int, int], unit: str) -> str:
    """Return the rate and the burst that registers of a traffic shaper allow, as JSON.

    `values` are the registers (refill, bucket, interval) and the clock in Hz; `unit` is bytes or
    operations. Use `accelflow.arcus.shape`. Raises AccelflowError for a value out of range.
    """

def arcus_release(
    values: tuple[int, int, int, int],
    unit: str,
    messages: Sequence[tuple[int, int]],
    split: tuple[int, int] | None = None,
) -> list[tuple[int, int, bool, int, int, int]]:
    """Pass messages through a traffic shaper, and return when each of their segments may go on.

    `messages` are pairs (time in ps, size in bytes), `values` and `unit` those of `arcus_shape`.
    `split` is (bytes of the largest segment, bytes of the header that each segment repeats); None
    leaves messages whole. A returned segment is (index of the message, index of the segment in the
    message, whether it is the message's last one, bytes, grant, release). The grant is the time in
    ps at which the segment took its tokens, and the release the time in ps at which it reaches the
    accelerator. Use `accelflow.arcus.release`. Raises AccelflowError for a value out of range, a
    message that could never pass, times that decrease, and more than 10,000,000 segments.
    """

def arcus_parameters() -> str:
    """Return the parameters of ARCUS's traffic shaper and of the host around it, as a JSON list."""

def arcus_experiments() -> str:
    """Return the ARCUS paper's experiments (JSON): name, title and default number of seeds."""

def arcus_experiment(name: str, seed: int, replications: int | None, threads: int) -> str:
    """Run an experiment of the ARCUS paper and return its report as JSON.

    `seed` is the first seed, `replications` the number of seeds (None: the experiment's default).
    Use `accelflow.arcus.experiment`. Raises AccelflowError for an unknown name.
    """

def arcus_plan_refusal(request: str) -> str | None:
    """Check an ARCUS plan (JSON), and return why it is refused, as JSON; None if it is allowed.

    The JSON has the error message, and the path of keys to the refused value.
    """

def arcus_plan(request: str, profiles: str | None = None) -> str:
    """Admit and simulate the flows of an ARCUS plan (JSON), and return the results as JSON.

    `profiles` is a table of simulated capacities (JSON), as `arcus_profile` returns it; capacities
    that it lacks are simulated. Use `accelflow.arcus.plan`. Raises AccelflowError for a value that
    is not allowed.
    """

def arcus_profile(
    request: str, sizes: Sequence[int], paths: Sequence[str], most: int, threads: int
) -> str:
    """Simulate the capacities of an ARCUS platform for mixtures of traffic, and return JSON.

    The platform is that of the plan `request` (JSON). A mixture has up to `most` kinds of traffic:
    those of the plan's flows, and messages of `sizes` bytes on `paths` (empty: all paths). Use
    `accelflow.arcus.profile`. Raises AccelflowError for a value that is not allowed.
    """

def arcus_plan_schema() -> str:
    """Return the JSON Schema of ARCUS plan files, as text."""

def is_optimized() -> bool:
    """Return whether this build is one for users: without debug assertions."""

def version() -> str:
    """Return the version of accelflow."""

def scenario_read(document: str, recording: str | None = None) -> str:
    """Return the scenario in `document` (JSON) with all fields, as JSON.

    Fields that `document` lacks have their defaults, which may be null. `recording` is the text of
    a recording that the scenario uses. Raises AccelflowError for an unknown field and for a value
    that a field cannot have.
    """

def scenario_check(document: str, recording: str | None = None) -> str:
    """Check the scenario in `document` (JSON), and return it with every default filled in, as JSON.

    Raises AccelflowError for the first value that is not allowed; the message names the field, the
    value and what is allowed.
    """

def scenario_demands(document: str, recording: str | None = None) -> str:
    """Return the core time and accelerator time of one request to each service, as JSON.

    Both are computed without a simulation. Use `accelflow.simulation.demands`. Raises
    AccelflowError as `scenario_check` does.
    """

def scenario_payloads(
    document: str, recording: str | None, requests: int
) -> list[tuple[str, int, int]]:
    """Simulate single requests, and return the payload sizes of their operations.

    Each item is an operation: (accelerator, bytes of payload before it, bytes of payload after it).
    There are `requests` requests to each service that clients call, under the system AccelFlow. Use
    `accelflow.simulation.payloads`. Raises AccelflowError for a scenario that is not allowed.
    """

def scenario_check_samples(document: str, recording: str | None, samples: int, runs: int) -> None:
    """Check that a scenario's simulations may keep `samples` requests each in memory.

    Each chip has `runs` simulations. Each simulation, with its own seed, keeps up to `samples`
    requests of each service and system.
    Raises AccelflowError if all simulations together would keep too many requests.
    """

def scenario_hash(document: str, recording: str | None = None) -> str:
    """Return a scenario's hash, 64 hexadecimal digits.

    Scenarios with equal hashes have equal results in the same version of accelflow. Raises
    AccelflowError as `scenario_check` does.
    """

def scenario_rates(document: str, recording: str | None = None) -> list[tuple[str, float]]:
    """Return the name and mean rate, in requests per second, of each service with client requests.

    Raises AccelflowError as `scenario_check` does.
    """

def scenario_run(
    document: str,
    recording: str | None,
    options: tuple[int, float, int, bool | None, int],
    progress: Callable[[int, int], object] | None = None,
    others: list[Any] = ...,
) -> tuple[str, list[tuple[int, int, bytes]], list[tuple[int, str, list[tuple[str, bytes]]]]]:
    """Simulate a scenario; return its results (JSON), longest response times and single requests.

    `options` are (number of threads; fraction of each service's response times, the longest ones,
    that are returned, 0 to 1; largest number of single requests (samples) that are returned of each
    service under each system; whether percentiles are exact, where None means exact up to
    10,000,000 requests of a service; largest number of time intervals for which the results list
    utilization, where less than 2 means none). Each item of the first list has the longest response
    times of one service under one system: (index of the system in the results, index of the
    service, times in us as 8-byte floating-point numbers, longest first). Each item of the second
    list has the samples of one service under one system: (index of the system in the results, name
    of the service, columns of 8-byte values by name). Numbers are in the machine's byte order.
    `others` are additional systems in Python (`accelflow.policies.System`). `progress` is called
    with the number of finished requests and the total number; an exception that it raises ends the
    simulation. Use `accelflow.simulation.run`. Raises AccelflowError as `scenario_check` does, and
    if the simulation fails.
    """

@final
class Completion:
    """The end of an accelerator's operation. An orchestrator decides who acts on it."""

    @property
    def accelerator(self) -> str:
        """The name of the accelerator that has completed: TCP, Encr, ..., or a custom one."""

    @property
    def kind(self) -> Literal["forward", "park", "end"]:
        """What comes next: ``forward``, ``park`` or ``end``.

        ``forward`` is another accelerator, ``park`` a wait at TCP for a message, ``end`` the end of
        the trace.
        """

    @property
    def next(self) -> str | None:
        """The name of the next accelerator; None unless `kind` is ``forward``."""

    @property
    def branches(self) -> int:
        """The number of branches that must be resolved to find what comes next."""

    @property
    def loads(self) -> int:
        """The number of words that must be read from the trace memory."""

    @property
    def transforms(self) -> int:
        """The number of transformations of the payload's format before the next operation."""

    @property
    def size_bytes(self) -> int:
        """The size of the payload in bytes."""

    @property
    def arm(self) -> Literal["none", "waits", "last"]:
        """What this end of an operation means for a join that comes next in the trace.

        ``none`` if no join comes next; ``waits`` if other arms have not reached it; ``last`` if
        this arm is the last one, which starts the next operation.
        """

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class SimulatedServer:
    """The server of one simulation: its parameters, and what built-in systems decide."""

    def __getitem__(self, key: str, /) -> float:
        """Return the value of the parameter `key`, in its unit; `accelflow explain` lists all keys.

        Costs of software are already scaled to the server's generation of cores. Raises
        AccelflowError for an unknown key.
        """

    def linked(self, start: str, end: str) -> bool:
        """Return whether the accelerator `start` is statically linked to `end`, as in Cohort.

        Custom accelerators have the names that the traces declare. Raises AccelflowError for an
        accelerator that the simulated traces cannot call.
        """

    def properties(self, like: str) -> tuple[Any, ...]:
        """Return the properties of the built-in system `like`.

        The values are in the order of `policies.Properties`. Raises AccelflowError for an unknown
        system.
        """

    def decision(
        self, like: str, completion: Completion
    ) -> tuple[float, int, tuple[float, float] | None, float, float]:
        """Return what the built-in system `like` decides about `completion`.

        The values are in the order of `policies.Decision`. Raises AccelflowError for an unknown
        system.
        """

@final
class Waiting:
    """The waiting entries of an accelerator's queue, in the order in which they became ready."""

    @property
    def accelerator(self) -> str:
        """The name of the accelerator: TCP, Encr, ..., or that of a custom accelerator."""

    @property
    def instance(self) -> int:
        """The index of the accelerator's instance."""

    @property
    def is_overflow(self) -> bool:
        """Whether the queue is the overflow area, whose entries move to the input queue."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> WaitingEntry: ...
    def __iter__(self) -> Iterator[WaitingEntry]: ...

@final
class WaitingEntry:
    """An entry that waits in a queue: an operation of a request."""

    @property
    def service(self) -> str:
        """The name of the request's service."""

    @property
    def arrival_ns(self) -> float:
        """The time of the request's arrival, in ns from the start of the simulation."""

    @property
    def deadline_ns(self) -> float:
        """The operation's deadline, in ns from the simulation's start; infinity without one."""

    @property
    def estimated_ns(self) -> float:
        """The time in ns that the operation takes on a processing element of an idle server."""

    @property
    def priority(self) -> int:
        """The priority of the request's service; the highest number is the most urgent."""

    @property
    def tenant(self) -> int:
        """The number that identifies the request's tenant; 0 by default."""

    @property
    def position(self) -> int:
        """The index of the entry in the queue; index 0 is the entry that became ready first."""

def scenario_spans(
    document: str,
    recording: str | None,
    path: Path,
    progress: Callable[[int, int], object] | None = None,
) -> int:
    """Simulate a scenario (JSON), and write its requests as spans to `path`.

    Returns the number of lines. The file has a line of OTLP JSON for each request. Use
    `accelflow.simulation.write_spans`. Raises AccelflowError for a scenario of several systems or
    chips, and if the simulation or the file fails.
    """

def scenario_timeline(
    document: str,
    recording: str | None,
    path: Path,
    shown: tuple[float, float | None, list[str], list[int], int | None],
    progress: Callable[[int, int], object] | None = None,
) -> tuple[int, int]:
    """Simulate a scenario (JSON) and write a timeline of it to `path`, in Perfetto's format.

    Returns (number of systems, number of requests). `shown` are (start of the time window in us,
    its length in us, names of services, indices of requests, how many of the slowest requests);
    None or an empty list means all. Each system is simulated twice; in each simulation, `progress`
    is called with the number of requests that have ended and the number of all. Use
    `accelflow.watching.write_timeline`. Raises AccelflowError for what is not allowed, cannot be
    simulated or cannot be written.
    """

def spans_timeline(
    kind: str,
    paths: list[str],
    path: Path,
    shown: tuple[float, float | None, list[str], int | None],
) -> tuple[int, int]:
    """Write a timeline of the spans in the files at `paths` to `path`, in Perfetto's format.

    Returns (number of requests, number of spans). `kind` is jaeger or otlp. `shown` are (start of
    the time window in us, its length in us, names of services, how many of the slowest requests);
    None or an empty list means all. Use `accelflow.watching.write_spans_timeline`. Raises
    AccelflowError for what is not allowed, cannot be read or cannot be written.
    """

def scenario_watch(
    document: str,
    recording: str | None,
    service: str,
    request: int | None,
    percentile: float,
    progress: Callable[[int, int], object] | None = None,
) -> str:
    """Simulate a scenario (JSON) and return where the time of one request went, as JSON.

    `request` is the index of the request in `service`, from 0. If it is None, the request is the
    one at `percentile` (0 to 100) of the service's response times. Use `accelflow.watching.watch`.
    Raises AccelflowError for what is not allowed or cannot be simulated.
    """

def scenario_why(
    document: str,
    recording: str | None,
    service: str,
    percentile: float,
    progress: Callable[[int, int], object] | None = None,
) -> str:
    """Simulate a scenario (JSON) and return why requests of a service are slow, as JSON.

    For each resource, compares the time that requests around `percentile` spend there with the time
    that requests around the median spend there. Use `accelflow.watching.why`. Raises AccelflowError
    for what is not allowed or cannot be simulated.
    """

def scenario_schema() -> str:
    """Return the JSON Schema of scenarios, as text."""

def scenario_choices() -> list[tuple[str, list[str]]]:
    """Return the fields of a scenario that are chosen by name, each with the allowed names."""

def scenario_allowed(field: str) -> str | None:
    """Return the allowed values of a scenario's field, in words that complete "must be ...".

    None for an unknown field.
    """

def import_spans(kind: str, paths: Sequence[str], options_json: str = "{}") -> str:
    """Derive a workload from files of spans, and return it with a report, as JSON.

    The JSON is {"workload": ..., "report": ...}. `kind` is jaeger or otlp. `options_json` is an
    object with any of `name`, `sampling`, `app_share`, `shapes`, `rates`, `waits`, `calls`,
    `servers`, `window_spans` and `strict` (docs/import-spans.md). Raises AccelflowError for options
    that are not allowed and for files that cannot be read, are not of the kind, end too early or
    have no request.
    """

def service_walk(name: str, workload: str | None = None) -> str:
    """Return the most common path of the service `name` as JSON.

    The JSON has the names of the service and its method, and the path's phases and traces. It also
    has the number of accelerator invocations (in all, and by accelerator), and the largest number
    of parallel chains. For each sequence of accelerators that runs without a core, it has the
    largest number of branches that one execution of the sequence can resolve. `workload` is a
    suite's name or the content of a workload's file (JSON); None searches all suites. Raises
    AccelflowError for an unknown service or workload.
    """

def service_names(workload: str) -> list[str]:
    """Return the names of the services of a workload; for socialnetwork in the paper's order.

    `workload` is a suite's name or the content of a workload's file (JSON). Raises AccelflowError
    for an unknown workload.
    """

def timeouts_by_service(workload: str, remote: str, timeout_us: float) -> list[tuple[str, float]]:
    """Return how many messages of a request time out, on average, by service.

    A message times out if it waits longer than `timeout_us` for a remote side. `remote` names the
    distribution of waits, as the field `remote` of a scenario does. Raises AccelflowError for an
    unknown workload or remote.
    """

def workload_names() -> list[tuple[str, float, float | None]]:
    """Return the suites of services, and how many of their sequences of accelerators branch.

    A row has the suite's name, the fraction of its accelerator sequences that branch (section III,
    Q2), and the fraction that the paper prints, or None.
    """

def workload_read(text: str, name: str) -> str:
    """Check the text (TOML or JSON) of a workload's file, and return its content as JSON.

    `name` is the file's name in messages. Raises AccelflowError for text that is neither TOML nor
    JSON, and for the first value that is not allowed; the message has the file, line, column,
    field, value and what is allowed.
    """

def workload_load(
    text: str, name: str, folder: str | PathLike[str], modules: Mapping[str, str]
) -> tuple[str, list[str]]:
    """Return a workload (JSON) with the content of the files that it names, and warnings.

    `text` is the content of the file `name`; other files are relative to `folder`. `modules` has
    the text of the traces of each Python module that the workload names. Raises AccelflowError as
    `workload_read` does, for a file that cannot be read, and for traces that cannot run.
    """

def workload_place(text: str, name: str, path: str) -> tuple[int, int] | None:
    """Return the line and column of a value in the text of a workload's file, counted from 1.

    `path` leads to the value, such as services[1].rate_rps; `name` is the file's name in messages.
    A value without a position of its own has that of the nearest value that contains it. None for
    JSON. Raises AccelflowError for text that is no workload's file.
    """

def workload_suite(name: str) -> str:
    """Return the text of a suite's workload file. Raises AccelflowError for an unknown name."""

def workload_write(document: str) -> str:
    """Return a workload (JSON) as TOML. Raises AccelflowError as `workload_read` does."""

def workload_schema() -> str:
    """Return the JSON Schema of workload files, as text."""

def arrivals_dwell_us(kind: str) -> float | None:
    """Return the mean time in us from one random choice of an arrival rate to the next.

    None if the rate is constant. Raises AccelflowError for an unknown arrival process `kind`.
    """

def orchestrator_names() -> list[tuple[str, str]]:
    """Return the systems that are compared by default, as (identifier, name in the paper)."""

def system_names() -> list[tuple[str, str]]:
    """Return all systems that can be simulated, as (identifier, name in the paper)."""

def machine_name() -> str:
    """Return the names of this machine's processor, operating system and architecture."""

def record_services(
    date: str,
    progress: Callable[[int, int], object] | None = None,
    workload: str = "socialnetwork",
    names: list[str] = ...,
) -> str:
    """Run services on real bytes, and return a recording with the cost of each operation, as JSON.

    `workload` is a suite's name or the content of a workload's file (JSON); `names` are the
    services, all if empty. `date` is written into the recording. `progress` is called with the
    number of finished requests and the total number; an exception that it raises ends the
    recording. Use `accelflow.calibration`. Raises AccelflowError if the machine has no loopback
    sockets, for an unknown name, and for a service without built-in messages.
    """

def executed_operations(name: str, seed: int) -> list[tuple[int, int, str, int, str]]:
    """Execute one request to a SocialNetwork service on real bytes, and return its operations.

    The operations are in order. Each is (index of the phase, index of the chain in the phase,
    trace, index of the execution, accelerator). The execution is 0 for the chain itself, and 1 and
    up for the arms of forks. Use `accelflow.calibration.executed_operations`. Raises AccelflowError
    for an unknown service.
    """

def simulated_operations(name: str, orchestrator_id: str) -> list[tuple[int, int, str, str, bool]]:
    """Simulate one request on an idle server, and return its operations in the order of their ends.

    The request is to the SocialNetwork service `name`. Operations that a core executes are listed
    when the core gets their trace.

    Each is (index of the phase, index of the chain, trace, accelerator, whether a core did it). Use
    `accelflow.simulation.simulated_operations`. Raises AccelflowError for an unknown name.
    """

def service_breakdown(tcp_cost_ns: float) -> str:
    """Return each SocialNetwork service's core time without accelerators, as JSON.

    There is a time in ns for each category of work, computed from the paper's shares of time.
    `tcp_cost_ns` is the time of a TCP operation on a core. Raises AccelflowError unless it is from
    0.001 to 1e9.
    """

def confidence_interval(observations: list[float]) -> tuple[float, float] | None:
    """Return the mean of `observations` and half the width of its 95 % confidence interval.

    The observations must be independent. None for fewer than two.
    """

def check_recording(text: str) -> None:
    """Raise AccelflowError unless `text` is a recording."""

def recording_lacks(text: str) -> list[str]:
    """Return what the recording `text` lacks for simulations with distributions of times.

    The list has a sentence for each missing item; it is empty if the recording lacks nothing.
    Raises AccelflowError if `text` is not a recording.
    """

def quantile_table(samples: list[float]) -> list[tuple[float, float]]:
    """Return quantiles of `samples` in the format of recordings: pairs (probability, value).

    The table has the same mean as the samples. It is empty without samples.
    """

def parameters(tcp_cost_ns: float | None = None) -> str:
    """Return all engines (simulators and models) with their parameters, as a JSON list.

    If `tcp_cost_ns`, the time of TCP on a core, is given, the list ends with the operation costs of
    the profile `paper`. Raises AccelflowError unless it is from 0.001 to 1e9.
    """

def chip_read(text: str) -> str:
    """Read a chip file (TOML) and return its name, description and config (parameters), as JSON.

    Those that the text does not set are null or empty. Raises AccelflowError for a text that is not
    a chip; its message begins with line and column.
    """

def toml_place(text: str, keys: list[str | int]) -> tuple[int, int] | None:
    """Return the line and column of a value in a TOML text, counted from 1.

    `keys` is the path to the value: names of fields and indices of elements. If only the first keys
    exist, returns the place of the value to which these keys lead; None if even the first key is
    missing, and for text that is not TOML.
    """

def chip_schema() -> str:
    """Return the JSON Schema of chip files, as text."""

def server_setting(key: str, value: object) -> tuple[str, float]:
    """Return a server parameter's key, as results spell it, and its value as a number.

    `value` is a number, a truth value (for a switch) or the name of a choice. Raises AccelflowError
    for an unknown key and for a value that is not allowed.
    """

def parameter_value(engine: str, key: str, value: object) -> float:
    """Return `value` as the number that the parameter `key` of `engine` takes.

    `value` is a number, a truth value (for a switch) or the name of a choice. `engine` is the name
    of a simulator or model with parameters, such as simulation or cerebros. Raises AccelflowError
    for an unknown engine or key and for a value that is not allowed.
    """

def refusal(place: str, value: object, allowed: str, known: Sequence[str] = ...) -> str:
    """Return the error message for a value: ``PLACE = VALUE: must be ..., did you mean ...?``.

    `allowed` is the clause that begins with ``must``; it may be empty if `known` lists the allowed
    names. Names in `known` that are similar to `value` are proposed. A float that is a whole number
    is shown without a fraction, as users write it, unless `allowed` demands a whole number.
    """

def profile_parameters(tcp_cost_ns: float) -> str:
    """Return the operation costs of the profile `paper` as a JSON list.

    `tcp_cost_ns` is the time of a TCP operation on a core, in ns. Raises AccelflowError unless it
    is from 0.001 to 1e9.
    """
