"""Coverage of the intervals of `accelflow reproduce --budget precise` on queues with a known P99.

Usage: .venv/bin/python benches/reproduce_coverage.py [TRIALS]

A trial runs the plan of an experiment with one service, whose simulations are replaced by those of
a queue, until its P99 is known within 2 %. Then it checks whether the true P99 of the response time
is in the interval. A sound 95 % interval contains it in 95 % of the trials. The P99 of M/M/1 is
exact; that of M/G/4 (log-normal service times whose squared coefficient of variation is 4) is that
of separate, longer simulations. Trials that reach the longest replication without 2 % are counted
separately.
"""

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from accelflow import simulation
from accelflow.reproduce import Scenario, budget, parse
from accelflow.reproduce.figures import of_service
from accelflow.reproduce.plans import plan

BUDGET = budget("precise")
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
Times = Callable[[np.random.Generator, int], np.ndarray]


def exponential(draw: np.random.Generator, lanes: int) -> np.ndarray:
    return draw.standard_exponential(lanes)


def log_normal(draw: np.random.Generator, lanes: int) -> np.ndarray:
    sigma2 = math.log(5.0)
    return draw.lognormal(-sigma2 / 2.0, math.sqrt(sigma2), lanes)


@dataclass(frozen=True)
class Queue:
    """A queue of several servers with Poisson arrivals; the mean service time is 1."""

    name: str
    load: float
    servers: int
    times: Times

    def responses(self, draw: np.random.Generator, lanes: int) -> np.ndarray:
        """Return response times of independent queues: a row for each request, a column a queue."""
        left = np.zeros((lanes, self.servers))  # Kiefer and Wolfowitz: work ahead, sorted
        found = np.empty((LONGEST, lanes))
        for index in range(LONGEST):
            served = self.times(draw, lanes)
            found[index] = left[:, 0] + served
            left[:, 0] += served
            left -= draw.standard_exponential((lanes, 1)) / (self.load * self.servers)
            np.maximum(left, 0.0, out=left)
            if self.servers > 1:
                left.sort(axis=1)
        return found

    def p99(self, draw: np.random.Generator) -> float:
        if self.servers == 1:
            return math.log(100.0) / (1.0 - self.load)
        return float(np.quantile(self.responses(draw, 4_000)[LONGEST // 10 :], 0.99))


def outcome(lanes: Iterator[np.ndarray], truth: float) -> tuple[str, int]:
    """Return ``hit``, ``miss`` or ``longest`` for one trial, and the requests of a replication.

    `lanes` has the response times of one simulation each.
    """
    known: dict[int, np.ndarray] = {}

    def simulated(one: simulation.Scenario) -> dict[str, dict[str, Any]]:
        if one.seed not in known:
            known[one.seed] = next(lanes)
        times = np.sort(known[one.seed][one.warmup_requests : one.requests])[::-1]
        run = {
            "requests": one.requests,
            "warmup_requests": one.warmup_requests,
            "placement": one.placement,
        }
        row = {"completed": len(times), "mean_us": float(times.mean()), "tail_us": times}
        return {SERVICE: {**row, "saturated": None, "run": run}}

    running = plan(parse("queue", EXPERIMENT), Scenario(), BUDGET)
    wanted = next(running)
    try:
        while True:
            wanted = running.send([simulated(one) for one in wanted])
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
    most = BUDGET.replications * BUDGET.lengths[-1] // LONGEST
    print(f"{'queue':8}{'load':>6}{'coverage':>10}{'requests of a replication':>27}{'longest':>9}")
    for queue in (
        Queue("M/M/1", 0.3, 1, exponential),
        Queue("M/M/1", 0.5, 1, exponential),
        Queue("M/G/4", 0.3, 4, log_normal),
    ):
        draw = np.random.default_rng(1)
        truth = queue.p99(draw)
        outcomes = [outcome(iter(queue.responses(draw, most).T), truth) for _ in range(trials)]
        ended = [length for how, length in outcomes if how != "longest"]
        hits = sum(how == "hit" for how, _ in outcomes)
        coverage = f"{hits / len(ended):.1%}" if ended else "-"
        mean = f"{sum(ended) / len(ended):,.0f}" if ended else "-"
        late = trials - len(ended)
        print(f"{queue.name:8}{queue.load:6.0%}{coverage:>10}{mean:>27}{late:9}", flush=True)


if __name__ == "__main__":
    main()
