"""Benchmark of a chain of nine accelerators on this project's kernel, SimPy and ns-3.

Run from anywhere with a Python that has SimPy (the development set-up installs it)::

    .venv/bin/python benches/kernel_chain/run.py [--ns3 PREFIX]

README.md describes the model, whose parameters are below. The engines take turns on one core for
several rounds with the seeds 1, 2, ...; a rate is the median over the rounds. The statistics are
compared: an engine whose 95 % interval over the rounds does not overlap ours is an error. ns-3
takes part if its headers are found (`apt-get install libns3-dev`, or --ns3 PREFIX for the folder
where it is unpacked). gem5's published time for RELIEF's model is printed beside the results.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
OURS = "accelflow-kernel"

PARAMETERS: Mapping[str, object] = {
    # Nanoseconds of an element for an operation, exponential: at 1.1 million requests a second the
    # busiest station is used for 0.69 of the time, the manager for 0.66, and the cores for 0.55
    # without operations that fall back to them.
    "service_ns": (1000, 1250, 600, 900, 1100, 300, 1000, 800, 1200),
    "elements": 2,
    "entries": 4,
    "overflow": 4,
    "fetch_ns": 200,  # an entry that was in the overflow area takes so much longer
    "manager_ns": 400,
    "branch": 0.5,
    "application_ns": 4000,
    "cores": 8,
    "software": 4.0,  # an operation takes a core so many times as long
    "gap_ns": 1e9 / 1.1e6,
}
MEASURES = ("mean_us", "p99_us", "overflow_share", "fallback_share")
#: The host seconds that gem5 took for 3.7 ms of Canny alone, from the log of RELIEF's release.
GEM5_S = 2490.0
#: Student's t, two-sided 95 %, by degrees of freedom.
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)


def main() -> int:
    options = parse_options()
    with tempfile.TemporaryDirectory() as scratch:
        engines = commands(options, Path(scratch))
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        runs: dict[str, list[dict]] = {}
        for seed in range(1, options.rounds + 1):
            for engine, (command, requests) in engines.items():
                print(f"round {seed} of {options.rounds}: {engine}", file=sys.stderr)
                given = [*command, f"seed={seed}", f"requests={requests}", *settings()]
                output = subprocess.run(given, check=True, capture_output=True, text=True).stdout
                runs.setdefault(engine, []).append(json.loads(output))
    print_table(runs)
    apart = list(differing(runs))
    for each in apart:
        print(f"apart: {each}", file=sys.stderr)
    print_gem5()
    return 1 if apart else 0


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Compare event kernels on a chain of accelerators."
    )
    parser.add_argument("--rounds", type=int, choices=range(2, 12), default=5)
    parser.add_argument("--requests", type=int, default=300_000, help="per run of compiled engines")
    parser.add_argument("--simpy-requests", type=int, default=60_000, help="per run of SimPy")
    parser.add_argument("--ns3", type=Path, default=Path("/"), help="where ns-3 is unpacked")
    return parser.parse_args()


def settings() -> list[str]:
    """Return the parameters as arguments of the engines."""
    return [
        f"{name}={','.join(map(str, value)) if isinstance(value, tuple) else value}"
        for name, value in PARAMETERS.items()
    ]


def commands(options: argparse.Namespace, scratch: Path) -> dict[str, tuple[list[str], int]]:
    """Return the start of each engine's command, and its number of requests in a run."""
    found = {OURS: ([built("accelflow-kernel", "chain")], options.requests)}
    ns3 = built_ns3(options.ns3, scratch)
    if ns3 is not None:
        found["ns-3"] = ([ns3], options.requests)
    simpy = [sys.executable, str(HERE / "chain_simpy.py")]
    return {**found, "SimPy": (simpy, options.simpy_requests)}


def built(package: str, example: str) -> str:
    """Build an example and return its executable."""
    command = ["cargo", "build", "--profile", "extension", "--locked", "-p", package]
    command += ["--example", example, "--message-format", "json-render-diagnostics"]
    output = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    messages = [json.loads(line) for line in output.splitlines()]
    return [message["executable"] for message in messages if message.get("executable")][-1]


def built_ns3(prefix: Path, scratch: Path) -> str | None:
    """Build the model on ns-3 and return its executable; None if ns-3 is not installed."""
    include = prefix / "usr/include"
    if not (include / "ns3/simulator.h").exists():
        print("ns-3 is not installed, and left out: apt-get install libns3-dev", file=sys.stderr)
        return None
    (library,) = (prefix / "usr/lib").glob("*/libns3*core.so*.*[0-9]") or (None,)
    binary = scratch / "chain_ns3"
    command = ["g++", "-O2", "-std=c++17", f"-I{include}", str(HERE / "chain_ns3.cc")]
    command += ["-o", str(binary), str(library), f"-Wl,-rpath,{library.parent}"]
    subprocess.run([*command, "-Wl,--allow-shlib-undefined"], check=True)
    return str(binary)


def estimate(runs: list[dict], measure: str) -> tuple[float, float]:
    """Return the mean over the rounds, and half of its 95 % interval."""
    values = [run[measure] for run in runs]
    half = STUDENT[len(values) - 2] * statistics.stdev(values) / math.sqrt(len(values))
    return statistics.fmean(values), half


def rate(runs: list[dict]) -> float:
    return statistics.median(run["requests"] / run["seconds"] for run in runs)


def print_table(runs: dict[str, list[dict]]) -> None:
    heads = "".join(f"{measure:>22}" for measure in MEASURES)
    print(f"{'engine':<18}{'k requests/s':>13}{'ours / it':>11}{heads}")
    for engine, rounds in runs.items():
        found = [estimate(rounds, measure) for measure in MEASURES]
        cells = "".join(f"{f'{mean:.4f} ±{half:.4f}':>22}" for mean, half in found)
        ratio = rate(runs[OURS]) / rate(rounds)
        print(f"{engine:<18}{rate(rounds) / 1e3:13,.1f}{ratio:11.2f}{cells}")


def differing(runs: dict[str, list[dict]]) -> list[str]:
    """Return the measures of engines whose intervals do not overlap ours."""
    found = []
    for engine, rounds in runs.items():
        for measure in MEASURES:
            (ours, our_half), (its, half) = (estimate(of, measure) for of in (runs[OURS], rounds))
            if abs(ours - its) > our_half + half:
                found.append(f"{engine}: {measure} = {its:.4f} ±{half:.4f}, ours {ours:.4f}")
    return found


def print_gem5() -> None:
    command = [built("accelflow-relief-suite", "canny")]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    ours = json.loads(output)
    print(
        f"\nCanny once under RELIEF: {ours['simulated_us'] / 1e3:.2f} ms simulated in "
        f"{ours['seconds'] * 1e6:.1f} us of host time; gem5 took {GEM5_S:,.0f} s for its 3.7 ms "
        f"(RELIEF's release), {GEM5_S / ours['seconds']:.2g} times as long. gem5 executes "
        "instructions and each access to memory; this simulator books tasks and transfers."
    )


if __name__ == "__main__":
    sys.exit(main())
