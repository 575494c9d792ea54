"""What a comparison's simulations took of the arrivals that a workload's file states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from accelflow.report.reader import Reader
    from accelflow.report.results import Comparison

__all__ = ["arrival_notes", "check_loads", "requests_text"]

#: The relative difference between rates that needs no note.
_SAME: Final = 0.05


def check_loads(root: Reader) -> None:
    """Raise InputError for wrong numbers of requests or wrong data on arrivals in results."""
    root.each_if_any("requests_by_service", type(root).count)
    for row in root.items("own_arrivals") if root.has("own_arrivals") else ():
        row.get("service", str)
        row.count("requests")
        if row.get("process", str) == "times":
            row.count("listed")
            continue
        for key in ("from_s", "until_s", "rate_rps"):
            row.number(key)
        row.mapping("table")
        for key in ("until_s", "mean_rps", "peak_rps", "peak_from_us"):
            row.inner_if_any("table").number(key)


def requests_text(comparison: Comparison) -> str:
    """Return how many requests a service had: ``2,000 requests``, or the least and the most."""
    of_services = comparison.source.get("requests_by_service")
    if not isinstance(of_services, Mapping) or not of_services:
        return f"{comparison.requests:,} requests"
    least, most = min(of_services.values()), max(of_services.values())
    return f"{least:,} to {most:,} requests"


def arrival_notes(comparison: Comparison) -> list[str]:
    """Return a note for each list of times and table of rates that was not simulated as a whole.

    Notes on tables have the rate in the simulation, and the table's mean and highest rates.
    """
    return list(_notes(comparison.source.get("own_arrivals", ())))


def _notes(rows: Any) -> Iterator[str]:
    for row in rows:
        if row["process"] == "times":
            if row["requests"] < row["listed"]:
                yield (
                    f"{row['service']}: only the first {row['requests']:,} of the"
                    f" {row['listed']:,} arrivals in its list were simulated."
                )
        elif not _is_whole(row):
            yield _of_table(row)


def _is_whole(row: Mapping[str, Any]) -> bool:
    """Return whether a simulation has about a table's mean rate, and its end or only such rates."""
    table = row["table"]
    mean_rps = float(table["mean_rps"])
    rates = [row["rate_rps"], *([table["peak_rps"]] if row["until_s"] < table["until_s"] else [])]
    return all(abs(rate - mean_rps) <= _SAME * mean_rps for rate in rates)


def _of_table(row: Mapping[str, Any]) -> str:
    table = row["table"]
    return (
        f"{row['service']}: simulated from {_number(row['from_s'])} to {_number(row['until_s'])} s"
        f" of its table of rates, which ends at {_number(table['until_s'])} s, at"
        f" {_number(row['rate_rps'])} requests per second. The table's mean is"
        f" {_number(table['mean_rps'])}, and its highest rate {_number(table['peak_rps'])}, from"
        f" from_us = {table['peak_from_us']:.15g} on."
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1_000.0 else f"{value:.3g}"
