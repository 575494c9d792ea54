"""Texts on how many of the arrivals in a workload's file a comparison simulated."""

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
    """Raise InputError if ``requests_by_service`` or ``own_arrivals`` in `root` is wrong.

    `root` has a comparison's results. The two members, on the load of each service, may be missing.
    """
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
    """Return how many requests each service had, such as ``2,000 requests``.

    If the numbers differ, the text has the smallest and the largest: ``500 to 2,000 requests``.
    """
    of_services = comparison.source.get("requests_by_service")
    if not isinstance(of_services, Mapping) or not of_services:
        return f"{comparison.requests:,} requests"
    least, most = min(of_services.values()), max(of_services.values())
    return f"{least:,} to {most:,} requests"


def arrival_notes(comparison: Comparison) -> list[str]:
    """Return notes on services of which only a part of the file's arrivals was simulated.

    A service has a note if its list has more arrivals than were simulated. With a table of rates, a
    service has a note if the simulated rate differs from the table's mean rate by more than 5 %. It
    also has one if the simulation ends before the table, and the table's highest rate differs from
    the mean by more than 5 %. A note on a table has all three rates.
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
        f" of its table of rates (the last begins at {_number(table['until_s'])} s), at"
        f" {_number(row['rate_rps'])} requests per second. The table's mean is"
        f" {_number(table['mean_rps'])}, and its highest rate {_number(table['peak_rps'])}, from"
        f" from_us = {table['peak_from_us']:.15g} on."
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1_000.0 else f"{value:.3g}"
