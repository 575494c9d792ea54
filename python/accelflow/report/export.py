"""JSON and Parquet files of comparisons."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accelflow.errors import file_path
from accelflow.files import write_whole
from accelflow.report.called import Called
from accelflow.report.results import SCHEMA, Comparison, ServiceResult, system_id

if TYPE_CHECKING:
    import pyarrow as pa


def to_json(comparison: Comparison) -> str:
    """Return the results of a comparison as JSON text, schema ``accelflow.compare/1``.

    Keys are sorted, and each float is the shortest text that reads back as the same value, so equal
    results give equal text. Systems are in the order of :attr:`Comparison.systems`, as in tables.
    """
    order = [system.id for system in comparison.systems]
    rows = {system_id(row): row for row in comparison.source["systems"]}
    systems = [rows[name] for name in sorted(rows, key=order.index)]
    source = {**comparison.source, "systems": systems}
    return json.dumps(source, sort_keys=True, indent=2, allow_nan=False) + "\n"


def write_json(comparison: Comparison, path: str | PathLike[str]) -> None:
    """Write the results of a comparison to the file `path` as JSON.

    Raises OSError if the file cannot be written.
    """
    path = file_path("path", path)
    text = to_json(comparison)
    write_whole(path, lambda scratch: scratch.write_text(text, encoding="utf-8"))


def write_parquet(comparison: Comparison, path: str | PathLike[str]) -> None:
    """Write the table of :func:`to_table` to `path` as a Parquet file.

    Raises OSError if the file cannot be written.
    """
    path = file_path("path", path)
    import pyarrow.parquet as pq  # noqa: PLC0415 (slow to load)

    table = to_table(comparison)

    def write(scratch: Path) -> None:
        with scratch.open("wb") as file:  # pyarrow cannot open names that are not UTF-8
            pq.write_table(table, file, compression="zstd")

    write_whole(path, write)


def to_table(comparison: Comparison) -> pa.Table:
    """Make an Arrow table with a row for each system and service; column names include units.

    With several seeds, each measure has two more columns for its confidence interval, ``NAME_low``
    and ``NAME_high``. If services call others, columns ``called_NAME`` have the results of the
    requests that a service received from other services; null if it received none.

    The schema's metadata has, under the key ``accelflow``, all settings of the comparison
    (workload, profile, seed, arrivals ...) as JSON. Workload, profile and seed are also columns.
    """
    columns = _Columns(comparison)
    columns.add("workload", "string", lambda _: comparison.workload)
    columns.add("profile", "string", lambda _: comparison.profile)
    columns.add("seed", "uint64", lambda _: comparison.seed)
    columns.add_all("system", "string", [system.id for system, _ in columns.pairs])
    if comparison.chips:
        columns.add_all("chip", "string", [system.chip for system, _ in columns.pairs])
    columns.add("service", "string", lambda r: r.service)
    columns.measure("offered_rps", "offered_rps")
    columns.add("completed_count", "uint64", lambda r: r.completed)
    for latency in ("mean_us", "p50_us", "p99_us", "p999_us"):
        columns.measure(latency, latency)
    columns.measure("throughput_rps", "throughput_rps")
    columns.measure("core_utilization_ratio", "core_utilization")
    for name in columns.names_in("accelerator_utilization"):
        columns.measure(f"{name.lower()}_utilization_ratio", f"accelerator_utilization.{name}")
    for reason in columns.names_in("fallbacks"):
        columns.add(f"fallback_{reason}_count", "uint64", partial(_inner, f"fallbacks.{reason}"))
    for part in columns.names_in("spent_us"):
        columns.measure(f"spent_{part}_us", f"spent_us.{part}")
    columns.add("slo_us", "float64", lambda r: r.slo_us)
    columns.add("slo_requests_count", "uint64", lambda r: r.slo_requests)
    columns.add("slo_missed_count", "uint64", lambda r: r.slo_missed)
    columns.add("errors_count", "uint64", lambda r: r.errors)
    columns.add("retries_count", "uint64", lambda r: r.retries)
    columns.add("gave_up_count", "uint64", lambda r: r.gave_up)
    columns.add("timed_out_count", "uint64", lambda r: r.timed_out)
    columns.add("unanswered_ratio", "float64", lambda r: r.unanswered_share)
    columns.add("deadlines_count", "uint64", lambda r: r.deadlines)
    columns.add("deadlines_missed_count", "uint64", lambda r: r.deadlines_missed)
    columns.add("saturated_queue", "string", lambda r: r.saturated)
    instructions = "dispatcher_instructions_mean"
    columns.add("dispatcher_mean_instructions", "float64", partial(_inner, instructions))
    if any(result.called for _, result in columns.pairs):
        _add_called(columns)
    return columns.table(_run_metadata(comparison))


def _add_called(columns: _Columns) -> None:
    """Add the columns of the requests that services received from other services."""
    for count in ("requests", "completed", "errors", "timed_out", "slo_requests", "slo_missed"):
        columns.add(f"called_{count}_count", "uint64", partial(_inner, f"called.{count}"))
    for latency in ("mean_us", "p50_us", "p99_us", "p999_us"):
        columns.measure(f"called_{latency}", f"called.{latency}")


class _Columns:
    """The columns of a table with a row for each system and service."""

    def __init__(self, comparison: Comparison) -> None:
        self.pairs = [(s, result) for s in comparison.systems for result in s.services]
        self._columns: dict[str, pa.Array] = {}

    def names_in(self, member: str) -> list[str]:
        """Return the keys of the mapping `member` over all services' results, each key once.

        `member` names a field of :class:`ServiceResult`. The keys are in the order in which they
        first appear.
        """
        mappings = (getattr(result, member) for _, result in self.pairs)
        return list(dict.fromkeys(name for mapping in mappings for name in mapping))

    def add_all(self, name: str, kind: str, values: Iterable[Any]) -> None:
        """Add a column `name` with `values`; `kind` names its Arrow type, such as float64."""
        import pyarrow as pa  # noqa: PLC0415 (slow to load)

        self._columns[name] = pa.array(list(values), getattr(pa, kind)())

    def add(self, name: str, kind: str, read: Callable[[ServiceResult], Any]) -> None:
        """Add a column `name` with the value that `read` returns for each service's result."""
        self.add_all(name, kind, (read(result) for _, result in self.pairs))

    def measure(self, name: str, path: str) -> None:
        """Add a column `name` with a number of each service's result.

        `path` is a field of :class:`ServiceResult`, or a field and a name in it, such as
        ``spent_us.cpu`` and ``called.p99_us``. With several seeds, two more columns have the ends
        of the interval.
        """
        self.add(name, "float64", partial(_inner, path))
        intervals = [result.intervals.get(path) for _, result in self.pairs]
        if any(intervals):
            self.add_all(f"{name}_low", "float64", (each and each.low for each in intervals))
            self.add_all(f"{name}_high", "float64", (each and each.high for each in intervals))

    def table(self, metadata: str) -> pa.Table:
        """Return the table, with `metadata` in its schema."""
        import pyarrow as pa  # noqa: PLC0415 (slow to load)

        fields = [pa.field(name, array.type) for name, array in self._columns.items()]
        schema = pa.schema(fields, metadata={"accelflow": metadata})
        return pa.Table.from_arrays(list(self._columns.values()), schema=schema)


def _inner(path: str, result: ServiceResult) -> Any:
    """Return the value at `path`: a field of `result`, or an entry, such as ``spent_us.cpu``."""
    member, _, name = path.partition(".")
    value = getattr(result, member)
    if isinstance(value, Called):
        return getattr(value, name)
    return value.get(name) if name and value is not None else value


def _run_metadata(comparison: Comparison) -> str:
    run = {key: value for key, value in comparison.source.items() if key != "systems"}
    return json.dumps(run | {"schema": SCHEMA}, sort_keys=True, allow_nan=False)
