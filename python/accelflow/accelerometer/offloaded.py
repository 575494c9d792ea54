"""Measured offloads to accelerators in software, compared with the equations.

`benches/ensemble/offload` measures the inputs of Accelerometer's equations by micro-benchmarks. It
also measures a host's operations per second without accelerators and with each form of offload
(such as Sync and Async). :func:`beside` evaluates the equations with these inputs, and compares the
speedups. A nanosecond counts as a cycle of the equations.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from accelflow.accelerometer.arrays import break_even
from accelflow.accelerometer.measured import line
from accelflow.accelerometer.rounds import Over, over_rounds
from accelflow.accelerometer.service import Kernel, Service, evaluate
from accelflow.errors import unreadable, with_schema
from accelflow.files import read_text

#: The schema of the benchmark's output.
SCHEMA: Final = "accelflow.ensemble-offload/1"

_NS_PER_S: Final = 1e9

#: The forms of offload in the benchmark, by name: the threading design, and whether latency on an
#: idle host is compared instead of throughput.
FORMS: Final = {
    "sync": ("sync", False),
    "sync_os": ("sync_os", False),
    "sync_os_alone": ("sync_os", True),
    "async_same_thread": ("async_same_thread", False),
    "async_distinct_thread": ("async_distinct_thread", False),
    "async_no_response": ("async_no_response", False),
}


def read_offloads(path: Path) -> dict[str, Any]:
    """Read the output of the benchmark `benches/ensemble/offload` from the file at `path`.

    Raises InputError if the file cannot be read or has other contents.
    """
    try:
        found = json.loads(read_text(path))
    except (OSError, ValueError) as error:
        raise unreadable("measurements", path, error) from error
    return with_schema(path, found, [SCHEMA])


def beside(measured: Mapping[str, Any]) -> dict[str, Any]:
    """Compare Accelerometer's equations with `measured`, a result of :func:`read_offloads`.

    In the result, `rows` has an object for each kernel, each time of the host's own work and each
    form of :data:`FORMS`: {kernel, own_us, form, closed_form_ratio, host_ratio, clock_ratio,
    refused, error_points}. A ratio is the gain over a host that runs the kernel itself: measured in
    the host's processor time (`host_ratio`) or in wall-clock time (`clock_ratio`), or computed by
    the equations (`closed_form_ratio`). `refused` is the number of refused offloads. `error_points`
    is `closed_form_ratio` minus `host_ratio`, or minus `clock_ratio` for ``sync`` (the host waits)
    and ``sync_os_alone`` (the ratio of latencies), computed for each round. Ratios and errors are
    medians over the rounds with their intervals
    (:func:`accelflow.accelerometer.rounds.over_rounds`).

    `offload` has the setup o0, the transfer L and the thread switch o1. `kernels` has, for each
    kernel and each time of own work, the equations' inputs and `paid_ns`, the host's processor time
    for an offload without a response. `threshold` compares offloads of large sizes alone with the
    break-even size of equation (7). `build` is the benchmark's profile, ``dev`` or ``release``, and
    `run_queue` the machine's load before and after.
    """
    offload = measured["offload"]
    switch = offload["thread_switch_ns"]
    chains = {row["steps"]: row for row in offload["chains"]}
    rows = [row for case in measured["cases"] for row in _case(case, chains[case["steps"]], switch)]
    return {
        "build": measured["build"],
        "rounds": len(switch),
        "run_queue": [measured["busy_before"], measured["busy_after"]],
        "offload": {
            "thread_switch_ns": over_rounds(switch),
            "chains": [
                {
                    "steps": row["steps"],
                    "setup_ns": over_rounds(row["setup_ns"]),
                    "transfer_ns": over_rounds(row["transfer_ns"]),
                }
                for row in offload["chains"]
            ],
        },
        "kernels": [
            {
                "kernel": case["kernel"],
                "own_us": case["own_us"],
                **{name: over_rounds(values) for name, values in case["inputs"].items()},
                "paid_ns": over_rounds(_paid(case)),
            }
            for case in measured["cases"]
        ],
        "rows": rows,
        "threshold": _threshold(measured, chains[1]),
    }


def _case(
    case: Mapping[str, Any], chain: Mapping[str, Any], switch: Sequence[float]
) -> list[dict[str, Any]]:
    inputs, rounds = case["inputs"], case["rounds"]
    each = list(
        zip(
            inputs["own_ns"],
            inputs["kernel_ns"],
            inputs["accelerated_ns"],
            chain["setup_ns"],
            chain["transfer_ns"],
            switch,
            strict=True,
        )
    )
    rows = []
    for form, (threading, latency) in FORMS.items():
        closed = [_closed(of_round, threading, latency=latency) for of_round in each]
        host, clock = _ratios(rounds, form, "host_ns"), _ratios(rounds, form, "wall_ns")
        real = clock if latency or form == "sync" else host
        errors = [100 * (ours - found) for ours, found in zip(closed, real, strict=True)]
        rows.append(
            {
                "kernel": case["kernel"],
                "own_us": case["own_us"],
                "form": form,
                "closed_form_ratio": over_rounds(closed),
                "host_ratio": over_rounds(host),
                "clock_ratio": over_rounds(clock),
                "refused": sum(run[form]["refused"] for run in rounds),
                "error_points": over_rounds(errors),
            }
        )
    return rows


def _paid(case: Mapping[str, Any]) -> list[float]:
    pairs = zip(case["rounds"], case["inputs"]["own_ns"], strict=True)
    return [run["async_no_response"]["host_ns"] - own for run, own in pairs]


def _ratios(rounds: Sequence[Mapping[str, Any]], form: str, clock: str) -> list[float]:
    """Return the time without accelerators over that of `form`, for each round."""
    return [run["inline"][clock] / run[form][clock] for run in rounds]


def _closed(inputs: tuple[float, ...], threading: str, *, latency: bool) -> float:
    """The equations with the inputs of one round."""
    own, kernel, accelerated, setup, transfer, switch = inputs
    switches = threading in ("sync_os", "async_distinct_thread")
    found = evaluate(
        Service(
            host_cycles_per_s=_NS_PER_S,
            kernels=[
                Kernel(
                    threading=threading,
                    # The ensemble takes a request at once.
                    driver_waits=None if threading == "sync" else False,
                    kernel_share_ratio=kernel / (own + kernel),
                    offloads_per_s=_NS_PER_S / (own + kernel),
                    setup_cycles=setup,
                    transfer_cycles=transfer,
                    thread_switch_cycles=switch if switches else 0.0,
                    acceleration_ratio=kernel / accelerated,
                )
            ],
        )
    )
    return float(found["latency_reduction_ratio" if latency else "speedup_ratio"])


def _threshold(measured: Mapping[str, Any], chain: Mapping[str, Any]) -> dict[str, Any]:
    """Compare selective offload by its threshold with the break-even size of equation (7)."""
    sizes = measured["sizes"]
    even = []
    for number, setup in enumerate(chain["setup_ns"]):
        fixed, per_byte = line([(row["bytes"], row["host_ns"][number]) for row in sizes])
        # What a kernel of no bytes costs the host is saved with each offload.
        found = break_even(
            threading="async_same_thread",
            driver_waits=False,
            cycles_per_byte=max(per_byte, 1e-9),
            acceleration_ratio=1.0,
            setup_cycles=max(setup - fixed, 0.0),
        )
        even.append(float(found.above_bytes))
    rows = measured["thresholds"]
    stays = next(row for row in rows if row["least_bytes"] is None)

    def gain(row: Mapping[str, Any], clock: str) -> Over:
        pairs = zip(stays["rounds"], row["rounds"], strict=True)
        return over_rounds([before[clock] / after[clock] for before, after in pairs])

    return {
        "mix": measured["mix"],
        "own_us": stays["own_us"],
        "break_even_bytes": over_rounds(even),
        "host_ns": [
            {"bytes": row["bytes"], "time_ns": over_rounds(row["host_ns"])} for row in sizes
        ],
        "rows": [
            {
                "least_bytes": row["least_bytes"],
                "host_ratio": gain(row, "host_ns"),
                "clock_ratio": gain(row, "wall_ns"),
            }
            for row in rows
        ],
    }


def worst(rows: Sequence[Mapping[str, Any]], chosen: Callable[[Mapping[str, Any]], bool]) -> float:
    """Return the largest error, in percentage points, of the rows that `chosen` accepts.

    The error of a row is the absolute value of its median error. The result is 0 if `chosen`
    accepts no row.
    """
    errors = (abs(float(row["error_points"]["median"])) for row in rows if chosen(row))
    return max(errors, default=0.0)
