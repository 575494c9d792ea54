"""Benchmark of Accelerometer sweeps: accelflow, numpy and a Python loop in one run.

Run with a Python that has accelflow::

    .venv/bin/python benches/accelerometer_sweep.py

Each engine computes speedup and latency reduction of Sync-OS (equations 3 and 5) for points whose
eight parameters all differ. The engines take turns for several rounds, on one thread; a rate is the
median over the rounds. The loop gets fewer points. All results must agree to twelve digits.
accelflow checks every input value; numpy checks none.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

from accelflow.accelerometer import sweep

NAMES = (
    "host_cycles_per_s",
    "kernel_share_ratio",
    "offloads_per_s",
    "setup_cycles",
    "transfer_cycles",
    "queue_cycles",
    "thread_switch_cycles",
    "acceleration_ratio",
)
RANGES = (
    (1e9, 4e9),
    (0.01, 0.6),
    (1e2, 1e5),
    (0.0, 500.0),
    (0.0, 3e3),
    (0.0, 1e3),
    (1e3, 1e4),
    (1, 100),
)

Columns = dict[str, np.ndarray]
Result = tuple[np.ndarray, np.ndarray]


def ours(columns: Columns) -> Result:
    found = sweep(threading="sync_os", **columns)
    return found.speedup_ratio, found.latency_reduction_ratio


def numpy_peer(columns: Columns) -> Result:
    c, alpha, n, o0, transfer, queue, o1, a = (columns[name] for name in NAMES)
    rest, rate, offload = 1 - alpha, n / c, o0 + transfer + queue
    speedup = 1 / (rest + rate * (offload + 2 * o1))
    latency = 1 / (rest + alpha / a + rate * (offload + o1))
    return speedup, latency


def loop_peer(columns: Columns) -> Result:
    speedup, latency = [], []
    for c, alpha, n, o0, transfer, queue, o1, a in zip(
        *(columns[name].tolist() for name in NAMES), strict=True
    ):
        offload = o0 + transfer + queue
        speedup.append(1 / ((1 - alpha) + n / c * (offload + 2 * o1)))
        latency.append(1 / ((1 - alpha) + alpha / a + n / c * (offload + o1)))
    return np.array(speedup), np.array(latency)


def timed(engine: Callable[[Columns], Result], columns: Columns) -> tuple[float, Result]:
    started = time.perf_counter()
    result = engine(columns)
    return columns[NAMES[0]].size / (time.perf_counter() - started), result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")
    arguments = parser.parse_args()
    dice = np.random.default_rng(1)
    columns = {
        name: dice.uniform(low, high, arguments.points)
        for name, (low, high) in zip(NAMES, RANGES, strict=True)
    }
    few = {name: column[: max(1, arguments.points // 10)] for name, column in columns.items()}
    engines = {
        "accelflow": (ours, columns),
        "numpy": (numpy_peer, columns),
        "python loop": (loop_peer, few),
    }
    rates: dict[str, list[float]] = {name: [] for name in engines}
    for _ in range(arguments.rounds):
        results = {}
        for name, (engine, given) in engines.items():
            rate, results[name] = timed(engine, given)
            rates[name].append(rate)
        for name in engines:
            for mine, theirs in zip(results["accelflow"], results[name], strict=True):
                np.testing.assert_allclose(mine[: theirs.size], theirs, rtol=1e-12)
    medians = {name: statistics.median(values) for name, values in rates.items()}
    if arguments.json:
        print(json.dumps({"points_per_s": medians, "points": arguments.points}))
        return 0
    for name, rate in medians.items():
        low, high = min(rates[name]), max(rates[name])
        print(f"{name:12} {rate / 1e6:8.2f} million points/s ({low / 1e6:.2f} to {high / 1e6:.2f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
