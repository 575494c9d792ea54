"""The tables of a comparison on an HTML page: systems and services."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from accelflow.page import Column, Table
from accelflow.page.document import Cell
from accelflow.report.binding import binding_of, parts_of
from accelflow.report.errors import Counted, error_columns
from accelflow.report.notes import P999_RESPONSES
from accelflow.report.results import Comparison, ServiceResult, SystemResult
from accelflow.report.servers import servers_of
from accelflow.report.verdict import accelerator_use, core_use, within_slo

__all__ = ["services_table", "systems_table"]

_OF_SERVERS: Final = (
    "Cores and accelerators are those of the server that uses them most, of several servers."
)


def systems_table(comparison: Comparison, notes: Sequence[str] = ()) -> Table:
    """Return a table of systems: latency, requests within the SLO, utilisation and bottleneck.

    `notes` are the paragraphs below the table.
    """
    several = any(len(servers_of(system)) > 1 for system in comparison.systems)
    columns = [
        Column(name="System"),
        Column(name="Mean", unit="us", form="number"),
        Column(name="P50", unit="us", form="number"),
        Column(name="P99", unit="us", form="number"),
        Column(name="Throughput", unit="krps", form="number"),
        Column(name="Within SLO", unit="krps", form="number"),
        Column(name="Within SLO", unit="of requests", form="share", digits=2),
        Column(name="Cores", unit="used", form="share", digits=0),
        Column(name="Busiest", unit="accelerator"),
        Column(name="Bottleneck"),
    ]
    return Table(
        caption="Latencies are means over the services, rates are sums",
        columns=columns,
        rows=[_system_row(system) for system in comparison.systems],
        notes=[_OF_SERVERS, *notes] if several else notes,
        marked=_ours(comparison.systems),
    )


def _system_row(system: SystemResult) -> list[Cell]:
    within = within_slo(system)
    used = accelerator_use(system)
    bound = binding_of(system)
    return [
        system.label,
        system.mean_us,
        system.p50_us,
        system.p99_us,
        _krps(system.throughput_rps),
        None if within is None else _krps(within[0]),
        None if within is None else within[1],
        core_use(system),
        None if used is None else f"{used[0]} {used[1]:.0%}",
        None if bound is None else bound.short,
    ]


def _krps(rate_rps: float | None) -> float | None:
    return None if rate_rps is None else rate_rps / 1_000


def _ours(systems: Sequence[SystemResult]) -> frozenset[int]:
    return frozenset(
        place for place, system in enumerate(systems) if system.orchestrator == "accelflow"
    )


def services_table(comparison: Comparison) -> Table:
    """Return a table with a row for each service under each system."""
    pairs = [
        (system, result)
        for name in comparison.service_names
        for system in comparison.systems
        if (result := system.service(name)) is not None
    ]
    counted = error_columns(result for _, result in pairs)
    columns = [
        Column(name="Service"),
        Column(name="System"),
        Column(name="Mean", unit="us", form="number"),
        Column(name="P50", unit="us", form="number"),
        Column(name="P99", unit="us", form="number"),
        Column(name="P99.9", unit="us", form="number"),
        Column(name="SLO", unit="us", form="number"),
        Column(name="Late", unit="of requests", form="share", digits=2),
        Column(name="Offered", unit="krps", form="number"),
        Column(name="Served", unit="krps", form="number"),
        Column(name="Orchestration", unit="of the mean", form="share"),
        Column(name="Queueing", unit="of the mean", form="share"),
        Column(name="Fallbacks", form="number"),
        *(Column(name=name, form="number") for name, _ in counted),
        Column(name="Overloaded"),
    ]
    called = any(result.only_called for _, result in pairs)
    note = "Latencies of services called only by others are those of these calls."
    return Table(
        caption="A row for each service under each system",
        columns=columns,
        rows=[_service_row(system, result, counted) for system, result in pairs],
        notes=[note] * called,
        marked=_ours([system for system, _ in pairs]),
    )


def _service_row(
    system: SystemResult, result: ServiceResult, counted: Sequence[Counted]
) -> list[Cell]:
    shown = result.latencies
    parts = parts_of(result)
    total = sum(parts.values())
    return [
        result.service,
        system.label,
        shown.mean_us,
        shown.p50_us,
        shown.p99_us,
        shown.p999_us if shown.completed >= P999_RESPONSES else None,
        result.slo_us,
        result.slo_missed_share,
        _krps(result.offered_rps),
        _krps(result.throughput_rps),
        parts["orchestration"] / total if total else None,
        parts["queueing"] / total if total else None,
        result.total_fallbacks,
        *(count(result) for _, count in counted),
        result.saturated,
    ]
