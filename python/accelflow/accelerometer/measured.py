"""Micro-benchmarks of the equations' inputs on this machine.

The inputs are the acceleration A, and the setup o0, the transfer L and the thread switch o1 of an
offload.

The paper measures its inputs with micro-benchmarks that run a kernel on the host and on the
accelerator (section 4). Here the accelerator is the processor's instructions for the kernel. The
host runs OpenSSL's code without them: `OPENSSL_ia32cap` disables them. The CRC-32C code is this
package's own, with the processor's instruction and with tables, sixteen bytes at a time. A thread
switch is half a round trip between two processes on one core, less the system calls. io_uring's o0
is the cost of submitting an operation to the kernel.

Times are processor time (`CLOCK_PROCESS_CPUTIME_ID`), so that other work on the machine disturbs
them little. Switches are timed by the wall clock.
"""

import ctypes
import ctypes.util
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from accelflow import _native
from accelflow.accelerometer.files import MEASURED_SCHEMA
from accelflow.accelerometer.rounds import Over, over_rounds, run_queue
from accelflow.accelerometer.uring import submission_ns
from accelflow.errors import AccelflowError

#: The sizes of the kernels' inputs, in bytes.
SIZES: Final = (64, 256, 1_024, 4_096, 16_384)

#: OpenSSL's masks of processor capabilities (`man OPENSSL_ia32cap`) without the instructions of a
#: kernel: AES and carry-less multiplication with their vector forms (bits 57 and 33 of the first
#: word, 41 and 42 of the second), and SHA (bit 29 of the second).
WITHOUT: Final[Mapping[str, str]] = {
    "aes_128_gcm": "~0x200000200000000:~0x60000000000",
    "sha256": "~0x0:~0x20000000",
}

_MODULE: Final = "accelflow.accelerometer.measured"

#: The rounds that a process measures before the other one has its turn.
_AT_A_TIME: Final = 3

#: The processor's flags that a kernel's accelerator needs (/proc/cpuinfo).
_NEEDS: Final = {"aes_128_gcm": "aes", "sha256": "sha_ni"}

#: The CPU flag for the CRC-32C instruction on x86 and on Arm, keyed by the field of /proc/cpuinfo
#: that lists the flags.
_CHECKSUM_NEEDS: Final = {"flags": "sse4_2", "Features": "crc32"}


def measure(*, rounds: int = 9, seconds: float = 0.02) -> dict[str, Any]:
    """Measure inputs of Accelerometer's equations on this machine; takes about 4 s.

    Returns an object of schema ``accelflow.accelerometer-measured/3``. Each of its `kernels` has
    `against` (a text on the two implementations that are compared), `acceleration_ratio` (A: the
    ratio of their times per byte), `setup_ns`, `host_fixed_ns`, `host_ns_per_byte`, the times for
    each size, and `call_ns`, the host's time for a call on no bytes. `setup_ns` is o0 + L by
    :func:`offload_cost_ns`, since the two cannot be told apart for an instruction; `transfer_ns` is
    None. A call on no bytes takes only the interpreter's time. This time is subtracted from
    `setup_ns` and `host_fixed_ns`, but not from the times for each size. `thread_switch_ns` is o1,
    and `io_uring_ns` the cost of a submission to io_uring. Each value is a result of
    :func:`accelflow.accelerometer.rounds.over_rounds` for `rounds` rounds, with at least `seconds`
    of calls per size in each. `run_queue` has the machine's load before and after. Values that this
    machine cannot measure are None; `lacking` has the reasons.
    """
    busy = [run_queue()]
    lacking: dict[str, str] = {}
    flags = processor_flags()
    kernels: dict[str, Any] = {}
    for name, flag in _NEEDS.items():
        if flag not in flags:
            kernels[name] = None
            lacking[name] = f"the processor has no {flag}"
            continue
        try:
            host, accelerated = _in_turn(name, rounds, seconds)
        except AccelflowError as error:
            kernels[name] = None
            lacking[name] = str(error)
            continue
        kernels[name] = _compared(host, accelerated, f"OpenSSL's code with {flag}, and without")
    kernels["crc32c"] = None
    if any(flag in processor_flags(word) for word, flag in _CHECKSUM_NEEDS.items()):
        kernels["crc32c"] = _checksums(rounds, seconds)
    else:
        lacking["crc32c"] = f"the processor has no {' or '.join(_CHECKSUM_NEEDS.values())}"
    switch: Over | None = None
    try:
        switch = over_rounds([switch_ns(2_000) for _ in range(rounds)])
    except OSError as error:
        lacking["thread_switch"] = f"the system refuses it: {error.strerror}"
    uring: Over | None = None
    try:
        uring = over_rounds([submission_ns(2_000) for _ in range(rounds)])
    except OSError as error:
        lacking["io_uring"] = f"the kernel refuses it: {error.strerror}"
    return {
        "schema": MEASURED_SCHEMA,
        "machine": machine_name(),
        "rounds": rounds,
        "run_queue": [*busy, run_queue()],
        "kernels": kernels,
        "thread_switch_ns": switch,
        "io_uring_ns": uring,
        "lacking": lacking,
    }


def _in_turn(name: str, rounds: int, seconds: float) -> tuple[list[list[float]], list[list[float]]]:
    """The times of a kernel without and with the instructions, a few rounds of each in turn."""
    host: list[list[float]] = []
    accelerated: list[list[float]] = []
    for first in range(0, rounds, _AT_A_TIME):
        arguments = [name, str(min(_AT_A_TIME, rounds - first)), str(seconds)]
        host += in_process(_MODULE, arguments, WITHOUT[name])
        accelerated += in_process(_MODULE, arguments, None)
    return host, accelerated


def line(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Fit a line through `points` (x, y) by least relative squares; return intercept and slope.

    Times of large inputs have larger errors, so each point has the weight 1 / y^2.
    """
    weights = [1 / (y * y) for _, y in points]
    total = math.fsum(weights)
    mean_x = math.fsum(w * x for w, (x, _) in zip(weights, points, strict=True)) / total
    mean_y = math.fsum(w * y for w, (_, y) in zip(weights, points, strict=True)) / total
    both = math.fsum(
        w * (x - mean_x) * (y - mean_y) for w, (x, y) in zip(weights, points, strict=True)
    )
    squares = math.fsum(w * (x - mean_x) ** 2 for w, (x, _) in zip(weights, points, strict=True))
    slope = both / squares
    return mean_y - slope * mean_x, slope


def offload_cost_ns(host: tuple[float, float], accelerated: tuple[float, float]) -> float:
    """Return the fixed cost of an offload, o0 + L in ns, from times on host and accelerator.

    `host` and `accelerated` are lines through the times of calls over their sizes: (intercept in
    ns, slope in ns per byte). A is the host's slope divided by the accelerator's. The result is the
    intercept of `accelerated` minus a part that the equations count as the kernel's accelerated
    time: the intercept of `host` divided by A. The result is below 0 if the accelerator speeds up
    the fixed part of a call by more than A.
    """
    return accelerated[0] - host[0] * accelerated[1] / host[1]


def _compared(
    host: list[list[float]], accelerated: list[list[float]], against: str
) -> dict[str, Any]:
    """The parameters from the times of each round, in ns: without bytes, and at each size."""

    def fits(rounds: list[list[float]]) -> list[tuple[float, float]]:
        found = []
        for empty, *times in rounds:
            fixed, slope = line(list(zip(SIZES, times, strict=True)))
            # A service that is compiled has no interpreter, neither before nor after.
            found.append((fixed - empty, slope))
        return found

    on_host, on_accelerator = fits(host), fits(accelerated)
    pairs = list(zip(on_host, on_accelerator, strict=True))
    (calls, *by_size), (_, *faster) = zip(*host, strict=True), zip(*accelerated, strict=True)
    return {
        "against": against,
        "acceleration_ratio": over_rounds([h[1] / a[1] for h, a in pairs]),
        "setup_ns": over_rounds([offload_cost_ns(h, a) for h, a in pairs]),
        "transfer_ns": None,
        "host_fixed_ns": over_rounds([h[0] for h in on_host]),
        "host_ns_per_byte": over_rounds([h[1] for h in on_host]),
        "call_ns": over_rounds(calls),
        "sizes_bytes": list(SIZES),
        "host_ns": [over_rounds(times) for times in by_size],
        "accelerated_ns": [over_rounds(times) for times in faster],
    }


def _checksums(rounds: int, seconds: float) -> dict[str, Any]:
    """CRC-32C by tables and by the instruction, in turn."""
    found: dict[bool, list[list[float]]] = {True: [], False: []}
    for _ in range(rounds):
        for tables, times in found.items():
            calls = [checksum_call(size, tables=tables) for size in (0, *SIZES)]
            times.append([timed(call, seconds) for call in calls])
    return _compared(found[True], found[False], "the processor's instruction, and tables")


def checksum_call(size: int, *, tables: bool) -> Callable[[], int]:
    """Return a function that computes the CRC-32C of `size` bytes once.

    With `tables`, software with lookup tables computes the checksum, otherwise the processor's
    instruction if there is one.
    """
    data = bytes(range(256)) * (size // 256 + 1)
    part = data[:size]
    return lambda: _native.crc32c(part, tables)


def in_process(module: str, arguments: Sequence[str], mask: str | None) -> Any:
    """Run the Python module `module` in a new process, and return the JSON that it prints.

    `mask` is the value of the process's variable `OPENSSL_ia32cap`, which disables instructions in
    OpenSSL; None leaves the variable unset. Raises AccelflowError if the process fails.
    """
    environment = {key: value for key, value in os.environ.items() if key != "OPENSSL_ia32cap"}
    if mask is not None:
        environment["OPENSSL_ia32cap"] = mask
    package = str(Path(__file__).parents[2])
    environment["PYTHONPATH"] = os.pathsep.join(
        filter(None, [package, environment.get("PYTHONPATH")])
    )
    done = subprocess.run(  # noqa: S603  our own module, by our own interpreter
        [sys.executable, "-m", module, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    if done.returncode:
        message = (done.stderr.strip().splitlines() or ["no message"])[-1]
        benchmark = " ".join([module.rpartition(".")[2], *arguments])
        raise AccelflowError(f"micro-benchmark {benchmark}: {message}")
    return json.loads(done.stdout)


def _times(name: str, rounds: int, seconds: float) -> list[list[float]]:
    """Nanoseconds of one call on no bytes and at each of the sizes, for each round."""
    crypto = library()
    return [
        [timed(kernel_call(crypto, name, size), seconds) for size in (0, *SIZES)]
        for _ in range(rounds)
    ]


def timed(call: Callable[[], object], seconds: float) -> float:
    """Return the mean processor time of `call` in ns, over at least `seconds` of calls.

    The time includes that of the interpreter for each call.
    """
    count = 1
    while True:
        began = time.process_time_ns()
        for _ in range(count):
            call()
        spent = time.process_time_ns() - began
        if spent >= seconds * 1e9:
            return spent / count
        count = max(2 * count, int(count * seconds * 1e9 / max(spent, 1)) + 1)


def library() -> ctypes.CDLL:
    """Load OpenSSL's libcrypto. Raises AccelflowError if the system has none."""
    name = ctypes.util.find_library("crypto")
    if name is None:
        raise AccelflowError(
            "OpenSSL's library libcrypto is missing: the micro-benchmarks run its code"
        )
    crypto = ctypes.CDLL(name)
    for function in ("EVP_CIPHER_CTX_new", "EVP_aes_128_gcm", "EVP_sha256", "EVP_MD_CTX_new"):
        getattr(crypto, function).restype = ctypes.c_void_p
    pointer, whole = ctypes.c_void_p, ctypes.c_int
    crypto.EVP_EncryptInit_ex.argtypes = [pointer] * 5
    crypto.EVP_EncryptUpdate.argtypes = [pointer, pointer, pointer, pointer, whole]
    crypto.EVP_DigestInit_ex.argtypes = [pointer] * 3
    crypto.EVP_DigestUpdate.argtypes = [pointer, pointer, ctypes.c_size_t]
    return crypto


def kernel_call(crypto: ctypes.CDLL, name: str, size: int) -> Callable[[], object]:
    """Return a function that runs the kernel `name` of OpenSSL once on `size` bytes.

    `name` is a key of :data:`WITHOUT`. OpenSSL's context for the kernel is made once, for all runs
    of the function. Raises AccelflowError if OpenSSL lacks the kernel.
    """
    data = ctypes.create_string_buffer(size)
    out = ctypes.create_string_buffer(size + 32)
    length = ctypes.c_int(0)
    written = ctypes.byref(length)
    if name == "aes_128_gcm":
        context = ctypes.c_void_p(crypto.EVP_CIPHER_CTX_new())
        cipher = ctypes.c_void_p(crypto.EVP_aes_128_gcm())
        key, nonce = ctypes.create_string_buffer(16), ctypes.create_string_buffer(12)
        if crypto.EVP_EncryptInit_ex(context, cipher, None, key, nonce) != 1:
            raise AccelflowError("OpenSSL lacks AES-128-GCM, which the micro-benchmarks run")
        update = crypto.EVP_EncryptUpdate
        return lambda: update(context, out, written, data, size)
    context = ctypes.c_void_p(crypto.EVP_MD_CTX_new())
    digest = ctypes.c_void_p(crypto.EVP_sha256())
    if crypto.EVP_DigestInit_ex(context, digest, None) != 1:
        raise AccelflowError("OpenSSL lacks SHA-256, which the micro-benchmarks run")
    update = crypto.EVP_DigestUpdate
    return lambda: update(context, data, size)


def switch_ns(trips: int) -> float:
    """Return the nanoseconds of one switch between two processes on one core.

    This is half the round trip of a byte through two pipes, less the same system calls without a
    switch. Raises OSError if the system cannot fork processes or pin them to cores.
    """
    there, back = os.pipe(), os.pipe()
    before = os.sched_getaffinity(0)
    core = {min(before)}
    child = os.fork()
    if child == 0:
        try:
            os.sched_setaffinity(0, core)
            while os.read(there[0], 1) == b"x":
                os.write(back[1], b"x")
        finally:
            os._exit(0)
    try:
        os.sched_setaffinity(0, core)
        for _ in range(100):
            os.write(there[1], b"x")
            os.read(back[0], 1)
        began = time.perf_counter_ns()
        for _ in range(trips):
            os.write(there[1], b"x")
            os.read(back[0], 1)
        switched = (time.perf_counter_ns() - began) / trips
    finally:
        os.write(there[1], b"e")
        os.waitpid(child, 0)
        os.sched_setaffinity(0, before)
    began = time.perf_counter_ns()
    for _ in range(trips):
        os.write(there[1], b"x")
        os.read(there[0], 1)
    calls = (time.perf_counter_ns() - began) / trips
    for end in (*there, *back):
        os.close(end)
    # A round trip has two switches, and twice the system calls of the second loop.
    return max(switched / 2 - calls, 0.0)


def processor_flags(word: str = "flags") -> set[str]:
    """Return the processor's feature flags, from the line of /proc/cpuinfo that begins with `word`.

    Empty if there is no such line.
    """
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return set()
    found = [row for row in text.splitlines() if row.startswith(word)]
    return set(found[0].split()) if found else set()


def machine_name() -> str:
    """Return the processor's model name from /proc/cpuinfo, or ``unknown``."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return "unknown"
    names = [row.partition(":")[2].strip() for row in text.splitlines() if "model name" in row]
    return names[0] if names else "unknown"


if __name__ == "__main__":
    print(json.dumps(_times(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))))
