"""Parallel simulations that stop together when one fails or the caller is interrupted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import TypeVar

__all__ = ["Stop", "run_all"]

_T = TypeVar("_T")


class Stop:
    """A request to running simulations to stop.

    Pass :meth:`look` to each simulation as its ``progress``.
    """

    def __init__(self) -> None:
        """Make a request that is not issued yet."""
        self._issued = threading.Event()

    def issue(self) -> None:
        """Ask the simulations to stop."""
        self._issued.set()

    def look(self, _done: int, _all: int) -> None:
        """Raise KeyboardInterrupt after :meth:`issue`; called while a simulation runs."""
        if self._issued.is_set():
            raise KeyboardInterrupt


def run_all(calls: Sequence[Callable[[], _T]], *, threads: int, stop: Stop) -> list[_T]:
    """Return the results of `calls` in order, after running them on `threads` threads.

    If a call fails, or the calling thread is interrupted, the calls that have not begun are
    cancelled, `stop` is issued, and the others are awaited. Raises the exception of a call that
    failed, but not that of a call that `stop` ended.
    """
    with ThreadPoolExecutor(threads) as pool:
        futures: list[Future[_T]] = []
        try:
            # An interrupt may arrive while a call is submitted, too.
            futures.extend(pool.submit(call) for call in calls)
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            if len(futures) < len(calls) or not all(_succeeded(future) for future in futures):
                stop.issue()
                for future in futures:
                    future.cancel()
    for future in futures:
        failure = None if future.cancelled() else future.exception()
        if failure is not None and not isinstance(failure, KeyboardInterrupt):
            raise failure
    return [future.result() for future in futures]


def _succeeded(future: Future[_T]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None
