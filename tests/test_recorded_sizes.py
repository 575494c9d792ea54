"""Recordings with calls grouped by size, as inputs of Accelerometer."""

import json
from pathlib import Path

import pytest

from accelflow.accelerometer.recorded import read_recording, service_of
from test_offloading import recording


def test_sizes_and_costs_per_byte_are_those_of_all_calls(tmp_path: Path) -> None:
    path = recording(tmp_path)
    tree = json.loads(path.read_text())
    tree["version"] = 5
    steps = tree["services"][0]["phases"][0]["chains"][0]["steps"]
    # 500 ns and 2 ns a byte, but for a call of 0 bytes, which counts as 1 byte.
    groups = [(0, 10, 502.0), (100, 60, 700.0), (1_000, 30, 2_500.0)]
    steps[1]["by_size"] = [
        {"input_bytes": size, "calls": calls, "cost_ns": cost} for size, calls, cost in groups
    ]
    path.write_text(json.dumps(tree))
    found = read_recording(path)
    decryption = next(each for each in found.operations if each.accelerator == "Decr")
    assert decryption.sizes == ((1, 0.1), (100, 0.6), (1_000, 0.3))
    assert decryption.fixed_ns == pytest.approx(500)
    assert decryption.ns_per_byte == pytest.approx(2)
    (kernel,) = (k for k in service_of(found).kernels if k.name == "Decr")
    assert kernel.sizes is not None
    assert kernel.sizes.bytes == [1.0, 100.0, 1_000.0]
    assert kernel.sizes.cumulative_ratio == pytest.approx([0.1, 0.7, 1.0])
    # Calls count alike in all steps of an accelerator: another step of 100 bytes.
    tree["services"][0]["phases"][0]["chains"][0]["steps"].append(
        steps[1] | {"input_bytes": 100, "samples": 7, "by_size": [], "cost_ns": 700.0}
    )
    path.write_text(json.dumps(tree))
    found = read_recording(path)
    decryption = next(each for each in found.operations if each.accelerator == "Decr")
    assert (decryption.operations, decryption.sizes) == (2, ((1, 0.1), (100, 1.6), (1_000, 0.3)))
    (kernel,) = (k for k in service_of(found).kernels if k.name == "Decr")
    assert kernel.sizes is not None
    assert kernel.sizes.cumulative_ratio == pytest.approx([0.05, 0.85, 1.0])
