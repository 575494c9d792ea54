"""T-chains measured on the live server, beside the equations."""

import json
from pathlib import Path
from typing import Any

import pytest

from accelflow import InputError
from accelflow.accelerometer import live_chains

#: Inputs of a round, in ns: what a call has beside its bodies, and the bodies of its two traces.
OWN, RECEIVE, SEND = 60_000.0, 40_000.0, 20_000.0
SETUP, TRANSFER, SWITCH = 4_000.0, 15_000.0, 2_000.0
ROUNDS = 6

#: Time of a call by equations (1), (3) and (5), in ns: two offloads of five and four accelerators.
BODIES = RECEIVE + SEND
TIMES = {
    "inline": {
        "host_ns": OWN + BODIES,
        "response_ns": OWN + BODIES,
        "loaded_host_ns": OWN + BODIES,
    },
    "sync": dict.fromkeys(
        ("host_ns", "response_ns", "loaded_host_ns"), OWN + BODIES / 2 + 2 * (SETUP + TRANSFER)
    ),
    "sync_os": {
        "host_ns": OWN + 2 * (SETUP + 2 * SWITCH),
        "response_ns": OWN + BODIES / 2 + 2 * (SETUP + TRANSFER + SWITCH),
        "loaded_host_ns": OWN + 2 * (SETUP + 2 * SWITCH),
    },
}


def step(trace: str, accelerator: str, cost_ns: float) -> dict[str, Any]:
    return {"trace": trace, "accelerator": accelerator, "input_bytes": 1_000, "cost_ns": cost_ns}


def measured() -> dict[str, Any]:
    """What the benchmark would print on a machine that the equations describe, with A of 2."""
    # TCP's body takes 500 + 0.5 g ns: 1,000 ns here. Its recorded cost has system calls, too.
    receive = [step("T1", "TCP", 9_000.0)]
    receive += [step("T1", name, (RECEIVE - 1_000) / 4) for name in ("Decr", "RPC", "Dser", "LdB")]
    send = [step("T2", name, (SEND - 1_000) / 3) for name in ("Ser", "RPC", "Encr")]
    send.append(step("T2", "TCP", 15_000.0))
    phases = [{"chains": [{"steps": receive}]}, {"cpu": {}}, {"chains": [{"steps": send}]}]
    sizes = [
        {
            "input_bytes": size,
            "host_ns": [500 + 0.5 * size] * ROUNDS,
            "worker_ns": [250 + 0.25 * size] * ROUNDS,
        }
        for size in (256, 4_096)
    ]
    return {
        "schema": live_chains.SCHEMA,
        "build": "release",
        "rounds": ROUNDS,
        "calls": 10,
        "callers": 4,
        "run_queue": [0.1, 0.2],
        "offload": [
            {"steps": steps, "setup_ns": [SETUP] * ROUNDS, "transfer_ns": [TRANSFER] * ROUNDS}
            for steps in (4, 5)
        ],
        "bodies": {"thread_switch_ns": [SWITCH] * ROUNDS, "sizes": {"TCP": sizes}},
        "cases": [
            {
                "chain": "T1, T2",
                "bytes": 1_000,
                "recording": {"services": [{"phases": phases}]},
                "rounds": [TIMES] * ROUNDS,
            }
        ],
    }


def test_a_server_that_keeps_to_the_equations_has_no_error() -> None:
    found = live_chains.beside(measured())
    assert found["offload"]["acceleration_ratio"]["median"] == pytest.approx(2)
    (case,) = found["cases"]
    assert [each["traces"] for each in case["offloads"]] == [["T1"], ["T2"]]
    assert [each["steps"] for each in case["offloads"]] == [5, 4]
    assert [each["kernel_ns"] for each in case["offloads"]] == pytest.approx([RECEIVE, SEND])
    assert case["kernel_share_ratio"]["median"] == pytest.approx(BODIES / (OWN + BODIES))
    assert [row["form"] for row in case["rows"]] == list(live_chains.FORMS)
    for row in case["rows"]:
        assert row["error_points"]["median"] == pytest.approx(0, abs=1e-9), row["form"]
        assert row["closed_form_ratio"]["low"] == pytest.approx(row["closed_form_ratio"]["high"])


def test_errors_are_paired_round_by_round() -> None:
    found = measured()
    # A machine that becomes slower from round to round, for all servers alike.
    found["cases"][0]["rounds"] = [
        {way: {key: time * factor for key, time in times.items()} for way, times in TIMES.items()}
        for factor in (1.0, 1.1, 1.3, 1.6, 2.0, 2.5)
    ]
    (case,) = live_chains.beside(found)["cases"]
    for row in case["rows"]:
        assert row["measured_ratio"]["low"] == pytest.approx(row["measured_ratio"]["high"])


def test_another_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "chains.json"
    file.write_text(json.dumps({"schema": "other/1"}))
    with pytest.raises(InputError, match=r"schema = 'other/1': must be accelflow\.live-chains/1"):
        live_chains.read_chains(file)
    with pytest.raises(InputError, match=r"absent\.json"):
        live_chains.read_chains(tmp_path / "absent.json")
