"""Parameters of Cerebros: what each adds to the cycles of a request to UniqueId, by hand."""

import json
from pathlib import Path
from typing import Any

import pytest

from accelflow import cerebros
from test_cerebros import THRIFT, files, served

#: UniqueId's request, its nested call and the responses: messages, and those that come in.
MESSAGES, INCOMING = 4, 2
#: The fields of their payloads, and words of their strings (docs/cerebros.md).
FIELDS, WORDS = 11, 6
#: Offloads of a design that moves payloads, and of one that moves headers too.
PAYLOADS, BOTH = MESSAGES, 2 * MESSAGES

LOW_DIAMETER = 200.0 / 3.36 / 3.0
#: A parameter, its value, a design, a result, and what is added to it in cycles.
CHANGES: list[tuple[str, float, str, str, float]] = [
    ("software_header_cycles", 400.0, "None", "rpc_cycles", MESSAGES * (400.0 - 388.75)),
    ("software_header_cycles", 400.0, "OP: P-Only", "rpc_cycles", MESSAGES * (400.0 - 388.75)),
    ("software_header_cycles", 400.0, "P+H", "rpc_cycles", 0.0),
    ("software_dispatch_cycles", 70.0, "P+H", "software_cycles", MESSAGES * (70.0 - 61.25)),
    ("software_dispatch_cycles", 70.0, "Full", "rpc_cycles", 0.0),
    ("software_payload_cycles", 500.0, "None", "rpc_cycles", MESSAGES * (500.0 - 452.0)),
    ("software_payload_cycles", 500.0, "OP: P-Only", "rpc_cycles", 0.0),
    ("software_field_cycles", 90.0, "None", "rpc_cycles", FIELDS * (90.0 - 80.0)),
    ("software_word_cycles", 12.0, "None", "rpc_cycles", WORDS * (12.0 - 2.0)),
    ("offload_traversals_before", 4.0, "OP: P-Only", "offload_cycles", PAYLOADS * 40.0),
    ("offload_traversals_before", 4.0, "P+H", "offload_cycles", BOTH * 40.0),
    ("offload_traversals_before", 4.0, "P+H coalesced", "offload_cycles", 0.0),
    ("offload_traversals_after", 4.0, "P+H", "offload_cycles", BOTH * 2 * 40.0),
    ("offload_traversals_after", 4.0, "P+H coalesced", "offload_cycles", BOTH * 2 * LOW_DIAMETER),
    ("traversal_cycles", 50.0, "P+H", "offload_cycles", BOTH * 5 * 10.0),
    ("traversal_cycles", 50.0, "P+H coalesced", "offload_cycles", 0.0),
    (
        "coalesced_traversals_before",
        4.0,
        "P+H coalesced",
        "offload_cycles",
        BOTH * 3 * LOW_DIAMETER,
    ),
    ("low_diameter_cycles", LOW_DIAMETER + 10, "P+H coalesced", "offload_cycles", BOTH * 3 * 10.0),
    ("cache_access_cycles", 17.375, "P+H", "accelerator_cycles", BOTH * 10.0),
    ("cache_access_cycles", 17.375, "OP: P-Only", "accelerator_cycles", PAYLOADS * 10.0),
    ("schema_map_cycles", 30.0, "Full", "accelerator_cycles", INCOMING * 30.0),
    ("schema_map_cycles", 30.0, "P+H", "accelerator_cycles", 0.0),
    # 100 ns at 2 GHz, on the core that waits for its only nested call.
    ("nested_latency_ns", 100.0, "None", "rpc_on_core_cycles", 200.0),
    ("core_threads", 2.0, "None", "rpc_on_core_cycles", 200.0),
]
#: How far a sum may be off: each step takes whole picoseconds.
NEAR_CYCLES = 0.2


def uid(**parameters: float) -> dict[str, dict[str, Any]]:
    """The results of one request at a time, by design."""
    load = cerebros.Load(requests=40)  # each core is warm after one
    runs = cerebros.simulate("UID", load, parameters=parameters)["runs"]
    return {run["design"]: run for run in runs}


@pytest.fixture(scope="module")
def base() -> dict[str, dict[str, Any]]:
    return uid()


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: f"{change[0]}-{change[2]}")
def test_a_parameter_adds_its_cycles(
    base: dict[str, dict[str, Any]], change: tuple[str, float, str, str, float]
) -> None:
    key, value, design, result, added = change
    before, after = (runs[design]["all"][result] for runs in (base, uid(**{key: value})))
    assert after - before == pytest.approx(added, abs=NEAR_CYCLES)


def test_a_core_that_goes_on_pays_for_each_switch(base: dict[str, dict[str, Any]]) -> None:
    # With one thread there are no switches.
    assert uid(switch_cycles=500.0) == base
    runs = uid(core_threads=2, switch_cycles=500.0)["None"]
    assert runs["all"]["rpc_on_core_cycles"] == pytest.approx(4_500.0 + 500.0, abs=NEAR_CYCLES)


def test_the_clock_scales_times_and_no_cycles(base: dict[str, dict[str, Any]]) -> None:
    twice = uid(clock_hz=4e9)
    for design, run in base.items():
        before, after = run["all"], twice[design]["all"]
        assert after["total_cycles"] == pytest.approx(before["total_cycles"], abs=NEAR_CYCLES)
        assert after["latency_p99_us"] == pytest.approx(before["latency_p99_us"] / 2, rel=1e-4)


def test_a_notification_is_part_of_the_latency_alone(base: dict[str, dict[str, Any]]) -> None:
    for design, run in uid(notification_cycles=80.0).items():
        before = base[design]["all"]
        added_us = run["all"]["latency_p99_us"] - before["latency_p99_us"]
        assert added_us == pytest.approx(40.0 / 2e3, abs=1e-6)
        assert run["all"]["total_cycles"] == before["total_cycles"]


def test_misses_stall_for_their_cycles_where_the_cache_is_too_small(
    base: dict[str, dict[str, Any]],
) -> None:
    stalled = base["None"]["all"]
    longer = uid(miss_stall_cycles=6.0)["None"]["all"]
    assert stalled["stall_cycles"] > 0
    assert longer["stall_cycles"] == pytest.approx(3 * stalled["stall_cycles"])
    added = longer["function_cycles"] - stalled["function_cycles"]
    assert added == pytest.approx(2 * stalled["stall_cycles"])
    assert uid(l1i_bytes=131_072)["None"]["all"]["stall_cycles"] == 0
    # Blocks of twice the size, half as many of them.
    wide = uid(l1i_block_bytes=128)["None"]["all"]
    assert wide["misses"] == pytest.approx(stalled["misses"] / 2)
    faster = uid(instructions_per_cycle=2.0)["None"]["all"]
    assert faster["mpki"] == pytest.approx(stalled["mpki"] / 2)


#: Parameters of an own service's code in KB, and the shares of its layer's in headers and dispatch.
CODE = {"rpc": 50, "shared": 16, "function": 4, "header": 0.25, "dispatch": 0.15}


@pytest.mark.parametrize(
    "change",
    [{}, {"rpc": 100}, {"shared": 32}, {"function": 8}, {"header": 0.5}, {"dispatch": 0.3}],
    ids=str,
)
def test_code_of_an_own_service_misses_a_cache_that_is_too_small(
    tmp_path: Path, change: dict[str, float]
) -> None:
    code = CODE | change
    parameters = {f"own_{name}_code_bytes": code[name] * 1024 for name in CODE if name[0] in "rsf"}
    parameters |= {f"{name}_code_ratio": code[name] for name in ("header", "dispatch")}
    parameters |= {"l1i_bytes": 1024, "l1i_ways": 1}
    own = files(tmp_path, THRIFT, "thrift", served("find", 1_000.0, 60, 60))
    load = cerebros.Load(requests=40)
    runs = cerebros.simulate(
        own, load, designs=["None", "OP: P-Only", "P+H"], parameters=parameters
    )
    # Of a request and its response: each runs the code of headers and dispatch, and half of the
    # code of payloads. A block has 64 bytes.
    blocks = code["rpc"] * 1024 / 64
    header, dispatch = 2 * code["header"] * blocks, 2 * code["dispatch"] * blocks
    payload = (1 - code["header"] - code["dispatch"]) * blocks
    layer = [run["all"]["layer_misses"] for run in runs["runs"]]
    assert layer == pytest.approx([payload + header + dispatch, header + dispatch, dispatch])
    own_blocks = (code["shared"] + code["function"]) * 1024 / 64
    assert [run["all"]["misses"] for run in runs["runs"]] == pytest.approx([own_blocks] * 3)


#: Each parameter of the analytic model at a value of its own.
OWN = {
    "rpc_cycles": 10_000.0,
    "payload_share_ratio": 0.5,
    "dispatch_share_ratio": 0.1,
    "header_tasks": 3,
    "payload_tasks": 7,
    "accelerator_cycles": 130.0,
    "traversals": 6,
    "traversal_cycles": 20.0,
    "coalesced_traversals": 2,
    "low_diameter_cycles": 15.0,
}


def test_the_analytic_model_is_its_sums() -> None:
    found = {row["design"]: row for row in cerebros.designs(**OWN)["designs"]}
    # Payloads take 5,000 cycles in software, headers 4,000, and dispatch 1,000.
    payloads_only = 130.0 * 5_000.0 / 9_000.0
    expected = {
        "None": (10_000.0, 0.0, 0.0),
        "OP: P-Only": (5_000.0, 7 * 6 * 20.0, payloads_only),
        "P+H": (1_000.0, 10 * 6 * 20.0, 130.0),
        "P+H coalesced": (1_000.0, 10 * 2 * 15.0, 130.0),
        "P+H_PV": (1_000.0, 0.0, 130.0),
        "Full": (0.0, 0.0, 130.0),
    }
    assert found.keys() == expected.keys()
    for design, parts in expected.items():
        names = ("software_cycles", "offload_cycles", "accelerator_cycles")
        assert [found[design][name] for name in names] == pytest.approx(list(parts)), design
        assert found[design]["total_cycles"] == pytest.approx(sum(parts))
        assert found[design]["speedup_ratio"] == pytest.approx(10_000.0 / sum(parts))
    result = cerebros.designs(**OWN)
    assert (result["cycles_per_offload"], result["coalesced_cycles_per_offload"]) == (120.0, 30.0)
    assert json.dumps(result)
