"""The paper's case studies on this machine: a service with and without its accelerator.

A request is some work of the service's own (zlib) and a kernel, AES-128-GCM of some kilobytes.
Without an accelerator, the host runs the kernel without the processor's instructions for it. The
first case study (on-chip, Sync) runs it with these instructions. The second (remote, Sync-OS, A =
1, like the paper's third) runs it in another process at the same speed: the host sends the bytes
over a pipe, and its thread blocks. A third (on-chip, Sync) has the CRC-32C of a larger message as
its kernel, by tables and by the processor's instruction. The host's processor time for a request is
measured; the estimate uses micro-benchmarks alone. All cases are measured in the same rounds, in
turn.
"""

import json
import os
import sys
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from accelflow.accelerometer.measured import (
    SIZES,
    WITHOUT,
    checksum_call,
    in_process,
    kernel_call,
    library,
    line,
    offload_cost_ns,
    switch_ns,
    timed,
)
from accelflow.accelerometer.rounds import over_rounds, run_queue
from accelflow.accelerometer.service import Kernel, Service, evaluate

#: The name and version of the object that :func:`case_studies` returns.
SCHEMA: Final = "accelflow.accelerometer-trial/2"

#: The number of bytes that a request encrypts: not one of the micro-benchmarks' sizes.
KERNEL_BYTES: Final = 6_000
#: The number of bytes whose CRC-32C a request computes.
CHECKSUM_BYTES: Final = 60_000

_KERNEL: Final = "aes_128_gcm"
_MODULE: Final = "accelflow.accelerometer.trial"
_TEXT: Final = b"".join(b"%d,%d;" % (n, n * n % 97) for n in range(160))

#: The rounds of a process before the next one has its turn.
_AT_A_TIME: Final = 3

#: Processes by name: what they measure, and OpenSSL's mask of capabilities.
_PROCESSES: Final[Mapping[str, tuple[str, str | None]]] = {
    "host": ("host", WITHOUT[_KERNEL]),
    "chip": ("host", None),
    "remote": ("remote", WITHOUT[_KERNEL]),
    "checksum": ("checksum", None),
}

_Round = Mapping[str, Any]


def case_studies(*, rounds: int = 15, seconds: float = 0.05) -> dict[str, Any]:
    """Run case studies like Accelerometer's on this machine; takes about 20 s.

    Returns an object of schema ``accelflow.accelerometer-trial/2``: for each study the inputs, the
    estimated and the measured speedup, and `error_points`, the estimate minus the measurement,
    computed for each round. Each is a median over `rounds` with its interval
    (:func:`accelflow.accelerometer.rounds.over_rounds`). A round measures the requests of each
    study for at least `seconds`. Raises AccelflowError without OpenSSL.
    """
    busy = [run_queue()]
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in _PROCESSES}
    for first in range(0, rounds, _AT_A_TIME):
        some = min(_AT_A_TIME, rounds - first)
        for name, (what, mask) in _PROCESSES.items():
            found[name] += in_process(_MODULE, [what, str(some), str(seconds)], mask)
    host, away = found["host"], found["remote"]
    return {
        "schema": SCHEMA,
        "kernel_bytes": KERNEL_BYTES,
        "checksum_bytes": CHECKSUM_BYTES,
        "rounds": rounds,
        "run_queue": [*busy, run_queue()],
        "cases": [
            _case(
                "AES instructions (Sync, on the chip)",
                [_on_chip(*pair) for pair in zip(host, found["chip"], strict=True)],
            ),
            _case(
                "CRC-32C instruction (Sync, on the chip)",
                [_checksum(of_round) for of_round in found["checksum"]],
            ),
            _case(
                "another process (Sync-OS, remote, A = 1)",
                [_remote_kernel("sync_os", *pair) for pair in zip(host, away, strict=True)],
            ),
            _case(
                "the same, one switch (Async, distinct thread)",
                [
                    _remote_kernel("async_distinct_thread", *pair)
                    for pair in zip(host, away, strict=True)
                ],
            ),
        ],
    }


#: A round of a study: the kernel with its inputs, and the measured speedup.
_Study = tuple[Kernel, float]


def _on_chip(before: _Round, after: _Round) -> _Study:
    host, chip = (
        line(list(zip(SIZES, each["kernel_ns"], strict=True))) for each in (before, after)
    )
    kernel = _kernel(before["own_ns"], host, chip, KERNEL_BYTES)
    return kernel, before["request_ns"] / after["request_ns"]


def _checksum(of_round: _Round) -> _Study:
    tables, instruction = (
        line(list(zip(SIZES, of_round[name], strict=True))) for name in ("tables_ns", "kernel_ns")
    )
    kernel = _kernel(of_round["own_ns"], tables, instruction, CHECKSUM_BYTES)
    return kernel, of_round["tables_request_ns"] / of_round["request_ns"]


def _kernel(
    own_ns: float, host: tuple[float, float], chip: tuple[float, float], size: int
) -> Kernel:
    """A kernel of `size` bytes by its lines of time over size; a nanosecond is a cycle.

    Both lines have the interpreter's time for a call, as the measured requests have it.
    """
    on_host = host[0] + host[1] * size
    return Kernel(
        threading="sync",
        placement="on_chip",
        kernel_share_ratio=on_host / (own_ns + on_host),
        offloads_per_s=1e9 / (own_ns + on_host),
        setup_cycles=max(offload_cost_ns(host, chip), 0.0),
        acceleration_ratio=host[1] / chip[1],
    )


def _remote_kernel(threading: str, before: _Round, after: _Round) -> _Study:
    host = line(list(zip(SIZES, before["kernel_ns"], strict=True)))
    on_host = host[0] + host[1] * KERNEL_BYTES
    total = before["own_ns"] + on_host
    kernel = Kernel(
        threading=threading,
        placement="remote",
        kernel_share_ratio=on_host / total,
        offloads_per_s=1e9 / total,
        setup_cycles=after["pipe_ns"],
        thread_switch_cycles=after["switch_ns"],
        acceleration_ratio=1.0,
    )
    return kernel, before["request_ns"] / after["request_ns"]


def _case(name: str, studies: Sequence[_Study]) -> dict[str, Any]:
    """A nanosecond of the host is a cycle here: only ratios count."""
    estimated = [
        evaluate(Service(host_cycles_per_s=1e9, kernels=[kernel]))["speedup_ratio"]
        for kernel, _ in studies
    ]
    measured = [ratio for _, ratio in studies]
    errors = [100 * (ours - real) for ours, real in zip(estimated, measured, strict=True)]
    inputs = {
        "kernel_share_ratio": [kernel.kernel_share_ratio for kernel, _ in studies],
        "setup_ns": [kernel.setup_cycles for kernel, _ in studies],
        "thread_switch_ns": [kernel.thread_switch_cycles for kernel, _ in studies],
        "acceleration_ratio": [kernel.acceleration_ratio for kernel, _ in studies],
    }
    return {
        "case": name,
        "inputs": {key: over_rounds(values) for key, values in inputs.items()},  # type: ignore[arg-type]
        "estimated_speedup_ratio": over_rounds(estimated),
        "measured_speedup_ratio": over_rounds(measured),
        "error_points": over_rounds(errors),
    }


def _own() -> object:
    return zlib.compress(_TEXT, 1)


def _rounds(what: str, rounds: int, seconds: float) -> list[dict[str, Any]]:
    if what == "checksum":
        return [_checksums(seconds) for _ in range(rounds)]
    crypto = library()
    kernel = kernel_call(crypto, _KERNEL, KERNEL_BYTES)
    if what == "remote":
        return [_remote(kernel, seconds) for _ in range(rounds)]
    return [
        {
            "own_ns": timed(_own, seconds),
            "kernel_ns": [timed(kernel_call(crypto, _KERNEL, n), seconds / 5) for n in SIZES],
            "request_ns": timed(_request(kernel), seconds),
        }
        for _ in range(rounds)
    ]


def _request(kernel: Callable[[], object]) -> Callable[[], object]:
    def request() -> None:
        _own()
        kernel()

    return request


def _checksums(seconds: float) -> dict[str, Any]:
    found: dict[str, Any] = {"own_ns": timed(_own, seconds)}
    for name, tables in (("tables_", True), ("", False)):
        sizes = [checksum_call(size, tables=tables) for size in SIZES]
        found["tables_ns" if tables else "kernel_ns"] = [timed(c, seconds / 5) for c in sizes]
        kernel = checksum_call(CHECKSUM_BYTES, tables=tables)
        found[f"{name}request_ns"] = timed(_request(kernel), seconds)
    return found


def _remote(kernel: Callable[[], object], seconds: float) -> dict[str, Any]:
    """Requests whose kernel another process does, on another core where there is one."""
    there, back = os.pipe(), os.pipe()
    data = bytes(KERNEL_BYTES)
    child = os.fork()
    if child == 0:
        try:
            os.close(there[1])
            while _all(there[0]):
                kernel()
                os.write(back[1], data)
        finally:
            os._exit(0)
    os.close(there[0])

    def request() -> None:
        _own()
        os.write(there[1], data)
        _all(back[0])

    try:
        spent = timed(request, seconds)
    finally:
        os.close(there[1])
        os.waitpid(child, 0)
        for end in back:
            os.close(end)
    return {"request_ns": spent, "pipe_ns": _pipe_ns(data, seconds), "switch_ns": switch_ns(1_000)}


def _all(end: int) -> bool:
    """Read the bytes of one kernel; false at the end of the pipe."""
    left = KERNEL_BYTES
    while left:
        part = os.read(end, left)
        if not part:
            return False
        left -= len(part)
    return True


def _pipe_ns(data: bytes, seconds: float) -> float:
    """Processor time to write a kernel's bytes into a pipe and to read them back: o0."""
    pipe = os.pipe()

    def both() -> None:
        os.write(pipe[1], data)
        _all(pipe[0])

    try:
        return timed(both, seconds)
    finally:
        for end in pipe:
            os.close(end)


if __name__ == "__main__":
    print(json.dumps(_rounds(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))))
