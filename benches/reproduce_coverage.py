"""Coverage of the intervals of `accelflow reproduce --budget full` on queues with a known P99.

Usage: .venv/bin/python benches/reproduce_coverage.py [TRIALS]

A trial runs the plan of an experiment with one service, whose simulations are replaced by those of
a queue, until its P99 is known within 2 %. Then it checks whether the true P99 of the response time
is in the interval. A sound 95 % interval contains it in 95 % of the trials. The P99 of M/M/1 is
exact; that of M/G/4 (log-normal service times whose squared coefficient of variation is 4) is that
of separate, longer simulations. Trials that reach the longest replication without 2 % are counted
separately.
"""

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from queues import Queue, exponential, log_normal, summary

from accelflow import simulation
from accelflow.reproduce import Scenario, budget, parse
from accelflow.reproduce.figures import of_service
from accelflow.reproduce.plans import plan

BUDGET = budget("full")
LONGEST = BUDGET.longest_run or 0
SERVICE = "UniqId"
EXPERIMENT = f"""
title = "A queue"
place = "benches"
kind = "simulation"
measures = ["p99_us"]
[setup]
systems = ["accelflow"]
services = ["{SERVICE}"]
arrivals = "poisson"
rate_rps = 1000.0
"""


def outcome(lanes: Iterator[np.ndarray], truth: float) -> tuple[str, int]:
    """Return ``hit``, ``miss`` or ``longest`` for one trial, and the requests of a replication.

    `lanes` has the response times of one simulation each.
    """
    known: dict[int, np.ndarray] = {}

    def simulated(experiment: simulation.Scenario) -> dict[str, dict[str, Any]]:
        if experiment.seed not in known:
            known[experiment.seed] = next(lanes)
        times = np.sort(known[experiment.seed][experiment.warmup_requests : experiment.requests])[
            ::-1
        ]
        run = {
            "requests": experiment.requests,
            "warmup_requests": experiment.warmup_requests,
            "placement": experiment.placement,
        }
        row = {"completed": len(times), "mean_us": float(times.mean()), "tail_us": times}
        return {SERVICE: {**row, "saturated": None, "run": run}}

    running = plan(parse("queue", EXPERIMENT), Scenario(), BUDGET)
    wanted = next(running)
    try:
        while True:
            wanted = running.send([simulated(experiment) for experiment in wanted])
    except StopIteration as ended:
        (runs,) = ended.value.values()
    found = of_service("p99_us", runs, SERVICE)
    assert found is not None
    assert found.half_width is not None
    length = runs[0][SERVICE]["run"]["requests"]
    if found.half_width > 0.02 * found.mean:
        return "longest", length
    return ("hit" if abs(found.mean - truth) <= found.half_width else "miss"), length


def main() -> None:
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    most = BUDGET.replications * len(BUDGET.runs(1, BUDGET.lengths[-1]))
    print(f"{'queue':8}{'load':>6}{'coverage':>10}{'requests of a replication':>27}{'longest':>9}")
    for queue in (
        Queue("M/M/1", 0.3, 1, exponential),
        Queue("M/M/1", 0.5, 1, exponential),
        Queue("M/G/4", 0.3, 4, log_normal),
    ):
        draw = np.random.default_rng(1)
        apart = queue.responses(np.random.default_rng(2), 4_000, LONGEST)[LONGEST // 10 :]
        truth = queue.exact_p99 or float(np.quantile(apart, 0.99))
        outcomes = [
            outcome(iter(queue.responses(draw, most, LONGEST).T), truth) for _ in range(trials)
        ]
        coverage, mean, late = summary(outcomes, "longest")
        print(f"{queue.name:8}{queue.load:6.0%}{coverage:>10}{mean:>27}{late:9}", flush=True)


if __name__ == "__main__":
    main()
