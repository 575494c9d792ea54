"""The simulations of a study: each point with each seed, identified by its inputs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from accelflow.comparing import compare
from accelflow.effects import without_idle_policy
from accelflow.errors import AccelflowError
from accelflow.kept_runs import code_version
from accelflow.report.export import to_table
from accelflow.scenario import Scenario, hashed
from accelflow.simulation import costed, loaded
from accelflow.studies.design import points
from accelflow.studies.study import Study
from accelflow.time_limit import TimeUpError

__all__ = ["Skipped", "Task", "code_version", "simulate", "tasks"]

#: The version of the rows' columns. Rows in a study's folder that lack some are simulated again.
_COLUMNS: Final = 2


@dataclass(frozen=True, kw_only=True)
class Task:
    """One simulation of a study: a point (one combination of values) with one seed.

    `point` is the point's index in the design, from 0, and `values` has its value of each axis.
    `key` is a hash of everything that determines the simulation's results: the scenario, the seed
    and the code. `scenario` is complete except for the text of the `recording` of costs, which many
    simulations share.
    """

    key: str
    point: int
    values: Mapping[str, Any]
    seed: int
    scenario: Scenario
    recording: str | None


@dataclass(frozen=True, kw_only=True)
class Skipped:
    """A simulation of a study that is not possible, with the `reason`.

    `point` is the point's index in the design, from 0, `values` has its value of each axis, and
    `seed` is the simulation's seed.
    """

    point: int
    values: Mapping[str, Any]
    seed: int
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Return the point, its values, the seed and the reason as an object for JSON."""
        return {
            "point": self.point,
            "values": dict(self.values),
            "seed": self.seed,
            "reason": self.reason,
        }


def tasks(study: Study) -> Iterator[Task | Skipped]:
    """Yield the simulations of `study` in the order of its design, including impossible ones."""
    version = code_version()
    for number, values in enumerate(points(study)):
        for seed in study.each_seed:
            try:
                yield _task(study, version, number, values, seed)
            except AccelflowError as error:
                yield Skipped(point=number, values=values, seed=seed, reason=str(error))


def _task(study: Study, version: str, number: int, values: Mapping[str, Any], seed: int) -> Task:
    scenario = costed(loaded(study.at(values, seed)))
    key = hashlib.sha256(f"{version}\n{_COLUMNS}\n{hashed(scenario)}".encode()).hexdigest()[:32]
    return Task(
        key=key,
        point=number,
        values=values,
        seed=seed,
        scenario=replace(scenario, recording=None),
        recording=scenario.recording,
    )


def simulate(
    batch: Iterable[tuple[str, Scenario]],
    recording: str | None,
    progress: Callable[[int, int], object] | None = None,
) -> bytes:
    """Simulate the scenarios of a batch, and return their results as rows in Arrow's stream format.

    `batch` has the key and the scenario of each simulation, and `recording` is the text of the
    recording that all of them use, or None. There is a row for each system and service. A scenario
    that cannot be simulated has one row, with only its key and the reason in ``error``. `progress`
    is called with each simulation's progress. It may raise TimeUpError, which ends all simulations.
    """
    import pyarrow as pa  # noqa: PLC0415 (slow to load)

    tables = []
    for key, scenario in batch:
        try:
            # A sweep may have orders of queues beside systems that do not take one.
            whole = without_idle_policy(replace(scenario, recording=recording))
            table = to_table(compare(whole, threads=1, progress=progress))
            table = table.replace_schema_metadata(None)
        except TimeUpError:
            raise
        except AccelflowError as error:
            table = pa.table({"error": pa.array([str(error)], pa.string())})
        column = pa.array([key] * table.num_rows, pa.string())
        tables.append(table.add_column(0, pa.field("key", pa.string()), column))
    joined = pa.concat_tables(tables, promote_options="default")
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, joined.schema) as stream:
        stream.write_table(joined)
    taken: bytes = sink.getvalue().to_pybytes()
    return taken
