"""Benchmark of policies in Python: ns per decision, and how much longer a simulation takes.

Each policy in Python decides as a native one does, so that both simulate the same events. They take
turns on one thread. The decisions are counted in a separate run.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

from accelflow import simulation
from accelflow.policies import (
    Completion,
    Decision,
    Orchestrator,
    QueuePolicy,
    SimulatedServer,
    Waiting,
)


class Fifo(QueuePolicy):
    deadlines = False

    def choose(self, accelerator: str, waiting: Waiting, now_ns: float) -> int:
        return 0


class Edf(QueuePolicy):
    def choose(self, accelerator: str, waiting: Waiting, now_ns: float) -> int:
        return min(waiting, key=lambda entry: (entry.deadline_ns, entry.position)).position


class Asking(Orchestrator):
    def decide(self, completion: Completion, server: SimulatedServer) -> Decision:
        return super().decide(completion, server)


class Constant(Orchestrator):
    like = "ideal"
    decision = Decision()

    def decide(self, completion: Completion, server: SimulatedServer) -> Decision:
        return self.decision


#: Each benchmark's name, native system, native policy, and the argument of `compare` that adds the
#: policy in Python.
CASES: list[tuple[str, str, str | None, dict[str, Any]]] = [
    ("`choose`: `return 0`", "accelflow", "fifo", {"policies": {"accelflow": Fifo}}),
    ("`choose`: earliest deadline", "accelflow", "edf", {"policies": {"accelflow": Edf}}),
    ("`decide`: a constant", "ideal", None, {"orchestrators": [Constant]}),
    ("`decide`: `super().decide`", "accelflow", None, {"orchestrators": [Asking]}),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rate-rps", type=float, default=13_400.0)
    options = parser.parse_args()
    print("| policy | decisions | native, s | with Python, s | times | ns a decision |")
    print("|---|---|---|---|---|---|")
    for name, like, policy, python in CASES:
        experiment = simulation.Scenario(
            profile="paper",
            orchestrators=(like,),
            requests=options.requests,
            rate_rps=options.rate_rps,
            policy=policy,
        )
        alone, both = [], []
        for _ in range(options.rounds):
            alone.append(seconds(lambda: simulation.run(experiment, threads=1)))  # noqa: B023
            both.append(seconds(lambda: simulation.run(experiment, threads=1, **python)))  # noqa: B023
        native, python_s = statistics.median(alone), statistics.median(both)
        python_s -= native
        decisions = count(experiment, python)
        cost_ns = (python_s - native) / decisions * 1e9
        print(
            f"| {name} | {decisions:,} | {native:.2f} | {python_s:.2f} | {python_s / native:.1f} "
            f"| {cost_ns:.0f} |"
        )


def seconds(run: Callable[[], object]) -> float:
    """Return the processor time of `run` in seconds, since the machine may have other work."""
    start = time.process_time()
    run()
    return time.process_time() - start


def count(experiment: simulation.Scenario, python: dict[str, Any]) -> int:
    """Return how often the policy in `python` decides in a simulation of `experiment`."""
    source = (python.get("policies") or {}).get("accelflow") or python["orchestrators"][0]
    asked = 0

    class Counted(source):  # type: ignore[misc]
        name = "counted"

        def choose(self, accelerator: str, waiting: Waiting, now_ns: float) -> int:
            nonlocal asked
            asked += 1
            found: int = super().choose(accelerator, waiting, now_ns)
            return found

        def decide(self, completion: Completion, server: SimulatedServer) -> Decision:
            nonlocal asked
            asked += 1
            found: Decision = super().decide(completion, server)
            return found

    counted = (
        {"policies": {"accelflow": Counted}}
        if "policies" in python
        else {"orchestrators": [Counted]}
    )
    simulation.run(experiment, threads=1, **counted)
    return asked


if __name__ == "__main__":
    main()
