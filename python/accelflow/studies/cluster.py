"""A runner of simulations on Dask: local processes, a scheduler's workers, SLURM, Kubernetes.

Dask is an extra, ``pip install accelflow[cluster]``. SLURM needs ``accelflow[slurm]`` instead, and
Kubernetes ``accelflow[kubernetes]``.

The rows of a batch depend only on the batch, so that a batch may run anywhere and twice. The
batches of a dead worker go to other workers. By default, Dask gives a batch up when four workers
have died while running it. The batch is then submitted again. The study ends when Dask has given up
the same batch five times.
A batch that takes far longer than the others is also given to a second worker, and the rows that
arrive first count.
"""

from __future__ import annotations

import importlib
import itertools
import logging
import signal
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

from accelflow.errors import AccelflowError, refused
from accelflow.scenario import Scenario
from accelflow.signals import interrupt_check
from accelflow.studies.batches import Batch
from accelflow.studies.kubernetes import Pods
from accelflow.studies.slurm import Jobs
from accelflow.studies.sweep import Runner
from accelflow.studies.tasks import code_version, simulate
from accelflow.time_limit import TimeLimit

__all__ = ["Patience", "on_cluster"]

_CONNECT_S: Final = 30.0
#: The time in seconds to wait for the first worker of a job queue, where jobs may start late.
_QUEUED_S: Final = 12 * 3_600.0
#: The number of batches that the scheduler has at a time for each thread of the cluster: one runs,
#: one is next. More would only make a scheduler of many workers slower.
_AHEAD: Final = 2
_POLL_S: Final = 0.5
#: The number of failures of a batch, each after several deaths of its workers, after which the
#: batch may be the cause and is given up.
_MOST_FAILURES: Final = 5
#: The shortest and the longest time in seconds between two checks of the jobs of the cluster, as
#: long as no worker has come.
_FIRST_LOOK_S: Final = 1.0
_LAST_LOOK_S: Final = 30.0
#: The time in seconds between two checks of the jobs after workers have come and all have gone.
_LOOK_S: Final = 5.0
_KEPT: Final = "Completed simulations are kept; the same command resumes"
_LOST: Final = f"the connection to Dask's scheduler was lost. {_KEPT}"
_NO_ANSWER: Final = "no worker of the cluster answered in time"
#: Dask's reason in the errors of simulations that it cancels after the loss of the connection.
_LOST_REASON: Final = "scheduler-connection-lost"
_CANCELLED: Final = (
    f"Dask cancelled the simulations, for instance since its scheduler was restarted. {_KEPT}"
)
#: The allowed names in ``--cluster NAME:WORKERS``.
_KINDS: Final = ("local", "slurm", "kubernetes")


@dataclass(frozen=True, kw_only=True)
class Patience:
    """The time after which a second worker of a cluster also gets a batch of simulations.

    So a slow or broken worker does not delay the end. The time is `factor` times the median time of
    the completed batches, and at least `least_s` seconds.
    """

    factor: float = 6.0
    least_s: float = 10.0


@contextmanager
def on_cluster(
    where: str, patience: Patience | None = None, say: Callable[[str], None] | None = None
) -> Iterator[Runner]:
    """Connect to a cluster's workers, and yield a function that runs batches of simulations there.

    `where` is the address of a scheduler (``tcp://host:8786``), ``local:N`` for N processes on this
    machine, or ``slurm:N`` or ``kubernetes:N`` for N workers that Dask starts according to its
    configuration. Connecting waits up to twelve hours for the first worker of SLURM or Kubernetes,
    since jobs may queue, and otherwise up to 30 s. `patience` (None: the default) says when a batch
    also goes to a second worker. `say` is called with a line about waiting or refused jobs. Raises
    InputError for any other `where`. Raises AccelflowError if Dask is not installed, if no worker
    can be reached, for a worker with other code than this process, if a batch fails, if its workers
    die again and again, if the connection to the scheduler is lost, if Dask cancels simulations,
    and if SLURM or Kubernetes refuses or ends all workers before the batches end.
    """
    distributed = _imported("distributed", "accelflow[cluster]")
    with ExitStack() as stack:
        stack.enter_context(_without_tracebacks())
        cluster, look = _cluster(where, distributed, say or (lambda _line: None))
        if not isinstance(cluster, str):
            stack.callback(cluster.close)
        try:
            client = stack.enter_context(distributed.Client(cluster, timeout=_CONNECT_S))
            queued = where.startswith(("slurm:", "kubernetes:"))
            _wait_for_one(client, look, _QUEUED_S if queued else _CONNECT_S)
        except (OSError, TimeoutError, ValueError) as error:
            raise AccelflowError(f"--cluster {where}: cannot be used: {error}") from error
        _check_versions(client)
        # Dask's futures call Dask when they are destroyed, which is often.
        check = stack.enter_context(interrupt_check())
        yield _Run(client, distributed, patience or Patience(), look, check).run


@contextmanager
def _without_tracebacks() -> Iterator[None]:
    """Keep tracebacks about a lost scheduler out of the terminal; its loss is raised."""
    names = ("distributed", "distributed.client", "asyncio")
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _wait_for_one(client: Any, look: Callable[[], None], limit_s: float) -> None:
    """Wait for the first worker; call `look` now and then, which checks the cluster's jobs.

    Raises TimeoutError after `limit_s` seconds, and any exception of `look`.
    """
    deadline_s, pause_s = time.monotonic() + limit_s, _FIRST_LOOK_S
    while True:
        left_s = deadline_s - time.monotonic()
        try:
            client.wait_for_workers(1, timeout=max(min(pause_s, left_s), 0.0))
        except TimeoutError:
            look()
            if left_s <= pause_s:
                raise
        else:
            return
        pause_s = min(2 * pause_s, _LAST_LOOK_S)


def _imported(module: str, package: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise AccelflowError(
            f"cannot import {module} ({error}): run pip install '{package}'"
        ) from error


def _cluster(
    where: str, distributed: Any, say: Callable[[str], None]
) -> tuple[Any, Callable[[], None]]:
    """Return the cluster that `where` names, or its address, and a check of the cluster's jobs."""
    kind, colon, count = where.partition(":")
    if "//" in where:
        return where, _nothing
    fits = bool(colon) and count.isdecimal() and 1 <= int(count) <= 100_000
    if not fits or kind not in _KINDS:
        allowed = (
            "must be a scheduler's address (tcp://HOST:PORT), or local:N, slurm:N or kubernetes:N"
            " with N from 1 to 100000"
        )
        near = [f"{known}:{count}" for known in _KINDS] if fits else ()
        raise refused("--cluster", where, allowed, near)
    if kind == "local":
        return _local(distributed, int(count)), _nothing
    try:
        if kind == "slurm":
            jobs = Jobs(_jobqueue(), where, int(count), say)
            return jobs.cluster, jobs.check
        operator = _imported("dask_kubernetes.operator", "accelflow[kubernetes]")
        kr8s = _imported("kr8s.asyncio", "accelflow[kubernetes]")
        pods = Pods(operator, kr8s, where, int(count), say)
    except AccelflowError:
        raise
    except Exception as error:  # whatever the package raises for what its configuration lacks
        raise AccelflowError(f"--cluster {where}: cannot be started: {error}") from error
    return pods.cluster, pods.check


def _jobqueue() -> Any:
    """Import dask_jobqueue without its handler of Ctrl-C, which would end with success."""
    before = signal.getsignal(signal.SIGINT)
    try:
        return _imported("dask_jobqueue", "accelflow[slurm]")
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)


def _nothing() -> None:
    """Check nothing, for a cluster without jobs."""


def _local(distributed: Any, workers: int) -> Any:
    # A worker that replaces a dead one may lose its scheduler at the end, and logs that as an
    # error, with a traceback. What concerns the study is raised.
    silent = {"distributed.nanny.pre-spawn-environ.DASK_LOGGING__DISTRIBUTED": "critical"}
    with _imported("dask", "accelflow[cluster]").config.set(silent):
        try:
            return distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                dashboard_address=None,
                silence_logs=logging.ERROR,
            )
        except RuntimeError as error:  # such as a script that each worker begins anew
            raise AccelflowError(
                f"--cluster local:{workers}: cannot be started: {error} A script must start it"
                " below `if __name__ == '__main__':`"
            ) from error


def _check_versions(client: Any) -> None:
    """Raise AccelflowError for a worker whose code would give other results."""
    ours = code_version()
    try:
        found = client.run(_version_there)
    except Exception as error:  # whatever the worker raised, most often ImportError
        raise AccelflowError(f"a worker cannot import accelflow: {error}") from error
    for address, version in found.items():
        if version != ours:
            raise AccelflowError(
                f"worker {address} has accelflow {version}: must be {ours}, as in this process"
            )


def _version_there() -> str:
    """Return the version of the code of the worker on which this function runs."""
    return code_version()


def _checked(version: str, scenarios: tuple[tuple[str, Scenario], ...], text: str | None) -> bytes:
    """Simulate on a worker; check its code, since it may have joined after the first check."""
    if code_version() != version:
        raise _OtherCodeError(f"a worker has accelflow {code_version()}: must be {version}")
    return simulate(scenarios, text)


class _OtherCodeError(Exception):
    """The error for a worker whose code is not that of the study."""


@dataclass
class _Asked:
    """A batch that the cluster has, with the time of its start and Dask's futures for it."""

    batch: Batch
    since_s: float
    futures: list[Any] = field(default_factory=list)
    failures: int = 0


class _Run:
    """The runner on a cluster; recordings stay on the workers for later calls of :meth:`run`."""

    def __init__(
        self,
        client: Any,
        distributed: Any,
        patience: Patience,
        look: Callable[[], None],
        check_interrupt: Callable[[], None],
    ) -> None:
        self._client, self._distributed, self._patience = client, distributed, patience
        self._look, self._looked_s = look, time.monotonic()
        self._check_interrupt = check_interrupt
        self._version = code_version()
        self._recordings: dict[str, Any] = {}
        self._asked: dict[str, _Asked] = {}
        self._took_s: list[float] = []
        self._numbers = itertools.count()

    def run(self, batches: Iterable[Batch], limit: TimeLimit) -> Iterator[tuple[Batch, bytes]]:
        """Yield each batch with its rows, as they arrive, until `limit` expires.

        Raises AccelflowError if the connection to the scheduler is lost, if Dask cancels the
        simulations, or if a batch fails.
        """
        waiting = iter(batches)
        try:
            while True:
                self._check_interrupt()
                with self._connected():
                    room = self._room()
                for batch in itertools.islice(waiting, room):
                    asked = _Asked(batch, time.monotonic())
                    self._asked[batch.keys[0]] = asked
                    with self._connected():
                        self._submit(asked, None)
                if not self._asked or limit.passed:
                    return
                with self._connected():
                    yield from self._ended()
                    self._look_at_jobs()
                    self._hurry()
        finally:
            with suppress(Exception):  # a lost scheduler has nothing to cancel
                self._client.cancel(
                    [future for asked in self._asked.values() for future in asked.futures]
                )
            self._asked.clear()

    @contextmanager
    def _connected(self) -> Iterator[None]:
        """Raise AccelflowError if the scheduler or all workers are lost, or Dask cancels."""
        try:
            if self._client.status != "running":
                raise AccelflowError(_LOST)
            yield
        except CancelledError as error:  # Dask cancels simulations also if it loses its scheduler
            raise AccelflowError(_LOST if _LOST_REASON in str(error) else _CANCELLED) from error
        except TimeoutError as error:  # an OSError, of workers
            raise AccelflowError(f"{_NO_ANSWER}: {error}. {_KEPT}") from error
        except (OSError, self._distributed.client.ClosedClientError) as error:
            # A closed connection and a vain attempt to connect again are OSErrors.
            raise AccelflowError(_LOST) from error

    def _room(self) -> int:
        threads: int = sum(self._client.nthreads().values())
        return max(_AHEAD * max(threads, 1) - len(self._asked), 0)

    def _look_at_jobs(self) -> None:
        """Check the cluster's jobs now and then, as long as there are no workers."""
        if time.monotonic() - self._looked_s > _LOOK_S:
            self._looked_s = time.monotonic()
            if not self._client.nthreads():
                self._look()

    def _submit(self, asked: _Asked, workers: list[str] | None) -> None:
        batch = asked.batch
        name = f"accelflow-{batch.keys[0]}-{next(self._numbers)}"
        asked.futures.append(
            self._client.submit(
                _checked,
                self._version,
                batch.scenarios,
                self._recording(batch.recording),
                key=name,
                workers=workers,
                pure=False,
            )
        )

    def _recording(self, text: str | None) -> Any:
        """Return the recording `text` on the workers; each recording is sent once."""
        if text is None:
            return None
        if text not in self._recordings:
            self._recordings[text] = self._client.scatter(text, broadcast=True)
        return self._recordings[text]

    def _ended(self) -> Iterator[tuple[Batch, bytes]]:
        """Wait a while for a batch to end; yield the batches that have ended, with their rows."""
        every = [future for asked in self._asked.values() for future in asked.futures]
        try:
            self._distributed.wait(every, timeout=_POLL_S, return_when="FIRST_COMPLETED")
        except TimeoutError:
            return
        for key, asked in list(self._asked.items()):
            rows = self._rows(asked)
            if rows is not None:
                del self._asked[key]
                self._client.cancel(asked.futures)
                self._took_s.append(time.monotonic() - asked.since_s)
                yield asked.batch, rows

    def _rows(self, asked: _Asked) -> bytes | None:
        for future in [ready for ready in asked.futures if ready.done()]:
            error = future.exception() if future.status == "error" else None
            if future.status == "finished":
                # A worker may hang or die with the rows. Then another worker makes them again, or
                # fails.
                try:
                    rows: bytes = future.result(timeout=self._patience.least_s)
                except TimeoutError:
                    self._submit_elsewhere(asked, future)
                    continue
                except Exception as raised:  # whatever the other worker raised
                    error = raised if future.status == "error" else None
                else:
                    return rows
            asked.futures.remove(future)
            self._failed(asked, error)
        return None

    def _submit_elsewhere(self, asked: _Asked, held: Any) -> None:
        """Submit a batch again that a worker completed but did not send."""
        asked.futures.remove(held)
        holders = set(self._client.who_has([held]).get(held.key, ()))
        others = [worker for worker in self._client.nthreads() if worker not in holders]
        if not asked.futures:
            self._submit(asked, others or None)

    def _failed(self, asked: _Asked, error: Any) -> None:
        """Submit a batch again after the deaths of its workers; raise any other error."""
        if isinstance(error, _OtherCodeError):
            raise AccelflowError(str(error))
        if error is not None and not isinstance(error, self._distributed.KilledWorker):
            raise AccelflowError(f"a worker failed: {error}") from error
        asked.failures += 1
        if asked.failures >= _MOST_FAILURES:
            raise AccelflowError(
                "a batch of simulations was given up, since its workers died again and again; the"
                f" key of the first simulation in the batch is {asked.batch.keys[0]}"
            )
        if not asked.futures:
            self._submit(asked, None)

    def _hurry(self) -> None:
        """Submit batches that take too long to a second worker as well."""
        if not self._took_s:
            return
        limit_s = max(
            self._patience.factor * statistics.median(self._took_s[-1_000:]), self._patience.least_s
        )
        late = [
            asked
            for asked in self._asked.values()
            if len(asked.futures) == 1 and time.monotonic() - asked.since_s > limit_s
        ]
        if not late:
            return
        processing = self._client.processing()
        for asked in late:
            name = asked.futures[0].key
            others = [worker for worker, names in processing.items() if name not in names]
            if others:
                self._submit(asked, others)
