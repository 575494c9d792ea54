"""Calls of a live server whose traces are offloaded, compared with the equations.

`benches/serve/chains` measures a server with TLS. Its threads execute the traces of a call
themselves, or the runtime's ensemble executes the traces while the threads spin (Sync) or sleep
(Sync-OS). Each trace, or chain of traces that waits for a response, is one offload. :func:`beside`
evaluates equations (1), (3) and (5) with inputs that were not fitted. The bodies' times are from a
recording of the server without an ensemble, except for TCP's. TCP's times, acceleration (A), setup
(o0), transfer (L) and thread switch (o1) are from micro-benchmarks. A nanosecond counts as a cycle.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from accelflow.accelerometer.measured import line
from accelflow.accelerometer.rounds import over_rounds
from accelflow.accelerometer.service import Kernel, Service, evaluate
from accelflow.errors import unreadable, with_schema
from accelflow.files import read_text

#: The schema of the benchmark's output.
SCHEMA: Final = "accelflow.live-chains/1"


@dataclass(frozen=True)
class _Form:
    """What is compared: the threading, the ratio of the equations, and the measured time."""

    threading: str
    ratio: str
    time: str


#: The compared forms of offload, by name. With Sync-OS, the host's time is measured with several
#: calls at once, since only then does it save time. Sync has one thread per core. All response
#: times are those of single calls.
FORMS: Final[Mapping[str, _Form]] = {
    "sync, host's time": _Form("sync", "speedup_ratio", "host_ns"),
    "sync, response": _Form("sync", "latency_reduction_ratio", "response_ns"),
    "sync_os, host's time": _Form("sync_os", "speedup_ratio", "loaded_host_ns"),
    "sync_os, response": _Form("sync_os", "latency_reduction_ratio", "response_ns"),
}


@dataclass(frozen=True)
class _Chain:
    """A chain of a call: its traces, its accelerators, and the time of their bodies on the host."""

    traces: tuple[str, ...]
    steps: int
    kernel_ns: float


def read_chains(path: Path) -> dict[str, Any]:
    """Read the output of the benchmark `benches/serve/chains` from the file at `path`.

    Raises InputError if the file cannot be read or has other contents.
    """
    try:
        found = json.loads(read_text(path))
    except (OSError, ValueError) as error:
        raise unreadable("measurements", path, error) from error
    return with_schema(path, found, [SCHEMA])


def beside(measured: Mapping[str, Any]) -> dict[str, Any]:
    """Compare Accelerometer's equations with `measured`, a result of :func:`read_chains`.

    In the result, `cases` has an object for each call: `chain`, `bytes`, `offloads` (each with its
    traces, the number of accelerator calls and the bodies' time), `host_ns` and `response_ns`
    without an ensemble, `kernel_share_ratio`, and `rows`, one for each of :data:`FORMS`: {form,
    closed_form_ratio, measured_ratio, error_points}. A ratio is the time without an ensemble
    divided by the time with the ensemble: by the equations (`closed_form_ratio`) or as measured
    (`measured_ratio`). The error is `closed_form_ratio` minus `measured_ratio`, computed for each
    round, in points (hundredths of the ratio). `offload` has the setup o0 and the transfer L for
    each number of accelerators, and the thread switch o1. Values are medians with their intervals
    (:func:`accelflow.accelerometer.rounds.over_rounds`).
    """
    return {
        **{key: measured[key] for key in ("build", "rounds", "calls", "callers", "run_queue")},
        "offload": {
            "chains": [
                {
                    "steps": row["steps"],
                    "setup_ns": over_rounds(row["setup_ns"]),
                    "transfer_ns": over_rounds(row["transfer_ns"]),
                }
                for row in measured["offload"]
            ],
            "thread_switch_ns": over_rounds(measured["bodies"]["thread_switch_ns"]),
            "acceleration_ratio": over_rounds(_accelerations(measured["bodies"]["sizes"])),
        },
        "cases": [_case(case, measured) for case in measured["cases"]],
    }


def _accelerations(sizes: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[float]:
    """A for each round: the geometric mean over bodies and sizes of host's over workers' time."""
    logarithms = [
        [math.log(h / w) for h, w in zip(size["host_ns"], size["worker_ns"], strict=True)]
        for rows in sizes.values()
        for size in rows
    ]
    return [math.exp(math.fsum(row) / len(row)) for row in zip(*logarithms, strict=True)]


def _chains(case: Mapping[str, Any], bodies: Mapping[str, Any]) -> list[_Chain]:
    """The offloads of a call, from its recording.

    A recorded TCP includes the system calls, which a server's thread makes with and without an
    ensemble. Its body is the line through the times by size of the micro-benchmark.
    """
    tcp = [
        (float(size["input_bytes"]), float(over_rounds(size["host_ns"])["median"] or 0.0))
        for size in bodies["sizes"]["TCP"]
    ]
    fixed, slope = line(tcp)
    (service,) = case["recording"]["services"]
    found = []
    for phase in service["phases"]:
        for chain in phase.get("chains", ()):
            costs = [
                fixed + slope * step["input_bytes"]
                if step["accelerator"] == "TCP"
                else step["cost_ns"]
                for step in chain["steps"]
            ]
            traces = tuple(dict.fromkeys(step["trace"] for step in chain["steps"]))
            found.append(_Chain(traces, len(costs), math.fsum(costs)))
    return found


def _case(case: Mapping[str, Any], measured: Mapping[str, Any]) -> dict[str, Any]:
    chains = _chains(case, measured["bodies"])
    inline = [each["inline"] for each in case["rounds"]]
    kernel_ns = math.fsum(chain.kernel_ns for chain in chains)
    return {
        "chain": case["chain"],
        "bytes": case["bytes"],
        "offloads": [
            {"traces": list(c.traces), "steps": c.steps, "kernel_ns": c.kernel_ns} for c in chains
        ],
        "host_ns": over_rounds([each["loaded_host_ns"] for each in inline]),
        "response_ns": over_rounds([each["response_ns"] for each in inline]),
        "kernel_share_ratio": over_rounds([kernel_ns / each["loaded_host_ns"] for each in inline]),
        "rows": [_row(name, form, case, chains, measured) for name, form in FORMS.items()],
    }


def _row(
    name: str,
    form: _Form,
    case: Mapping[str, Any],
    chains: Sequence[_Chain],
    measured: Mapping[str, Any],
) -> dict[str, Any]:
    costs = {row["steps"]: row for row in measured["offload"]}
    switches = measured["bodies"]["thread_switch_ns"]
    accelerations = _accelerations(measured["bodies"]["sizes"])
    closed, found = [], []
    for number, each in enumerate(case["rounds"]):
        before_ns = each["inline"][form.time]
        kernels = [
            Kernel(
                name=", ".join(chain.traces),
                threading=form.threading,
                # The ensemble takes an offload at once.
                driver_waits=None if form.threading == "sync" else False,
                kernel_share_ratio=min(chain.kernel_ns / before_ns, 1 / len(chains)),
                offloads_per_s=1e9 / before_ns,
                setup_cycles=costs[chain.steps]["setup_ns"][number],
                transfer_cycles=costs[chain.steps]["transfer_ns"][number],
                thread_switch_cycles=0.0 if form.threading == "sync" else switches[number],
                acceleration_ratio=accelerations[number],
            )
            for chain in chains
        ]
        service = Service(host_cycles_per_s=1e9, kernels=kernels)
        closed.append(float(evaluate(service)[form.ratio]))
        found.append(before_ns / each[form.threading][form.time])
    errors = [100 * (ours - real) for ours, real in zip(closed, found, strict=True)]
    return {
        "form": name,
        "closed_form_ratio": over_rounds(closed),
        "measured_ratio": over_rounds(found),
        "error_points": over_rounds(errors),
    }
