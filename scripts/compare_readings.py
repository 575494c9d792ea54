"""Compare orchestrators under every reading of the paper's experiment, and write docs/results.

The AccelFlow paper leaves open where the services run, what an operation costs a core, how large
payloads are and how bursty arrivals are. This runs every combination with several seeds and writes
the mean reductions with their 95 % confidence intervals beside the paper's.

    .venv/bin/python scripts/compare_readings.py [--requests N] [--seeds N] [--out FILE]
"""

from __future__ import annotations

import argparse
import itertools
import math
import statistics
from pathlib import Path
from typing import Any

from accelflow import simulation
from accelflow.files import write_whole
from accelflow.report.paper import PAPER_REDUCTIONS
from accelflow.report.results import Comparison, mean_reduction

OTHERS = ("non_acc", "cpu_centric", "relief", "cohort")
NAMES = dict(simulation.orchestrators())
#: Two-sided 95 % quantiles of Student's t by degrees of freedom.
STUDENT_T = {
    1: 12.706,
    2: 4.303,
    3: 3.182,
    4: 2.776,
    5: 2.571,
    6: 2.447,
    7: 2.365,
    8: 2.306,
    9: 2.262,
}
READINGS = {
    "placement": ("colocated", "isolated"),
    "tcp_cost_ns": (7_000.0, 20_000.0),
    "sizes": ("fleet", "socialnetwork"),
    "arrivals": ("poisson", "alibaba"),
}


def main() -> None:
    """Run all readings and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--seeds", type=int, default=5, choices=range(2, 11))
    parser.add_argument("--out", type=Path, default=Path("docs/results/readings.md"))
    options = parser.parse_args()
    page = [*heading(options.requests, options.seeds), *table_head()]
    page.append(f"| *the paper* | | | | {paper_cells()} |")
    for values in itertools.product(*READINGS.values()):
        reading = dict(zip(READINGS, values, strict=True))
        page.append(row(reading, options.requests, range(1, options.seeds + 1)))
        print(page[-1], flush=True)
    text = "\n".join([*page, "", *ENDING, ""])
    write_whole(options.out, lambda path: path.write_text(text, encoding="utf-8"))


def heading(requests: int, seeds: int) -> list[str]:
    """The beginning of the page."""
    return [
        "# SocialNetwork under every reading of the paper's experiment",
        "",
        "Written by `scripts/compare_readings.py`; not edited by hand. Profile `paper`, "
        f"{simulation.PAPER_RATE_RPS:,.0f} requests per second of each of the eight services, "
        f"{requests:,} requests of each, of which the first tenth is not counted, seeds 1 to "
        f"{seeds}. "
        "A cell is by how much AccelFlow lowers P99 / mean latency against that system, in "
        "percent, mean over the services (AccelFlow, section VII.A.1), with the half width of the "
        "95 % confidence interval over the seeds.",
        "",
    ]


def table_head() -> list[str]:
    """The columns."""
    others = " | ".join(NAMES[other] for other in OTHERS)
    return [
        f"| placement | TCP, us | payloads | arrivals | {others} |",
        "|---|---|---|---|" + "---|" * len(OTHERS),
    ]


def paper_cells() -> str:
    """What the paper reports."""
    pairs = (PAPER_REDUCTIONS[other] for other in OTHERS)
    return " | ".join(f"{100 * p99:.1f} / {100 * mean:.1f}" for p99, mean in pairs)


def row(reading: dict[str, object], requests: int, seeds: range) -> str:
    """One reading, over all seeds."""
    results = [one(reading, requests, seed) for seed in seeds]
    cells = [cell(other, results) for other in OTHERS]
    tcp_us = float(str(reading["tcp_cost_ns"])) / 1e3
    labels = [reading["placement"], f"{tcp_us:g}", reading["sizes"], reading["arrivals"]]
    return "| " + " | ".join([*map(str, labels), *cells]) + " |"


def one(reading: dict[str, object], requests: int, seed: int) -> Comparison:
    """One run of one reading."""
    fields: dict[str, Any] = {**reading, "requests": requests, "seed": seed}
    fields |= {"profile": "paper", "slo_factor": None}
    experiment = simulation.Experiment(**fields)
    return Comparison.from_dict(simulation.compare(experiment))


def cell(other: str, results: list[Comparison]) -> str:
    """Both reductions against `other`; a star if one of the two was saturated in some run."""
    texts = []
    for statistic in ("p99_us", "mean_us"):
        found = [reduction(result, other, statistic) for result in results]
        half = STUDENT_T[len(found) - 1] * statistics.stdev(found) / math.sqrt(len(found))
        texts.append(f"{100 * statistics.fmean(found):.1f} ± {100 * half:.1f}")
    systems = [result.system(name) for result in results for name in ("accelflow", other)]
    saturated = any(s.saturated for system in systems if system for s in system.services)
    return " / ".join(texts) + (" \\*" if saturated else "")


def reduction(result: Comparison, other: str, statistic: str) -> float:
    """AccelFlow's reduction against `other` in one run."""
    ours, theirs = result.system("accelflow"), result.system(other)
    if ours is None or theirs is None:
        raise SystemExit(f"there is no result for {other}")
    found = mean_reduction(ours, theirs, statistic)
    if found is None:
        raise SystemExit(f"no request of {other} completed")
    return found


ENDING = [
    "\\* saturated in at least one run: requests arrived faster than they ended, so its latency "
    "is a property of the run's length.",
]

if __name__ == "__main__":
    main()
