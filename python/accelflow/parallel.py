"""Parallel simulations that stop together when one fails or the caller is interrupted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import TypeVar

__all__ = ["Stop", "run_all"]

_T = TypeVar("_T")


class Stop:
    """A switch that stops simulations on other threads.

    Pass :meth:`look` to each simulation as its ``progress``; :meth:`issue` then ends them all.
    """

    def __init__(self) -> None:
        """Make a switch that stops nothing before :meth:`issue`."""
        self._issued = threading.Event()

    def issue(self) -> None:
        """Stop the simulations: their next :meth:`look` raises KeyboardInterrupt."""
        self._issued.set()

    def look(self, _done: int, _all: int) -> None:
        """Raise KeyboardInterrupt after :meth:`issue`. This is a ``progress`` for simulations."""
        if self._issued.is_set():
            raise KeyboardInterrupt


def run_all(calls: Sequence[Callable[[], _T]], *, threads: int, stop: Stop) -> list[_T]:
    """Call all functions in `calls` on `threads` threads, and return their results in order.

    If a call fails, or the calling thread is interrupted, calls that have not begun are cancelled,
    and running ones are ended with `stop` and awaited. Raises the exception of a call that failed
    by itself, not of one that `stop` ended.
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
