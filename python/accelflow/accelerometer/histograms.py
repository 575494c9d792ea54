"""Size histograms in the output of bpftrace's `hist()` and `lhist()`."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from accelflow.accelerometer.service import Sizes
from accelflow.errors import LEFT_OUT, refused, unreadable

#: bpftrace's units are powers of 1024.
_UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_NUMBER: Final = r"(-?\d+)([KMGT]?)"
_NAME: Final = re.compile(r"^(@[\w.]*(?:\[[^\]]*\])?):\s*$")
#: `[256, 512)  10 |@@|`, a single value `[1]  3 |@|`, and open ends `(..., 0)` and `[1M, ...)`.
_BIN: Final = re.compile(
    rf"^[\[(](?:{_NUMBER}|\.\.\.)(?:,\s*(?:{_NUMBER}|\.\.\.)[\])])?\]?\s+(\d+)\s*(?:\|.*)?$"
)


@dataclass(frozen=True)
class Histogram:
    """A histogram of sizes: its name, and the distribution and the number of the sizes.

    `count` is the number of sizes above 0 bytes, and `empty` the number of sizes of 0 bytes.
    """

    name: str
    sizes: Sizes
    count: int
    empty: int


def read_histogram(path: Path, name: str | None = None) -> Histogram:
    """Read the histogram called `name`, such as ``@bytes``, in bpftrace's output at `path`.

    `name` may be omitted if the file has one histogram. Sizes are spread evenly within a bin. Sizes
    of 0 bytes are counted, but they are not offloads. Raises InputError for a file that
    cannot be read or has no histogram, an unknown name, sizes below 0, and a bin without an end.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable("histogram", path, error) from error
    found = _bins(text)
    if not found:
        allowed = "must be at least 1, in the output of bpftrace's hist or lhist"
        raise refused(f"{path}: number of histograms", 0, allowed)
    if name is None and len(found) > 1:
        raise refused(f"{path}: map", LEFT_OUT, known=found)
    if name is not None and name not in found:
        raise refused(f"{path}: map", name, known=found)
    chosen = name or next(iter(found))
    return _histogram(chosen, found[chosen], f"{path}: {chosen}")


def _bins(text: str) -> dict[str, list[re.Match[str]]]:
    """The lines of each histogram. A map that is printed again, as by an interval, is added to."""
    found: dict[str, list[re.Match[str]]] = {}
    name = "@"
    for line in text.splitlines():
        if heading := _NAME.match(line.strip()):
            name = heading[1]
        elif row := _BIN.match(line.strip()):
            found.setdefault(name, []).append(row)
    return found


def _histogram(name: str, rows: list[re.Match[str]], place: str) -> Histogram:
    counts: dict[tuple[int, int], int] = {}
    empty = 0
    for row in rows:
        low, low_unit, high, high_unit, count = row.groups()
        # A single value is a bin of its own: bpftrace prints [1], and not [1, 2).
        single = "," not in row[0].split("|")[0]
        if int(count) == 0:
            continue
        if low is None or int(low) < 0 or (high is None and not single):
            raise refused(
                f"{place}: bin", row[0].strip(), "must have a start and an end of 0 bytes or more"
            )
        start = int(low) * _UNITS[low_unit]
        end = start + 1 if single else int(high) * _UNITS[high_unit]
        if end <= start:
            raise refused(f"{place}: bin", row[0].strip(), "must end above its start")
        if end == 1:
            empty += int(count)
            continue
        counts[start, end] = counts.get((start, end), 0) + int(count)
    total = sum(counts.values())
    if not total:
        raise refused(
            f"{place}: number of offloads with a size above 0 bytes", 0, "must be at least 1"
        )
    return Histogram(name, _sizes(counts, total, place), total, empty)


def _sizes(counts: dict[tuple[int, int], int], total: int, place: str) -> Sizes:
    """The distribution with an edge at each end of a bin. A bin [a, b) has the sizes a to b - 1.

    Edges are in the middle between whole sizes, so that the mean of a bin is right, also of one
    size.
    """
    points: list[tuple[float, float]] = []
    so_far = 0
    for (start, end), count in sorted(counts.items()):
        low, high = max(start, 1) - 0.5, end - 0.5
        if points and low < points[-1][0]:
            allowed = "must not lie inside another bin: bins of one histogram do not overlap"
            raise refused(f"{place}: start of a bin", start, allowed)
        if not points or low > points[-1][0]:
            points.append((low, so_far / total))
        so_far += count
        points.append((high, so_far / total))
    return Sizes(
        bytes=[size for size, _ in points], cumulative_ratio=[share for _, share in points]
    )
