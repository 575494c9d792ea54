"""The paper's case studies on this machine: a service with and without its accelerator.

A request is some work of the service's own (zlib) and a kernel, AES-128-GCM of some kilobytes.
Without an accelerator, the host runs the kernel without the processor's instructions for it. The
first case study (on-chip, Sync) runs it with these instructions. The second (remote, Sync-OS, A =
1, like the paper's third) runs it in another process at the same speed: the host sends the bytes
over a pipe, and its thread blocks. The host's processor time for a request is measured; the
estimate uses micro-benchmarks alone.
"""

import json
import os
import statistics
import sys
import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from accelflow.accelerometer.measured import (
    SIZES,
    WITHOUT,
    in_process,
    interval,
    kernel_call,
    library,
    line,
    switch_ns,
    timed,
)
from accelflow.accelerometer.service import Kernel, Service, evaluate

#: The name and version of the object that :func:`case_studies` returns.
SCHEMA: Final = "accelflow.accelerometer-trial/1"

#: Bytes of a request's kernel: not one of the sizes that the micro-benchmarks measure.
KERNEL_BYTES: Final = 6_000

_KERNEL: Final = "aes_128_gcm"
_TEXT: Final = b"".join(b"%d,%d;" % (n, n * n % 97) for n in range(160))


def case_studies(*, rounds: int = 5, seconds: float = 0.05) -> dict[str, Any]:
    """Run both case studies; about 5 s.

    Returns an object of schema ``accelflow.accelerometer-trial/1``: for each study the inputs, the
    estimated and the measured `speedup_ratio`, and `error_points`, the estimate less the
    measurement. Measured ratios are {mean, half_width} over `rounds`, with Student's 95 % interval.
    Raises AccelflowError without OpenSSL.
    """
    module = "accelflow.accelerometer.trial"
    host = in_process(module, ["host", str(rounds), str(seconds)], WITHOUT[_KERNEL])
    chip = in_process(module, ["host", str(rounds), str(seconds)], None)
    away = in_process(module, ["remote", str(rounds), str(seconds)], WITHOUT[_KERNEL])
    own = statistics.fmean(row["own_ns"] for row in host)
    on_host, on_chip = (_kernel_line(rows) for rows in (host, chip))
    kernel = on_host[0] + on_host[1] * KERNEL_BYTES
    total = own + kernel
    setup = on_chip[0] - on_host[0] / (on_host[1] / on_chip[1])
    common: dict[str, Any] = {
        "kernel_share_ratio": kernel / total,
        "offloads_per_s": 1e9 / total,
    }
    aes = Kernel(
        threading="sync",
        placement="on_chip",
        setup_cycles=max(setup, 0.0),
        acceleration_ratio=on_host[1] / on_chip[1],
        **common,
    )
    remote = Kernel(
        threading="sync_os",
        placement="remote",
        setup_cycles=statistics.fmean(row["pipe_ns"] for row in away),
        thread_switch_cycles=statistics.fmean(row["switch_ns"] for row in away),
        acceleration_ratio=1.0,
        **common,
    )
    return {
        "schema": SCHEMA,
        "kernel_bytes": KERNEL_BYTES,
        "cases": [
            _case("AES instructions (Sync, on the chip)", aes, host, chip),
            _case("another process (Sync-OS, remote, A = 1)", remote, host, away),
            _case(
                "the same, one switch (Async, distinct thread)",
                replace(remote, threading="async_distinct_thread"),
                host,
                away,
            ),
        ],
    }


def _kernel_line(rows: list[dict[str, Any]]) -> tuple[float, float]:
    """Return the kernel's fixed time and time per byte, from the micro-benchmarks of all rounds."""
    mean = [statistics.fmean(times) for times in zip(*(r["kernel_ns"] for r in rows), strict=True)]
    return line(list(zip(SIZES, mean, strict=True)))


def _case(
    name: str, kernel: Kernel, before: list[dict[str, Any]], after: list[dict[str, Any]]
) -> dict[str, Any]:
    """A nanosecond of the host is a cycle here: only ratios count."""
    estimated = evaluate(Service(host_cycles_per_s=1e9, kernels=[kernel]))["speedup_ratio"]
    pairs = zip(before, after, strict=True)
    measured = interval([b["request_ns"] / a["request_ns"] for b, a in pairs])
    return {
        "case": name,
        "inputs": {
            "kernel_share_ratio": kernel.kernel_share_ratio,
            "setup_ns": kernel.setup_cycles,
            "thread_switch_ns": kernel.thread_switch_cycles,
            "acceleration_ratio": kernel.acceleration_ratio,
        },
        "estimated_speedup_ratio": estimated,
        "measured_speedup_ratio": measured,
        "error_points": 100 * (estimated - (measured["mean"] or 0.0)),
    }


def _own() -> object:
    return zlib.compress(_TEXT, 1)


def _rounds(where: str, rounds: int, seconds: float) -> list[dict[str, Any]]:
    crypto = library()
    kernel = kernel_call(crypto, _KERNEL, KERNEL_BYTES)
    found = []
    for _ in range(rounds):
        if where == "remote":
            found.append(_remote(kernel, seconds))
            continue

        def request() -> None:
            _own()
            kernel()

        found.append(
            {
                "own_ns": timed(_own, seconds),
                "kernel_ns": [timed(kernel_call(crypto, _KERNEL, n), seconds / 5) for n in SIZES],
                "request_ns": timed(request, seconds),
            }
        )
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
