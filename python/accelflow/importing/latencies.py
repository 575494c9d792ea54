"""Results of load generators: wrk2's output and locust's statistics."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeGuard

from accelflow.errors import refused
from accelflow.importing.numbers import number
from accelflow.importing.report import Report
from accelflow.importing.sources import CsvTable, lines_of

__all__ = ["Measured", "read_latencies"]

_UNITS_US: Final = {"us": 1.0, "ms": 1e3, "s": 1e6, "m": 6e7, "h": 3.6e9}
_TIME: Final = r"(?P<value>\d+(?:\.\d+)?)(?P<unit>us|ms|s|m|h)"
_PERCENTILE: Final = re.compile(rf"^\s*(?P<percent>\d+(?:\.\d+)?)%\s+{_TIME}\s*$")
_ANY_PERCENTILE: Final = re.compile(r"^\s*[\d.]+%\s+\S+\s*$")
_SPECTRUM: Final = re.compile(
    r"^\s*(?P<ms>\d+\.\d+)\s+(?P<share>[01]\.\d+)\s+(?P<count>\d+)\s+(?:\d+\.\d+|inf)\s*$"
)
_MEAN: Final = re.compile(r"^#\[Mean\s*=\s*(?P<ms>\d+(?:\.\d+)?),")
_RATE: Final = re.compile(r"^Requests/sec:\s*(?P<rate>\d+(?:\.\d+)?)\s*$")
_TOTAL: Final = re.compile(r"^\s*(?P<count>\d+) requests in ")
_ERRORS: Final = re.compile(
    r"^\s*Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)\s*$"
)
_STATUS: Final = re.compile(r"^\s*Non-2xx or 3xx responses: (\d+)\s*$")

#: Times of neighbouring percentiles may differ this much by their rounding to three digits.
_ROUNDED: Final = 0.99

#: The most runs in a file and rows in a table; load generators write fewer.
_MOST: Final = 10_000


@dataclass
class Measured:
    """Response times that the load generators wrk2 or locust have measured, in microseconds.

    `name` is the address that a run of wrk2 called, or locust's name of the kind of request.
    `percentiles_us` maps percentiles, such as 99.0, to times. `failed` of the `requests` requests
    failed. Values that the generator does not print are None.
    """

    name: str
    mean_us: float | None = None
    #: The percentiles of the response times by percent, such as 50.0, 99.0 and 99.9.
    percentiles_us: dict[float, float] = field(default_factory=dict)
    requests: int | None = None
    failed: int = 0
    rate_rps: float | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the response times as an object for JSON."""
        return {
            "name": self.name,
            "requests": self.requests,
            "failed": self.failed,
            "rate_rps": self.rate_rps,
            "mean_us": self.mean_us,
            "percentiles_us": {f"{p:g}": us for p, us in sorted(self.percentiles_us.items())},
        }


def read_latencies(paths: Sequence[Path], report: Report) -> list[Measured]:
    """Read response times from the output of wrk2 and the statistics of locust.

    Raises InputError for other files, and for files without response times.
    """
    found: list[Measured] = []
    for path in paths:
        with lines_of(path, report) as lines:
            first = next(((n, text) for n, text in lines if text.strip()), (1, ""))
            rest = _again(first, lines)
            if "Request Count" in first[1] and "," in first[1]:
                found += _locust(CsvTable(path, rest, report), report)
            else:
                found += _wrk2(path, rest, report)
    return found


def _again(first: tuple[int, str], rest: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    yield first
    yield from rest


def _wrk2(path: Path, lines: Iterator[tuple[int, str]], report: Report) -> list[Measured]:
    runs: list[Measured] = []
    places: list[str] = []
    for number_, line in lines:
        if line.startswith("Running ") and " test @ " in line:
            if len(runs) >= _MOST:
                raise refused("FILE", f"{path}:{number_}", f"must have at most {_MOST} runs")
            runs.append(Measured(line.partition(" test @ ")[2].strip()))
            places.append(f"{path}:{number_}")
        elif runs:
            _wrk2_line(runs[-1], line, report, f"{path}:{number_}")
    if not runs:
        raise refused(
            "FILE",
            str(path),
            "must be the output of wrk2, which has a line 'Running ... test @ ...', or"
            " statistics of locust, which have a column Request Count",
        )
    for run, place in zip(runs, places, strict=True):
        if not run.percentiles_us:
            raise refused(
                "FILE", str(path), f"must have percentiles of {run.name}: run wrk2 with --latency"
            )
        if (fall := _fall(run.percentiles_us)) is not None:
            low, high = (f"P{percent:g}" for percent in fall)
            below, above = (f"{run.percentiles_us[percent]:g} us" for percent in fall)
            allowed = f"must be at least its {low}, {below}"
            raise refused(f"{place}: {high} of {run.name}", above, allowed)
        report.understood("runs of wrk2")
        report.understood("percentiles", len(run.percentiles_us))
        if run.requests is None:
            report.dropped("runs without their number of requests", "kept without it", str(path))
    return runs


def _fall(percentiles: Mapping[float, float]) -> tuple[float, float] | None:
    """Return the first two neighbouring percents of which the higher has the lower time."""
    pairs = itertools.pairwise(sorted(percentiles))
    falls = (pair for pair in pairs if percentiles[pair[1]] < _ROUNDED * percentiles[pair[0]])
    return next(falls, None)


def _percentile(run: Measured, line: str, report: Report, place: str) -> None:
    found = _PERCENTILE.match(line)
    if found is None or float(found["percent"]) > 100:
        report.dropped("percentiles that are no time of 0 to 100 %", "left out", place)
        return
    value = float(found["value"]) * _UNITS_US[found["unit"]]
    # The spectrum below it has more digits.
    run.percentiles_us.setdefault(float(found["percent"]), value)


def _wrk2_line(run: Measured, line: str, report: Report, place: str) -> None:
    if _ANY_PERCENTILE.match(line):
        _percentile(run, line, report, place)
    elif found := _SPECTRUM.match(line):
        percent = round(100 * float(found["share"]), 6)
        if percent in run.percentiles_us:
            run.percentiles_us[percent] = float(found["ms"]) * 1e3
    elif found := _MEAN.match(line):
        run.mean_us = float(found["ms"]) * 1e3
    elif found := _RATE.match(line):
        run.rate_rps = float(found["rate"])
    elif (found := _TOTAL.match(line)) and len(found["count"]) < 19:
        run.requests = int(found["count"])
    elif found := _ERRORS.match(line):
        _failed(run, sum(int(each[:18]) for each in found.groups()), report, place)
    elif found := _STATUS.match(line):
        _failed(run, int(found[1][:18]), report, place)


def _failed(run: Measured, count: int, report: Report, place: str) -> None:
    run.failed += count
    report.guessed(
        "failed requests",
        "counted; whether the response times include them is not known",
        place,
        count,
    )


def _is_count(value: float | None) -> TypeGuard[float]:
    return value is not None and value >= 0 and value.is_integer()


def _locust(table: CsvTable, report: Report) -> list[Measured]:
    name = table.index("statistics of locust", "Name")
    columns = {
        key: table.index("statistics of locust", *names)
        for key, names in {
            "requests": ("Request Count",),
            "failed": ("Failure Count",),
            "mean": ("Average Response Time",),
            "rate": ("Requests/s",),
        }.items()
    }
    percents = {
        percent: index
        for index, column in enumerate(table.columns)
        if column.endswith("%") and (percent := number(column[:-1])) is not None
    }
    if not percents:
        raise refused(
            "FILE", f"{table.path}:1", "must have columns of percentiles, such as 50% and 99%"
        )
    found: list[Measured] = []
    for row in table.rows():
        values = {key: number(row.cells[index]) for key, index in columns.items()}
        requests, failed = values["requests"], values["failed"]
        if not (_is_count(requests) and _is_count(failed)):
            report.dropped("rows without a number of requests", "left out", row.place)
            continue
        mean, rate = values["mean"], values["rate"]
        if (mean or 0.0) < 0 or (rate or 0.0) < 0:
            report.dropped("rows with a negative mean or rate", "left out", row.place)
            continue
        times = {p: number(row.cells[index]) for p, index in percents.items()}
        known = {p: 1e3 * ms for p, ms in times.items() if ms is not None and ms >= 0}
        if not known:
            report.dropped("rows without response times", "left out", row.place)
            continue
        if _fall(known) is not None:
            report.dropped("rows with a percentile below a lower one", "left out", row.place)
            continue
        if len(found) >= _MOST:
            raise refused("FILE", row.place, f"must have at most {_MOST} rows")
        measured = Measured(
            row.cells[name].strip(), None if mean is None else 1e3 * mean, known, int(requests)
        )
        measured.rate_rps = rate
        found.append(measured)
        report.understood("rows of locust")
        report.understood("percentiles", len(known))
        if failed:
            _failed(measured, int(failed), report, row.place)
    if not found:
        raise refused("FILE", str(table.path), f"must have at least one usable row{report.drops()}")
    return found
