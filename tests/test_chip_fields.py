"""Every parameter of a chip does what its name says, by the amount that one calculates by hand.

Requests come one at a time, 1 ms apart, unless a test says otherwise: their times are exact.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from accelflow import simulation
from accelflow.parameters import Parameter, accelerators, parameters

REQUESTS = 100
GAP_US = 1_000.0
BYTES = 1_000
APP_US = 10.0
#: What an operation costs a core, in ns.
COSTS = {
    "TCP": 7_000.0,
    "Decr": 6_600.0,
    "RPC": 41_000.0,
    "Dser": 3_800.0,
    "Dcmp": 4_100.0,
    "LdB": 8_100.0,
    "Cmp": 15_200.0,
    "Ser": 3_800.0,
    "Encr": 6_600.0,
}
SPEEDUPS = {
    "TCP": 3.5,
    "Decr": 6.6,
    "RPC": 20.5,
    "Dser": 3.8,
    "Dcmp": 4.1,
    "LdB": 8.1,
    "Cmp": 15.2,
    "Ser": 3.8,
    "Encr": 6.6,
}
#: The operations of a request: those that receive it, and those that answer it.
RECEIVING = ("TCP", "Decr", "RPC", "Dser", "Dcmp", "LdB")
ANSWERING = ("Cmp", "Ser", "RPC", "Encr", "TCP")
OPERATIONS = {name: (*RECEIVING, *ANSWERING).count(name) for name in COSTS}
SYSTEMS = [system for system, _ in simulation.systems()]
#: A picosecond, in which response times are kept, in us.
PS = 1e-6

#: A chip whose requests are all alike, with payloads of equal size before and after compression.
ALIKE: dict[str, float | str] = {
    "tlb.faults_per_million": 0,
    "core.balancing": "least_loaded",
    "payload.compression_ratio": 1,
}


def workload(size: int, *, together: bool) -> dict[str, Any]:
    """A service with every operation of the paper's accelerators, and messages of `size` bytes."""
    times = [1.0 if together else 1.0 + GAP_US * number for number in range(REQUESTS)]
    receive = {"trace": "T1", "facts": {"T1": {"compressed": 1}}}
    return {
        "schema": "accelflow.workload/1",
        "name": "alike",
        "defaults": {
            "sizes": {"fixed_bytes": size},
            "costs": {"source": "operations", **{name: {"ns": ns} for name, ns in COSTS.items()}},
            "arrivals": {"process": "times", "times_us": times},
        },
        "services": [
            {
                "name": "Alike",
                "rate_rps": 1e6 / GAP_US,
                "path": [receive, {"cpu_us": APP_US}, {"trace": "T3"}],
            }
        ],
    }


def simulated(
    config: Mapping[str, Any], systems: list[str], size: int = BYTES, *, together: bool = False
) -> dict[str, dict[str, Any]]:
    """The results of the service on a chip, by system."""
    scenario = simulation.Scenario(
        workload=workload(size, together=together),
        orchestrators=systems,
        requests=REQUESTS,
        warmup=0,
        slo_factor=None,
        config={**ALIKE, **config},
    )
    found = simulation.run(scenario, threads=2)["systems"]
    return {system["orchestrator"]: system["services"][0] for system in found}


def alone(config: Mapping[str, Any], system: str = "accelflow", size: int = BYTES) -> Any:
    """The results of requests that come one at a time."""
    return simulated(config, [system], size)[system]


def mean_us(config: Mapping[str, Any], system: str = "accelflow", size: int = BYTES) -> float:
    """The mean response time of requests that come one at a time."""
    return float(alone(config, system, size)["mean_us"])


def busy_ns(found: Mapping[str, Any], accelerator: str, elements: int) -> float:
    """How long an operation of an accelerator keeps an element busy."""
    share = found["accelerator_utilization"][accelerator] * elements
    return float(share) * GAP_US * 1e3 / OPERATIONS[accelerator]


def on_cores(found: Mapping[str, Any]) -> dict[str, float]:
    """The share of each accelerator's operations that cores have done, if there are any."""
    return {name: share for name, share in found["accelerator_on_core"].items() if share}


def after(accelerator: str, share: float = 1.0) -> dict[str, float]:
    """What cores do if they take over at `accelerator` in `share` of the requests."""
    counts: dict[str, float] = {}
    for trace in (RECEIVING, ANSWERING):
        # A core that takes over does the rest of the trace.
        begins = trace.index(accelerator) if accelerator in trace else len(trace)
        for name in trace[begins:]:
            counts[name] = counts.get(name, 0) + share
    return {name: count / OPERATIONS[name] for name, count in counts.items()}


@pytest.fixture(scope="module")
def base() -> dict[str, dict[str, Any]]:
    """The results of all systems without a change."""
    return simulated({}, SYSTEMS)


def test_the_times_are_those_of_the_parts(base: dict[str, dict[str, Any]]) -> None:
    # 10 ns for the scratchpad and 1,000 B at 100 GB/s, before and after each operation.
    for name, cost in COSTS.items():
        expected = cost / SPEEDUPS[name] + 40.0
        assert busy_ns(base["accelflow"], name, 8) == pytest.approx(expected, abs=1e-3)
    software = sum(COSTS[name] * count for name, count in OPERATIONS.items())
    # Before Dcmp, a core transforms 1,000 B at 1,000 ns for 1,024.
    transformed = 1_000.0 * BYTES / 1_024
    expected = APP_US + 1.0 + (software + transformed) / 1e3
    assert base["non_acc"]["mean_us"] == pytest.approx(expected, abs=2 * PS)


def test_each_accelerator_has_its_own_time_and_its_own_speedup() -> None:
    times = {name: 1_000.0 + 512.5 * place for place, name in enumerate(COSTS)}
    speedups = {name: 2.0 + 0.5 * place for place, name in enumerate(COSTS)}
    timed = alone({f"mean_operation_ns.{name}": ns for name, ns in times.items()})
    sped = alone({f"speedup.{name}": ratio for name, ratio in speedups.items()})
    for name in accelerators():
        assert busy_ns(timed, name, 8) == pytest.approx(times[name] + 40, abs=1e-3)
        expected = COSTS[name] / speedups[name] + 40
        assert busy_ns(sped, name, 8) == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize("what", ["pes", "instances"])
def test_each_accelerator_has_its_own_elements(what: str, base: dict[str, dict[str, Any]]) -> None:
    counts = {name: 1 + place for place, name in enumerate(COSTS)}
    found = alone({f"{what}.{name}": count for name, count in counts.items()})
    elements = {name: count * (1 if what == "pes" else 8) for name, count in counts.items()}
    for name in accelerators():
        expected = busy_ns(base["accelflow"], name, 8)
        assert busy_ns(found, name, elements[name]) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(
    ("key", "share", "count"),
    [
        ("core.count", "core_utilization", 36),
        ("network.dma_engines", "dma_utilization", 10),
    ],
)
def test_less_of_what_is_busy_is_busier(
    key: str, share: str, count: int, base: dict[str, dict[str, Any]]
) -> None:
    for less in (1, count // 2):
        found = alone({key: less})[share]
        assert found * less == pytest.approx(base["accelflow"][share] * count)


@pytest.mark.parametrize(
    ("accelerator", "what"),
    [
        (name, ("instances", "pes", "input_entries", "output_entries")[place % 4])
        for place, name in enumerate(COSTS)
    ],
)
def test_a_size_of_0_takes_one_accelerator_away(accelerator: str, what: str) -> None:
    found = alone({f"{what}.{accelerator}": 0})
    assert on_cores(found) == pytest.approx(after(accelerator))
    fallbacks = OPERATIONS[accelerator] * REQUESTS
    assert found["fallbacks"]["no_accelerator"] == fallbacks


@pytest.mark.parametrize("accelerator", list(COSTS))
def test_each_accelerator_has_its_own_entries(accelerator: str) -> None:
    inputs, overflows = 3, 7
    config = {
        f"pes.{accelerator}": 1,
        # So long that no entry becomes free for the others.
        f"mean_operation_ns.{accelerator}": 1e7,
        f"input_entries.{accelerator}": inputs,
        f"overflow_entries.{accelerator}": overflows,
    }
    found = simulated(config, ["accelflow"], together=True)["accelflow"]
    # A core that starts a trace does not use the overflow area.
    entries = inputs + (overflows if accelerator != ANSWERING[0] else 0)
    denied = (REQUESTS - 1 - entries) / REQUESTS
    assert {name: n for name, n in found["accelerator_denied"].items() if n} == {
        accelerator: denied
    }
    assert on_cores(found) == pytest.approx(after(accelerator, denied))


def test_bytes_beyond_an_entry_pass_through_memory() -> None:
    # All of 11 operations but the first of the answer, whose data a core has written, read what is
    # beyond an entry. All but the last of each trace write it.
    found = {
        inline: alone({"accelerator.inline_bytes": inline, "tlb.walk_levels": 0}, size=3_072)
        for inline in (2_048, 1_024, 512)
    }
    for less, more in ((1_024, 2_048), (512, 1_024)):
        change = {
            what: found[less]["data"][what] - found[more]["data"][what]
            for what in ("read_bytes", "written_bytes")
        }
        beyond = (more - less) * REQUESTS
        assert change == {"read_bytes": 10 * beyond, "written_bytes": 9 * beyond}


def test_a_page_is_looked_up_once_by_each_access() -> None:
    # 64 KiB beyond an entry, which each of 11 operations reads and writes.
    kib = 64
    lookups = [
        alone({"tlb.page_kib": page}, size=2_048 + kib * 1_024)["data"]["tlb_lookups"]
        for page in (4, 8, 32)
    ]
    pages = [22 * REQUESTS * kib // page for page in (4, 8, 32)]
    assert lookups[0] - lookups[1] == pages[0] - pages[1]
    assert lookups[1] - lookups[2] == pages[1] - pages[2]


def test_busy_cores_fill_the_cache_at_their_rate(base: dict[str, dict[str, Any]]) -> None:
    busy_s = base["accelflow"]["core_utilization"] * 36 * REQUESTS * GAP_US / 1e6
    bytes_of = {
        rate: alone({"memory.core_fill_gb_per_s": rate})["data"]["dram_bytes"] for rate in (0, 1, 4)
    }
    for rate in (1, 4):
        filled = bytes_of[rate] - bytes_of[0]
        # In blocks of 2 KiB, the last of which may not be full.
        assert 0 <= rate * 1e9 * busy_s - filled < 2_048


def test_a_tenants_transfers_are_apart_by_size_over_rate() -> None:
    # The result is written to memory, and 11 us later the next entry is read: 1,000 B each.
    rates = (0.01, 0.02, 0.04)
    times = [mean_us({"memory.tenant_gb_per_s": rate}) for rate in rates]
    for place in (0, 1):
        expected = BYTES / rates[place] / 1e3 - BYTES / rates[place + 1] / 1e3
        assert times[place] - times[place + 1] == pytest.approx(expected, abs=2 * PS)


@pytest.mark.parametrize("ratio", [0.0, 1.5, 4.0])
def test_the_rpc_processor_reserves_a_message_and_its_payload(ratio: float) -> None:
    whole = {
        "accelerator.rpc_processor": "whole",
        "accelerator.rpc_reservation_ratio": ratio,
        "accelerator.rpc_retries": 0,
    }
    needed = BYTES * (1 + ratio)
    enough = alone({**whole, "accelerator.rpc_memory_bytes": needed})
    assert (enough["completed"], enough["timed_out"]) == (REQUESTS, 0)
    short = alone({**whole, "accelerator.rpc_memory_bytes": needed - 1})
    assert (short["completed"], short["timed_out"]) == (0, REQUESTS)
    assert short["fallbacks"]["nack"] == REQUESTS


@pytest.mark.parametrize(
    ("generation", "gain"),
    [
        ("haswell", 1 / (1.055 * 1.10 * 1.18)),
        ("skylake", 1 / 1.18),
        ("ice_lake", 1.0),
        ("sapphire_rapids", 1.19),
        ("emerald_rapids", 1.19 * 1.06),
    ],
)
def test_a_generation_has_its_gain_for_application_tax_and_system(
    generation: str, gain: float, base: dict[str, dict[str, Any]]
) -> None:
    switch = 1.0
    tax = base["non_acc"]["mean_us"] - APP_US - switch
    shares = (0.0, 0.75) if generation == "ice_lake" else (0.75, 0.125)
    config = {"core.tax_gain": shares[0], "core.system_gain": shares[1]}
    found = mean_us({"core.generation": generation, **config}, "non_acc")
    expected = APP_US / gain + tax / gain ** shares[0] + switch / gain ** shares[1]
    # Each of the 13 times is rounded to a picosecond.
    assert found == pytest.approx(expected, abs=13 * PS)


#: Those that have output dispatchers, and those whose dispatchers also resolve branches.
DISPATCHERS = {
    "direct_list",
    "direct",
    "cntr_flow",
    "accelflow",
    "accelflow_deadline",
    "accelflow_edf",
}
RESOLVING = DISPATCHERS - {"direct_list", "direct"}
ACCELFLOW = RESOLVING - {"cntr_flow"}
MANAGED = {"relief", "per_acc_type_q", "direct", "cntr_flow"}
ACCELERATED = set(SYSTEMS) - {"non_acc"}


@pytest.mark.parametrize(
    ("key", "value", "systems"),
    [
        ("core.enqueue_ns", 51, DISPATCHERS),
        ("core.notice_ns", 51, DISPATCHERS),
        ("core.submit_ns", 801, ACCELERATED - ACCELFLOW - {"cohort_polling", "ideal"}),
        ("core.interrupt_ns", 1_334, ACCELERATED - ACCELFLOW - {"cohort_polling", "ideal"}),
        ("core.transform_ns_per_kib", 1_100, set(SYSTEMS) - ACCELFLOW - {"ideal"}),
        ("core.context_switch_ns", 1_001, set(SYSTEMS)),
        ("core.cold_code_ns", 1, set(SYSTEMS)),
        ("core.clock_ghz", 2.3, ACCELERATED),
        ("dispatcher.plain", 16, DISPATCHERS),
        ("dispatcher.branch", 8, RESOLVING),
        ("dispatcher.transform", 13, ACCELFLOW),
        ("dispatcher.end", 21, DISPATCHERS),
        ("dispatcher.ipc", 0.5, DISPATCHERS),
        ("relief.latency_ns", 1_501, MANAGED),
        ("relief.occupancy_ns", 2_000, MANAGED),
        ("relief.fallback", "manager", MANAGED),
        ("cohort.poll_ns", 21, {"cohort_polling"}),
        ("cohort.pop_ns", 151, {"cohort_polling"}),
        ("cohort.push_ns", 101, {"cohort_polling"}),
        ("cohort.engine_ns", 101, {"cohort_polling"}),
        ("network.hop_cycles", 4, ACCELERATED),
        ("tcp.timeout_us", 1, set()),
    ],
)
def test_a_key_concerns_the_systems_that_have_what_it_sets(
    key: str, value: float | str, systems: set[str], base: dict[str, dict[str, Any]]
) -> None:
    found = simulated({key: value}, SYSTEMS)
    changed = {system for system in SYSTEMS if found[system]["mean_us"] != base[system]["mean_us"]}
    assert changed == systems


#: Extremes that leave the rest of a chip without meaning, or that take minutes.
LIMITS: dict[str, tuple[float, float]] = {
    # Sets of all ways.
    "tlb.entries": (64, 65_536),
    "memory.llc_slice_kib": (32, 65_536),
    # A block at a time.
    "memory.core_fill_gb_per_s": (0, 1),
    # Pages of all entries.
    "accelerator.overflow_entries": (0, 64),
    "accelerator.rpc_retries": (0, 100),
    # What a busy core brings into the cache meanwhile.
    "tlb.fault_service_ns": (0, 1e5),
    # An older generation takes longer than the longest cost that is allowed.
    "core.generation": (2, 4),
}


#: Sections of a chip that go to their extremes together.
SECTIONS = (
    ("core",),
    ("accelerator",),
    ("dispatcher", "atm", "network"),
    ("memory", "tlb"),
    ("relief", "cohort"),
    ("exception", "facts", "payload", "scheduling", "tcp", "tenant"),
)
OF_ALL = [each for each in parameters() if not each.also]


def extreme(parameter: Parameter, place: int) -> float:
    """The least (0) or greatest (1) value of a parameter."""
    return LIMITS.get(parameter.key, (parameter.min, parameter.max))[place]


def numbers(found: Any) -> Iterator[float]:
    if isinstance(found, dict):
        for member in found.values():
            yield from numbers(member)
    elif isinstance(found, int | float):
        yield found


def test_all_sections_of_a_chip_go_to_their_extremes() -> None:
    known = {each.key.partition(".")[0] for each in OF_ALL}
    assert {name for names in SECTIONS for name in names} == known


@pytest.mark.parametrize("place", [0, 1], ids=["least", "greatest"])
@pytest.mark.parametrize("sections", SECTIONS, ids=lambda names: names[0])
def test_a_chip_at_the_ends_of_its_ranges_serves_all_requests(
    sections: tuple[str, ...], place: int
) -> None:
    config = {
        each.key: extreme(each, place) for each in OF_ALL if each.key.partition(".")[0] in sections
    }
    for system, found in simulated(config, ["relief", "cohort_polling", "accelflow"]).items():
        assert found["completed"] + found["timed_out"] == REQUESTS, system
        assert all(math.isfinite(number) and number >= 0 for number in numbers(found)), system
