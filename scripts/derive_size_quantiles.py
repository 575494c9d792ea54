#!/usr/bin/env python3
"""Derive the size tables of crates/workload/src/sizes/tables.rs from the data sets, and compare.

    scripts/derive_size_quantiles.py FOLDER

FOLDER holds fleetbench/compression/Snappy_{COMPRESS,DECOMPRESS}_Fleet.json.gz (google/fleetbench),
hypercompressbench/call_sizes.csv.gz (one line a file of google/HyperCompressBench, with its
uncompressed bytes) and deathstarbench/derived_message_sizes.txt (sizes of Thrift messages of
DeathStarBench's SocialNetwork: min, p50, p99, max). Prints the tables and exits with 1 if they
differ from those in the Rust source.

A table of calls has for each power of two the share of calls with at most that many uncompressed
bytes. Fleetbench comes in such buckets; HyperCompressBench is sorted into them.
"""

import csv
import gzip
import json
import re
import sys
from collections import Counter
from pathlib import Path

FLEET = [f"fleetbench/compression/Snappy_{way}_Fleet.json.gz" for way in ("COMPRESS", "DECOMPRESS")]
HYPER = "hypercompressbench/call_sizes.csv.gz"
MESSAGES = "deathstarbench/derived_message_sizes.txt"
MESSAGE = re.compile(r"^(\S.*?)\s+min\s+(\d+) p50\s+(\d+) p99\s+(\d+) max\s+(\d+)$", re.MULTILINE)
DIGITS = 9
COMMITTED = Path(__file__).resolve().parent.parent / "crates/workload/src/sizes/tables.rs"

Shares = list[tuple[float, int]]
Messages = list[tuple[str, tuple[int, ...]]]


def cumulative(buckets: Counter[int]) -> Shares:
    """Return the share of calls with at most 2^k bytes, for every k from the smallest bucket on."""
    total = buckets.total()
    below = 0
    shares = []
    for k in range(min(buckets), max(buckets) + 1):
        below += buckets[k]
        shares.append((round(below / total, DIGITS), 1 << k))
    return shares


def fleet(folder: Path) -> Shares:
    """Return the table of all Snappy calls of the fleet."""
    buckets: Counter[int] = Counter()
    for name in FLEET:
        with gzip.open(folder / name) as file:
            for bucket, calls in json.load(file).items():
                buckets[int(float(bucket))] += calls["count"]
    return cumulative(buckets)


def hyper(folder: Path) -> Shares:
    """Return the table of HyperCompressBench's files, each of which stands for one call."""
    with gzip.open(folder / HYPER, "rt") as file:
        sizes = [int(row["uncompressed_bytes"]) for row in csv.DictReader(file)]
    return cumulative(Counter((size - 1).bit_length() for size in sizes))


def messages(folder: Path) -> Messages:
    """Return the messages of SocialNetwork: name, then min, p50, p99 and max in bytes."""
    rows = MESSAGE.findall((folder / MESSAGES).read_text())
    return [(name, tuple(map(int, sizes))) for name, *sizes in rows]


def held_shares(text: str, table: str) -> Shares:
    """Return the table of calls named `table` in the Rust source `text`."""
    rows = re.findall(r"\((\d\.\d+), (\d+)\)", body(text, table))
    return [(float(share), int(size)) for share, size in rows]


def held_messages(text: str) -> Messages:
    """Return the table of messages in the Rust source `text`."""
    rows = re.findall(r'\(\s*"([^"]+)",\s*\[([\d, ]+)\],?\s*\)', body(text, "MESSAGES"))
    return [(name, tuple(int(size) for size in sizes.split(","))) for name, sizes in rows]


def body(text: str, table: str) -> str:
    """Return the text between the brackets of `table`, without digit separators."""
    found = re.search(rf"const {table}:[^=]*= &?\[(.*?)\n\];", text, re.DOTALL)
    if found is None:
        sys.exit(f"{COMMITTED.name}: no table {table}")
    return found.group(1).replace("_", "")


def main() -> int:
    """Derive, print, compare."""
    if len(sys.argv) != 2:
        sys.exit("usage: derive_size_quantiles.py FOLDER")
    folder = Path(sys.argv[1])
    for name in [*FLEET, HYPER, MESSAGES]:
        if not (folder / name).is_file():
            sys.exit(f"derive_size_quantiles.py: {folder / name} is not a file")
    text = COMMITTED.read_text() if COMMITTED.is_file() else ""
    same = True
    for table, derived in (("FLEET", fleet(folder)), ("HYPER_COMPRESS_BENCH", hyper(folder))):
        print(f"// {table}")
        for share, size in derived:
            print(f"({share:.{DIGITS}f}, {size}),")
        same &= held_shares(text, table) == derived
    derived_messages = messages(folder)
    print("// MESSAGES")
    for name, sizes in derived_messages:
        print(f'("{name}", {list(sizes)}),')
    same &= held_messages(text) == derived_messages
    if not same:
        print(f"{COMMITTED.name} holds other tables", file=sys.stderr)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
