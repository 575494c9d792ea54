"""Lines of an import's report on coverage: the share of the spans' requests in the workload."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

__all__ = ["coverage_lines", "coverage_warnings"]

#: The largest number of operations with a line of their own, the least covered first.
_SHOWN: Final = 10

#: The share of an operation's requests in the rates below which a warning says so.
_ENOUGH: Final = 0.9

#: A row of the report's list `coverage`, for an operation of a service.
Row = Mapping[str, Any]


def coverage_lines(rows: Sequence[Row]) -> Iterator[str]:
    """Yield lines of text on `rows`, the list `coverage` of an import's report.

    A row says which share of an operation's requests is in the workload. The least covered
    operations have a line each; those that are covered completely share one.
    """
    parts = sorted((row for row in rows if _share(row) < 1), key=_share)
    for row in parts[:_SHOWN]:
        yield f"coverage  {_percent(_share(row)):>12}  {_of(row)}: {_shapes(row)}"
    if len(parts) > _SHOWN:
        yield f"{'':24}{len(parts) - _SHOWN} more operations are not covered completely (--json)"
    if whole := len(rows) - len(parts):
        operations = "1 operation" if whole == 1 else f"{whole} operations"
        yield f"coverage  {_percent(1.0):>12}  of the requests of {operations}"


def coverage_warnings(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a warning if the workload's rates leave out over 10 % of an operation's requests.

    `rows` is the list `coverage` of an import's report.
    """
    lacking = [row for row in rows if row["share_of_rate"] < _ENOUGH]
    if not lacking:
        return
    least = min(lacking, key=lambda row: float(row["share_of_rate"]))
    share = _percent(least["share_of_rate"])
    others = f" (and under {_ENOUGH:.0%} for {len(lacking) - 1} more)" if lacking[1:] else ""
    yield (
        f"the workload's rates have only {share} of the requests to {_name(least)}{others}: the"
        " rest is left out; --shapes keeps more sequences of calls, and --rates operation"
        " adds the rest to the rates of those kept"
    )


def _share(row: Row) -> float:
    return min(float(row["share_of_rate"]), float(row["share_of_requests"]))


def _name(row: Row) -> str:
    return " ".join(part for part in (row["spans_of"], row["operation"]) if part)


def _of(row: Row) -> str:
    if row["share_of_rate"] < 1 or not row["shapes_kept"]:
        return f"of the requests of {_name(row)}"
    return f"of the requests of {_name(row)}, for all of which these stand"


def _shapes(row: Row) -> str:
    found = "?" if row["shapes"] is None else f"{row['shapes']:,}"
    return f"{row['shapes_kept']} of {found} shapes, {_percent(row['share_of_time'])} of their time"


def _percent(share: float) -> str:
    """Return `share` in percent, rounded down: only a whole is 100 %."""
    return f"{math.floor(share * 1000 + 1e-6) / 10:.1f} %"
