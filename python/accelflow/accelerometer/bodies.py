"""Micro-benchmarks of the nine accelerators in software, and of offloads to them.

The accelerators are those of the runtime's ensemble: threads on another core that run the same code
as the host's core. So the acceleration A is about 1 by construction; it is measured all the same.
Where the processor has instructions for AES, Encr and Decr are also compared with their own code
without these instructions: the host then works without them, and the ensemble with them.

The setup o0 and the transfer L of an offload can be told apart: o0 is the host's processor time,
and L the rest of the time of an offload to a body that does nothing.
"""

import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

from accelflow import _native
from accelflow.accelerometer.files import MEASURED_SCHEMA
from accelflow.accelerometer.measured import (
    WITHOUT,
    in_process,
    line,
    machine_name,
    processor_flags,
)
from accelflow.accelerometer.rounds import over_rounds, run_queue
from accelflow.errors import AccelflowError

_MODULE: Final = "accelflow.accelerometer.bodies"

#: Times in nanoseconds: for each size of the input, one time for each round.
Times = Sequence[Sequence[float]]

#: The bodies that the processor's AES instructions accelerate.
_ENCRYPTING: Final = ("Encr", "Decr")

#: The numbers of rounds that are measured at a time, with and without instructions in turn.
_AT_A_TIME: Final = 3

_ANOTHER_CORE: Final = "the same body on the ensemble's core"
_INSTRUCTIONS: Final = (
    "the body on the ensemble's core, with the AES instructions; on the host without them"
)


def measure_bodies(*, rounds: int = 15, calls: int = 60) -> dict[str, Any]:
    """Measure the nine accelerators in software on this machine; takes about half a minute.

    Each time is measured in `rounds` rounds of `calls` calls. Returns an object of schema
    ``accelflow.accelerometer-measured/3``, like :func:`accelflow.accelerometer.measured.measure`.
    Its `kernels` are the nine accelerators and, if the processor has AES instructions,
    `Encr_by_instructions` and `Decr_by_instructions`. Each has `against` (a text on the two
    implementations that are compared), `acceleration_ratio` (A), `setup_ns` (o0) and `transfer_ns`
    (L). Each also has the times for each size of the input. `host_fixed_ns` and `host_ns_per_byte`
    are the intercept and the slope of a line through the host's times.

    Raises AccelflowError if this process may use one core only, as the ensemble needs another.
    """
    busy = [run_queue()]
    lacking: dict[str, str] = {}
    masked: list[dict[str, Any]] = []
    plain: list[dict[str, Any]] = []
    for first in range(0, rounds, _AT_A_TIME):
        some = min(_AT_A_TIME, rounds - first)
        plain.append(_measured(some, calls))
        if "instructions" in lacking or "aes" not in processor_flags():
            lacking.setdefault("instructions", "the processor has no aes")
            continue
        try:
            masked.append(in_process(_MODULE, [str(some), str(calls)], WITHOUT["aes_128_gcm"]))
        except AccelflowError as error:
            lacking["instructions"] = str(error)
    busy.append(run_queue())
    with_them = _joined(plain)
    kernels = {
        name: _kernel(body, body, _ANOTHER_CORE) for name, body in with_them["bodies"].items()
    }
    if "instructions" not in lacking:
        without = _joined(masked)["bodies"]
        for name in _ENCRYPTING:
            body = with_them["bodies"][name]
            kernels[f"{name}_by_instructions"] = _kernel(without[name], body, _INSTRUCTIONS)
    return {
        "schema": MEASURED_SCHEMA,
        "machine": machine_name(),
        "rounds": rounds,
        "run_queue": busy,
        "kernels": kernels,
        "thread_switch_ns": over_rounds(with_them["thread_switch_ns"]),
        "io_uring_ns": None,
        "lacking": lacking,
    }


def _measured(rounds: int, calls: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_native.measure_bodies(rounds, calls))
    return found


def _joined(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The rounds of all `parts` in one."""

    def every(values: Sequence[Sequence[float]]) -> list[float]:
        return [value for part in values for value in part]

    def body(name: str) -> dict[str, Any]:
        same = [part["bodies"][name] for part in parts]
        return {
            "setup_ns": every([rounds["setup_ns"] for rounds in same]),
            "transfer_ns": every([rounds["transfer_ns"] for rounds in same]),
            "sizes": [
                {
                    "input_bytes": sizes[0]["input_bytes"],
                    "host_ns": every([size["host_ns"] for size in sizes]),
                    "worker_ns": every([size["worker_ns"] for size in sizes]),
                }
                for sizes in zip(*(rounds["sizes"] for rounds in same), strict=True)
            ],
        }

    return {
        "bodies": {name: body(name) for name in parts[0]["bodies"]},
        "thread_switch_ns": every([part["thread_switch_ns"] for part in parts]),
    }


def _kernel(host: Mapping[str, Any], worker: Mapping[str, Any], against: str) -> dict[str, Any]:
    """The inputs of a body: its times on the host, and those of `worker` on the ensemble's core."""
    sizes = [size["input_bytes"] for size in host["sizes"]]
    on_host: Times = [size["host_ns"] for size in host["sizes"]]
    on_worker: Times = [size["worker_ns"] for size in worker["sizes"]]
    lines = [line(list(zip(sizes, times, strict=True))) for times in zip(*on_host, strict=True)]
    return {
        "against": against,
        "acceleration_ratio": over_rounds(_ratios(on_host, on_worker)),
        "setup_ns": over_rounds(worker["setup_ns"]),
        "transfer_ns": over_rounds(worker["transfer_ns"]),
        "host_fixed_ns": over_rounds([fixed for fixed, _ in lines]),
        "host_ns_per_byte": over_rounds([slope for _, slope in lines]),
        "sizes_bytes": sizes,
        "host_ns": [over_rounds(times) for times in on_host],
        "accelerated_ns": [over_rounds(times) for times in on_worker],
    }


def _ratios(on_host: Times, on_worker: Times) -> list[float]:
    """The geometric mean over the sizes of the ratio of both times, for each round."""
    logarithms = [
        [math.log(host / worker) for host, worker in zip(hosts, workers, strict=True)]
        for hosts, workers in zip(on_host, on_worker, strict=True)
    ]
    return [math.exp(math.fsum(row) / len(row)) for row in zip(*logarithms, strict=True)]


if __name__ == "__main__":
    print(_native.measure_bodies(int(sys.argv[1]), int(sys.argv[2])))
