"""Lines of an import's report on times: the data's beside those of the simulated workload."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

__all__ = ["times_lines"]

#: The largest number of services with a line of their own, those that are furthest off first.
_SHOWN: Final = 10

#: The longest name that widens its column.
_WIDEST: Final = 40


def times_lines(times: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield lines of text on `times`, the object `times` of an import's report.

    A line has the mean and the P99 of a service in the data, and of the simulated workload. There
    are no lines for None, and if the data has no times of services.
    """
    if times is None or not times["services"]:
        return
    rows = list(times["services"])
    if times["refused"]:
        how = f"the workload cannot be simulated: {times['refused']}"
    elif times["requests"]:
        how = f"{times['requests']:,} requests of each service, simulated one at a time (Non-acc)"
    else:
        how = "not simulated (--check-requests 0)"
    yield f"times     {'us':>12}  {how}"
    shown = sorted(rows, key=_off, reverse=True)[:_SHOWN]
    width = min(max(len(row["service"]) for row in shown), _WIDEST)
    yield f"{'':24}{'':{width}}{'traced mean':>15}{'P99':>15}{'simulated':>15}{'P99':>15}{'off':>9}"
    for row in shown:
        ratio = row["mean_ratio"]
        off = "-" if ratio is None else f"{ratio - 1:+.1%}".replace("%", " %")
        keys = ("traced_p99_us", "simulated_mean_us", "simulated_p99_us")
        others = "".join(f"{_us(row[key]):>15}" for key in keys)
        yield (f"{'':24}{row['service']:{width}}{_us(row['traced_mean_us']):>15}{others}{off:>9}")
    if len(rows) > _SHOWN:
        yield f"{'':24}{len(rows) - _SHOWN} more services, less far off or not compared (--json)"


def _off(row: Mapping[str, Any]) -> float:
    return -1.0 if row["mean_ratio"] is None else abs(float(row["mean_ratio"]) - 1.0)


def _us(time_us: float | None) -> str:
    return "-" if time_us is None else f"{time_us:,.1f}"
