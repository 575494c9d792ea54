"""Functions from Azure's traces: tables of 2019 (minutes and percentiles), invocations of 2021."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from accelflow.errors import one_of, refused, whole_number
from accelflow.importing.azure_days import Days
from accelflow.importing.azure_invocations import Invocations
from accelflow.importing.numbers import rounded
from accelflow.importing.report import Report
from accelflow.importing.sources import each_table
from accelflow.importing.times import Traced
from accelflow.importing.workloads import (
    LEAST_RATE_RPS,
    MOST_SERVICES,
    OWNER,
    RECEIVE,
    SCHEMA,
    SEND,
    Imported,
    Tree,
    distinct,
    rate_lines,
    stated_rate,
)

__all__ = ["DURATIONS", "Options", "import_azure"]

#: The statistics that may stand for a function's durations.
DURATIONS: Final = ("median", "mean")

_MINUTE_NS: Final = 60 * 10**9

#: The longest application time of a workload.
_MOST_US: Final = 1e9

_TABLES: Final = {
    "invocations": ("HashFunction", "1|minute_1"),
    "durations": ("HashFunction", "Average", "percentile_Average_50"),
    "memory": ("HashApp", "AverageAllocatedMb"),
    "events": ("func", "end_timestamp", "duration"),
}


@dataclass(frozen=True, kw_only=True)
class Options:
    """Settings of the import of Azure's public traces of serverless functions.

    `name` is the workload's name. The `top` functions with the most invocations are kept.
    `duration` is the statistic that stands for a function's durations, one of :data:`DURATIONS`.
    """

    name: str = "functions"
    top: int = 20
    duration: str = "median"


class Functions(Protocol):
    """The functions of Azure's trace of 2019 or 2021: invocations by minute, and durations."""

    def totals(self) -> Mapping[str, int]:
        """Return the number of invocations of each function that may become a service."""

    def has_minutes(self, function: str) -> bool:
        """Return whether the invocations of `function` by minute are known."""

    def minutes(self, function: str) -> Mapping[int, int]:
        """Return the invocations of `function` in each minute that has any, by minute from 0."""

    def length(self) -> int:
        """Return the length of the trace in minutes."""

    def duration_ms(self, function: str, kind: str) -> float | None:
        """Return the median or mean duration of `function` in ms, or None without durations.

        `kind` is one of :data:`DURATIONS`.
        """

    def p99_ms(self, function: str) -> float | None:
        """Return the P99 of the durations of `function` in ms, or None if the table has none."""


def import_azure(paths: Sequence[Path], report: Report, options: Options) -> Imported:
    """Build a workload from Azure's public tables of serverless functions, of 2019 or 2021.

    Each function becomes a service that receives a request, computes for the function's median or
    mean duration, and answers. It has a rate for each minute. Raises InputError for other tables,
    for tables of both years, and if no function has a known duration and at least 0.001 requests
    per second.
    """
    whole_number("--top", options.top, 1, MOST_SERVICES)
    one_of("--duration", options.duration, DURATIONS)
    days, events = Days(report, options.top), Invocations(report)
    years: dict[str, Path] = {}
    what = (
        "those of a table of Azure's trace of 2019 (invocations, durations or memory) or of 2021"
        " (app, func, end_timestamp, duration)"
    )
    for kind, table in each_table(paths, report, _TABLES, what):
        years["2021" if kind == "events" else "2019"] = table.path
        if len(years) > 1:
            raise refused("FILE", str(table.path), "must be of the same year as the other files")
        if kind == "events":
            events.read(table)
        elif kind == "invocations":
            days.read_invocations(table)
        elif kind == "durations":
            days.read_durations(table)
        else:
            days.read_memory(table)
    functions: Functions = events if "2021" in years else days
    return _build(functions, paths, report, options)


def _build(
    functions: Functions, paths: Sequence[Path], report: Report, options: Options
) -> Imported:
    totals = functions.totals()
    length = functions.length()
    kept = _kept(functions, totals, report, options)
    if not kept:
        raise refused(
            "FILE",
            ", ".join(map(str, paths)),
            f"must have invocations and durations of at least one function, at {LEAST_RATE_RPS}"
            " requests a second or more",
        )
    names = distinct(kept)
    services = []
    companions: dict[str, Iterator[str]] = {}
    traced: dict[str, Traced] = {}
    for function in kept:
        companion = f"{OWNER}-{names[function]}.rates.csv"
        minutes = functions.minutes(function)
        mean_rps = totals[function] / (60 * length)
        end = length * _MINUTE_NS, mean_rps  # the mean rate continues from there
        companions[companion] = rate_lines(_rates(minutes), end)
        duration_us = rounded(1e3 * (functions.duration_ms(function, options.duration) or 0.0))
        if duration_us > _MOST_US:
            report.guessed("durations of over 1,000 s", "taken for 1,000 s", function)
        service: Tree = {
            "name": names[function],
            "method": function,
            "rate_rps": stated_rate(mean_rps, _rates(minutes), end),
            "arrivals": {"process": "rates", "file": companion},
            "app_us": min(duration_us, _MOST_US),
            "path": [RECEIVE, {"cpu": True}, SEND],
        }
        services.append(service)
        traced[names[function]] = _traced(functions, function, totals[function])
        report.understood("invocations of functions in the workload", totals[function])
    report.convention(
        f"durations: the {options.duration} of each function",
        "taken for application time (CPU), with waiting",
        len(kept),
    )
    report.convention("message sizes", "the default of workloads", len(kept))
    tree: Tree = {"schema": SCHEMA, "name": options.name, "services": services}
    return Imported(tree, companions, traced)


def _traced(functions: Functions, function: str, invocations: int) -> Traced:
    mean_ms = functions.duration_ms(function, "mean") or 0.0
    p99_ms = functions.p99_ms(function)
    return Traced(function, invocations, 1e3 * mean_ms, None if p99_ms is None else 1e3 * p99_ms)


def _kept(
    functions: Functions, totals: Mapping[str, int], report: Report, options: Options
) -> list[str]:
    """Return the functions that become services, the busiest first; report the others."""
    gone = "not in the workload"
    ranked = sorted(totals, key=lambda name: (-totals[name], name))
    timed = [name for name in ranked if functions.duration_ms(name, options.duration) is not None]
    report.dropped("functions without a duration", gone, count=len(ranked) - len(timed))
    least = LEAST_RATE_RPS * 60 * functions.length()
    usable = [name for name in timed if totals[name] >= least]
    what = f"functions with a rate below {LEAST_RATE_RPS} requests a second"
    report.dropped(what, gone, count=len(timed) - len(usable))
    places = [place for place, name in enumerate(usable) if functions.has_minutes(name)]
    places = places[: options.top]
    # Fewer than --top of them: all others lack their minutes.
    end = places[-1] + 1 if len(places) == options.top else len(usable)
    report.dropped(
        "functions with too few invocations in the first tables",
        f"{gone}: their rates were not kept",
        count=end - len(places),
    )
    report.left_out("functions beyond --top", gone, len(usable) - end)
    beyond = sum(totals[name] for name in usable[end:])
    report.left_out("invocations of functions beyond --top", gone, beyond)
    return [usable[place] for place in places]


def _rates(minutes: Mapping[int, int]) -> Iterator[tuple[int, float]]:
    """Yield a function's rates in requests a second, by start in ns."""
    for minute, count in _with_pauses(sorted(minutes.items())):
        yield minute * _MINUTE_NS, count / 60


def _with_pauses(minutes: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """`minutes` with a 0 where a pause begins."""
    expected = 0
    for minute, count in minutes:
        if minute > expected:
            yield expected, 0
        yield minute, count
        expected = minute + 1
    yield expected, 0
