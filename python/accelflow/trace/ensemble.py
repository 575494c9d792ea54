"""Runs traces on accelerators, as threads, that pass work to each other: the paper's `Enqueue`.

>>> from accelflow.trace import demo_request, enqueue_trace
>>> handle = enqueue_trace("T1", demo_request("Login"))
>>> handle.wait().arrivals[0].texts["method"]
'Login'

The connection is the demonstration of :func:`accelflow.trace.run_trace`.
"""

import asyncio
import atexit
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from accelflow import _native
from accelflow.operations import Policy
from accelflow.tenants import Priority
from accelflow.trace.run import Arrival, Run, memory
from accelflow.trace.traces import LIBRARY, Library

#: How a thread that waits for a trace learns of its end.
Notification: TypeAlias = Literal["wake", "poll", "check"]

#: LdB balances over the 36 cores of the paper's Table III.
_CORES: Final = 36


@dataclass(frozen=True, kw_only=True)
class _Terms:
    """The terms that `_native.TraceEnsemble.enqueue` reads."""

    call: Sequence[str] | None
    tenant: int
    priority: str
    due_within_s: float | None
    early: bool


class Handle:
    """A running trace, to wait for its end. Dropping the handle does not stop the trace."""

    def __init__(self, handle: _native.TraceHandle) -> None:
        """Wrap a native handle; :meth:`Ensemble.enqueue` and :func:`enqueue_trace` do so."""
        self._handle = handle

    def done(self) -> bool:
        """Whether the run has ended."""
        return self._handle.done()

    def wait(self, timeout_s: float | None = None) -> Run:
        """Wait for the end of the run, `timeout_s` at most, and return the record of the run.

        Raises TraceError if the run failed, and TimeoutError.
        """
        return self._handle.wait(timeout_s)

    def next_arrival(self, timeout_s: float | None = None) -> Arrival | None:
        """Return the next execution that ends before the run; None after the run has ended.

        For example, it has the data for a core while the write to the cache still runs. Only for
        traces begun with ``early=True``; the record of the run does not contain executions returned
        here. Raises TimeoutError after `timeout_s`.
        """
        return self._handle.next_arrival(timeout_s)

    def on_done(self, callback: Callable[["Handle"], object]) -> None:
        """Call `callback` with this handle when the run ends, or now if it has ended.

        It runs on the last accelerator's thread, and should be short. An exception in it goes to
        :func:`sys.unraisablehook` and has no other effect.
        """
        self._handle.on_done(lambda: callback(self))

    def __await__(self) -> Generator[Any, None, Run]:
        """Wait for the end of the run without a thread, and give the record of the run.

        Raises TraceError if the run failed.
        """
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[None] = loop.create_future()

        def end() -> None:
            if not ended.done():
                ended.set_result(None)

        def tell() -> None:
            # Nobody waits any more once the loop is closed.
            if not loop.is_closed():
                loop.call_soon_threadsafe(end)

        self._handle.on_done(tell)
        yield from ended.__await__()
        return self._handle.wait(0.0)


@dataclass(frozen=True, kw_only=True)
class Ensemble:
    """Nine accelerators with queues and workers of their own (docs/ensemble.md).

    There are `instances` of each accelerator, each with `workers` threads, or as many as
    `workers_of` says for the accelerators that it names, queues of `queue_entries`, and an overflow
    area of `overflow_entries`. A step that finds all of them full is done by one of `core_workers`
    threads. At most `most_runs` traces run concurrently, and at most `tenant_runs` of one tenant
    (0: any number). A trace that waits longer than `response_timeout_s` for a response fails. With
    `pinned`, each worker is bound to a core.

    A trace that begins with fewer than `least_bytes` runs on the calling thread before
    :meth:`enqueue` returns, since its offload would cost more than it saves (docs/ensemble.md,
    "Selective offload").

    Close it, or use it in a ``with`` statement. Raises TraceError for a setting out of range.

    Source: AccelFlow, sections IV.A and V.
    """

    workers: int = 1
    workers_of: Mapping[str, int] = field(default_factory=dict)
    instances: int = 1
    core_workers: int = 1
    queue_entries: int = 64
    overflow_entries: int = 64
    least_bytes: int = 0
    policy: Policy = "fifo"
    most_runs: int = 4_096
    tenant_runs: int = 0
    response_timeout_s: float = 30.0
    notification: Notification = "wake"
    pinned: bool = False
    _engine: _native.TraceEnsemble = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Start the workers."""
        object.__setattr__(self, "workers_of", dict(self.workers_of))
        object.__setattr__(self, "_engine", _native.TraceEnsemble(self, cores=_CORES))

    def __enter__(self) -> "Ensemble":
        """Return this ensemble."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close this ensemble."""
        self.close()

    def close(self) -> None:
        """Finish the runs and stop the worker threads. Runs that wait for a response fail."""
        self._engine.close()

    def counters(self) -> dict[str, dict[str, int]]:
        """Return the counters of each accelerator by name, such as the steps `done`."""
        return {name: dict(counted) for name, counted in self._engine.counters}

    @property
    def too_small(self) -> int:
        """Return the number of traces that ran on calling threads because of small payloads."""
        return self._engine.too_small

    def enqueue(  # noqa: PLR0913
        self,
        name: str,
        payload: bytes,
        *,
        call: Sequence[str] | None = None,
        library: Library = LIBRARY,
        tenant: int = 0,
        priority: Priority = "normal",
        due_within_s: float | None = None,
        early: bool = False,
    ) -> Handle:
        """Begin the trace called `name` on `payload`, and return at once.

        `payload` and `call` are those of :func:`accelflow.trace.run_trace`. `tenant`, `priority`
        and `due_within_s` are the terms on which queues take its steps.

        Raises TraceError if there is no room: its `reason` is ``queue_full``, ``too_many_runs`` or
        ``tenant_busy``. A later failure is raised by :meth:`Handle.wait`.
        """
        terms = _Terms(
            call=call, tenant=tenant, priority=priority, due_within_s=due_within_s, early=early
        )
        return Handle(self._engine.enqueue(memory(library, name), name, payload, terms))


_lock: Final = threading.Lock()
_shared: list[Ensemble] = []


def ensemble() -> Ensemble:
    """Return the process's ensemble, with default settings; it starts at the first call."""
    with _lock:
        if not _shared:
            _shared.append(Ensemble())
            atexit.register(_shared[0].close)
        return _shared[0]


def enqueue_trace(
    name: str,
    payload: bytes,
    *,
    call: Sequence[str] | None = None,
    library: Library = LIBRARY,
    early: bool = False,
) -> Handle:
    """Begin a trace in the process's :func:`ensemble`, and return at once.

    Parameters and errors are those of :meth:`Ensemble.enqueue`.

    Source: AccelFlow, section IV.A ("Enqueue").
    """
    return ensemble().enqueue(name, payload, call=call, library=library, early=early)
