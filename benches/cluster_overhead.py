"""Benchmark of the cost of a simulation for the command and Dask's scheduler, for large clusters.

Usage: .venv/bin/python benches/cluster_overhead.py [--tasks 300]

Short simulations run on a thread of this process, and on local clusters of one and two workers.
Scheduler and client are in this process, and workers are processes of their own. So this process's
processor time over the number of simulations is the cost of planning, sending and writing the rows
of a simulation. The process can start 1 / cost simulations a second, so that the workers are busy
if a simulation takes at least workers * cost. Prints the times, this shortest simulation for 1,000
workers, and the time of 10,000,000 simulations: that of the workers or of this process, whichever
is longer.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from accelflow import studies
from accelflow.studies.cluster import on_cluster
from accelflow.studies.sweep import Runner

WORKERS, SIMULATIONS = 1_000, 10_000_000


def study(tasks: int) -> studies.Study:
    """Return a study of `tasks` short simulations."""
    return studies.Study(
        scenario={
            "services": ["UniqId"],
            "profile": "paper",
            "requests": 100,
            "orchestrators": ["accelflow"],
        },
        axes=[studies.Axis(name="rate_rps", values=tuple(1_000 + i for i in range(tasks)))],
    )


def measured(tasks: int, runner: Runner | None) -> tuple[float, float]:
    """Return the wall time and this process's processor time, in ms per simulation."""
    with tempfile.TemporaryDirectory() as folder:
        began, cpu = time.perf_counter(), time.process_time()
        studies.sweep(study(tasks), Path(folder) / "out", workers=1, runner=runner)
        took, used = time.perf_counter() - began, time.process_time() - cpu
    return took / tasks * 1e3, used / tasks * 1e3


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", type=int, default=300)
    options = parser.parse_args()
    measured(10, None)  # imports
    here_ms, here_cpu_ms = measured(options.tasks, None)
    print(f"{'':12}{'ms a simulation':>17}{'of this process':>17}")
    print(f"{'one thread':12}{here_ms:17.1f}{here_cpu_ms:17.1f}")
    took_ms = {}
    for workers in (1, 2):
        with on_cluster(f"local:{workers}") as runner:
            measured(20, runner)  # imports of the workers
            took_ms[workers], cost_ms = measured(options.tasks, runner)
        print(f"{f'local:{workers}':12}{took_ms[workers]:17.1f}{cost_ms:17.1f}")
    print(f"efficiency from 1 to 2 workers: {took_ms[1] / took_ms[2] / 2:.2f}")
    cost_s = cost_ms / 1e3
    print(f"{WORKERS:,} workers are busy with simulations of {WORKERS * cost_s:.1f} s or more")
    for simulation_s in (0.1, 1.0, 10.0, 100.0):
        hours = SIMULATIONS * max(simulation_s / WORKERS, cost_s) / 3_600
        print(f"simulations of {simulation_s:g} s: {SIMULATIONS:,} take {hours:.0f} h")


if __name__ == "__main__":
    main()
