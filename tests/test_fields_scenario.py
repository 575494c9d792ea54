"""Fields of a scenario, and those of a workload that it overrides: what each decides."""

from typing import Any

import pytest

from accelflow import simulation
from accelflow.workload import read_workload
from test_fields_workload import (
    CALL,
    COSTS,
    NEAR_US,
    OPERATIONS,
    RECEIVE,
    constant,
    costing,
    rows,
    service,
    tree,
)

#: Each operation costs another time for a message, and for a byte.
MESSAGE_NS = {name: 100.0 * (number + 2) for number, name in enumerate(OPERATIONS)}
BYTE_NS = {name: 1.0 / (number + 3) for number, name in enumerate(OPERATIONS)}
#: How often the request of the test below needs each: T1 and T10 decompress, T3 compresses.
COUNTS = {"TCP": 4, "Encr": 2, "Decr": 2, "RPC": 4, "Ser": 2, "Dser": 2, "Cmp": 1, "Dcmp": 2}
COUNTS |= {"LdB": 2}


def operations(workload: dict[str, Any], **changes: Any) -> dict[str, dict[str, float]]:
    """The operations of the first service in closed form, by accelerator."""
    scenario = simulation.Scenario(workload=workload, **changes)
    return dict(simulation.demands(scenario)["services"][0]["operations"])


def test_each_operation_has_its_own_cost_and_accelerator() -> None:
    costs = {
        "source": "operations",
        **{name: {"ns": MESSAGE_NS[name], "ns_per_byte": BYTE_NS[name]} for name in OPERATIONS},
    }
    path = [
        {"trace": "T1", "facts": {"T1": {"compressed": 1}}},
        {**CALL, "facts": {"T10": {"exception": 0, "compressed": 1}}},
        {"trace": "T3"},
    ]
    found = operations(tree({"A": {"path": path, "costs": costs}}))
    assert {name: row["count"] for name, row in found.items()} == COUNTS
    for name, row in found.items():
        alone_ns = MESSAGE_NS[name] + 1000 * BYTE_NS[name]
        assert row["core_ns"] == pytest.approx(COUNTS[name] * alone_ns, rel=1e-4), name


KINDS = """
schema = "accelflow.workload/1"
name = "kinds"
defaults = { rate_rps = 10, sizes = { fixed_bytes = 1000 }, costs = { source = "paper" } }
[[traces]]
source = \"\"\"
kind First
kind Second
trace own:
    TCP First Second First LdB
\"\"\"
[kinds.First]
ns = 700
ns_per_byte = 3
speedup = 20
[kinds.Second]
ns = 900
[[services]]
name = "A"
path = [{ trace = "own" }, { trace = "T2" }]
"""


def test_custom_accelerators_have_their_costs_and_speedups(tmp_path: Any) -> None:
    (tmp_path / "kinds.toml").write_text(KINDS)
    workload = read_workload(tmp_path / "kinds.toml")
    found = operations(workload, config={"speedup.own": 6.0})
    first_ns, second_ns = 2 * (700.0 + 3.0 * 1000.0), 900.0
    nothing = {"on_core": 0, "on_core_ns": 0}
    first = {"count": 2, "core_ns": first_ns, "accelerator_ns": first_ns / 20.0}
    assert found["First"] == first | nothing
    second = {"count": 1, "core_ns": second_ns, "accelerator_ns": second_ns / 6.0}
    assert found["Second"] == second | nothing


#: A service that calls, with a wait of its own, and compresses only where facts are drawn.
OWN = tree(
    {
        "A": service(
            call={
                "odds": {"T10": {"compressed": 1.0}},
                "facts": {"T10": {"exception": 0, "compressed": 0}},
            }
        )
    },
    waits={"other": constant(60.0)},
)


#: Fields of a scenario over those of the workload, and how the mean response time changes.
OVERRIDES: dict[str, tuple[dict[str, Any], float]] = {
    "none": ({}, 0.0),
    "remote": ({"remote": "short"}, 5.0 - 50.0),
    "remote of another": ({"remote": "socialnetwork"}, 269.0 - 50.0),
    "facts": ({"facts": "common"}, -1.0),  # a decompression
}


@pytest.mark.parametrize("name", OVERRIDES)
def test_a_field_of_a_scenario_overrides_the_workloads(name: str) -> None:
    changes, added = OVERRIDES[name]
    means = [rows(OWN, **fields)["A"]["mean_us"] for fields in ({}, changes)]
    assert means[1] - means[0] == pytest.approx(added, abs=NEAR_US)


def test_the_profile_replaces_costs_and_the_cost_of_tcp_scales_them() -> None:
    own = operations(OWN, facts="common")
    paper = operations(OWN, facts="common", profile="paper")
    twice = operations(OWN, facts="common", profile="paper", tcp_cost_ns=14_000.0)
    assert own["TCP"]["core_ns"] == 4 * 1_000.0
    assert paper["TCP"]["core_ns"] == 4 * 7_000.0
    for name, row in paper.items():
        assert twice[name]["core_ns"] == pytest.approx(2.0 * row["core_ns"], rel=1e-4), name
    stated = {**OWN, "defaults": {**OWN["defaults"]}}
    stated["defaults"]["costs"] = {"source": "paper", "tcp_cost_ns": 9_000.0}
    assert operations(stated, facts="common")["TCP"]["core_ns"] == 4 * 9_000.0


def test_sizes_of_a_scenario_replace_those_of_the_workload() -> None:
    by_byte = tree({"A": service(costs=costing(Ser={"ns_per_byte": 1.0}))})
    assert operations(by_byte)["Ser"]["core_ns"] == 2 * 1_000.0
    fleet, other = (
        operations(by_byte, sizes=name)["Ser"]["core_ns"]
        for name in ("fleet", "hypercompressbench")
    )
    assert len({fleet, other, 2_000.0}) == 3


#: Two services that need the same single element, all the time.
CROWDED = {
    "requests": 2_000,
    "orchestrators": ["accelflow"],
    "placement": "colocated",
    "config": {"accelerator.pes": 1, "accelerator.input_entries": 32},
}
SLOW = {"path": [RECEIVE, {"trace": "T2"}], "costs": {**COSTS, "TCP": {"ns": 30_000.0}}}


def crowded(
    first: dict[str, Any] | None = None, second: dict[str, Any] | None = None, **changes: Any
) -> tuple[float, float]:
    """The mean response times of two equal services with other fields at a crowded server."""
    workload = tree({"A": {**SLOW, **(first or {})}, "B": {**SLOW, **(second or {})}})
    found = rows(workload, rate_rps=26_000.0, **{**CROWDED, **changes})
    return found["A"]["mean_us"], found["B"]["mean_us"]


def test_higher_priorities_go_first_and_the_scenarios_are_nearer() -> None:
    equal = crowded(policy="priority")
    assert equal[0] == pytest.approx(equal[1], rel=0.15)
    first = crowded({"priority": 3}, {"priority": 1}, policy="priority")
    assert first[0] < 0.7 * first[1]
    assert crowded(policy="priority", priorities={"A": 3, "B": 1}) == first
    second = crowded({"priority": 3}, {"priority": 1}, policy="priority", priorities={"B": 4})
    assert second[1] < 0.7 * second[0]
    # Other orders do not look at priorities.
    assert crowded({"priority": 3}, {"priority": 1}, policy="fifo") == crowded(policy="fifo")


def test_the_policy_overrides_the_parameters() -> None:
    one = {"priority": 3}
    config = {**CROWDED["config"], "scheduling.policy": "priority"}
    assert crowded(one, config=config) == crowded(one, policy="priority")
    assert crowded(one, config=config, policy="fifo") == crowded(one, policy="fifo")
    assert crowded(one, policy="fifo") != crowded(one, policy="priority")


def test_deadlines_of_services_order_queues() -> None:
    urgent, patient = {"slo_us": 200.0}, {"slo_us": 20_000.0}
    first = crowded(urgent, patient, policy="edf")
    second = crowded(patient, urgent, policy="edf")
    assert first[0] < 0.7 * first[1]
    assert second[1] < 0.7 * second[0]


def test_tenants_are_the_scenarios_or_else_the_services() -> None:
    workload = tree({"A": {**SLOW, "tenant": 3}, "B": SLOW, "C": {**SLOW, "tenant": 4}})
    found = rows(workload, tenants={"C": 7})
    assert [row["tenant"]["number"] for row in found.values()] == [3, 0, 7]


def test_placement_decides_whose_work_is_on_a_server() -> None:
    workload = tree({"A": service(), "B": service({"cpu_us": 100.0})})
    alone = rows(workload, rate_rps=2_000.0)
    shared = rows(workload, rate_rps=2_000.0, placement="colocated")
    used = [row["core_utilization"] for row in alone.values()]
    assert used[1] > 1.5 * used[0]
    for row in shared.values():
        assert row["core_utilization"] == pytest.approx(sum(used), rel=0.25)


def test_the_offered_rate_counts_requests_that_time_out() -> None:
    found = simulation.run(
        simulation.Scenario(
            services=["ReadH"],
            orchestrators=["accelflow"],
            remote="socialnetwork_drawn",
            rate_rps=2_000.0,
            requests=2_000,
            slo_factor=None,
            config={"tcp.timeout_us": 300.0},
        ),
        threads=1,
    )
    row = found["systems"][0]["services"][0]
    assert 200 < row["completed"] < 1_600, "of 1,800 requests after the warm-up"
    assert row["offered_rps"] == pytest.approx(2_000.0, rel=0.1)


def test_seeds_are_of_everything_random_and_nothing_else() -> None:
    workload = tree({"A": service()})
    first, second, again = (rows(workload, seed=seed)["A"] for seed in (1, 2, 1))
    assert first == again
    assert first["offered_rps"] != second["offered_rps"]
    assert first["mean_us"] == pytest.approx(second["mean_us"], abs=NEAR_US)
