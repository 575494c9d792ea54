"""Size histograms in the output of bpftrace's `hist()` and `lhist()`."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
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

#: The two kinds of scripts that print a map several times: those that do not clear it in between,
#: so that each print has all sizes so far, and those that clear it after each print.
_KINDS: Final = ("cumulative", "cleared")

#: One print of a map: its lines by the text of their bins.
_Print = Mapping[str, re.Match[str]]


@dataclass(frozen=True)
class Histogram:
    """A histogram of sizes: its name, and the distribution and the number of the sizes.

    `count` is the number of sizes above 0 bytes, and `empty` the number of sizes of 0 bytes.
    """

    name: str
    sizes: Sizes
    count: int
    empty: int


def read_histogram(path: Path, name: str | None = None, prints: str | None = None) -> Histogram:
    """Read the histogram called `name`, such as ``@bytes``, in bpftrace's output at `path`.

    `name` may be omitted if the file has one histogram. Sizes are spread evenly within a bin. Sizes
    of 0 bytes are counted, but they are not offloads.

    A script may print a map several times, and bpftrace prints it again at exit. `prints` is
    ``cumulative`` if nothing clears the map in between: the last print then has all sizes. It is
    ``cleared`` if the script clears the map after each print: the prints are then added. `prints`
    may be omitted if there is only one print, or if some count falls from each print to the next,
    which only clearing causes. Rising counts prove nothing, since the load may have risen.

    Raises InputError for a file that cannot be read or has no histogram, an unknown name, sizes
    below 0, a bin without an end, `prints` that is omitted where it is needed, and ``cumulative``
    prints in which a count falls.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable("histogram", path, error) from error
    if prints is not None and prints not in _KINDS:
        raise refused(f"{path}: prints", prints, known=_KINDS)
    found = _prints(text)
    if not found:
        allowed = "must be at least 1, in the output of bpftrace's hist or lhist"
        raise refused(f"{path}: number of histograms", 0, allowed)
    if name is None and len(found) > 1:
        raise refused(f"{path}: map", LEFT_OUT, known=found)
    if name is not None and name not in found:
        raise refused(f"{path}: map", name, known=found)
    chosen = name or next(iter(found))
    rows = _each_size_once(found[chosen], prints, chosen, f"{path}: prints")
    return _histogram(chosen, rows, f"{path}: {chosen}")


def _prints(text: str) -> dict[str, list[_Print]]:
    """The prints of each map that is a histogram, in their order; some may be empty."""
    found: dict[str, list[dict[str, re.Match[str]]]] = {}
    name = "@"
    for line in text.splitlines():
        if heading := _NAME.match(line.strip()):
            name = heading[1]
            found.setdefault(name, []).append({})
        elif row := _BIN.match(line.strip()):
            of_bin = row[0][: row.start(5)].strip()
            known = found.setdefault(name, [{}])
            if of_bin in known[-1]:  # the next print, without its heading
                known.append({})
            known[-1][of_bin] = row
    return {name: list(prints) for name, prints in found.items() if any(prints)}


def _each_size_once(
    prints: Sequence[_Print], kind: str | None, name: str, place: str
) -> list[re.Match[str]]:
    """The lines of all prints of a map, or of the last one if each has all sizes so far."""
    pairs = list(enumerate(pairwise(prints), start=1))
    falls = [number for number, (before, after) in pairs if _falls(before, after)]
    if kind == "cumulative":
        if falls:
            allowed = (
                f"must be cleared, as a count of {name} falls from print {falls[0]} to the next"
            )
            raise refused(place, kind, allowed)
        return list(prints[-1].values())
    # After an empty print, both kinds of scripts print the same.
    unknown = [n for n, (before, after) in pairs if _counted(before) and not _falls(before, after)]
    if kind is None and unknown:
        allowed = (
            f"must be cumulative or cleared, as {name} is printed {len(prints)} times: cumulative"
            f" if nothing clears {name} in between, cleared if the script clears it after each"
            " print"
        )
        raise refused(place, LEFT_OUT, allowed)
    return [row for each in prints for row in each.values()]


def _falls(before: _Print, after: _Print) -> bool:
    """Whether a bin has a lower count in the later print, or is no longer printed."""
    return any(
        int(row[5]) > int(after[name][5] if name in after else 0) for name, row in before.items()
    )


def _counted(of: _Print) -> bool:
    return any(int(row[5]) for row in of.values())


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
