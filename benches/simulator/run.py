"""Benchmark of the simulator: the instructions of a simulation, beside those of the last release.

Six systems serve SocialNetwork's eight services, with SocialNetwork's message sizes and with those
of a fleet. Callgrind (of Valgrind) counts the instructions of each simulation, which do not depend
on other work of the machine. Runs without Callgrind give rates per second of processor time, of
which the best counts. Run from anywhere::

    .venv/bin/python benches/simulator/run.py

`released.json` beside this file has the counts of the last release, with its commit, as built with
the present profiles `extension` and `dev`. CI has built what `dev` needs already; simulations of
that build take more instructions.
"""

import argparse
import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RELEASED = HERE / "released.json"
SIZES = ("socialnetwork", "fleet")
SYSTEMS = ("non_acc", "cpu_centric", "relief", "cohort", "accelflow", "ideal")
UNITS = ("event", "operation", "request")

Counts = dict[str, Any]


def main() -> None:
    options = parse_options()
    if shutil.which("valgrind") is None:
        sys.exit("run.py: valgrind is needed to count instructions: install the package valgrind")
    binary = options.binary or build(options.profile)
    found: dict[str, dict[str, Counts]] = {}
    for sizes in SIZES:
        found[sizes] = {}
        for system in options.systems:
            print(f"{sizes}: {system}", file=sys.stderr)
            found[sizes][system] = measure(binary, [sizes, system], options)
    if options.save:
        counted = {
            sizes: {system: exact(counts) for system, counts in systems.items()}
            for sizes, systems in found.items()
        }
        save(counted, options)
    print_tables(found, json.loads(RELEASED.read_text()), options.profile)


def save(counted: dict[str, dict[str, Counts]], options: argparse.Namespace) -> None:
    """Save the counts, and keep those of the same commit with the other profile."""
    saved = {"commit": options.save, "requests": options.requests, "counts": {}}
    before = json.loads(RELEASED.read_text())
    if {key: before[key] for key in ("commit", "requests")}.items() <= saved.items():
        saved["counts"] = before["counts"]
    saved["counts"][options.profile] = counted
    RELEASED.write_text(json.dumps(saved, indent=1) + "\n")


def exact(counts: Counts) -> Counts:
    """Return those of `counts` that do not depend on the machine."""
    return {key: count for key, count in counts.items() if not key.endswith("_per_s")}


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Count what a simulation takes.")
    parser.add_argument("--requests", type=at_least_one, default=300, help="of each service")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=SYSTEMS)
    parser.add_argument("--rounds", type=at_least_one, default=3, help="of which the best counts")
    parser.add_argument(
        "--profile", choices=("extension", "dev"), default="extension", help="of the build"
    )
    parser.add_argument("--binary", help="an executable of the example, instead of building it")
    parser.add_argument("--save", metavar="COMMIT", help="make these the counts of the release")
    return parser.parse_args()


def at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number of at least 1")
    return int(text)


def build(profile: str) -> str:
    """Build the example and return the path of the executable."""
    # The whole workspace is built, so that libraries have the features of its tests, as in CI.
    command = ["cargo", "build", "--profile", profile, "--locked", "--workspace"]
    command += ["--example", "simulator", "--message-format", "json-render-diagnostics"]
    output = subprocess.run(command, cwd=HERE, check=True, stdout=subprocess.PIPE, text=True)
    messages = [json.loads(line) for line in output.stdout.splitlines()]
    executables = [message["executable"] for message in messages if message.get("executable")]
    return str(executables[-1])


def measure(binary: str, arguments: list[str], options: argparse.Namespace) -> Counts:
    """Return counts of a simulation (instructions, events, operations, requests) and best rates."""
    with tempfile.TemporaryDirectory() as folder:
        counted = Path(folder) / "callgrind.out"
        command = ["valgrind", "--tool=callgrind", "--toggle-collect=*measured_simulation*"]
        command += [f"--callgrind-out-file={counted}", binary, "run", *arguments]
        command.append(str(options.requests))
        counts = simulated(command)
        lines = counted.read_text().splitlines()
    totals = next(line for line in lines if line.startswith("totals: "))
    counts["instructions"] = int(totals.split()[1])
    long = [binary, "run", *arguments, str(options.requests * 10)]
    del counts["host_s"], counts["digest"]
    return counts | rates(long, options.rounds)


def rates(command: list[str], rounds: int) -> Counts:
    """Return the best rates: requests, events and operations per second of processor time."""
    best: Counts = {}
    for _ in range(rounds):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        counts = simulated(command)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        for unit in UNITS:
            rate = round(counts[f"{unit}s"] / seconds)
            best[f"{unit}s_per_s"] = max(rate, best.get(f"{unit}s_per_s", 0))
    return best


def simulated(command: list[str]) -> Counts:
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    counts: Counts = json.loads(output)
    return counts


def per(counts: Counts, unit: str) -> float:
    return float(counts["instructions"] / counts[f"{unit}s"])


def print_tables(found: dict[str, dict[str, Counts]], released: Counts, profile: str) -> None:
    print(f"Instructions, and those of {released['commit']} over them; rates of this machine.")
    print(f"Built with the profile {profile}.")
    for sizes, systems in found.items():
        before = released["counts"][profile][sizes]
        print(f"\nMessage sizes: {sizes}\n")
        print("| system | an event | an operation | a request | requests/s | events/s | op./s |")
        print("|---|---|---|---|---|---|---|")
        ratios: dict[str, list[float]] = {unit: [] for unit in UNITS}
        for system, counts in systems.items():
            cells = []
            for unit in UNITS:
                ratio = per(before[system], unit) / per(counts, unit)
                ratios[unit].append(ratio)
                cells.append(f"{per(counts, unit):,.0f} ({ratio:.2f})")
            cells += [f"{counts[f'{rate}s_per_s']:,}" for rate in ("request", "event", "operation")]
            print(f"| {system} | {' | '.join(cells)} |")
        means = [statistics.geometric_mean(ratios[unit]) for unit in UNITS]
        cells = [f"({mean:.2f})" for mean in means] + ["", "", ""]
        print(f"| geometric mean | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
