"""Azure's table of 2021: one row for each invocation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from accelflow.errors import refused
from accelflow.importing.numbers import Quantiles, number
from accelflow.importing.report import Report
from accelflow.importing.sources import LONGEST_NAME, CsvTable

__all__ = ["Invocations"]

#: Azure's table has some 400 functions, in two weeks of 1,440 minutes a day.
_MOST_MINUTES: Final = 10_000_000
_MOST_FUNCTIONS: Final = 100_000

#: A hundred years; a larger number is not a time in seconds.
_LATEST_S: Final = 3.2e9

#: Beyond every minute.
_NEVER: Final = 1 << 62


class Invocations:
    """The functions of Azure's table of 2021, with the minutes in which invocations began."""

    def __init__(self, report: Report) -> None:
        """Begin without rows."""
        self.report = report
        self._minutes: dict[str, Counter[int]] = {}
        self._durations: dict[str, Quantiles] = {}
        self._held = 0
        self._last = -_NEVER
        #: The minute in which the first of all invocations ended: the table does not have all that
        #: began before it.
        self._first = _NEVER

    def read(self, table: CsvTable) -> None:
        """Add the invocations in `table`, in any order.

        Raises InputError if a column is missing, for more than 100,000 functions, and for more than
        10,000,000 minutes with invocations over all functions.
        """
        columns = [
            table.index("invocations", name)
            for name in ("app", "func", "end_timestamp", "duration")
        ]
        for row in table.rows():
            app, func, end, length = (row.cells[column].strip() for column in columns)
            end_s, duration_s = number(end), number(length)
            if (
                not 0 < len(func) <= LONGEST_NAME
                or len(app) > LONGEST_NAME
                or end_s is None
                or abs(end_s) > _LATEST_S
            ):
                self.report.dropped(
                    "invocations without a function or a time", "left out", row.place
                )
                continue
            if duration_s is None or duration_s < 0 or duration_s > _LATEST_S:
                self.report.dropped(
                    "durations that are negative, of over 100 years or no number",
                    "left out",
                    row.place,
                )
                continue
            if duration_s == 0:
                self.report.guessed("durations of 0 s", "taken for 0.5 ms", row.place)
            self.report.understood("invocations")
            minute = int((end_s - duration_s) // 60)
            self._first = min(self._first, int(end_s // 60))
            self._add(f"{app}.{func}" if app else func, minute, 1e3 * (duration_s or 5e-4))

    def _add(self, name: str, minute: int, duration_ms: float) -> None:
        minutes = self._minutes.setdefault(name, Counter())
        self._held += minute not in minutes
        if self._held > _MOST_MINUTES or len(self._minutes) > _MOST_FUNCTIONS:
            raise refused(
                "invocations",
                f"{len(self._minutes)} functions, {self._held} pairs of function and minute",
                f"must be of at most {_MOST_FUNCTIONS} functions, and have at most {_MOST_MINUTES}"
                " pairs of a function and a minute in which it ran",
            )
        minutes[minute] += 1
        self._last = max(self._last, minute)
        self._durations.setdefault(name, Quantiles()).add(duration_ms)

    def totals(self) -> Mapping[str, int]:
        """Return the number of invocations of each function."""
        early = sum(
            count
            for minutes in self._minutes.values()
            for minute, count in minutes.items()
            if minute < self._first
        )
        what = "invocations that began before the minute in which the first of all ended"
        self.report.convention(what, "counted in that minute, the table's first", early)
        return {name: minutes.total() for name, minutes in self._minutes.items()}

    def has_minutes(self, function: str) -> bool:
        """Return True: the invocations by minute are known for every function."""
        return function in self._minutes

    def minutes(self, function: str) -> Mapping[int, int]:
        """Return the invocations of `function` by minute, for minutes that have any.

        Minute 0 is that in which the first invocation of any function ended. Invocations that began
        earlier count in it.
        """
        found: Counter[int] = Counter()
        for minute, count in self._minutes[function].items():
            found[max(minute - self._first, 0)] += count
        return found

    def length(self) -> int:
        """Return the number of minutes from the first end to the last begin, both included."""
        return max(self._last - self._first, 0) + 1

    def duration_ms(self, function: str, kind: str) -> float | None:
        """Return the median or mean duration of `function` in ms, or None without durations.

        `kind` is one of :data:`accelflow.importing.azure.DURATIONS`.
        """
        durations = self._durations.get(function)
        if durations is None:
            return None
        return durations.at(0.5) if kind == "median" else durations.mean

    def p99_ms(self, function: str) -> float | None:
        """Return the P99 of the durations of `function` in ms, or None if the table has none."""
        durations = self._durations.get(function)
        return None if durations is None else durations.at(0.99)
