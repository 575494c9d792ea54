"""Times in columns of tables: relative or absolute numbers, and dates with or without a zone."""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Final

from accelflow.errors import refused
from accelflow.importing.numbers import number, scaled
from accelflow.importing.report import Report

__all__ = ["NO_TIME", "UNITS", "Clock", "Place", "declared_unit", "unit_of"]

#: Units of times, in nanoseconds; `iso` is for dates such as ``2026-03-29T01:59:59.5+01:00``.
UNITS: Final = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "iso": 0}

#: What the report says of a text that is not a time.
NO_TIME: Final = "values that are not times"

#: A date as a number has the digits of the year, the month and the day: 20260329.
_DATE_DIGITS: Final = 8

_HOUR_NS: Final = 3_600_000_000_000

#: Times that go back by more than this, in the hour that the clocks show twice, are in its second
#: pass. Logs written at the end of requests are out of order by less.
_BACK_NS: Final = 300_000_000_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

#: The digits of a second after the sixth decimal; a zone's offset may follow.
_FINE: Final = re.compile(r".{8,11}[^-+Z.,]*[.,]\d{6}(\d+)", re.ASCII)

#: Three centuries: beyond it, a number is not a time in the unit that is declared.
_LIMIT_NS: Final = 9_000_000_000_000_000_000


def declared_unit(column: str) -> str | None:
    """Return the unit of time in a column's name, such as ``ms`` of ``time_ms``; None without."""
    end = column.lower().rpartition("_")[2]
    return end if end in UNITS else None


def unit_of(column: str) -> str | None:
    """Return the unit of the times in a column by its name; None if the name does not tell.

    A column called ``timestamp``, ``datetime`` or ``date`` has dates, whose unit is ``iso``.
    Otherwise the unit is that of :func:`declared_unit`.
    """
    dates = column.lower() in {"timestamp", "datetime", "date"}
    return "iso" if dates else declared_unit(column)


@dataclass(frozen=True)
class Place:
    """The origin of times, for error messages: the tables' paths `files`, and the times' `unit`."""

    files: str
    unit: str

    def at(self, time_ns: int) -> str:
        """Return text with the files and the time `time_ns`, in the unit of the tables."""
        if self.unit == "iso":
            whole, rest = divmod(time_ns, UNITS["s"])
            date = (_EPOCH + timedelta(seconds=whole)).replace(tzinfo=None).isoformat()
            decimals = f".{rest:09}".rstrip("0") if rest else ""
            return f"{self.files}, {date}{decimals}Z"
        whole, rest = divmod(time_ns, UNITS[self.unit])
        decimals = f"{rest / UNITS[self.unit]:.9f}".rstrip("0")[1:] if rest else ""
        return f"{self.files}, {whole}{decimals} {self.unit}"


class Clock:
    """A reader of the times in one column of tables, which returns whole ns and reports defects."""

    def __init__(
        self, unit: str, report: Report, zone: str | None = None, *, windows: bool = False
    ) -> None:
        """Read times of `unit`; dates without a zone are in `zone`, by default UTC.

        `windows` is true if the times are starts of windows of counted requests. Clocks show an
        hour twice when daylight saving time ends. If two successive windows start at the same time
        of this hour, the second one is taken to start an hour later, unless successive windows
        started at equal times before. Raises InputError for an unknown zone.
        """
        self._report = report
        self._scale = UNITS[unit]
        self._zone = _zone(zone) if zone else None
        self._read: Callable[[str, str], int | None] = self._date if unit == "iso" else self._plain
        self._before: int | None = None
        self._windows = windows
        self._repeats = False
        #: Whether a date without a zone was read.
        self.has_local = False

    def read(self, text: str, place: str) -> int | None:
        """Return the time in `text` in ns; None if it is no time, which the report then counts."""
        time_ns = self._read(text.strip(), place)
        if time_ns is None or abs(time_ns) > _LIMIT_NS:
            self._report.dropped(NO_TIME, "their rows are left out", place)
            return None
        return time_ns

    def _plain(self, text: str, _: str) -> int | None:
        return scaled(text, self._scale)

    def _date(self, text: str, place: str) -> int | None:
        # Python reads 1712110100100, milliseconds since 1970, as the year 1712.
        if number(text) is not None and not (text.isdecimal() and len(text) == _DATE_DIGITS):
            return None
        try:
            date = datetime.fromisoformat(text)
            time_ns = _ns(self._placed(date, place) if date.tzinfo is None else date)
            return time_ns + _below_us(text)
        except (ValueError, OverflowError):  # a change of the clocks in the year 1 or 9999
            return None

    def _placed(self, date: datetime, place: str) -> datetime:
        """Return `date` with a zone; a repeated hour is first taken as the earlier one."""
        self.has_local = True
        if self._zone is None:
            self._report.guessed("dates without a time zone", "taken for UTC; see --zone", place)
            self._name_jump(date, place)
            return date.replace(tzinfo=UTC)
        local = date.replace(tzinfo=self._zone)
        if local.utcoffset() != local.replace(fold=1).utcoffset():
            local = self._in_change(local, place)
        now = _ns(local)
        self._repeats |= now == self._before
        self._before = now
        return local

    def _in_change(self, local: datetime, place: str) -> datetime:
        """A time that the change of the clocks skips or repeats."""
        back = local.astimezone(UTC).astimezone(self._zone).replace(tzinfo=None)
        if back != local.replace(tzinfo=None):
            self._report.guessed(
                "times that the clocks skip (daylight saving time begins)",
                "taken for an hour later",
                place,
            )
            return local
        self._report.guessed(
            "times that the clocks show twice (daylight saving time ends)",
            "the first until times go back by over 5 minutes, then the second",
            place,
        )
        back_ns = -1 if self._before is None else self._before - _ns(local)
        # Windows of an hour show the hour's start twice, unless all rows of a window are apart.
        again = back_ns > _BACK_NS or (back_ns == 0 and self._windows and not self._repeats)
        return local.replace(fold=1) if again else local

    def _name_jump(self, date: datetime, place: str) -> None:
        now = _ns(date.replace(tzinfo=UTC))
        jump = 0 if self._before is None else self._before - now
        if 0.9 * _HOUR_NS < jump <= 1.01 * _HOUR_NS:
            self._report.guessed(
                "jumps back by an hour in dates without a time zone",
                "taken as they are; if daylight saving time ended there, give --zone",
                place,
            )
        self._before = now


def _ns(date: datetime) -> int:
    return (date - _EPOCH) // timedelta(microseconds=1) * 1_000


def _below_us(text: str) -> int:
    """Return the ns below the last us in the date `text`, which Python's dates do not hold."""
    found = _FINE.match(text) if "." in text or "," in text else None
    return round(1_000 * Decimal(f"0.{found[1]}")) if found else 0


def _zone(name: str) -> zoneinfo.ZoneInfo:
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        known = zoneinfo.available_timezones()
        if not known:
            raise refused(
                "--zone", name, "must be left out: this machine has no table of time zones"
            ) from None
        near = known if len(known) < 30 else {each for each in known if "/" in each}
        raise refused("--zone", name, "must be a time zone such as Europe/Berlin", near) from None
