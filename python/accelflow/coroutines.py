"""The event loop for the coroutines of a server's handlers, and the log of handlers' exceptions."""

import asyncio
import contextlib
import functools
import logging
import os
import secrets
import threading
import weakref
from collections.abc import Coroutine
from typing import Any, Final

from accelflow import _native
from accelflow.errors import AccelflowError, CallError, DeclaredError
from accelflow.log_lines import PrintableLines
from accelflow.requests import Settled, Worked, in_scope

__all__ = ["Coroutines", "log_body_failure", "log_failure"]

#: The log of servers, under its documented name.
_LOG: Final = logging.getLogger("accelflow.server")
_LOG.addFilter(PrintableLines())

#: How long coroutines may take to be cancelled when the server stops.
_FAREWELL_S: Final = 5.0

#: How long the event loop's thread may take for its last steps, after that farewell.
_LAST_STEPS_S: Final = 1.0


class Coroutines:
    """A server's event loop for coroutine handlers, on a thread that the first of them starts.

    The loop ends when :meth:`stop` is called or its server is no longer used. But a handler that
    refers to the server, such as a method of an object that holds the server, keeps it in use,
    since the garbage collector cannot see the handlers in the native server. Only :meth:`stop` then
    ends the loop and its thread.
    """

    def __init__(self, server: object, *, measured: bool = False) -> None:
        """Prepare to run coroutines of `server`; there is no thread yet.

        If `measured`, promises also receive the processor time of their coroutines.
        """
        self._measured = measured
        # The native server may release its handlers, and with them this object, much later than
        # the server itself is released. The program's end needs no end of the loop.
        weakref.finalize(server, self._abandon).atexit = False
        # The garbage collector may run a __del__ that stops the server while a thread holds this.
        self._lock = threading.RLock()
        self._stopped = False
        self._thread: _LoopThread | None = None
        #: The process that has begun coroutines. A fork of it has no thread that runs them.
        self._process: int | None = None

    def begin(
        self, name: str, coroutine: Coroutine[Any, Any, Any], promise: _native.Promise
    ) -> None:
        """Run `coroutine`, which handles a request of the function `name`.

        `promise` receives the coroutine's outcome. The coroutine is cancelled if the request is
        abandoned. Raises AccelflowError once the server has stopped.
        """
        scope = _native.current_scope()
        worked = Worked(coroutine) if self._measured else None
        answering = in_scope(scope, worked or coroutine)
        # Before the lock is taken: a fork that inherits a lock that is held must not wait for it.
        self._process = os.getpid()
        try:
            # The loop begins to end under the same lock, and so runs whatever it is given here.
            with self._lock:
                loop = self._running()
                loop.call_soon_threadsafe(_begin, name, answering, promise, scope, worked)
        except BaseException:
            answering.close()
            coroutine.close()
            raise

    @property
    def here(self) -> bool:
        """Whether the caller runs in the event loop."""
        return threading.current_thread() is self._thread

    def stop(self) -> None:
        """Cancel coroutines that still run, and end the event loop and its thread.

        If a coroutine blocks the loop for too long, the loop is left behind, and ends once it is
        free. In a fork of the process this does nothing.
        """
        if self._in_fork():
            return
        with self._lock:
            thread = None if self._stopped else self._thread
            self._stopped = True
        if thread is None:
            return
        thread.end()
        if thread.ending.wait(_FAREWELL_S):
            thread.join(_FAREWELL_S + _LAST_STEPS_S)
        if thread.is_alive():
            _LOG.warning(
                "the event loop of coroutine handlers has not ended in time: the server has stopped"
                " without it"
            )

    def _abandon(self) -> None:
        """Begin to end the loop of a server that was not stopped.

        This neither waits nor takes a lock, since the garbage collector may call it on any thread.
        """
        if self._in_fork():
            return
        self._stopped = True
        if self._thread is not None:
            self._thread.end()

    def _in_fork(self) -> bool:
        return self._process not in (None, os.getpid())

    def _running(self) -> asyncio.AbstractEventLoop:
        """Return the loop, which the caller, who holds the lock, keeps from ending."""
        if self._thread is None and not self._stopped:
            thread = _LoopThread(self._lock)
            thread.start()
            self._thread = thread
        if self._thread is None or self._stopped or self._thread.ending.is_set():
            if self._thread is not None:
                # _abandon takes no lock, and may have missed a new thread.
                self._thread.end()
            message = "the server has stopped"
            raise AccelflowError(message)
        return self._thread.loop


class _LoopThread(threading.Thread):
    """A thread with an event loop, which runs until :meth:`end` whatever its tasks raise."""

    def __init__(self, lock: threading.RLock) -> None:
        """Prepare the loop. It gets no more work once it has begun to end under `lock`."""
        super().__init__(name="accelflow-async", daemon=True)
        self._lock = lock
        self.loop: Final = asyncio.new_event_loop()
        #: Set when the loop has begun to end.
        self.ending: Final = threading.Event()
        self._ended = False

    def run(self) -> None:
        """Run the event loop, and close it at the end."""
        while not self._ended:
            try:
                self.loop.run_forever()
            except (KeyboardInterrupt, SystemExit) as raised:
                # asyncio passes these on to the thread. The tasks that wait for the failed one get
                # them too, so that the handler's call fails.
                _LOG.error("a task of a handler raised %r", raised, exc_info=raised)
        self.loop.close()

    def end(self) -> None:
        """Begin to cancel the coroutines and to end the loop, unless that has begun already."""
        with contextlib.suppress(RuntimeError):  # The loop is closed.
            self.loop.call_soon_threadsafe(self._begin_to_end)

    def _begin_to_end(self) -> None:
        with self._lock:
            if self.ending.is_set():
                return
            self.ending.set()
        self.loop.call_later(_FAREWELL_S, self._finish)
        self._cancel_all()

    def _cancel_all(self) -> None:
        """Cancel all tasks, then those that they have begun meanwhile, and end the loop.

        No task does this, since a handler may cancel all tasks, too.
        """
        tasks = asyncio.all_tasks(self.loop)
        if not tasks:
            # Behind the callbacks that answer the requests of the last tasks, or begin others.
            self.loop.call_soon(self._finish_if_idle)
        left = set(tasks)

        def has_ended(task: asyncio.Task[Any]) -> None:
            left.discard(task)
            if not left:
                self._cancel_all()

        for task in tasks:
            task.add_done_callback(has_ended)
            task.cancel()

    def _finish_if_idle(self) -> None:
        if asyncio.all_tasks(self.loop):
            self._cancel_all()
        else:
            self._finish()

    def _finish(self) -> None:
        self._ended = True
        self.loop.stop()


def _begin(
    name: str,
    answering: Coroutine[Any, Any, Settled[Any]],
    promise: _native.Promise,
    scope: _native.Scope | None,
    worked: Worked[Any] | None,
) -> None:
    """Run the coroutine of a request in the current event loop."""
    loop = asyncio.get_running_loop()
    task = loop.create_task(answering)
    promise.when_abandoned(functools.partial(loop.call_soon_threadsafe, task.cancel))
    task.add_done_callback(functools.partial(_keep, name, promise, scope, worked))


def _keep(
    name: str,
    promise: _native.Promise,
    scope: _native.Scope | None,
    worked: Worked[Any] | None,
    task: asyncio.Task[Settled[Any]],
) -> None:
    """Answer a request with the value or the exception of its coroutine."""
    if task.cancelled() and task.cancelling() > 0:
        # The server has cancelled it: the client no longer waits, or the server stops. The handler
        # has not failed.
        cancelled = asyncio.CancelledError("the handler was cancelled")
        number = _numbered(cancelled)
        _LOG.info("error %s: the handler of %s was cancelled", number, name)
        promise.fail(cancelled)
        return
    try:
        value = task.result().get()
    except BaseException as raised:
        log_failure(name, raised, scope)
        promise.fail(raised)
    else:
        promise.keep(value, *([] if worked is None else [worked.worked_ns]))


def log_failure(name: str, raised: BaseException, scope: _native.Scope | None) -> None:
    """Log the exception `raised` of the handler of the function `name` under a new id.

    An exception that the client receives in full is not logged: one that the interface declares, or
    one that a trace has already sent. `scope` is the context of the request that the handler
    served, such as its deadline. Exceptions are logged at level ERROR, except a timeout of a call
    that the handler made: its level is INFO if the request's client no longer waits.
    """
    if isinstance(raised, DeclaredError):
        return
    if isinstance(raised, CallError) and raised.reason == "answered":
        return  # The client has been told already.
    # A failed call explains itself; its traceback would not help.
    shown = None if isinstance(raised, CallError) else raised
    number = _numbered(raised)
    level = logging.INFO if _is_by_client(raised, scope) else logging.ERROR
    _LOG.log(level, "error %s: the handler of %s failed: %s", number, name, raised, exc_info=shown)


def _is_by_client(raised: BaseException, scope: _native.Scope | None) -> bool:
    """Whether a call has failed at the deadline of the handler's own client.

    The client chooses that deadline, so it can cause any number of these failures.
    """
    late = isinstance(raised, CallError) and raised.reason in {"timeout", "pool_timeout"}
    return late and scope is not None and scope.abandoned


def log_body_failure(accelerator: str, raised: BaseException) -> None:
    """Log the exception of the body of the custom `accelerator` in a server, with its traceback.

    The native server calls this, and logs the failure of the request under an id of its own.
    """
    _LOG.error("the body of %s failed: %s", accelerator, raised, exc_info=raised)


def _numbered(raised: BaseException) -> str:
    """Attach the id of the log entry to an exception, and return the id."""
    number = secrets.token_hex(8)
    # An exception that takes no attributes gets a second id in the log.
    with contextlib.suppress(AttributeError):
        raised._accelflow_error_id = number  # type: ignore[attr-defined]
    return number
