"""The rows of a waterfall."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

__all__ = ["Piece", "WaterfallRow", "length_us", "rows_of", "time_text", "totals"]

#: The name of a row that shows application logic and no trace.
APPLICATION: Final = "application"


@dataclass(frozen=True, kw_only=True)
class Piece:
    """A piece of a request's time, from `from_ns` to `until_ns` after the request's arrival.

    `part` is the part of the response time to which the piece counts, such as ``queueing``, and
    `at` the resource that works on the request or for which it waits. `waits` is whether the
    request waits during the piece, and `critical` whether the response waited for it.
    """

    from_ns: float
    until_ns: float
    #: The part of the response time to which the piece counts, such as ``queueing``.
    part: str
    #: The resource that works on the request, or for which the request waits.
    at: str
    waits: bool
    critical: bool

    @property
    def length_ns(self) -> float:
        """The length of the piece in ns."""
        return self.until_ns - self.from_ns


#: Half a picosecond. Simulated time is in whole picoseconds.
_ROUNDING_NS: Final = 0.0005


@dataclass
class WaterfallRow:
    """The time of one execution of a trace, or of application logic, as a row of a picture.

    `name` is the trace's name, or ``application``. `pieces` are ordered by time.
    """

    name: str
    pieces: list[Piece] = field(default_factory=list)


def rows_of(waterfall: Mapping[str, Any]) -> list[WaterfallRow]:
    """Group the segments of one request's time into rows, ordered by their start.

    `waterfall` is an object of schema ``accelflow.waterfall/1``. Each execution of a trace is one
    row, even if the object lists segments of other rows between its own. The key ``job`` of a
    segment tells apart traces that run at the same time, but a later trace may have the same job.
    So segments of one trace and job belong together only if they follow each other without a gap in
    time. Application logic has a row for each phase.
    """
    rows: list[WaterfallRow] = []
    open_rows: dict[tuple[int | None, str | None], WaterfallRow] = {}
    last: tuple[int | None, str | None] | None = None
    for segment in waterfall["segments"]:
        key = segment["job"], segment["trace"]
        new = key not in open_rows or (key[0] is None and last != key)
        if not new and key[0] is not None:
            new = segment["from_ns"] > open_rows[key].pieces[-1].until_ns + _ROUNDING_NS
        if new:
            open_rows[key] = WaterfallRow(segment["trace"] or APPLICATION)
            rows.append(open_rows[key])
        last = key
        open_rows[key].pieces.append(
            Piece(
                from_ns=segment["from_ns"],
                until_ns=segment["until_ns"],
                part=segment["part"],
                at=segment["at"],
                waits=segment["waits"],
                critical=segment["critical"],
            )
        )
    return rows


def length_us(waterfall: Mapping[str, Any]) -> float:
    """Return the time from a request's arrival to its end, in us.

    `waterfall` is an object of schema ``accelflow.waterfall/1``. A request ends with its response,
    or without one.
    """
    response_us = waterfall["response_us"]
    return float(waterfall["ended_us"] if response_us is None else response_us)


def time_text(waterfall: Mapping[str, Any]) -> str:
    """Return a request's response time in words, or that the request has none.

    `waterfall` is an object of schema ``accelflow.waterfall/1``.
    """
    time = f"{length_us(waterfall):,.1f} us"
    return f"no response, ended after {time}" if waterfall["response_us"] is None else time


def totals(rows: list[WaterfallRow]) -> list[tuple[str, bool, float]]:
    """Return the time on the critical path by resource: (name, whether it is a wait, time in ns).

    The longest time comes first.
    """
    spent: defaultdict[tuple[str, bool], float] = defaultdict(float)
    for row in rows:
        for piece in row.pieces:
            if piece.critical:
                spent[piece.at, piece.waits] += piece.length_ns
    found = [(at, waits, time) for (at, waits), time in spent.items()]
    return sorted(found, key=lambda entry: (-entry[2], entry[:2]))
