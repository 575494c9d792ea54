"""Comparisons as JSON and Parquet files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accelflow.files import write_whole
from accelflow.report.results import SCHEMA, Comparison, ServiceResult

if TYPE_CHECKING:
    import pyarrow as pa


def to_json(comparison: Comparison) -> str:
    """Return the results as JSON text; equal results give equal bytes.

    Keys are sorted. Each float is the shortest text that reads back as the same value.
    """
    return json.dumps(comparison.source, sort_keys=True, indent=2, allow_nan=False) + "\n"


def write_json(comparison: Comparison, path: Path) -> None:
    """Write :func:`to_json` to `path`. Raises OSError if the file cannot be written."""
    text = to_json(comparison)
    write_whole(path, lambda scratch: scratch.write_text(text, encoding="utf-8"))


def write_parquet(comparison: Comparison, path: Path) -> None:
    """Write :func:`to_table` to `path`. Raises OSError if the file cannot be written."""
    import pyarrow.parquet as pq  # noqa: PLC0415 (slow to load)

    table = to_table(comparison)

    def write(scratch: Path) -> None:
        with scratch.open("wb") as file:  # pyarrow cannot open names that are not UTF-8
            pq.write_table(table, file, compression="zstd")

    write_whole(path, write)


def to_table(comparison: Comparison) -> pa.Table:
    """Make an Arrow table with a row for each system and service; column names include units.

    With several seeds, each measure has two more columns for its interval, ``NAME_low`` and
    ``NAME_high``.

    The schema's metadata describes the whole run (workload, profile, seed, arrivals ...) as JSON
    under the key ``accelflow``. Workload, profile and seed are also columns.
    """
    import pyarrow as pa  # noqa: PLC0415 (slow to load)

    pairs = [(system, result) for system in comparison.systems for result in system.services]
    accelerators = _in_order(result.accelerator_utilization for _, result in pairs)
    reasons = _in_order(result.fallbacks for _, result in pairs)
    fields: list[pa.Field] = []
    columns: list[list[Any]] = []

    def column(name: str, kind: pa.DataType, values: Iterable[Any]) -> None:
        fields.append(pa.field(name, kind))
        columns.append(list(values))

    def of_result(name: str, kind: pa.DataType, read: Callable[[ServiceResult], Any]) -> None:
        column(name, kind, (read(result) for _, result in pairs))

    def measure(name: str, path: str, read: Callable[[ServiceResult], float | None]) -> None:
        """Add a column, and two columns for its interval, found at `path`, if there is one."""
        of_result(name, pa.float64(), read)
        intervals = [result.intervals.get(path) for _, result in pairs]
        if any(intervals):
            column(
                f"{name}_low", pa.float64(), (interval and interval.low for interval in intervals)
            )
            column(
                f"{name}_high", pa.float64(), (interval and interval.high for interval in intervals)
            )

    column("workload", pa.string(), [comparison.workload] * len(pairs))
    column("profile", pa.string(), [comparison.profile] * len(pairs))
    column("seed", pa.uint64(), [comparison.seed] * len(pairs))
    column("system", pa.string(), (system.id for system, _ in pairs))
    if comparison.chips:
        column("chip", pa.string(), (system.chip for system, _ in pairs))
    of_result("service", pa.string(), lambda r: r.service)
    measure("offered_rps", "offered_rps", lambda r: r.offered_rps)
    of_result("completed_count", pa.uint64(), lambda r: r.completed)
    measure("mean_us", "mean_us", lambda r: r.mean_us)
    measure("p50_us", "p50_us", lambda r: r.p50_us)
    measure("p99_us", "p99_us", lambda r: r.p99_us)
    measure("p999_us", "p999_us", lambda r: r.p999_us)
    measure("throughput_rps", "throughput_rps", lambda r: r.throughput_rps)
    measure("core_utilization_ratio", "core_utilization", lambda r: r.core_utilization)
    for name in accelerators:
        measure(
            f"{name.lower()}_utilization_ratio",
            f"accelerator_utilization.{name}",
            partial(_inner, "accelerator_utilization", name),
        )
    for reason in reasons:
        counts = [result.fallbacks.get(reason) for _, result in pairs]
        column(f"fallback_{reason}_count", pa.uint64(), counts)
    for part in _in_order(result.spent_us for _, result in pairs):
        measure(f"spent_{part}_us", f"spent_us.{part}", partial(_inner, "spent_us", part))
    of_result("slo_us", pa.float64(), lambda r: r.slo_us)
    of_result("slo_requests_count", pa.uint64(), lambda r: r.slo_requests)
    of_result("slo_missed_count", pa.uint64(), lambda r: r.slo_missed)
    of_result("timed_out_count", pa.uint64(), lambda r: r.timed_out)
    of_result("deadlines_count", pa.uint64(), lambda r: r.deadlines)
    of_result("deadlines_missed_count", pa.uint64(), lambda r: r.deadlines_missed)
    of_result("saturated_queue", pa.string(), lambda r: r.saturated)
    of_result(
        "dispatcher_mean_instructions", pa.float64(), lambda r: r.dispatcher_instructions_mean
    )
    schema = pa.schema(fields, metadata={"accelflow": _run_metadata(comparison)})
    arrays = [pa.array(values, field.type) for values, field in zip(columns, fields, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def _inner(member: str, name: str, result: ServiceResult) -> float | None:
    value: float | None = getattr(result, member).get(name)
    return value


def _in_order(mappings: Iterable[Iterable[str]]) -> list[str]:
    return list(dict.fromkeys(name for mapping in mappings for name in mapping))


def _run_metadata(comparison: Comparison) -> str:
    run = {key: value for key, value in comparison.source.items() if key != "systems"}
    return json.dumps(run | {"schema": SCHEMA}, sort_keys=True, allow_nan=False)
