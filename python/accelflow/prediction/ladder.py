"""Forecasts of a recorded service by each method, compared with the live server."""

from __future__ import annotations

import datetime
import json
import math
import os
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from accelflow import _native
from accelflow.errors import refused, whole_number
from accelflow.prediction.forecast import RUNGS, Forecast, Workload, forecast
from accelflow.prediction.live import (
    Driven,
    Live,
    Subject,
    capacity_rps,
    check_call,
    drive,
    kept_off,
    recorded,
    server_us,
)

__all__ = ["GOAL_MEAN_RATIO", "GOAL_P99_RATIO", "MOST_LOAD", "SCHEMA", "Options", "predict"]

#: The name and version of the object that :func:`predict` returns.
SCHEMA: Final = "accelflow.prediction/1"

#: The goal for a forecast's mean: the largest error, as a share of the measured mean.
GOAL_MEAN_RATIO: Final = 0.10
#: The goal for a forecast's P99: the largest error, as a share of the measured P99.
GOAL_P99_RATIO: Final = 0.25

_MOST_S: Final = 3_600.0
#: The greatest load to measure, as a share of the capacity. Beyond it, queues grow for minutes.
MOST_LOAD: Final = 0.95
#: Seed offset of the recording's arrivals; those of the runs are lower.
_OF_RECORDING: Final = 0xFFFF


@dataclass(frozen=True, kw_only=True)
class Options:
    """The settings of the measurements and of the forecasts.

    The server's capacity is measured first, for a quarter of `seconds`. Loads are shares of the
    capacity, above 0 and at most 0.95. The recording is made at `recorded_load`. Then each of
    `loads` runs for `seconds`, `repeats` times, in turn with the others. For each forecast,
    `requests` requests are simulated. `workload` is a suite's name, or the content of a workload's
    file as a dict; it contains the service to forecast. `config` sets parameters of the simulated
    server by key.
    """

    loads: Sequence[float] = (0.1, 0.3, 0.5, 0.7)
    recorded_load: float = 0.5
    seconds: float = 8.0
    repeats: int = 3
    requests: int = 100_000
    seed: int = 1
    workload: str | Mapping[str, Any] = "socialnetwork"
    config: Mapping[str, float | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise InputError for a number out of its range."""
        if not self.loads:
            raise refused("loads", self.loads, "must have at least one share of the capacity")
        placed = [("loads", load) for load in self.loads]
        for place, load in [*placed, ("recorded_load", self.recorded_load)]:
            if not 0.0 < load <= MOST_LOAD:
                raise refused(place, load, f"must be above 0 and at most {MOST_LOAD}")
        if not 0.0 < self.seconds <= _MOST_S:
            raise refused("seconds", self.seconds, f"must be above 0 and at most {_MOST_S:g}")
        whole_number("repeats", self.repeats, 1, 1_000)
        whole_number("requests", self.requests, 100, 10_000_000)
        whole_number("seed", self.seed, 0, 2**32)


def predict(
    subject: Subject,
    options: Options,
    progress: Callable[[str], object] | None = None,
) -> dict[str, Any]:
    """Forecast the response times of `subject` from a recording, and compare with measured ones.

    The server is started, recorded and measured by this function; it has a core to itself if the
    machine has two. `progress` is called with the name of each stage. Returns an object for JSON
    with the schema ``accelflow.prediction/1``: the machine, the recording, and for each load the
    measured and the forecast times with their errors.

    Raises AccelflowError for a server that does not start or answer, and for a recording that does
    not fit the workload. Raises InputError for invalid values.
    """
    say = progress or (lambda _text: None)
    cores = sorted(os.sched_getaffinity(0))
    core = cores[0] if len(cores) > 1 else None
    busy = [os.getloadavg()[0]]
    with kept_off(core):
        capacity, text, calls = _recorded(subject, options, core, say)
        workload = Workload(
            recording=text,
            service=subject.service,
            workload=options.workload,
            config=options.config,
        )
        # What does not fit is refused before the long part.
        say("forecasting")
        rates = {load: load * capacity for load in options.loads}
        forecasts = {load: _forecasts(workload, rate, options) for load, rate in rates.items()}
        runs = _measured(subject, options, core, rates, say)
    busy.append(os.getloadavg()[0])
    rows = [_row(load, rates[load], runs[load], forecasts[load]) for load in options.loads]
    return {
        "schema": SCHEMA,
        "machine": _native.machine_name(),
        "cores": os.cpu_count(),
        "own_core": core is not None,
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "run_queue": busy,
        "real_time": os.sched_getscheduler(0) in {os.SCHED_FIFO, os.SCHED_RR},
        "function": subject.function,
        "service": subject.service,
        "workload": options.workload if isinstance(options.workload, str) else "own",
        "seconds": options.seconds,
        "repeats": options.repeats,
        "requests": options.requests,
        "seed": options.seed,
        "capacity_rps": capacity,
        "recorded": {
            "load_ratio": options.recorded_load,
            "core_us": server_us(json.loads(text)["services"][0]),
            "mean_us": calls.mean_us,
            "p99_us": calls.p99_us,
        },
        "goal": {"mean_ratio": GOAL_MEAN_RATIO, "p99_ratio": GOAL_P99_RATIO},
        "loads": rows,
        "recording": text,
    }


def _recorded(
    subject: Subject, options: Options, core: int | None, say: Callable[[str], object]
) -> tuple[float, str, Driven]:
    """Return the capacity, the recording, and the recorded calls."""
    with Live(subject, core=core, record=False) as live:
        check_call(live, subject)
        say("measuring the capacity")
        capacity = capacity_rps(live, subject, seconds=options.seconds / 4)
    say(f"recording: at most {capacity:,.0f} requests a second")
    text, calls = recorded(
        subject,
        core=core,
        rate_rps=options.recorded_load * capacity,
        seconds=options.seconds,
        seed=options.seed << 16 | _OF_RECORDING,
    )
    return capacity, text, calls


def _forecasts(workload: Workload, rate_rps: float, options: Options) -> dict[str, Forecast]:
    return {
        rung: forecast(workload, rung, rate_rps, requests=options.requests, seed=options.seed)
        for rung in RUNGS
    }


def _measured(
    subject: Subject,
    options: Options,
    core: int | None,
    rates: Mapping[float, float],
    say: Callable[[str], object],
) -> dict[float, list[Driven]]:
    """Return the runs of each load. The loads take turns, so that slow changes affect all alike."""
    runs: dict[float, list[Driven]] = {load: [] for load in rates}
    for number in range(options.repeats):
        for place, (load, rate_rps) in enumerate(rates.items()):
            say(f"measuring {load:.0%} load, {number + 1} of {options.repeats}")
            seed = options.seed << 16 | number << 8 | place
            with Live(subject, core=core, record=False) as live:
                runs[load].append(
                    drive(live, subject, rate_rps=rate_rps, seconds=options.seconds, seed=seed)
                )
    return runs


def _row(
    load: float, rate_rps: float, runs: Sequence[Driven], forecasts: Mapping[str, Forecast]
) -> dict[str, Any]:
    means, p99s = [run.mean_us for run in runs], [run.p99_us for run in runs]
    mean_us, p99_us = statistics.median(means), statistics.median(p99s)
    rungs = {}
    for rung, found in forecasts.items():
        rungs[rung] = {
            "mean_us": _finite(found.mean_us),
            "p99_us": _finite(found.p99_us),
            "mean_error_ratio": _finite(found.mean_us / mean_us - 1.0),
            "p99_error_ratio": _finite(found.p99_us / p99_us - 1.0),
        }
    return {
        "load_ratio": load,
        "rate_rps": rate_rps,
        "live": {
            "mean_us": mean_us,
            "p99_us": p99_us,
            "means_us": means,
            "p99s_us": p99s,
            "late_us": statistics.median(run.late_us for run in runs),
            "core_us": statistics.median(run.core_us for run in runs),
            "calls": sum(len(run.response_us) for run in runs),
            "errors": sum(run.errors for run in runs),
        },
        "rungs": rungs,
    }


def _finite(value: float) -> float | None:
    """Return None for an infinite time, which JSON cannot represent."""
    return value if math.isfinite(value) else None
