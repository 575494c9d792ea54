"""Measurements of a live server beside a simulation of it and the closed form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from accelflow.companions.medians import Median, median, median_ratio
from accelflow.companions.together.live import PROMISED
from accelflow.companions.together.simulated import Setup, effects, rows, runs
from accelflow.companions.together.systems import LOADS, PAIRS

__all__ = ["beside", "workload"]

#: The recorded time outside of steps contains waking a thread and switching to it.
_OUTSIDE: Final = {"core.context_switch_ns": 0.0, "core.wake_ns": 0.0}
#: The live figures with medians.
_MEASURES: Final = ("mean_us", "p99_us", "flooding_p99_us", "flooding_rps", "core_us")
#: A run whose last answer to the others comes later than this part of it cannot keep up.
_BEHIND: Final = 0.1
_Rounds = Mapping[tuple[str, str], list[dict[str, Any]]]


def beside(
    measured: Mapping[str, Any], *, seed: int, replications: int, threads: int, requests: int
) -> dict[str, Any]:
    """Return the measurements with the simulated and the closed-form values beside them.

    The simulator has the recording's costs, the same rates and one core, which executes traces as
    the live server's threads do; its other systems have AccelFlow's hardware, Cerebros's and
    ARCUS's. Live figures are medians over rounds with bootstrap intervals, simulated ones means
    over seeds from `seed` on. Raises AccelflowError for a recording that does not fit.
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
    """The measured server in the simulator."""
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
    """Return a workload with the services of a recording, and their recorded phases and chains."""
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
    """A chain by its first trace, with the facts of its steps."""
    facts: dict[str, dict[str, int]] = {}
    for step in steps:
        facts.setdefault(step["trace"], {}).update(step["facts"])
    if "T10" in facts:
        # Replies that are no exception leave the fact out.
        facts["T10"].setdefault("exception", 0)
    first = steps[0]
    compresses = first["accelerator"] == "Cmp" and first["trace"] in _COMPRESSING
    name = f"{first['trace']}+Cmp" if compresses else first["trace"]
    return {"trace": name, "facts": {trace: given for trace, given in facts.items() if given}}


#: The traces that have an entry for messages to be compressed.
_COMPRESSING: Final = ("T8", "T9", "T11")


def _row(row: dict[str, Any], rounds: _Rounds, seconds: float) -> dict[str, Any]:
    """A simulated row with the live figures."""
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
    """The median ratio of P99 without an addition to that with it, of the same rounds."""
    return {
        (load, added): median_ratio(
            [each["p99_us"] for each in rounds[load, without]],
            [each["p99_us"] for each in rounds[load, with_it]],
        )
        for load in LOADS
        for added, without, with_it in PAIRS
    }
