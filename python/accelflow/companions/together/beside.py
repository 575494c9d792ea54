"""Measurements of a live server, beside a simulation of the server and the closed form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from accelflow.companions.medians import Median, median, median_ratio
from accelflow.companions.together.live import PROMISED
from accelflow.companions.together.simulated import Setup, effects, rows, runs
from accelflow.companions.together.systems import LOADS, PAIRS

__all__ = ["beside", "workload"]

#: No time for switches and wake-ups, since the recorded time outside of steps contains both.
_OUTSIDE: Final = {"core.context_switch_ns": 0.0, "core.wake_ns": 0.0}
#: The live measurements of which rows have medians.
_MEASURES: Final = ("mean_us", "p99_us", "flooding_p99_us", "flooding_rps", "core_us")
#: A run cannot keep up if the last answer to the other seven services comes later than this share
#: of the run's length after its end.
_BEHIND: Final = 0.1
_Rounds = Mapping[tuple[str, str], list[dict[str, Any]]]


def beside(
    measured: Mapping[str, Any], *, seed: int, replications: int, threads: int, requests: int
) -> dict[str, Any]:
    """Return live measurements with the values of simulator and closed-form model beside them.

    `measured` is a result of :func:`accelflow.companions.together.live.measure`. The simulator has
    the rates of `measured`, the costs of the recording in `measured`, and one core. The simulated
    system without accelerators executes traces on the core, as the live server's threads do; the
    other simulated systems have the hardware of AccelFlow, Cerebros and ARCUS. Live values are
    medians over rounds with bootstrap intervals. Simulated values are means over `replications`
    seeds from `seed` on. Raises AccelflowError if the simulator refuses the recording.
    """
    rounds = {(row["load"], row["system"]): row["rounds"] for row in measured["rows"]}
    setup = _setup(measured)
    found = runs(setup, seed=seed, replications=replications, requests=requests, threads=threads)
    kept = ("machine", "cores", "own_core", "date", "run_queue", "rounds", "seconds")
    return {
        **{key: measured[key] for key in (*kept, "rates_rps", "flood_ratio", "control")},
        "replications": replications,
        "rows": [_row(row, rounds, measured["seconds"]) for row in rows(setup, found)],
        "effects": [
            {**effect, "live_p99_ratio": gains[effect["load"], effect["added"]].to_dict()}
            for gains in [_gains(rounds)]
            for effect in effects(found)
        ],
    }


def _setup(measured: Mapping[str, Any]) -> Setup:
    """Return the simulation of the measured server."""
    recording = measured["recording"]
    return Setup(
        rates_rps=measured["rates_rps"],
        flood=measured["flood_ratio"],
        promised=PROMISED,
        workload=workload(recording),
        recording=json.dumps(recording),
        scenario={"recorded_times": "distribution", "config": {"core.count": 1, **_OUTSIDE}},
    )


def workload(recording: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a workload's file with the services and the paths of `recording`.

    `recording` is the parsed recording.
    """
    return {
        "schema": "accelflow.workload/1",
        "name": "together",
        "services": [
            {"name": service["service"], "path": [_phase(phase) for phase in service["phases"]]}
            for service in recording["services"]
        ],
    }


def _phase(phase: Mapping[str, Any]) -> dict[str, Any]:
    if "cpu" in phase:
        return {"cpu": True}
    chains = [_chain(chain["steps"]) for chain in phase["chains"]]
    return chains[0] if len(chains) == 1 else {"parallel": chains}


def _chain(steps: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a chain of a workload's path: its first trace, and the facts of the steps."""
    facts: dict[str, dict[str, int]] = {}
    for step in steps:
        facts.setdefault(step["trace"], {}).update(step["facts"])
    if "T10" in facts:
        # The recording has the fact only in replies that are exceptions.
        facts["T10"].setdefault("exception", 0)
    first = steps[0]
    compresses = first["accelerator"] == "Cmp" and first["trace"] in _COMPRESSING
    name = f"{first['trace']}+Cmp" if compresses else first["trace"]
    return {"trace": name, "facts": {trace: given for trace, given in facts.items() if given}}


#: The traces with a second entry, NAME+Cmp, for messages that are compressed.
_COMPRESSING: Final = ("T8", "T9", "T11")


def _row(row: dict[str, Any], rounds: _Rounds, seconds: float) -> dict[str, Any]:
    """Return a simulated row with the medians of the live rounds added."""
    same = rounds[row["load"], row["system"]]
    live = {f"live_{key}": median([each[key] for each in same]).to_dict() for key in _MEASURES}
    capacity = median([1e6 / each["core_us"] for each in same]).to_dict()
    behind = median([each["behind_s"] for each in same]).median
    return {
        **row,
        **live,
        "live_capacity_rps": capacity,
        "live_overloaded": behind > _BEHIND * seconds,
    }


def _gains(rounds: _Rounds) -> dict[tuple[str, str], Median]:
    """Return the median ratio of the P99 without an addition to that with it, per round."""
    return {
        (load, added): median_ratio(
            [each["p99_us"] for each in rounds[load, without]],
            [each["p99_us"] for each in rounds[load, with_it]],
        )
        for load in LOADS
        for added, without, with_it in PAIRS
    }
