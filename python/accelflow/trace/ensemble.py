"""Runs of traces on software accelerators that pass work on to each other: the paper's `Enqueue`.

>>> from accelflow.trace import demo_request, enqueue_trace
>>> handle = enqueue_trace("T1", demo_request("Login"))
>>> handle.wait().arrivals[0].texts["method"]
'Login'

Messages use the demonstration connection of :func:`accelflow.trace.run_trace`.
"""

import asyncio
import atexit
import contextlib
import functools
import os
import threading
import weakref
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from accelflow import _native
from accelflow.errors import refused
from accelflow.operations import Policy
from accelflow.tenants import Priority
from accelflow.trace.run import Arrival, Payload, Run, as_bytes, memory
from accelflow.trace.traces import LIBRARY, Library

#: How a thread that waits for a trace learns of its end: by waking, polling, or regular checks.
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
    """A handle of a trace that runs in an ensemble, to wait for its end and get its results.

    Dropping the handle does not stop the trace.
    """

    def __init__(self, handle: _native.TraceHandle) -> None:
        """Wrap a native handle, as :meth:`Ensemble.enqueue` and :func:`enqueue_trace` do."""
        self._handle = handle
        self._awaits: dict[asyncio.Future[None], None] = {}
        #: The process in which the end of the run ends the awaits.
        self._told_in: int | None = None

    def done(self) -> bool:
        """Return whether the run has ended."""
        return self._handle.done()

    def wait(self, timeout_s: float | None = None) -> Run:
        """Wait for the end of the run, and return the record of the run.

        Raises TraceError if the run failed and for a negative `timeout_s`, and TimeoutError after
        `timeout_s` seconds (0: at once; None: no limit). In the main thread, Ctrl-C ends the wait,
        and the run goes on.
        """
        return self._handle.wait(timeout_s)

    def next_arrival(self, timeout_s: float | None = None) -> Arrival | None:
        """Wait for the next result that the run delivers to a core before the run ends; return it.

        Returns None once the run has ended. For example, one arm of a fork delivers data to a core
        while the other still writes to the cache. The record of the run does not contain the
        results returned here. A trace begun without ``early=True`` delivers no result before its
        end. Raises TraceError for a negative `timeout_s`, and TimeoutError after `timeout_s`
        seconds (0: at once; None: no limit).
        """
        return self._handle.next_arrival(timeout_s)

    def on_done(self, callback: Callable[["Handle"], object]) -> None:
        """Call `callback` with this handle when the run ends, or now if it has ended.

        Callbacks that wait for the end are called one after another, in the order in which they
        were given. They run on the thread of the run's last accelerator, and should be short; a
        callback given after the end runs on the caller's thread. Exceptions of a callback go to
        :func:`sys.unraisablehook` and have no other effect. Raises InputError for a callback that
        cannot be called.
        """
        if not callable(callback):
            raise refused("callback", callback, "must be a function")
        self._handle.on_done(lambda: callback(self))

    def __await__(self) -> Generator[Any, None, Run]:
        """Wait for the end of the run without a thread, and return the record of the run.

        Any number of coroutines may wait, one after another or at the same time. Raises TraceError
        if the run failed.
        """
        if self.done():
            return self.wait(0.0)
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._awaits[ended] = None
        try:
            # One callback for all awaits, since only the end of the run removes it.
            if self._told_in != os.getpid():
                self._handle.on_done(functools.partial(_tell, self._awaits))
                self._told_in = os.getpid()
            # If the run ends after this check, the callback finds the await.
            if not self.done():
                yield from ended.__await__()
        finally:
            del self._awaits[ended]
        return self.wait(0.0)


def _tell(awaits: Mapping[asyncio.Future[None], None]) -> None:
    """End the `awaits` of a run that has ended."""
    for ended in list(awaits):
        # Nobody waits any more once the loop is closed.
        with contextlib.suppress(RuntimeError):
            ended.get_loop().call_soon_threadsafe(_end, ended)


def _end(ended: asyncio.Future[None]) -> None:
    """End an await, unless it was cancelled."""
    if not ended.done():
        ended.set_result(None)


@dataclass(frozen=True, kw_only=True)
class Ensemble:
    """Nine software accelerators with threads and queues of their own, on which traces run.

    Each accelerator has `instances`. An instance has `workers` threads (`workers_of` overrides
    their number by accelerator), queues of `queue_entries`, and an overflow area of
    `overflow_entries`; `policy` is the order of the queues (docs/ensemble.md). An accelerator call
    that finds the queues and overflow areas of all instances full runs on one of `core_workers`
    threads, which act as cores. At most `most_runs` traces run concurrently, and at most
    `tenant_runs` of one tenant (0: any number). A trace that waits longer than `response_timeout_s`
    for a response fails. `notification` is how waiting threads learn of the end of a trace. With
    `pinned`, each worker is bound to a core.

    If the payload at the start has fewer than `least_bytes` bytes, the trace runs on the calling
    thread before :meth:`enqueue` returns. Its offload would cost more than it saves
    (docs/ensemble.md, "Selective offload").

    Close the ensemble, or use it in a ``with`` statement. An ensemble that is garbage-collected
    stops its threads after the runs in progress. At its exit, the program waits for these runs.
    Raises TraceError for a setting out of range.

    A fork of the process has none of the threads. There, :meth:`enqueue` and waits for runs that
    had not ended raise TraceError with the reason ``forked``: start another ensemble.

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
        _OPEN[id(self)] = self

    def __enter__(self) -> "Ensemble":
        """Return this ensemble."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close this ensemble."""
        self.close()

    def close(self) -> None:
        """Wait for the runs in progress, and stop the worker threads.

        Runs that wait for a response fail. In the main thread, Ctrl-C ends the wait, with
        KeyboardInterrupt; the threads then stop after the runs. In a fork of the process that
        started the ensemble, this does nothing.
        """
        self._engine.close()

    def counters(self) -> dict[str, dict[str, int]]:
        """Return the counters of each accelerator by name, such as ``done``, its completed calls.

        Raises TraceError once the ensemble is closed.
        """
        return {name: dict(counted) for name, counted in self._engine.counters}

    @property
    def too_small(self) -> int:
        """The number of traces that ran on calling threads because of small payloads.

        Raises TraceError once the ensemble is closed.
        """
        return self._engine.too_small

    def enqueue(  # noqa: PLR0913
        self,
        name: str,
        payload: Payload,
        *,
        call: Sequence[str] | None = None,
        library: Library = LIBRARY,
        tenant: int = 0,
        priority: Priority = "normal",
        due_within_s: float | None = None,
        early: bool = False,
    ) -> Handle:
        """Begin the trace called `name` on `payload`, and return at once.

        Returns a handle of the run. `payload` and `call` are those of
        :func:`accelflow.trace.run_trace`. `tenant`, `priority` and the deadline, `due_within_s`
        seconds from now, determine the order of the trace's calls in the queues. `early` allows
        :meth:`Handle.next_arrival`.

        Raises TraceError if there is no room for the trace: the error's `reason` is ``queue_full``,
        ``too_many_runs`` or ``tenant_busy``; ``forked`` in a fork of the process that started the
        ensemble. Also raises TraceError for a trace that is unknown or cannot be linked, for a
        setting that is not allowed, and once the ensemble is closed. Raises InputError for a
        payload of another type. :meth:`Handle.wait` raises errors of the run.
        """
        terms = _Terms(
            call=call, tenant=tenant, priority=priority, due_within_s=due_within_s, early=early
        )
        return Handle(self._engine.enqueue(memory(library, name), name, as_bytes(payload), terms))


#: The ensembles that are in use. A dataclass with a dict has no hash.
_OPEN: Final[weakref.WeakValueDictionary[int, Ensemble]] = weakref.WeakValueDictionary()


@atexit.register
def _end_all() -> None:
    """Wait for runs in progress: a body that runs when the interpreter ends would abort it."""
    for each in list(_OPEN.values()):
        each.close()
    _native.await_ended_ensembles()


class _Shared:
    """The ensemble of this process, once it was used."""

    def __init__(self) -> None:
        self.forget()
        # A fork has none of the ensemble's threads. It may have inherited a lock that is held.
        os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        self._lock = threading.Lock()
        self._ensemble: Ensemble | None = None

    def get(self) -> Ensemble:
        with self._lock:
            if self._ensemble is None:
                self._ensemble = Ensemble()
            return self._ensemble


_SHARED: Final = _Shared()


def ensemble() -> Ensemble:
    """Return the ensemble of this process, which the first call starts with default settings.

    A fork of the process starts one of its own.
    """
    return _SHARED.get()


def enqueue_trace(
    name: str,
    payload: Payload,
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
