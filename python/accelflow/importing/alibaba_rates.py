"""Rates of Alibaba's table MSRTQps (2021), called MS_Metrics or MS_MCR_RT in its description."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from accelflow.errors import refused
from accelflow.importing.numbers import number
from accelflow.importing.report import Report
from accelflow.importing.sources import LONGEST_NAME, CsvTable

__all__ = ["Rates"]

#: Metrics that count requests into a microservice, in requests a second of one instance.
_PROVIDED: Final = frozenset({"providerrpc_mcr", "http_mcr"})

#: One for each minute of twelve hours and each of the 1,300 microservices, five times over.
_MOST: Final = 5_000_000


class Rates:
    """The rates in Alibaba's table MSRTQps: requests per second into each microservice over time.

    The rates of a microservice's instances are added.
    """

    def __init__(self, report: Report) -> None:
        """Begin without rows."""
        self.report = report
        self._rates: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
        self._count = 0

    def read(self, table: CsvTable) -> None:
        """Add the rates in the rows of `table`.

        Raises InputError if a column of Alibaba's table MSRTQps is missing (timestamp, msname,
        metric, value), and for more than five million pairs of microservice and time.
        """
        time, name, metric, value = (
            table.index("the table MSRTQps", *names)
            for names in (("timestamp",), ("msname",), ("metric", "metrics"), ("value",))
        )
        for row in table.rows():
            if row.cells[metric].strip().lower() not in _PROVIDED:
                self.report.left_out(
                    "rows of other metrics than providerRPC_MCR and HTTP_MCR", "not used"
                )
                continue
            at_ms, rate_rps = number(row.cells[time]), number(row.cells[value])
            is_named = 0 < len(row.cells[name].strip()) <= LONGEST_NAME
            if at_ms is None or rate_rps is None or rate_rps < 0 or not is_named:
                self.report.dropped(
                    "rates that are no number from 0 on, or of no microservice",
                    "left out",
                    row.place,
                )
                continue
            self.report.understood("rows of rates")
            rates = self._rates[row.cells[name].strip()]
            self._count += int(at_ms) not in rates
            rates[int(at_ms)] += rate_rps
            if self._count > _MOST:
                raise refused(
                    "FILE", row.place, f"must have at most {_MOST} rates of microservices"
                )

    def any(self) -> bool:
        """Return whether any microservice has a rate."""
        return bool(self._rates)

    def mean_rps(self, name: str) -> float | None:
        """Return the mean requests per second into the microservice `name`; None without rows.

        This is the mean over the times in its rows. The rate at a time is the sum of the rows of
        that time, one for each instance and metric (RPC and HTTP).
        """
        rates = self._rates.get(name)
        return sum(rates.values()) / len(rates) if rates else None

    def table(
        self, name: str, share: float
    ) -> tuple[Iterator[tuple[int, float]], tuple[int, float]]:
        """Return the rates of the microservice `name` over time, multiplied by `share`, and an end.

        The rates are pairs (start in ns from the first one, requests per second). The end is a
        pair, too: the end of the last rate in ns, and the mean of all rates, which holds from there
        on. There must be rates at several times; see :meth:`varies`.
        """
        rates = self._rates[name]
        times = sorted(rates)
        pairs = (((at - times[0]) * 1_000_000, rates[at] * share) for at in times)
        end_ns = (2 * times[-1] - times[-2] - times[0]) * 1_000_000
        return pairs, (end_ns, sum(rates.values()) / len(times) * share)

    def varies(self, name: str) -> bool:
        """Return whether the microservice `name` has rates at several times."""
        return len(self._rates.get(name, {})) > 1
