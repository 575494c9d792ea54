"""The simulation of single points for a search, with results in a study's folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from accelflow.errors import AccelflowError, InputError
from accelflow.studies.folder import Folder, errors_of
from accelflow.studies.study import Study
from accelflow.studies.sweep import Runner, complete
from accelflow.studies.tasks import Skipped, Task, tasks
from accelflow.time_limit import TimeLimit, TimeUpError

__all__ = ["Points", "check_point"]

#: The values of a point by axis; in a search, all axes are numbers.
_Values = Mapping[str, float]


def check_point(study: Study, values: _Values) -> None:
    """Raise InputError if the scenario of `study` at the point `values` is not allowed.

    Simulates and writes nothing.
    """
    _planned(study, values, seeds=1)


class Points:
    """Simulates points of a study one by one for a search, and keeps the results in its folder."""

    def __init__(self, study: Study, folder: Folder, run: Runner, limit: TimeLimit) -> None:
        """Make an object that simulates by `run` until `limit`, and writes to the open `folder`."""
        self._study, self._folder, self._run, self._limit = study, folder, run, limit
        self._tasks: Final[dict[tuple[int, str], Task]] = {}
        self._numbers: Final[dict[tuple[float, ...], int]] = {}

    @staticmethod
    @contextmanager
    def of(study: Study, place: Path, run: Runner, limit: TimeLimit) -> Iterator[Points]:
        """Open the folder `place`, yield its :class:`Points`, and write results after the block.

        `design.parquet` and `results.parquet` then have all simulated points. Raises InputError for
        a folder with other content, and AccelflowError for a folder in use.
        """
        with Folder(place).opened() as folder:
            points = Points(study, folder, run, limit)
            try:
                yield points
            finally:
                points._write()

    def rows(self, values: _Values, seeds: int) -> list[dict[str, Any]]:
        """Return the results of the point `values` with the seeds 1 to `seeds`.

        There is a row for each seed and service. Simulations that the folder lacks run first.
        Raises InputError for a point that cannot be simulated, and TimeUpError after the time
        limit.
        """
        number = self._numbers.setdefault(tuple(values.values()), len(self._numbers))
        found = [replace(task, point=number) for task in _planned(self._study, values, seeds)]
        self._tasks.update(((number, task.key), task) for task in found)
        keys = [task.key for task in found]
        complete(self._folder, found, self._run, self._limit)
        if any(key not in self._folder.done() for key in keys):
            raise TimeUpError(f"the time limit of {self._limit} has passed")
        rows = self._folder.rows(keys)
        if rows is None:
            raise AccelflowError(_told(values, "every simulation failed without results"))
        for reason in errors_of(rows).values():
            raise InputError(_told(values, reason))
        by_key: dict[str, list[dict[str, Any]]] = {}
        for row in rows.to_pylist():
            by_key.setdefault(row.pop("key"), []).append(row)
        return [row for key in keys for row in by_key[key]]

    def _write(self) -> None:
        """Write `design.parquet` and `results.parquet` of all points that have rows."""
        found = [task for task in self._tasks.values() if task.key in self._folder.done()]
        if not found:
            return
        names = _names(found)
        self._folder.write_design(found, names)
        self._folder.write_skipped(())
        self._folder.write_results(found, names)


def _planned(study: Study, values: _Values, seeds: int) -> list[Task]:
    """Return the simulations of a point. Raises InputError if one of them is not possible."""
    found = []
    one_point = replace(study, kind="list", points=(values,), seeds=range(1, seeds + 1))
    for task in tasks(one_point):
        if isinstance(task, Skipped):
            raise InputError(_told(values, task.reason))
        found.append(task)
    return found


def _names(found: Iterable[Task]) -> list[str]:
    return list(dict.fromkeys(name for task in found for name in task.values))


def _told(values: _Values, reason: str) -> str:
    point = ", ".join(f"{name} = {value}" for name, value in values.items())
    return reason if reason.startswith(f"{point}: ") else f"point ({point}): {reason}"
