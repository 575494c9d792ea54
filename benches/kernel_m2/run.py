"""Benchmark of event kernels on the model M2: builds them, runs them, prints rates and ratios.

Run from anywhere with a Python that has SimPy (the development set-up installs it)::

    .venv/bin/python benches/kernel_m2/run.py

The engines take turns on one core for several rounds with the seeds 1, 2, ...; a rate is the median
over the rounds. The statistics of all rounds together must be within the reference intervals of
model.json.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = "accelflow-bench-kernel-m2"
OURS = "slot_queue"
RUST_ENGINES = (OURS, "calendar", "simrs")
SIMPY = "4.1.2"


def main() -> int:
    options = parse_options()
    check_simpy()
    binary = build()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    reference = json.loads((HERE / "model.json").read_text())["reference"]
    runs: dict[str, list[dict]] = {}
    for seed in range(1, options.rounds + 1):
        for engine, command in commands(binary, options, seed):
            print(f"round {seed} of {options.rounds}: {engine}", file=sys.stderr)
            output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            runs.setdefault(engine, []).append(json.loads(output))
    rates = {engine: [r["jobs"] / r["seconds"] / 1e3 for r in rs] for engine, rs in runs.items()}
    results = {engine: pool(rs) for engine, rs in runs.items()}
    print_table(rates, results)
    print_ratios(rates)
    misses = list(check(results, reference))
    for miss in misses:
        print(f"outside the reference: {miss}", file=sys.stderr)
    return 1 if misses else 0


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare event kernels on model M2.")
    parser.add_argument("--rounds", type=at_least_one, default=5)
    parser.add_argument("--jobs", type=at_least_one, default=1_000_000, help="per Rust run")
    parser.add_argument("--simpy-jobs", type=at_least_one, default=200_000, help="per SimPy run")
    return parser.parse_args()


def at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number of at least 1")
    return int(text)


def check_simpy() -> None:
    try:
        found = metadata.version("simpy")
    except metadata.PackageNotFoundError:
        found = "none"
    if found != SIMPY:
        sys.exit(f"run.py: SimPy {SIMPY} is needed, {found} found: pip install simpy=={SIMPY}")


def build() -> str:
    """Build the Rust engines and return the path of the executable."""
    command = ["cargo", "build", "--release", "--locked", "-p", PACKAGE]
    command += ["--message-format", "json-render-diagnostics"]
    output = subprocess.run(command, cwd=HERE, check=True, stdout=subprocess.PIPE, text=True)
    messages = [json.loads(line) for line in output.stdout.splitlines()]
    return next(m["executable"] for m in messages if m.get("executable"))


def commands(binary: str, options: argparse.Namespace, seed: int) -> Iterator[tuple[str, list]]:
    for engine in RUST_ENGINES:
        yield engine, [binary, engine, str(options.jobs), str(seed)]
    script = str(HERE / "m2_simpy.py")
    yield "simpy", [sys.executable, script, str(options.simpy_jobs), str(seed)]


def pool(runs: list[dict]) -> dict[str, float]:
    """Return the statistics of all rounds of an engine.

    The Rust engines' percentiles are averaged over the rounds. SimPy's rounds are too short for
    that, so SimPy's percentiles are those of the jobs of all rounds, by nearest rank.
    """
    if "stays_ps" not in runs[0]:
        return {k: statistics.fmean(r[k] for r in runs) for k in ("mean_us", "p50_us", "p99_us")}
    stays_ps = sorted(stay for run in runs for stay in run["stays_ps"])
    rank = {percent: math.ceil(percent * len(stays_ps) / 100) - 1 for percent in (50, 99)}
    return {
        "mean_us": statistics.fmean(stays_ps) / 1e6,
        "p50_us": stays_ps[rank[50]] / 1e6,
        "p99_us": stays_ps[rank[99]] / 1e6,
    }


def print_table(rates: dict[str, list[float]], results: dict[str, dict[str, float]]) -> None:
    print("engine        k jobs/s      min      max   mean us   P50 us   P99 us")
    for engine, rounds in rates.items():
        result = results[engine]
        print(
            f"{engine:<12}{statistics.median(rounds):>10,.1f}{min(rounds):>9,.1f}"
            f"{max(rounds):>9,.1f}{result['mean_us']:>10.3f}{result['p50_us']:>9.3f}"
            f"{result['p99_us']:>9.3f}"
        )


def print_ratios(rates: dict[str, list[float]]) -> None:
    ours = statistics.median(rates[OURS])
    for engine, rounds in rates.items():
        if engine != OURS:
            print(f"{OURS} / {engine}: {ours / statistics.median(rounds):.2f}")


def check(results: dict[str, dict[str, float]], reference: dict) -> Iterator[str]:
    for engine, result in results.items():
        for name, value in result.items():
            low, high = reference[name]
            if not low <= value <= high:
                yield f"{engine}: {name} = {value:.3f}, not within {low} to {high}"


if __name__ == "__main__":
    sys.exit(main())
