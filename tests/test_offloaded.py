"""Offloads measured in the runtime's ensemble, beside the equations."""

import json
from pathlib import Path
from typing import Any

import pytest

from accelflow import InputError
from accelflow.accelerometer import offloaded

#: Inputs of a round, in ns.
OWN, KERNEL, ACCELERATED = 20_000.0, 60_000.0, 30_000.0
SETUP, TRANSFER, SWITCH = 4_000.0, 15_000.0, 2_000.0

#: Time of a request in each form by equations (1), (3), (5) and (6), in ns.
TIMES = {
    "inline": OWN + KERNEL,
    "sync": OWN + ACCELERATED + SETUP + TRANSFER,
    "sync_os": OWN + SETUP + 2 * SWITCH,
    "sync_os_alone": OWN + ACCELERATED + SETUP + TRANSFER + SWITCH,
    "async_same_thread": OWN + SETUP,
    "async_distinct_thread": OWN + SETUP + SWITCH,
    "async_no_response": OWN + SETUP,
}


def measured() -> dict[str, Any]:
    """What the benchmark would print on a machine that the equations describe."""
    both = 2
    rounds = [
        {form: {"wall_ns": time, "host_ns": time, "refused": 0} for form, time in TIMES.items()}
    ] * both
    form = rounds[0]["async_same_thread"]
    return {
        "schema": offloaded.SCHEMA,
        "build": "dev",
        "busy_before": 0.5,
        "busy_after": 1.5,
        "mix": [{"count": 1, "bytes": 64}],
        "offload": {
            "chains": [{"steps": 1, "setup_ns": [SETUP] * both, "transfer_ns": [TRANSFER] * both}],
            "thread_switch_ns": [SWITCH] * both,
        },
        "sizes": [
            {"bytes": size, "host_ns": [1_000.0 + 5 * size] * both} for size in (64, 1_024, 16_384)
        ],
        "cases": [
            {
                "kernel": "compress, 1024 B",
                "steps": 1,
                "own_us": 20,
                "inputs": {
                    "own_ns": [OWN] * both,
                    "kernel_ns": [KERNEL] * both,
                    "accelerated_ns": [ACCELERATED] * both,
                },
                "rounds": rounds,
            }
        ],
        "thresholds": [
            {"least_bytes": least, "own_us": 20, "rounds": [form] * both} for least in (0, None)
        ],
    }


def test_a_machine_that_keeps_to_the_equations_has_no_error() -> None:
    rows = offloaded.beside(measured())["rows"]
    assert [row["form"] for row in rows] == list(offloaded.FORMS)
    for row in rows:
        expected = TIMES["inline"] / TIMES[row["form"]]
        assert row["closed_form_ratio"]["median"] == pytest.approx(expected), row["form"]
        assert row["error_points"]["median"] == pytest.approx(0, abs=1e-9), row["form"]
    (kernel,) = offloaded.beside(measured())["kernels"]
    assert kernel["paid_ns"]["median"] == pytest.approx(SETUP)
    assert offloaded.worst(rows, lambda row: row["form"] == "sync") < 1e-9


def test_the_error_is_of_what_the_host_waits_for_or_of_its_processor() -> None:
    found = measured()
    for one in found["cases"][0]["rounds"]:
        one["sync"]["host_ns"] /= 2
        one["async_same_thread"]["wall_ns"] *= 2
    errors = {row["form"]: row["error_points"]["median"] for row in offloaded.beside(found)["rows"]}
    assert errors["sync"] == pytest.approx(0, abs=1e-9)
    assert errors["async_same_thread"] == pytest.approx(0, abs=1e-9)


def test_the_break_even_size_counts_what_a_kernel_of_no_bytes_costs() -> None:
    found = offloaded.beside(measured())["threshold"]
    # 1,000 ns + 5 ns a byte against an o0 of 4,000 ns.
    assert found["break_even_bytes"]["median"] == pytest.approx(600)
    assert found["rows"][0]["host_ratio"]["median"] == pytest.approx(1)


def test_another_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "offload.json"
    file.write_text(json.dumps({"schema": "other/1"}))
    with pytest.raises(
        InputError, match=r"schema = 'other/1': must be accelflow\.ensemble-offload/1"
    ):
        offloaded.read_offloads(file)
    with pytest.raises(InputError, match=r"absent\.json"):
        offloaded.read_offloads(tmp_path / "absent.json")
