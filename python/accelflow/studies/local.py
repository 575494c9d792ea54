"""Batches of simulations on the threads of this machine."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from accelflow.studies.batches import Batch
from accelflow.studies.tasks import simulate

__all__ = ["run_here"]

#: Batches that wait for a thread, beside those that run.
_AHEAD = 2


def run_here(batches: Iterable[Batch], workers: int) -> Iterator[tuple[Batch, bytes]]:
    """Simulate `batches` on `workers` threads, and yield each with its rows as it ends.

    After an exception nothing that waits is started.
    """
    waiting = iter(batches)
    running: dict[Future[bytes], Batch] = {}
    # A simulation runs without the interpreter, so threads are as good as processes.
    pool = ThreadPoolExecutor(workers, thread_name_prefix="study")
    try:
        while True:
            for batch in itertools.islice(waiting, workers + _AHEAD - len(running)):
                running[pool.submit(simulate, batch.scenarios, batch.recording)] = batch
            if not running:
                return
            ended, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                yield running.pop(future), future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
