"""The run of a study: simulates each point with each seed, unless the study's folder has it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from accelflow.errors import InputError, file_path, instance_of, whole_number
from accelflow.studies.batches import Batch, batched
from accelflow.studies.folder import Folder
from accelflow.studies.local import run_here
from accelflow.studies.study import Study
from accelflow.studies.tasks import Skipped, Task, tasks
from accelflow.time_limit import TimeLimit

__all__ = ["Runner", "SweepResults", "complete", "runner_of", "sweep"]

#: A function that simulates batches until a time limit, and yields each batch with its rows (a
#: stream of Arrow), in any order.
Runner = Callable[[Iterable[Batch], TimeLimit], Iterator[tuple[Batch, bytes]]]

_MOST_WORKERS = 4_096


@dataclass(frozen=True, kw_only=True)
class SweepResults:
    """The outcome of :func:`sweep`, a run of a study.

    `simulated` is the number of simulations that this run completed, and `known` the number of the
    study's simulations that the folder had before. `skipped` has the simulations that are not
    possible, with the reasons.
    `results` is the path of the file with the results; None if there are none. `left` is the number
    of simulations that the time limit prevented.
    """

    simulated: int
    known: int
    skipped: tuple[Skipped, ...]
    results: Path | None
    left: int = 0


def sweep(  # noqa: PLR0913 (options, by name)
    study: Study,
    place: str | PathLike[str],
    *,
    workers: int | None = None,
    strict: bool = False,
    batch_size: int = 1,
    runner: Runner | None = None,
    time_limit_s: float | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> SweepResults:
    """Simulate all points of `study` that the folder `place` lacks, and write the results there.

    The file ``results.parquet`` then has rows for all points of the study, old and new.

    The simulations run on `workers` threads (default: one for each core), or on `runner`, such as a
    cluster (:mod:`accelflow.studies.cluster`). The choice does not change the results. A worker
    receives `batch_size` simulations at once. If the worker is killed, the results of this batch
    are lost. After `time_limit_s` seconds, the sweep stops without the results of running
    simulations; a later sweep of the same folder simulates all that are missing. `progress` is
    called with the number of completed simulations and the number of all simulations of this sweep.

    A point that cannot be simulated is skipped, and ``skipped.json`` has the reason. With `strict`,
    such a point raises InputError instead, if possible before the simulations. Raises InputError if
    no point can be simulated, AccelflowError for a folder in use or if results cannot be written,
    and OSError if another file cannot be written.
    """
    instance_of("study", study, (Study,), "a Study")
    place, limit = file_path("place", place), TimeLimit(time_limit_s)
    run = runner_of(workers, runner)
    whole_number("batch_size", batch_size, 1, 1_000_000)
    found, skipped = _planned(study, strict=strict)
    names = study.names
    with Folder(place).opened() as folder:
        keys = {task.key for task in found}
        known = len(keys & folder.done().keys())
        folder.write_design(found, names)
        folder.write_skipped(skipped)
        simulated = complete(folder, found, run, limit, batch_size=batch_size, progress=progress)
        failed = _failed(found, folder.errors(keys))
        folder.write_skipped([*skipped, *failed])
        results = folder.write_results(found, names)
    if failed and strict:
        raise InputError(_told(failed[0]))
    return SweepResults(
        simulated=simulated,
        known=known,
        skipped=(*skipped, *failed),
        results=results,
        left=len(keys) - known - simulated,
    )


def runner_of(workers: int | None, runner: Runner | None) -> Runner:
    """Return the function that runs a study's simulations: `runner`, or one for this machine.

    If `runner` is None, simulations run on `workers` threads of this machine (None: one per core).
    Raises InputError for a number of threads that is out of range.
    """
    if workers is None:
        workers = os.cpu_count() or 1
    count = whole_number("workers", workers, 1, _MOST_WORKERS)
    return runner or (lambda batches, limit: run_here(batches, limit, count))


def complete(  # noqa: PLR0913 (options, by name)
    folder: Folder,
    found: Iterable[Task],
    run: Runner,
    limit: TimeLimit,
    *,
    batch_size: int = 1,
    progress: Callable[[int, int], object] | None = None,
) -> int:
    """Run the simulations in `found` that `folder` lacks, and return how many were completed.

    `run` simulates batches of `batch_size`. The results are added to the folder. The run stops when
    `limit` has expired. `progress` is called with the number of simulations completed so far, and
    the number that the folder lacked at first.
    """
    done = folder.done()
    missing = {task.key: task for task in found if task.key not in done}
    ended = 0
    for batch, rows in run(batched(missing.values(), batch_size), limit):
        folder.add(batch.keys, _table(rows))
        ended += len(batch.keys)
        if progress is not None:
            progress(ended, len(missing))
    return ended


def _planned(study: Study, *, strict: bool) -> tuple[list[Task], list[Skipped]]:
    found: list[Task] = []
    skipped: list[Skipped] = []
    for task in tasks(study):
        if isinstance(task, Task):
            found.append(task)
        elif strict:
            raise InputError(_told(task))
        else:
            skipped.append(task)
    if not found:
        raise InputError(f"no point can be simulated; the first one is {_told(skipped[0])}")
    return found, skipped


def _plain(value: object) -> object:
    """Return a float that is a whole number as an int, as users write it."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _told(skipped: Skipped) -> str:
    values = ", ".join(f"{name} = {_plain(value)}" for name, value in skipped.values.items())
    return f"point {skipped.point} ({values}): {skipped.reason}"


def _failed(found: Iterable[Task], errors: dict[str, str]) -> list[Skipped]:
    return [
        Skipped(point=task.point, values=task.values, seed=task.seed, reason=errors[task.key])
        for task in found
        if task.key in errors
    ]


def _table(rows: bytes) -> object:
    import pyarrow as pa  # noqa: PLC0415 (slow to load)

    return pa.ipc.open_stream(rows).read_all()
