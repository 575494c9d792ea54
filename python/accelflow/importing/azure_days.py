"""Azure's tables of 2019: invocations per minute, durations and memory."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Mapping
from typing import Final

from accelflow.errors import refused
from accelflow.importing.numbers import number
from accelflow.importing.report import Report
from accelflow.importing.sources import LONGEST_NAME, CsvRow, CsvTable

__all__ = ["Days"]

#: Azure's tables have some 80,000 functions a day.
_MOST_FUNCTIONS: Final = 1_000_000

#: Functions whose minutes are held, for each one that is wanted: later days change the order.
_HELD: Final = 8

_FEWEST: Final = 64


class Days:
    """The functions in Azure's tables of 2019, with their invocations by minute and durations.

    The tables have one day or consecutive days. Invocations by minute are kept for the most invoked
    functions, and only totals for the others. So memory does not grow with the product of all
    functions and all minutes.
    """

    def __init__(self, report: Report, top: int) -> None:
        """Begin without tables; the `top` most invoked functions are needed later."""
        self.report = report
        self._hold = max(_FEWEST, _HELD * top)
        self._totals: Counter[str] = Counter()
        self._minutes: dict[str, Counter[int]] = {}
        self._lost: set[str] = set()
        #: The invocations, and the sums over them of the mean, the median and the P99 in ms.
        self._durations: dict[str, tuple[float, float, float, float]] = {}
        self._length = 0

    def read_invocations(self, table: CsvTable) -> None:
        """Add the invocations in `table`, which has one day, with a column for each minute.

        These columns are called ``1`` or ``minute_1`` and so on. Raises InputError for other
        columns, and for more than a million functions.
        """
        function = table.index("invocations", "HashFunction")
        columns = [
            (int(name.removeprefix("minute_")) - 1, index)
            for index, name in enumerate(table.columns)
            if name.removeprefix("minute_").isascii() and name.removeprefix("minute_").isdigit()
        ]
        minutes = [minute for minute, _ in columns]
        if minutes != list(range(len(minutes))) or len(minutes) > 1_440:
            raise refused(
                f"{table.path}:1: minute columns",
                ", ".join(map(str, (minute + 1 for minute in minutes)))[:200],
                "must be 1, 2, 3 and so on, to 1440 at most",
            )
        seen: set[bytes] = set()
        for row in table.rows():
            self._row(row, row.cells[function].strip(), columns, seen)
        self._length += len(minutes)

    def _row(
        self, row: CsvRow, function: str, columns: list[tuple[int, int]], seen: set[bytes]
    ) -> None:
        if not 0 < len(function) <= LONGEST_NAME:
            what = f"rows without a function of up to {LONGEST_NAME} characters"
            self.report.dropped(what, "left out", row.place)
            return
        key = hashlib.blake2b(function.encode(), digest_size=8).digest()
        if key in seen:
            self.report.understood("rows of a function that has another (other trigger): added")
        seen.add(key)
        counts: Counter[int] = Counter()
        wrong = 0
        for minute, index in columns:
            cell = row.cells[index]
            if cell == "0":
                continue
            count = number(cell)
            if count is None or count < 0 or count != int(count):
                wrong += 1
            elif count:
                counts[self._length + minute] = int(count)
        self.report.dropped(
            "counts that are no whole number from 0 on", "taken for 0", row.place, wrong
        )
        self.report.understood("rows of invocations")
        self._count(function, counts)

    def _count(self, function: str, counts: Counter[int]) -> None:
        self._totals[function] += counts.total()
        if len(self._totals) > _MOST_FUNCTIONS:
            allowed = f"must be at most {_MOST_FUNCTIONS}"
            raise refused("number of functions", len(self._totals), allowed)
        if function in self._lost:
            return
        self._minutes.setdefault(function, Counter()).update(counts)
        if len(self._minutes) > 2 * self._hold:
            ranked = sorted(self._minutes, key=lambda name: (-self._totals[name], name))
            for name in ranked[self._hold :]:
                self._lost.add(name)
                del self._minutes[name]

    def read_durations(self, table: CsvTable) -> None:
        """Add the durations in `table`; rows of one function are weighted by their invocations.

        Raises InputError if a column is missing, and for more than a million functions.
        """
        function, mean, median, count = (
            table.index("durations", name)
            for name in ("HashFunction", "Average", "percentile_Average_50", "Count")
        )
        tail = table.find("percentile_Average_99")
        for row in table.rows():
            name = row.cells[function].strip()
            p99_ms = math.nan if tail is None else number(row.cells[tail])
            if p99_ms is None or p99_ms < 0:
                p99_ms = math.nan
            read = [number(row.cells[index]) for index in (mean, median, count)]
            mean_ms, median_ms, weight = (-1.0 if each is None else each for each in read)
            if mean_ms < 0 or median_ms < 0 or weight <= 0 or not 0 < len(name) <= LONGEST_NAME:
                self.report.dropped(
                    "durations that are negative, not a number or of no invocation",
                    "left out",
                    row.place,
                )
                continue
            self.report.understood("rows of durations")
            if mean_ms == 0 or median_ms == 0:
                # The table has whole milliseconds.
                self.report.convention("durations of 0 ms", "taken for 0.5 ms")
            before = self._durations.get(name, (0.0, 0.0, 0.0, 0.0))
            if before[0]:
                self.report.guessed(
                    "further durations of a function", "averaged, weighted by counts", row.place
                )
            elif len(self._durations) >= _MOST_FUNCTIONS:
                raise refused(
                    f"{row.place}: number of functions",
                    len(self._durations) + 1,
                    f"must be at most {_MOST_FUNCTIONS}",
                )
            self._durations[name] = (
                before[0] + weight,
                before[1] + weight * (mean_ms or 0.5),
                before[2] + weight * (median_ms or 0.5),
                before[3] + weight * (p99_ms or 0.5),
            )

    def read_memory(self, table: CsvTable) -> None:
        """Count the rows of a table of memory use as not used: workloads have no memory use."""
        rows = sum(1 for _ in table.rows())
        self.report.left_out("rows of memory", "left out: not part of a workload", rows)

    def totals(self) -> Mapping[str, int]:
        """Return the number of invocations of each function that has any."""
        found = {name: total for name, total in self._totals.items() if total}
        idle = len(self._totals) - len(found)
        self.report.left_out("functions without an invocation", "not in the workload", idle)
        return found

    def has_minutes(self, function: str) -> bool:
        """Return whether the invocations of `function` by minute are known.

        While tables are read, a function's invocations by minute are dropped (but not their total)
        if many other functions have had more invocations so far.
        """
        return function in self._minutes

    def minutes(self, function: str) -> Mapping[int, int]:
        """Return the invocations of `function` by minute, from 0, for minutes that have any."""
        return self._minutes[function]

    def length(self) -> int:
        """Return the length of all days in minutes."""
        return self._length

    def duration_ms(self, function: str, kind: str) -> float | None:
        """Return the median or mean duration of `function` in ms, or None without durations.

        `kind` is one of :data:`accelflow.importing.azure.DURATIONS`.
        """
        weight, mean, median, _ = self._durations.get(function, (0.0, 0.0, 0.0, 0.0))
        return (median if kind == "median" else mean) / weight if weight else None

    def p99_ms(self, function: str) -> float | None:
        """Return the P99 of the durations of `function` in ms, or None if the table has none."""
        weight, _, _, p99 = self._durations.get(function, (0.0, 0.0, 0.0, math.nan))
        return None if math.isnan(p99) or not weight else p99 / weight
