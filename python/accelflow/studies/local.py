"""The runner of simulations on threads of this machine."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from accelflow.studies.batches import Batch
from accelflow.studies.tasks import simulate
from accelflow.time_limit import TimeLimit, TimeUpError

__all__ = ["run_here"]

#: The number of batches that wait for a thread, in addition to those that run.
_AHEAD = 2


def run_here(
    batches: Iterable[Batch], limit: TimeLimit, workers: int
) -> Iterator[tuple[Batch, bytes]]:
    """Simulate `batches` on `workers` threads; yield each batch with its results when it ends.

    The results are rows in Arrow's stream format. After an exception, or when `limit` has expired,
    waiting batches are not started and running ones are abandoned.
    """
    waiting = iter(batches)
    running: dict[Future[bytes], Batch] = {}
    given_up = _GivenUp(limit)
    # A simulation runs without Python's global lock, so threads are as fast as processes.
    pool = ThreadPoolExecutor(workers, thread_name_prefix="study")
    try:
        while True:
            for batch in itertools.islice(waiting, workers + _AHEAD - len(running)):
                given = (batch.scenarios, batch.recording, given_up.check)
                running[pool.submit(simulate, *given)] = batch
            if not running:
                return
            ended, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                batch = running.pop(future)
                if not isinstance(future.exception(), TimeUpError):
                    yield batch, future.result()
            if limit.passed:
                return
    finally:
        given_up.now = True
        pool.shutdown(wait=True, cancel_futures=True)


class _GivenUp:
    """The condition that ends running simulations without rows: a time limit, or `now`."""

    def __init__(self, limit: TimeLimit) -> None:
        self._limit, self.now = limit, False

    def check(self, _done: int, _total: int) -> None:
        """End the simulation that reports its progress, by a TimeUpError, if the condition holds.

        The parameters are the simulation's progress, which has no effect.
        """
        if self.now:
            raise TimeUpError("the simulation was given up")
        self._limit.check()
