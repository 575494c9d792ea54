"""The simulations of a study: each point with each seed, by what its results depend on."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import accelflow
from accelflow import _native
from accelflow.comparing import compare
from accelflow.errors import AccelflowError
from accelflow.report.export import to_table
from accelflow.scenario import Scenario, hashed
from accelflow.simulation import costed, loaded
from accelflow.studies.design import points
from accelflow.studies.study import Study

__all__ = ["Skipped", "Task", "code_version", "simulate", "tasks"]

_CHUNK: Final = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Task:
    """One simulation of the scenario of a point with a seed.

    `key` is the hash of all that its results depend on: the scenario, the seed, and the code.
    `scenario` is without its recording, which many tasks share.
    """

    key: str
    point: int
    values: Mapping[str, Any]
    seed: int
    scenario: Scenario
    recording: str | None


@dataclass(frozen=True, kw_only=True)
class Skipped:
    """A point that cannot be simulated with a seed, and the reason."""

    point: int
    values: Mapping[str, Any]
    seed: int
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """As an object of JSON."""
        return {
            "point": self.point,
            "values": dict(self.values),
            "seed": self.seed,
            "reason": self.reason,
        }


def tasks(study: Study) -> Iterator[Task | Skipped]:
    """The simulations of `study` in the order of its design; points that are impossible too."""
    version = code_version()
    for number, values in enumerate(points(study)):
        for seed in study.seeds:
            try:
                yield _task(study, version, number, values, seed)
            except AccelflowError as error:
                yield Skipped(point=number, values=values, seed=seed, reason=str(error))


def _task(study: Study, version: str, number: int, values: Mapping[str, Any], seed: int) -> Task:
    scenario = costed(loaded(study.at(values, seed)))
    key = hashlib.sha256(f"{version}\n{hashed(scenario)}".encode()).hexdigest()[:32]
    return Task(
        key=key,
        point=number,
        values=values,
        seed=seed,
        scenario=replace(scenario, recording=None),
        recording=scenario.recording,
    )


@functools.cache
def code_version() -> str:
    """The version of the code that simulates: that of the package, and a hash of its engine."""
    digest = hashlib.sha256()
    with Path(_native.__file__).open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return f"{accelflow.__version__}+{digest.hexdigest()[:16]}"


def simulate(batch: Iterable[tuple[str, Scenario]], recording: str | None) -> bytes:
    """Simulate scenarios, and return their rows as a stream of Arrow.

    `batch` has the key of each scenario, and `recording` is that of all of them. A scenario that
    cannot be simulated has one row with its key and the reason, ``error``, alone.
    """
    import pyarrow as pa  # noqa: PLC0415 (slow to load)

    tables = []
    for key, scenario in batch:
        try:
            results = compare(replace(scenario, recording=recording), threads=1)
            table = to_table(results).replace_schema_metadata(None)
        except AccelflowError as error:
            table = pa.table({"error": pa.array([str(error)], pa.string())})
        column = pa.array([key] * table.num_rows, pa.string())
        tables.append(table.add_column(0, pa.field("key", pa.string()), column))
    whole = pa.concat_tables(tables, promote_options="default")
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, whole.schema) as stream:
        stream.write_table(whole)
    taken: bytes = sink.getvalue().to_pybytes()
    return taken
