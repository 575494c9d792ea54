"""Arrivals of requests, from tables of times, counts or rates."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from accelflow.errors import LEFT_OUT, refused
from accelflow.importing.clocks import NO_TIME, UNITS, Clock, Place, declared_unit, unit_of
from accelflow.importing.numbers import number, rounded
from accelflow.importing.report import Report
from accelflow.importing.runs import Sorted
from accelflow.importing.sources import CsvRow, CsvTable, table_of
from accelflow.importing.workloads import (
    LEAST_RATE_RPS,
    MOST_RATE_RPS,
    MOST_TIME_US,
    Tree,
    mean_rate,
    microseconds,
    rate_lines,
    stated_rate,
)

__all__ = ["Arrivals", "Options", "read_arrivals"]

_TIMES: Final = ("arrival", "arrivals", "time", "timestamp", "ts", "datetime", "date", "start")
_STARTS: Final = (*_TIMES, *(f"{name}_{unit}" for name in _TIMES for unit in UNITS))
_ENDS: Final = tuple(f"end_{unit}" for unit in UNITS)
_COUNTS: Final = ("count", "counts", "requests", "invocations", "n")

#: Columns of rates, and how many requests a second their unit is.
_RATES: Final = {
    "rate_rps": 1.0,
    "rps": 1.0,
    "rate_per_s": 1.0,
    "qps": 1.0,
    "rate_rpm": 1 / 60,
    "rpm": 1 / 60,
    "rate_per_min": 1 / 60,
}

#: A pause is a gap if it is this many times the mean interval, and longer than a minute.
_GAP_FACTOR: Final = 20
_GAP_NS: Final = 60 * 10**9


@dataclass(frozen=True, kw_only=True)
class Options:
    """Settings of the import of arrivals from a table, for facts that its header does not contain.

    `column` is the name of the time column, and `unit` its unit, one of `UNITS`. `window_s` is the
    length in seconds of the windows in which requests were counted. `zone` is the time zone of
    dates that have none. If `column`, `unit` or `window_s` is None, it follows from the table; if
    `zone` is None, it is UTC.
    """

    column: str | None = None
    unit: str | None = None
    window_s: float | None = None
    zone: str | None = None


class Arrivals:
    """The arrivals of one service, read from tables: times of requests, or rates over time.

    A rate holds until the next. Use an object of this class in a ``with`` statement, which deletes
    its temporary files.
    """

    def __init__(
        self, process: str, records: Sorted, report: Report, place: Place, last_ns: int | None
    ) -> None:
        """Take `records`, pairs of a time in ns and a value, and compute the mean rate.

        If `process` is ``times``, each record is the time of a request; if it is ``rates``, the
        value is the rate in requests per second from this time on. `place` describes times in error
        messages. `last_ns` is the end of the last rate, or None if it is not known. Raises
        InputError if there would be no requests, for times that are all equal, and for a rate that
        is too high or a mean rate out of range.
        """
        self.process = process
        self._records = records
        self._report = report
        self._place = place
        self._first, self.mean_rps = self._summed(last_ns)
        self._end = None if last_ns is None else (last_ns - self._first, self.mean_rps)
        if not LEAST_RATE_RPS <= self.mean_rps <= MOST_RATE_RPS:
            allowed = f"must be from {LEAST_RATE_RPS} to {MOST_RATE_RPS:g} requests a second"
            raise refused(f"{place.files}: mean rate of the arrivals", self.mean_rps, allowed)

    def __enter__(self) -> Arrivals:
        return self

    def __exit__(self, *_: object) -> None:
        self._records.close()

    def _summed(self, last_ns: int | None) -> tuple[int, float]:
        """Return the first time and the mean rate, with the counts of equal times added up."""
        first, last, area, rate = None, 0, 0.0, 0.0
        for time_ns, value in self._records:
            if first is None:
                first = time_ns
            elif time_ns == last and self.process == "times":
                self._report.understood("arrivals at the time of another (kept)")
            if time_ns - first > 1e3 * MOST_TIME_US:
                self._report.dropped(
                    f"{self.process} over {MOST_TIME_US:g} us (11.6 days) after the first",
                    "left out of the file of arrivals",
                )
            if value > MOST_RATE_RPS:
                place = f"{self._place.at(time_ns)}: rate of the window (its count by its length)"
                raise refused(place, value, f"must be at most {MOST_RATE_RPS:g} requests/s")
            area += rate * (time_ns - last)
            last, rate = time_ns, value
        if first is None:
            raise refused("number of arrivals", 0, "must be at least 1")
        if self.process == "times":
            return first, self._rate_of_times(first, last)
        if last_ns is None and not rate:
            done = "left out: the last rate of a workload holds on"
            self._report.guessed("rates of 0 at the end", done)
        shifted = ((time_ns - first, value) for time_ns, value in self._records)
        if last_ns is None:
            return first, mean_rate(shifted)
        mean_rps = (area + rate * (last_ns - last)) / (last_ns - first)
        return first, stated_rate(mean_rps, shifted, (last_ns - first, mean_rps))

    def _rate_of_times(self, first_ns: int, last_ns: int) -> float:
        intervals, span_ns = self._records.count - 1, last_ns - first_ns
        self._count_gaps(max(_GAP_NS, _GAP_FACTOR * span_ns // max(intervals, 1)), first_ns)
        if not span_ns:
            allowed = f"must be at least 2{self._report.drops()}"
            raise refused("number of different times of arrivals", 1, allowed)
        return intervals / span_ns * 1e9

    def _count_gaps(self, longest_ns: int, first_ns: int) -> None:
        last = first_ns
        for time_ns, _ in self._records:
            if time_ns - last > longest_ns:
                length_s, start_s = (time_ns - last) / 1e9, (last - first_ns) / 1e9
                self._report.guessed(
                    "gaps (over a minute, and over 20 mean intervals)",
                    "kept as times without requests",
                    f"{length_s:.6g} s, {start_s:.6g} s after the first",
                )
            last = time_ns

    def lines(self) -> Iterator[str]:
        """Yield the lines of the workload's companion file: times or rates, the first at time 0."""
        shifted = ((time_ns - self._first, value) for time_ns, value in self._records)
        if self.process == "rates":
            yield from rate_lines(shifted, self._end)
            return
        yield "time_us"
        for time_ns, _ in shifted:
            if time_ns > 1e3 * MOST_TIME_US:
                break
            yield microseconds(time_ns)

    def place(self, service: Tree, companion: str) -> None:
        """Set the arrivals and the rate of `service`, a table of a workload's file as a dict.

        `companion` is the name of the file that has the arrivals (:meth:`lines`).
        """
        service["arrivals"] = {"process": self.process, "file": companion}
        service["rate_rps"] = rounded(self.mean_rps)


def read_arrivals(paths: Sequence[Path], report: Report, options: Options) -> Arrivals:
    """Read the arrivals of one service from a table, or from several parts of one table.

    A table has a column of times, and may have a column of counts or rates. The name of the column
    of times declares their unit (``time_ms``). Times may be in any order. Raises InputError for
    tables without a column of times or without a usable row, for options that are not allowed or
    contradict the table, and as :class:`Arrivals` does.
    """
    if options.window_s is not None and not 1e-9 <= options.window_s <= 1e9:
        raise refused("--window", options.window_s, "must be from 1e-9 to 1e9 seconds")
    records = Sorted()
    try:
        return _read(paths, records, report, options)
    except BaseException:
        records.close()
        raise


def _read(paths: Sequence[Path], records: Sorted, report: Report, options: Options) -> Arrivals:
    process, unit, has_local = "", "", False
    for path in paths:
        with table_of(path, report) as table:
            reader = _Reader(table, report, options, records)
            if process and reader.process != process:
                raise refused(
                    "FILE",
                    f"{path}:1",
                    f"must have {process}, as the files before it have; it has {reader.process}",
                )
            process, unit = reader.process, reader.unit
            if options.window_s is not None and process != "counts":
                allowed = (
                    f"must be left out, since the file has {process}: only counts have windows"
                )
                raise refused("--window", options.window_s, allowed)
            reader.read()
            has_local |= reader.clock.has_local
    if not records.count:
        numbers = unit == "iso" and report.count("dropped", NO_TIME)
        hint = " (numbers need --unit, such as --unit ms)" if numbers else ""
        drops = report.drops()
        raise refused("FILE", str(paths[0]), f"must have at least one usable row{drops}{hint}")
    if options.zone is not None and not has_local:
        allowed = "must be left out, since every date has a time zone of its own"
        raise refused("--zone", options.zone, allowed)
    last_ns = None
    several = " or ".join(path.name for path in paths)
    place = Place(str(paths[0]) if len(paths) == 1 else several, unit)
    if process == "counts":
        last_ns = _make_rates(records, report, place, options.window_s)
    elif process == "rates":
        _make_single(records, report, place)
    return Arrivals("times" if process == "times" else "rates", records, report, place, last_ns)


class _Reader:
    """Reads the rows of one table into records of time and value."""

    def __init__(self, table: CsvTable, report: Report, options: Options, records: Sorted) -> None:
        self.table, self.report, self.records = table, report, records
        self.time = self._time_column(options.column)
        name = table.columns[self.time]
        declared = declared_unit(name)
        if options.unit and declared and options.unit != declared:
            allowed = f"must be {declared} or left out, since {table.path}:1 has the column {name}"
            raise refused("--unit", options.unit, allowed)
        unit = options.unit or unit_of(name)
        if unit is None:
            raise refused(
                f"{table.path}:1: column",
                name,
                f"must end with its unit, such as {name}_s, unless --unit is {' or '.join(UNITS)}",
            )
        counts, rates = table.only("counts", _COUNTS), table.only("rates", tuple(_RATES))
        self.scale = 1.0
        if counts is not None and rates is not None:
            there = f"{table.columns[counts]} and {table.columns[rates]}"
            raise refused(f"{table.path}:1: columns", there, "must be counts or rates, not both")
        if rates is not None:
            self.scale = _RATES[table.columns[rates].lower()]
        self.value = counts if counts is not None else rates
        self.process = "counts" if counts is not None else "rates"
        if self.value is None:
            self.process = "times"
        self.unit, self.absolute = unit, unit == "iso"
        if options.zone is not None and not self.absolute:
            raise refused("--zone", options.zone, f"must be left out for times in {unit}")
        windows = self.value is not None
        self.clock = Clock(unit, report, options.zone, windows=windows)
        self.last: int | None = None

    def _time_column(self, asked: str | None) -> int:
        if asked is not None:
            return self.table.named("--column", asked)
        if len(self.table.columns) == 1 and number(self.table.columns[0]) is not None:
            raise refused(
                f"{self.table.path}:1: column",
                self.table.columns[0],
                "must be a name, such as time_s: line 1 has the names of the columns",
            )
        hint = "; or name one of them with --column"
        found = self.table.only("times", _STARTS, hint)
        if found is None:
            found = self.table.only("times", _ENDS, hint)
        if found is not None:
            return found
        there = ", ".join(self.table.columns)[:200]
        raise refused(
            f"{self.table.path}:1: columns",
            there,
            "must include times, such as time_s, time_ms or timestamp; or name the column of times"
            " with --column",
        )

    def read(self) -> None:
        for row in self.table.rows():
            self._read(row)

    def _read(self, row: CsvRow) -> None:
        time_ns = self.clock.read(row.cells[self.time], row.place)
        if time_ns is None:
            return
        if time_ns < 0 and not self.absolute:
            self.report.dropped("negative times", "their rows are left out", row.place)
            return
        value = 0.0
        if self.value is not None:
            read = number(row.cells[self.value])
            if read is None or not 0 <= read * self.scale <= MOST_RATE_RPS:
                what = f"{self.process} that are no number from 0 to 1e9"
                self.report.dropped(what, "their rows are left out", row.place)
                return
            value = read * self.scale
        if self.last is not None and time_ns < self.last:
            self.report.guessed("times before that of the row above", "sorted", row.place)
        self.last = time_ns
        self.report.understood(f"rows of {self.process}")
        self.records.add(time_ns, value)


def _make_single(records: Sorted, report: Report, place: Place) -> None:
    """Keep one of the rates of a time: the highest."""

    def single() -> Iterator[tuple[int, float]]:
        held: tuple[int, float] | None = None
        for record in records:
            if held and held[0] == record[0]:
                there = place.at(record[0])
                report.guessed("rates of the same time", "the highest is used", there)
            elif held:
                yield held
            held = record
        if held:
            yield held

    records.replace(single())


def _make_rates(
    records: Sorted, report: Report, place: Place, window_s: float | None
) -> int | None:
    """Turn counts in windows into rates, and return the end of the last one.

    Missing windows have no requests.
    """
    window_ns = round(window_s * 1e9) if window_s else _shortest(records, report)
    end: int | None = None

    def rates() -> Iterator[tuple[int, float]]:
        nonlocal end
        start: int | None = None
        count = 0.0
        for time_ns, value in records:
            if start is not None and time_ns == start:
                report.guessed("counts of the same window", "added up", place.at(time_ns))
                count += value
                continue
            if start is not None:
                yield from _window((start, time_ns, window_ns), count, report, place)
            start, count = time_ns, value
        if start is not None:
            end = start + window_ns
            yield start, count / window_ns * 1e9

    records.replace(rates())
    return end


def _window(
    times: tuple[int, int, int], count: float, report: Report, place: Place
) -> Iterator[tuple[int, float]]:
    """The rate of a window, and 0 after it if the next one is missing.

    `times` are its start, the start of the next one that is there, and its length.
    """
    start, next_start, window_ns = times
    length = min(window_ns, next_start - start)
    if length < window_ns:
        report.guessed(
            "windows that begin before the one before them has ended",
            "the one before is taken to end there",
            place.at(next_start),
        )
    yield start, count / length * 1e9
    if next_start - start > window_ns:
        missing = max(1, round((next_start - start) / window_ns) - 1)
        there = place.at(start + window_ns)
        report.guessed("windows that are missing", "taken to have no requests", there, missing)
        yield start + window_ns, 0.0


def _shortest(records: Sorted, report: Report) -> int:
    """The most common distance of the first thousand windows."""
    times: list[int] = []
    for time_ns, _ in records:
        if len(times) >= 1_000:
            break
        if not times or time_ns > times[-1]:
            times.append(time_ns)
    steps = sorted(after - before for before, after in itertools.pairwise(times))
    if not steps:
        drops = report.drops()
        raise refused(
            "--window",
            LEFT_OUT,
            f"must be given, since a single count does not show the length of its window{drops}",
        )
    runs = [bisect.bisect_right(steps, step) - bisect.bisect_left(steps, step) for step in steps]
    window_ns = steps[runs.index(max(runs))]
    report.guessed(
        "the length of the windows",
        f"{window_ns / 1e9:g} s, the most common distance; see --window",
    )
    return window_ns
