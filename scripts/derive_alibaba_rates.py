#!/usr/bin/env python3
"""Derive the rate states of Modulation::alibaba from per-minute rates, and compare.

    scripts/derive_alibaba_rates.py FOLDER

FOLDER holds mcr_6d9c26b9_per_minute.txt: one line with a name, then 711 values, the calls per
second of one service of alibaba/clusterdata cluster-trace-microservices-v2021 in successive
minutes. Prints the states and exits with 1 if they differ from those in
crates/workload/src/arrivals.rs.

The sorted minutes are cut at the quantiles below. Each part gives a state: its mean over the
overall mean, with its share of the minutes as probability. Means of parts lose the variance inside
the parts, so the states are stretched about 1 by the factor that restores the coefficient of
variation of the minutes.
"""

import itertools
import math
import re
import statistics
import sys
from pathlib import Path

FILE = "mcr_6d9c26b9_per_minute.txt"
QUANTILES = (0.0, 0.10, 0.25, 0.50, 0.75, 0.90, 0.97, 0.99, 1.0)
# Half of the last of the nine printed decimals.
ROUNDING = 5e-10
COMMITTED = Path(__file__).resolve().parent.parent / "crates/workload/src/arrivals.rs"


def derive(minutes: list[float]) -> list[tuple[float, int]]:
    """Return the states as (rate over mean rate, number of minutes), slowest first."""
    ordered = sorted(minutes)
    mean = statistics.fmean(ordered)
    cuts = [round(q * len(ordered)) for q in QUANTILES]
    parts = [ordered[begin:end] for begin, end in itertools.pairwise(cuts)]
    shares = [len(part) / len(ordered) for part in parts]
    levels = [statistics.fmean(part) / mean for part in parts]
    variance = sum(p * (x - 1.0) ** 2 for p, x in zip(shares, levels, strict=True))
    stretch = statistics.pstdev(ordered) / mean / math.sqrt(variance)
    return [(1.0 + stretch * (x - 1.0), len(p)) for p, x in zip(parts, levels, strict=True)]


def committed() -> list[tuple[float, int]]:
    """Return the states in the Rust source."""
    table = re.search(r"ALIBABA_STATES[^=]*= \[(.*?)\];", COMMITTED.read_text(), re.DOTALL)
    if table is None:
        sys.exit(f"{COMMITTED.name}: no table ALIBABA_STATES")
    rows = re.findall(r"\(([\d._]+), ([\d._]+)\)", table.group(1))
    return [(float(x), int(float(n))) for x, n in rows]


def main() -> int:
    """Derive, print, compare."""
    if len(sys.argv) != 2:
        sys.exit("usage: derive_alibaba_rates.py FOLDER")
    path = Path(sys.argv[1]) / FILE
    if not path.is_file():
        sys.exit(f"derive_alibaba_rates.py: {path} is not a file")
    minutes = [float(line) for line in path.read_text().split()[1:]]
    states = derive(minutes)
    cv = statistics.pstdev(minutes) / statistics.fmean(minutes)
    print(f"// {len(minutes)} minutes, mean {statistics.fmean(minutes):.2f} calls/s, CV {cv:.7f}")
    for level, count in states:
        print(f"({level:.9f}, {count}.0),")
    held = committed()
    same = len(held) == len(states) and all(
        abs(x - y) <= ROUNDING and n == m for (x, n), (y, m) in zip(states, held, strict=True)
    )
    if not same:
        print(f"{COMMITTED.name} holds other states", file=sys.stderr)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
