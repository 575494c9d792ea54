"""The runner of experiments' simulations: it runs each one once, and several at a time.

The runner can save the results, so that a stopped command resumes where it was.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import asdict
from functools import cache, partial
from typing import TypeVar

import numpy as np

from accelflow import simulation
from accelflow.kept_runs import KeptRuns
from accelflow.parallel import Stop, run_all
from accelflow.reproduce.measures import ServiceRow
from accelflow.reproduce.pooling import dwell_s, tail_share

__all__ = ["Plan", "Progress", "Runner", "Wanted", "identity", "run_plans"]

#: The results of each service in one simulation of one system, by the service's name.
Services = Mapping[str, ServiceRow]
#: The simulations that a plan asks for next.
Wanted = Sequence[simulation.Scenario]

_Outcome = TypeVar("_Outcome")
#: A generator that yields the simulations that it needs, receives their results in the same order,
#: and in the end returns its outcome.
Plan = Generator[Wanted, Sequence[Services], _Outcome]
#: A function that is called with the numbers of completed and of requested simulations.
Progress = Callable[[int, int], object]


def identity(experiment: simulation.Scenario) -> str:
    """Return a hash of everything that the results of `experiment` depend on, as a key for them.

    A parameter of the server that is set to its default counts as not set.
    """
    defaults = _defaults()
    config = simulation.configured(experiment.config)
    changed = {key: value for key, value in config.items() if value != defaults[key]}
    fields = {**asdict(experiment), "config": changed}
    content = json.dumps(fields, sort_keys=True, default=list)
    return hashlib.sha256(content.encode()).hexdigest()


@cache
def _defaults() -> Mapping[str, float]:
    return {parameter.key: parameter.default for parameter in simulation.parameters()}


class Runner:
    """Runs simulations on several threads, and keeps their results so that each runs only once.

    Each simulation is of one system. Several experiments may need the same simulation. Results do
    not depend on the number of threads.
    """

    def __init__(
        self, threads: int, progress: Progress | None = None, kept: KeptRuns | None = None
    ) -> None:
        """Make a runner without results.

        `threads` is the number of simulations at a time. `progress` is called after each
        simulation, from several threads. Results are saved in `kept`, and a simulation whose
        results are already there does not run.
        """
        self._threads = threads
        self._progress = progress
        self._kept = kept
        self._known: dict[str, Services] = {}
        self._asked = 0
        self._found = 0
        self._lock = threading.Lock()

    @property
    def simulated(self) -> int:
        """The number of simulations that this runner has run; saved results do not count."""
        return len(self._known) - self._found

    @property
    def found(self) -> int:
        """The number of simulations that did not run because their results had been saved."""
        return self._found

    def run(self, wanted: Wanted, *, whole: bool = False) -> None:
        """Run the simulations in `wanted` that have no results yet; :meth:`result` returns these.

        With `whole`, results keep all response times; percentiles over more than ten seeds need
        them. Otherwise results keep only the longest
        (:func:`accelflow.reproduce.pooling.tail_share`). If a simulation fails, the others are
        stopped and its exception is raised; completed ones keep their results. Raises
        AccelflowError for saved results that are damaged or cannot be read, and OSError if results
        cannot be saved.
        """
        new = {_key(experiment, whole): experiment for experiment in wanted}
        new = {key: experiment for key, experiment in new.items() if key not in self._known}
        self._asked += len(new)
        # The longest simulations run first, so that none of them runs alone at the end.
        ordered = sorted(new.items(), key=lambda item: -item[1].requests)
        stop = Stop()  # a new one, since an issued one would stop the next run, too
        calls = [
            partial(self._simulate, key, experiment, whole, stop) for key, experiment in ordered
        ]
        try:
            run_all(calls, threads=self._threads, stop=stop)
        finally:
            self._asked = len(self._known)  # without those that a failure has stopped

    def result(self, experiment: simulation.Scenario, *, whole: bool = False) -> Services:
        """Return the results of the simulation `experiment`, by service.

        :meth:`run` must have simulated it before, with the same value of `whole` (whether results
        keep all response times).
        """
        return self._known[_key(experiment, whole)]

    def _simulate(self, key: str, experiment: simulation.Scenario, whole: bool, stop: Stop) -> None:
        share = 1.0 if whole else tail_share(experiment)
        saved = self._kept.find(experiment, share) if self._kept is not None else None
        if saved is not None:
            results = saved
        else:
            results, _ = simulation.run_sampled(
                experiment, threads=1, progress=stop.look, tail_share=share
            )
            if self._kept is not None:
                self._kept.add(experiment, results, share)
        results["dwell_s"] = dwell_s(experiment)
        services = results["systems"][0]["services"]
        for service in services:
            service["tail_us"] = np.asarray(service["tail_us"])
        with self._lock:
            self._known[key] = {
                service["service"]: {**service, "run": results} for service in services
            }
            self._found += saved is not None
            if self._progress is not None:
                self._progress(len(self._known), self._asked)


def _key(experiment: simulation.Scenario, whole: bool) -> str:
    return f"{identity(experiment)} whole" if whole else identity(experiment)


def run_plans(
    plans: Mapping[str, Plan[_Outcome]], runner: Runner, *, whole: bool = False
) -> dict[str, _Outcome]:
    """Run all `plans` to their ends, and return their outcomes by the plans' names.

    A plan is a generator that asks for simulations step by step (:data:`Plan`). The plans advance
    together, so that the simulations that all of them ask for next run in parallel. `whole` is as
    in :meth:`Runner.run`.
    """
    outcomes: dict[str, _Outcome] = {}
    waiting: dict[str, Wanted] = {}

    def advance(name: str, results: Sequence[Services] | None) -> None:
        plan = plans[name]
        try:
            waiting[name] = next(plan) if results is None else plan.send(results)
        except StopIteration as ended:
            outcomes[name] = ended.value

    for name in plans:
        advance(name, None)
    while waiting:
        asked, waiting = waiting, {}
        together = [experiment for wanted in asked.values() for experiment in wanted]
        runner.run(together, whole=whole)
        for name, wanted in asked.items():
            advance(name, [runner.result(experiment, whole=whole) for experiment in wanted])
    return outcomes
