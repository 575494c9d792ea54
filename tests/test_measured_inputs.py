"""The equations with micro-benchmarks as inputs give the times that these were made of."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from accelflow import InputError, accelerometer
from accelflow.accelerometer import Range, measured, trial

#: Nanoseconds of a call at any size, and per byte: A is 10.
HOST = (2_000.0, 4.0)
ACCELERATED = (1_800.0, 0.4)

#: The interpreter's nanoseconds for a call, with or without bytes; the service has none of them.
CALL_NS = 700.0

#: The time of a request beside its kernel, in nanoseconds.
OWN_NS = 10_000.0

Line = tuple[float, float]


def at(line: Line, size: int) -> float:
    return line[0] + line[1] * size


def call(line: Line, size: int) -> float:
    """What the interpreter sees of a call; on no bytes, the kernel does nothing."""
    return CALL_NS + (at(line, size) if size else 0)


def machine_of(patch: pytest.MonkeyPatch, host: Line, accelerated: Line) -> dict[str, Any]:
    """The micro-benchmarks of a machine whose kernels have these times."""

    def in_process(_module: str, arguments: Sequence[str], mask: str | None) -> list[list[float]]:
        line = accelerated if mask is None else host
        sizes = (0, *measured.SIZES)
        return [[call(line, size) for size in sizes] for _ in range(int(arguments[1]))]

    def checksum_call(size: int, *, tables: bool) -> float:
        return call(host if tables else accelerated, size)

    patch.setattr(measured, "in_process", in_process)
    patch.setattr(measured, "processor_flags", lambda *_: {"aes", "sse4_2"})
    patch.setattr(measured, "checksum_call", checksum_call)
    patch.setattr(measured, "timed", lambda call, _seconds: call)
    # What a switch costs and whether the kernel has io_uring does not matter here.
    for name in ("switch_ns", "submission_ns"):
        patch.setattr(measured, name, lambda _trips: 1_000.0)
    return measured.measure(rounds=6)


@pytest.mark.parametrize("kernel", ["aes_128_gcm", "crc32c"])
@pytest.mark.parametrize(
    ("accelerated", "setup_ns"),
    # Beyond a tenth of the host's fixed cost; and no more than that tenth.
    [(ACCELERATED, 1_600.0), ((200.0, 0.4), 0.0)],
)
def test_equations_with_a_profiles_alpha_give_the_accelerated_time(
    kernel: str,
    accelerated: Line,
    setup_ns: float,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = machine_of(monkeypatch, HOST, accelerated)
    row = machine["kernels"][kernel]
    assert row["setup_ns"]["median"] == pytest.approx(setup_ns, abs=1e-6)
    assert row["host_fixed_ns"]["median"] == pytest.approx(HOST[0])
    assert row["call_ns"]["median"] == CALL_NS
    (tmp_path / "machine.json").write_text(json.dumps(machine))
    size = 1_024
    # A profile sees all cycles of the kernel, whatever they are spent on.
    total = OWN_NS + at(HOST, size)
    path = tmp_path / "service.toml"
    path.write_text(
        f"""
        host_ghz = 1.0
        [[kernels]]
        threading = "sync"
        placement = "on_chip"
        kernel_share_ratio = {at(HOST, size) / total}
        offloads_per_s = {1e9 / total}
        measured = {{ file = "machine.json", kernel = "{kernel}" }}
        """
    )
    found = accelerometer.evaluate(accelerometer.read(path))
    left = OWN_NS + at(accelerated, size)
    assert found["speedup_ratio"] == pytest.approx(total / left)


def test_case_studies_estimate_what_their_lines_give(monkeypatch: pytest.MonkeyPatch) -> None:
    def request(line: Line, size: int) -> float:
        return OWN_NS + at(line, size)

    def in_process(
        _module: str, arguments: Sequence[str], mask: str | None
    ) -> list[dict[str, Any]]:
        line = ACCELERATED if mask is None else HOST
        times = {
            "own_ns": OWN_NS,
            "kernel_ns": [at(line, size) for size in measured.SIZES],
            "request_ns": request(line, trial.KERNEL_BYTES),
        }
        if arguments[0] == "checksum":
            times |= {
                "tables_ns": [at(HOST, size) for size in measured.SIZES],
                "tables_request_ns": request(HOST, trial.CHECKSUM_BYTES),
                "request_ns": request(ACCELERATED, trial.CHECKSUM_BYTES),
            }
        if arguments[0] == "remote":
            times |= {"pipe_ns": 1_000.0, "switch_ns": 2_000.0}
        return [times] * int(arguments[1])

    monkeypatch.setattr(trial, "in_process", in_process)
    aes, checksum, *_ = trial.case_studies(rounds=6)["cases"]
    for case in (aes, checksum):
        assert case["inputs"]["setup_ns"]["median"] == pytest.approx(1_600)
        assert case["error_points"]["median"] == pytest.approx(0, abs=1e-9)


def test_measurements_with_another_meaning_of_their_costs_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = machine_of(monkeypatch, HOST, ACCELERATED)
    path = tmp_path / "service.toml"
    path.write_text(
        """
        host_ghz = 1.0
        [[kernels]]
        threading = "sync"
        kernel_share_ratio = 0.2
        offloads_per_s = 1000
        measured = { file = "machine.json", kernel = "crc32c" }
        """
    )
    for schema in (machine["schema"], "accelflow.accelerometer-measured/2"):
        (tmp_path / "machine.json").write_text(json.dumps(machine | {"schema": schema}))
        if schema == machine["schema"]:
            (kernel,) = accelerometer.read(path).kernels
            assert not isinstance(kernel.setup_cycles, Range)
            assert kernel.setup_cycles == pytest.approx(1_600)
            continue
        with pytest.raises(
            InputError, match=r"measured/2.*must be .*measured/3: run `accel.* again"
        ):
            accelerometer.read(path)
