#!/usr/bin/env python3
"""Derive durations and rates of Azure's functions, and compare.

    scripts/derive_azure_functions.py FOLDER

FOLDER holds 500_inv.csv.gz (invocations of 500 functions in each of 1,440 minutes) and 500_run.csv
(their durations) of vhive-serverless/invitro at b12de00f, a sample of Azure's 2019 trace. Prints

- the six parts of the functions by median duration: median of the durations in ms and mean
  invocations a minute of the part (suites/serverless.toml of crates/workload),
- the states of the rate of all functions together (AZURE_STATES, arrivals.rs of crates/workload),
  with the method of scripts/derive_alibaba_rates.py,

and exits with 1 if they differ from the committed tables.
"""

import csv
import gzip
import itertools
import re
import statistics
import sys
import tomllib
from pathlib import Path

from derive_alibaba_rates import derive

PARTS = 6
# Half of the last printed decimal.
ROUNDING = {"AZURE_SEXTILES": 5e-7, "AZURE_STATES": 5e-10}
CRATE = Path(__file__).resolve().parent.parent / "crates/workload"
SUITE = CRATE / "suites/serverless.toml"
STATES = CRATE / "src/arrivals.rs"


def sextiles(
    minutes: dict[str, list[int]], duration: dict[str, float]
) -> list[tuple[float, float]]:
    """Return median duration in ms and mean invocations a minute of each part, shortest first."""
    known = [name for name in minutes if name in duration and sum(minutes[name]) > 0]
    ordered = sorted(known, key=lambda name: (duration[name], name))
    cuts = [part * len(ordered) // PARTS for part in range(PARTS + 1)]
    parts = [ordered[begin:end] for begin, end in itertools.pairwise(cuts)]
    return [
        (
            statistics.median(duration[name] for name in part),
            sum(sum(minutes[name]) for name in part) / 1440,
        )
        for part in parts
    ]


def committed(name: str) -> list[tuple[float, float]]:
    """Return the table called `name`: from the suite, or from the Rust source."""
    if name == "AZURE_SEXTILES":
        suite = tomllib.loads(SUITE.read_text())
        # Times in us are a thousandth of Azure's, which are in ms.
        rates = suite["rates"]["azure"]
        return [(service["app_us"], rates[service["name"]]) for service in suite["services"]]
    table = re.search(name + r": [^=]*= \[(.*?)\];", STATES.read_text(), re.DOTALL)
    if table is None:
        sys.exit(f"{STATES.name}: no table {name}")
    rows = re.findall(r"\(([\d._]+), ([\d._]+)\)", table.group(1))
    return [(float(x), float(y)) for x, y in rows]


def main() -> int:
    """Derive, print, compare."""
    if len(sys.argv) != 2:
        sys.exit("usage: derive_azure_functions.py FOLDER")
    folder = Path(sys.argv[1])
    with gzip.open(folder / "500_inv.csv.gz", "rt", encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    minutes = {row[0]: [int(count) for count in row[3:1443]] for row in rows}
    with (folder / "500_run.csv").open(encoding="utf-8") as file:
        runs = {
            row["HashFunction"]: float(row["percentile_Average_50"]) for row in csv.DictReader(file)
        }
    together = [float(sum(column)) for column in zip(*minutes.values(), strict=True)]
    derived = {"AZURE_SEXTILES": sextiles(minutes, runs), "AZURE_STATES": derive(together)}
    wrong = False
    for name, values in derived.items():
        print(name)
        for row in values:
            print(f"    ({row[0]:.9f}, {row[1]:.6f}),")
        pairs = zip(values, committed(name), strict=True)
        error = max(abs(a - b) for row, kept in pairs for a, b in zip(row, kept, strict=True))
        wrong |= error > ROUNDING[name]
    print("differs from the committed tables" if wrong else "equals the committed tables")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
