"""Every field of a plan of ARCUS has the effect that its description promises.

Rates and latencies are compared with closed forms of the platform's own parameters.
"""

import ast
import json
import math
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from accelflow import arcus
from accelflow.plans import plan_schema

Table = dict[str, Any]

HERE = Path(__file__)
PARAMETERS = {row["key"]: row["value"] for row in arcus.parameters()}
WRITE = int(PARAMETERS["pcie.write_overhead"])
COMPLETION = int(PARAMETERS["pcie.completion_overhead"])
DESCRIPTOR = int(PARAMETERS["dma.descriptor"])
FRAME = int(PARAMETERS["port.frame_overhead"])
PAYLOAD = int(PARAMETERS["pcie.max_payload"])
READ_REQUEST = int(PARAMETERS["pcie.max_read_request"])
#: Messages of this size are not cut to segments.
SIZE = 1_024
#: More than any platform here has left.
TOO_MUCH = 1e6
#: Ports that carry more than the link.
FAST_PORT = 1_000
FAST: Table = {"name": "own", "peak_gbit_per_s": 100_000}
#: 1 us for a message.
SLOW: Table = {"name": "own", "peak_gbit_per_s": SIZE * 8 / 1_000}
SERVICE_US = 1.0
FLOW: Table = {
    "name": "a",
    "accelerator": "own",
    "path": "inline_rx",
    "message_bytes": SIZE,
    "slo_gbit_per_s": 7,
}
#: A flow whose latencies are measured, without any that is too long.
TIMED: Table = FLOW | {"slo_latency_us": 1e6}
#: Times are rounded to picoseconds.
EXACT_US = 1e-5
WIDE: Table = {"pcie_generation": 5, "pcie_lanes": 16}


def planned(*flows: Table, own: Table = FAST, **plan: Any) -> Table:
    return arcus.plan({"accelerator": [own], "flow": list(flows)} | plan)


def only(*flows: Table, own: Table = FAST, **plan: Any) -> Table:
    (admitted,) = planned(*flows, own=own, **plan)["admitted"]
    return dict(admitted)


def capacity(flow: Table, own: Table = FAST, **plan: Any) -> float:
    """The largest promise to one flow, in Gbit/s. A run without shaping gets as much, and ARCUS
    keeps a promise of nearly as much."""
    (rejected,) = planned(flow | {"slo_gbit_per_s": TOO_MUCH}, own=own, **plan)["rejected"]
    left = float(rejected["left_gbit_per_s"])
    got = only(flow | {"slo_gbit_per_s": 0.95 * left}, own=own, **plan)
    assert got["verdict"]["Arcus"] == "kept"
    assert got["gbit_per_s"]["Host_noTS"] == pytest.approx(left, rel=0.01)
    return left


def latency_us(flow: Table, percent: float, own: Table = SLOW, **plan: Any) -> float:
    """This percentile of latencies without shaping."""
    timed = only(flow | {"slo_latency_percentile": percent}, own=own, **plan)
    return float(timed["slo"]["latency"]["got_us"]["Host_noTS"])


def packets(size: int, largest: int) -> int:
    return math.ceil(size / largest)


def link_gbit_per_s(generation: int = 3, lanes: int = 8) -> float:
    """A direction's rate for packets: 8b/10b up to the second generation, and then 128b/130b."""
    transfers = (2.5, 5, 8, 16, 32)[generation - 1]
    code = 8 / 10 if generation < 3 else 128 / 130
    return lanes * transfers * code * (1 - PARAMETERS["pcie.link_layer_share"])


def written_gbit_per_s(size: int, payload: int = PAYLOAD, link: float | None = None) -> float:
    """The rate of writes of `size` to the host."""
    wire = size + WRITE * packets(size, payload)
    return (link or link_gbit_per_s()) * size / wire


def called_gbit_per_s(result: int, request: int = READ_REQUEST) -> float:
    """The rate of messages of SIZE that the link reads with their descriptors, if `result` bytes of
    each are written back."""
    read = SIZE + DESCRIPTOR
    requests = packets(read, request)
    down = read + COMPLETION * max(requests, packets(read, PAYLOAD))
    up = result + WRITE * (packets(result, PAYLOAD) + requests)
    return link_gbit_per_s() * SIZE / max(down, up)


# The platform.


@pytest.mark.parametrize(
    ("generation", "lanes"), [(1, 1), (1, 16), (2, 4), (3, 2), (3, 8), (4, 1), (4, 8), (5, 2)]
)
def test_a_link_is_as_fast_as_its_lanes(generation: int, lanes: int) -> None:
    expected = written_gbit_per_s(SIZE, link=link_gbit_per_s(generation, lanes))
    platform = {"pcie_generation": generation, "pcie_lanes": lanes}
    assert capacity(FLOW, platform=platform) == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize("payload", [64, 128, 512, 4_096])
def test_each_packet_of_a_payload_has_a_header(payload: int) -> None:
    expected = written_gbit_per_s(SIZE, payload)
    platform = {"max_payload_bytes": payload}
    assert capacity(FLOW, platform=platform) == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize("request_bytes", [64, 128, 512, 4_096])
def test_small_read_requests_cost_headers_in_both_directions(request_bytes: int) -> None:
    call = FLOW | {"path": "function_call"}
    expected = called_gbit_per_s(SIZE, request_bytes)
    got = capacity(call, platform={"max_read_request_bytes": request_bytes})
    assert got == pytest.approx(expected, rel=0.01)


def test_a_read_takes_as_much_longer_as_the_hosts_memory() -> None:
    call = TIMED | {"path": "function_call", "arrivals": "paced", "offered_operations_per_s": 1e5}
    fast, slow = (latency_us(call, 50, platform={"read_latency_ns": ns}) for ns in (150, 1_234.5))
    assert slow - fast == pytest.approx(1.0845, abs=EXACT_US)


def test_each_engine_has_its_own_window_of_reads() -> None:
    """With long reads, an engine is as fast as its window over the time of a read."""
    platform: Table = {"read_latency_ns": 20_000, "ports_gbit_per_s": [FAST_PORT]}
    read = FLOW | {"path": "inline_tx", "slo_gbit_per_s": 15}
    second = read | {"name": "b", "slo_gbit_per_s": 15}
    paced = TIMED | {"path": "inline_tx", "arrivals": "paced", "offered_operations_per_s": 1e4}
    time_ns = 1_000 * latency_us(paced, 50, own=FAST, platform=platform)
    window = PARAMETERS["dma.read_window"] * 8 / time_ns
    (alone,) = planned(read, second, platform=platform)["admitted"]
    assert alone["gbit_per_s"]["Host_noTS"] == pytest.approx(window, rel=0.02)
    both = planned(read, second, platform=platform | {"dma_engines": 2})["admitted"]
    assert [flow["engine"] for flow in both] == [0, 1]
    for flow in both:
        assert flow["verdict"]["Arcus"] == "kept"
        assert flow["gbit_per_s"]["Host_noTS"] == pytest.approx(window, rel=0.02)


@pytest.mark.parametrize("port", [5, 20, 45])
def test_a_port_bounds_what_is_sent(port: float) -> None:
    sent = FLOW | {"path": "inline_tx"}
    got = capacity(sent, platform={"ports_gbit_per_s": [port]})
    assert got == pytest.approx(port * SIZE / (SIZE + FRAME), rel=2e-3)


# Accelerators.


@pytest.mark.parametrize(
    ("curve", "size", "time_ns"),
    [
        ({"peak_gbit_per_s": 40}, 1_000, 200),
        ({"peak_gbit_per_s": 40, "setup_ns": 100}, 1_000, 300),
        ({"peak_gbit_per_s": 40, "block_bytes": 1_000}, 1_000, 200),
        ({"peak_gbit_per_s": 40, "block_bytes": 1_000}, 1_001, 400),
        ({"peak_gbit_per_s": 40, "block_bytes": 1_000}, 64, 200),
        ({"peak_gbit_per_s": 40, "block_bytes": 250}, 501, 150),
        ({"points": [[64, 100], [512, 212]]}, 64, 100),
        ({"points": [[64, 100], [512, 212]]}, 32, 100),
        ({"points": [[64, 100], [512, 212]]}, 288, 156),
        ({"points": [[64, 100], [512, 212]]}, 1_024, 424),
    ],
)
def test_an_accelerator_takes_the_time_of_its_curve(
    curve: Table, size: int, time_ns: float
) -> None:
    got = capacity(FLOW | {"message_bytes": size}, own={"name": "own"} | curve)
    assert got == pytest.approx(size * 8 / time_ns, rel=2e-3)


@pytest.mark.parametrize("instances", [1, 2, 3])
def test_each_instance_has_the_whole_rate(instances: int) -> None:
    flows = [FLOW | {"name": name, "slo_gbit_per_s": 35} for name in "abcd"]
    own = {"name": "own", "peak_gbit_per_s": 40, "instances": instances}
    result = planned(*flows, own=own, platform=WIDE)
    routes = [flow["route"] for flow in result["admitted"]]
    assert routes == [[f"own#{number}"] for number in range(instances)]
    assert {flow["verdict"]["Arcus"] for flow in result["admitted"]} == {"kept"}
    for flow in result["rejected"]:
        assert flow["left_gbit_per_s"] == pytest.approx(5, rel=0.01)


def test_a_built_in_accelerator_may_be_there_twice() -> None:
    flows = [FLOW | {"name": name, "accelerator": "ipsec"} for name in "abc"]
    flows = [flow | {"slo_gbit_per_s": 25} for flow in flows]
    result = planned(*flows, platform=WIDE, accelerators=["ipsec", "ipsec"])
    assert [flow["route"] for flow in result["admitted"]] == [["ipsec#0"], ["ipsec#1"]]
    assert [flow["name"] for flow in result["rejected"]] == ["c"]


@pytest.mark.parametrize(("size", "egress"), [(1_024, 4_096), (1_024, 2_048), (2_048, 4_096)])
def test_results_of_a_fixed_size_share_the_link(size: int, egress: int) -> None:
    own = FAST | {"egress_bytes": egress}
    expected = written_gbit_per_s(egress) * size / egress
    got = capacity(FLOW | {"message_bytes": size}, own=own)
    assert got == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize("egress", [{"egress_bytes": 0}, {"egress_ratio": 0}])
def test_results_of_no_size_do_not_need_the_link(egress: Table) -> None:
    own = FAST | egress | {"peak_gbit_per_s": 100}
    assert capacity(FLOW, own=own) == pytest.approx(100, rel=2e-3)


@pytest.mark.parametrize("returned", [0, 64, 2_048])
def test_a_caller_gets_less_or_more_than_the_network(returned: int) -> None:
    own = FAST | {"egress_ratio": 2, "call_egress_bytes": returned}
    call = FLOW | {"path": "function_call"}
    assert capacity(call, own=own) == pytest.approx(called_gbit_per_s(returned), rel=0.01)
    # The inline path has the results of the ratio.
    assert capacity(FLOW, own=own) == pytest.approx(written_gbit_per_s(2 * SIZE) / 2, rel=2e-3)


PACED: Table = TIMED | {"arrivals": "paced", "offered_operations_per_s": 1e5}


def test_a_pipeline_adds_its_latency() -> None:
    plain, long = (latency_us(PACED, 99, own=SLOW | {"latency_ns": ns}) for ns in (0, 3_210.5))
    assert long - plain == pytest.approx(3.2105, abs=EXACT_US)
    # The engine's output buffer has room for what is in the pipeline, so that it takes no rate.
    piped = capacity(FLOW, own=SLOW | {"latency_ns": 3_210.5})
    assert piped == pytest.approx(SLOW["peak_gbit_per_s"], rel=2e-3)


@pytest.mark.parametrize(
    ("law", "percent", "added_us", "within_us"),
    [
        ("constant", 99, 0, EXACT_US),
        # From zero to twice the mean.
        ("uniform", 50, 0, 0.1),
        ("uniform", 95, 0.9, 0.1),
        # 250 cycles of 4 ns, with a deviation of the root of 250 cycles.
        ("poisson", 50, 0, 0.012),
        ("poisson", 84.13, 0.004 * math.sqrt(250), 0.012),
        ("bi-modal", 50, -0.5, EXACT_US),
        ("bi-modal", 80, -0.5, EXACT_US),
        ("bi-modal", 97, 4.5, EXACT_US),
    ],
)
def test_compute_times_have_the_percentiles_of_their_law(
    law: str, percent: float, added_us: float, within_us: float
) -> None:
    own, plan = SLOW | {"compute_times": law}, {"duration_us": 20_000}
    added = latency_us(PACED, percent, own=own, **plan) - latency_us(PACED, percent)
    assert added == pytest.approx(added_us, abs=within_us)
    if law == "poisson":
        cycles = added / 0.004
        assert cycles == pytest.approx(round(cycles), abs=1e-3)


@pytest.mark.parametrize("law", ["uniform", "poisson", "bi-modal"])
def test_compute_times_of_all_laws_have_the_same_mean(law: str) -> None:
    # 10,000 times, of which the deviation is at most 1.5 times the mean.
    full = only(FLOW, own=SLOW | {"compute_times": law}, duration_us=10_000)
    assert full["gbit_per_s"]["Host_noTS"] == pytest.approx(SLOW["peak_gbit_per_s"], rel=0.04)


def test_messages_wait_behind_a_full_input_buffer() -> None:
    """Without shaping, a neighbour's backlog fills the buffer in front of the accelerator."""
    backlog = FLOW | {"slo_gbit_per_s": 6}
    rare = TIMED | {"name": "b", "slo_gbit_per_s": 1, "slo_latency_percentile": 50}
    rare |= {"arrivals": "paced", "offered_gbit_per_s": 0.1}
    messages, waits = (1, 4, 16, 64), []
    for number in messages:
        own = SLOW | {"input_bytes": number * SIZE}
        _, late = planned(backlog, rare, own=own)["admitted"]
        waits.append(late["slo"]["latency"]["got_us"]["Host_noTS"])
    added = [after - before for before, after in pairwise(waits)]
    expected = [SERVICE_US * (after - before) for before, after in pairwise(messages)]
    assert added == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize(("size", "blocks"), [(1_050, 1), (1_051, 2), (2_100, 2), (3_150, 3)])
def test_what_is_left_of_cut_messages_counts_their_rests(size: int, blocks: int) -> None:
    own = {"name": "own", "peak_gbit_per_s": 40, "block_bytes": 1_050}
    got = capacity(FLOW | {"message_bytes": size}, own=own)
    assert got == pytest.approx(40 * size / (1_050 * blocks), rel=0.03)


@pytest.mark.parametrize("size", [2_100, 4_097])
def test_built_in_accelerators_keep_promises_to_messages_of_any_size(size: int) -> None:
    capacity(FLOW | {"accelerator": "ipsec", "message_bytes": size})


@pytest.mark.parametrize("latency_ns", [20_000, 100_000])
def test_admission_knows_how_long_reads_take(latency_ns: float) -> None:
    platform = {"read_latency_ns": latency_ns}
    capacity(FLOW | {"path": "inline_tx"}, platform=platform, duration_us=20_000)


@pytest.mark.parametrize("law", ["uniform", "bi-modal"])
def test_admission_knows_the_mean_of_compute_times(law: str) -> None:
    own = SLOW | {"compute_times": law}
    (rejected,) = planned(FLOW | {"slo_gbit_per_s": TOO_MUCH}, own=own)["rejected"]
    assert rejected["left_gbit_per_s"] == pytest.approx(SLOW["peak_gbit_per_s"], rel=0.02)


# Arrivals.


def test_paced_messages_never_wait() -> None:
    paced = TIMED | {"arrivals": "paced", "offered_gbit_per_s": 0.95 * SLOW["peak_gbit_per_s"]}
    assert latency_us(paced, 99.9) == latency_us(paced, 50) == latency_us(PACED, 50)


def test_an_offered_rate_may_be_in_bits_or_in_messages() -> None:
    random = TIMED | {"arrivals": "poisson"}
    bits = only(random | {"offered_gbit_per_s": 4.096}, own=SLOW)
    messages = only(random | {"offered_operations_per_s": 500_000}, own=SLOW)
    assert bits == messages
    paced = only(PACED | {"offered_operations_per_s": 500_000}, own=SLOW)
    assert set(paced["operations_per_s"].values()) == {500_000}


def test_random_messages_wait_as_in_a_queue_of_constant_times() -> None:
    """M/D/1: P(wait <= t) = (1 - load) exp(rate t) for waits below a time of service."""
    load, percent = 0.5, 75.0
    random = TIMED | {"arrivals": "poisson", "offered_operations_per_s": load * 1e6}
    wait = latency_us(random, percent, duration_us=30_000) - latency_us(PACED, percent)
    assert wait == pytest.approx(math.log(0.01 * percent / (1 - load)) / load, abs=0.08)


@pytest.mark.parametrize("before", [2, 3])
def test_a_message_of_a_burst_waits_for_those_before_it(before: int) -> None:
    percent = 100 * (before + 0.5) / 4
    bursts = TIMED | {"arrivals": "bursts", "burst_messages": 4, "offered_operations_per_s": 4e4}
    wait = latency_us(bursts, percent, duration_us=10_000) - latency_us(PACED, 50)
    assert wait == pytest.approx(before * SERVICE_US, abs=EXACT_US)


def test_bursts_offer_the_rate_of_their_messages() -> None:
    bursts = FLOW | {"arrivals": "bursts", "burst_messages": 4, "offered_operations_per_s": 4e5}
    got = only(bursts, own=SLOW, duration_us=30_000)["operations_per_s"]
    # 3,000 bursts.
    assert got["Arcus"] == pytest.approx(4e5, rel=0.06)
    assert got["Host_noTS"] == pytest.approx(4e5, rel=0.06)


@pytest.mark.parametrize(
    ("clients", "think_us"), [(1, 0), (1, 9), (4, 0), (4, 1.5), (8, 5), (16, 100)]
)
def test_closed_clients_obey_littles_law(clients: int, think_us: float) -> None:
    closed = TIMED | {"arrivals": "closed", "clients": clients, "think_us": think_us}
    flow = only(closed | {"slo_latency_percentile": 50}, own=SLOW, duration_us=10_000)
    # Latencies behind the shaper differ by its interval of 256 ns: the median is not the mean.
    for run, within in (("Arcus", 0.03), ("Host_noTS", 0.01)):
        there_us = flow["slo"]["latency"]["got_us"][run] + think_us
        there = flow["operations_per_s"][run] * there_us * 1e-6
        assert there == pytest.approx(clients, rel=within)
    # The clients' rate without waits, and at most the accelerator's.
    alone = clients / (latency_us(PACED, 50) + think_us)
    expected = min(alone, 1 / SERVICE_US) * 1e6
    assert flow["operations_per_s"]["Host_noTS"] == pytest.approx(expected, rel=0.01)


def test_clients_do_not_think_unless_the_plan_says_so() -> None:
    closed = TIMED | {"arrivals": "closed", "clients": 2}
    assert only(closed, own=SLOW) == only(closed | {"think_us": 0}, own=SLOW)


# Flows and runs.


def test_a_chain_adds_the_time_of_its_second_accelerator() -> None:
    second = {"name": "second", "peak_gbit_per_s": SIZE * 8 / 750}
    plan = {"accelerator": [SLOW, second]}
    chain = PACED | {"then": ["second"]}
    added = latency_us(chain, 50, **plan) - latency_us(PACED, 50)
    assert added == pytest.approx(0.75, abs=EXACT_US)


@pytest.mark.parametrize(
    ("other", "route", "path"),
    [
        ({"instead": ["spare"]}, ["spare#1"], "inline_rx"),
        ({"other_paths": ["inline_tx"]}, ["own#0"], "inline_tx"),
    ],
)
def test_a_flow_without_room_takes_its_alternative(
    other: Table, route: list[str], path: str
) -> None:
    # The first flow leaves 5 Gbit/s: of the accelerator or of the link.
    peak = 25 if "instead" in other else 100
    owns = [{"name": name, "peak_gbit_per_s": peak} for name in ("own", "spare")]
    first = FLOW | {"slo_gbit_per_s": 20 if "instead" in other else 48}
    flow = FLOW | {"name": "b", "vm": 3, "slo_gbit_per_s": 15}
    assert [one["name"] for one in planned(first, flow, accelerator=owns)["rejected"]] == ["b"]
    _, there = planned(first, flow | other, accelerator=owns)["admitted"]
    assert (there["route"], there["path"], there["vm"]) == (route, path, 3)
    assert there["verdict"]["Arcus"] == "kept"


def test_an_slo_may_be_in_bits_or_in_messages() -> None:
    messages = {key: value for key, value in FLOW.items() if key != "slo_gbit_per_s"}
    messages |= {"slo_operations_per_s": 500_000}
    in_bits = only(FLOW | {"slo_gbit_per_s": 500_000 * SIZE * 8e-9})
    in_messages = only(messages)
    assert in_messages["slo_gbit_per_s"] == pytest.approx(in_bits["slo_gbit_per_s"])
    assert in_messages["operations_per_s"]["Arcus"] == pytest.approx(500_000, rel=0.01)
    assert in_bits["operations_per_s"]["Arcus"] == pytest.approx(500_000, rel=0.01)


@pytest.mark.parametrize(
    ("duration_us", "period_us", "kept"),
    [(2_000, 200, 50), (4_000, 200, 25), (2_000, 400, 60), (2_000, 2_000, 100)],
)
def test_a_promise_is_judged_in_its_periods(
    duration_us: int, period_us: float, kept: float
) -> None:
    """Without shaping, the flow has 45 Gbit/s for 1 ms, and from then on half of them beside a
    neighbour. A period with half of both has more than the promised 30."""
    flow = FLOW | {"slo_gbit_per_s": 30, "slo_percent": 50, "slo_period_us": period_us}
    late = FLOW | {"name": "late", "slo_gbit_per_s": 10, "from_us": 1_000}
    own = FAST | {"peak_gbit_per_s": 45}
    first, _ = planned(flow, late, own=own, duration_us=duration_us)["admitted"]
    periods = first["slo"]["periods"]
    assert periods["period_us"] == period_us
    assert periods["kept_percent"] == {"Arcus": 100, "Host_noTS": kept}


def test_a_seed_decides_what_is_random() -> None:
    random = FLOW | {"arrivals": "poisson", "offered_gbit_per_s": 4}
    assert planned(random, own=SLOW, seed=1) == planned(random, own=SLOW)
    assert planned(random, own=SLOW, seed=2) != planned(random, own=SLOW)
    assert planned(PACED, own=SLOW, seed=2) == planned(PACED, own=SLOW)


# Storage.

READ: Table = {
    "name": "a",
    "accelerator": "storage",
    "path": "storage_read",
    "message_bytes": 4_096,
    "slo_operations_per_s": 1e4,
}
READ_US = 50
#: 8 reads at a time, each of READ_US.
DRIVE: Table = {"units": 8, "read_median_us": READ_US, "read_sigma": 0, "write_busy_us": 100}


def stored(flow: Table, devices: int = 1, **storage: Any) -> Table:
    plan = {"storage_devices": devices, "storage": DRIVE | storage, "duration_us": 20_000}
    (admitted,) = arcus.plan({"flow": [flow]} | plan)["admitted"]
    return dict(admitted)


def operations(flow: Table, devices: int = 1, **storage: Any) -> float:
    """Operations per us of a backlog without shaping."""
    return float(stored(flow, devices, **storage)["operations_per_s"]["Host_noTS"]) * 1e-6


def stored_us(flow: Table, percent: float, per_s: float = 5_000, **storage: Any) -> float:
    """This percentile of latencies of operations that do not wait for each other."""
    rare = {"arrivals": "paced", "offered_operations_per_s": per_s, "slo_latency_us": 1e6}
    found = stored(flow | rare | {"slo_latency_percentile": percent}, **storage)
    return float(found["slo"]["latency"]["got_us"]["Host_noTS"])


@pytest.mark.parametrize("units", [2, 8])
@pytest.mark.parametrize("devices", [1, 3])
def test_reads_keep_all_units_busy(units: int, devices: int) -> None:
    got = operations(READ, devices, units=units)
    assert got == pytest.approx(devices * units / READ_US, rel=0.02)


def test_a_unit_reads_for_its_median() -> None:
    assert operations(READ, read_median_us=80) == pytest.approx(8 / 80, rel=0.01)
    added = stored_us(READ, 50, read_median_us=80) - stored_us(READ, 50)
    assert added == pytest.approx(80 - READ_US, abs=EXACT_US)


def test_times_of_reads_have_the_percentiles_of_their_sigma() -> None:
    """Lognormal: one deviation above the median is a factor of exp(sigma), and the mean one of
    exp(sigma squared / 2)."""
    sigma = 0.5
    alike, varied = (
        stored_us(READ, 84.13, per_s=1e5, units=48, read_sigma=each) for each in (0, sigma)
    )
    # 2,000 reads, of which 5 are under way at a time.
    assert varied - alike == pytest.approx(READ_US * (math.exp(sigma) - 1), rel=0.1)
    mean = READ_US * math.exp(sigma**2 / 2)
    assert operations(READ, read_sigma=sigma) == pytest.approx(8 / mean, rel=0.04)


@pytest.mark.parametrize("depth", [1, 4])
def test_commands_in_flight_obey_littles_law(depth: int) -> None:
    assert operations(READ, queue_depth=depth) * stored_us(READ, 50) == pytest.approx(
        depth, rel=0.01
    )


def test_a_drive_sends_no_more_than_its_link() -> None:
    got = operations(READ, units=48, link_gbit_per_s=2)
    assert got * 4_096 * 8e-3 == pytest.approx(2, rel=0.01)


STORE: Table = READ | {"path": "storage_write"}


@pytest.mark.parametrize(("buffer", "busy_us"), [(4, 100), (41, 100), (41, 250)])
def test_writes_are_as_fast_as_units_and_buffer(buffer: int, busy_us: float) -> None:
    got = operations(STORE, write_buffer=buffer, write_busy_us=busy_us)
    assert got == pytest.approx(min(buffer, DRIVE["units"]) / busy_us, rel=0.02)


def test_a_write_is_acknowledged_before_it_is_programmed() -> None:
    short, long = (stored_us(STORE, 90, write_ack_us=us) for us in (0, 30))
    assert long - short == pytest.approx(30, abs=EXACT_US)
    assert short < 1 < DRIVE["write_busy_us"]


# All fields.


def fields_of_the_schema() -> set[str]:
    plan = json.loads(plan_schema())["properties"]
    found = set(plan)
    for table in ("platform", "storage", "accelerator", "flow"):
        found |= set(plan[table].get("items", plan[table])["properties"])
    return found


def keys_of_plans(file: Path) -> Iterator[str]:
    """The keys of dictionaries in `file`, and the names that functions here pass to a plan. Tests
    of refusals have no effect to show."""
    for part in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(part, ast.FunctionDef) and "pytest.raises" in ast.unparse(part):
            continue
        for node in ast.walk(part):
            keys = node.keys if isinstance(node, ast.Dict) else []
            yield from (key.value for key in keys if isinstance(key, ast.Constant))
            if isinstance(node, ast.keyword) and node.arg is not None:
                yield node.arg


def test_every_field_is_in_a_plan_of_a_test() -> None:
    files = [HERE.with_name(name) for name in ("test_arcus.py", "test_arcus_plans.py")]
    tested = {key for file in [HERE, *files] for key in keys_of_plans(file)}
    assert fields_of_the_schema() - tested == set()
