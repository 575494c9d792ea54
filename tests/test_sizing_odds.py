"""The closed form of services whose requests take different ways."""

from typing import Any

import pytest

from accelflow import simulation, sizing
from accelflow.simulation import Scenario

OPERATIONS = ("TCP", "Encr", "Decr", "RPC", "Ser", "Dser", "Cmp", "Dcmp", "LdB")


def workload(hit: int, compressed: int = 0, /, **odds: float) -> dict[str, Any]:
    """A service that reads a key: of the cache, or else of the database."""
    read: dict[str, Any] = {
        "trace": "T4",
        "facts": {
            "T5": {"hit": hit, "compressed": compressed},
            "T6": {"found": 1, "compressed": 0, "c_compressed": 0},
            "T7": {"exception": 0},
        },
    }
    if odds:
        read["odds"] = {"T5": odds}
    first = {"trace": "T1", "facts": {"T1": {"compressed": 0}}}
    path = [first, {"cpu": True}, read, {"cpu": True}, {"trace": "T2"}]
    return {
        "schema": "accelflow.workload/1",
        "name": "reads",
        "defaults": {"costs": {"source": "operations"} | {n: {"ns": 4_000.0} for n in OPERATIONS}},
        "services": [{"name": "Read", "rate_rps": 100_000.0, "app_us": 20.0, "path": path}],
    }


def demand(of: dict[str, Any]) -> dict[str, float]:
    """What a request demands, by name."""
    (row,) = simulation.demands(Scenario(workload=of))["services"]
    chain = row["phases"][1][0]
    found = {f"chain.{key}": value for key, value in chain.items() if key != "calls"}
    found |= {key: row[key] for key in ("received", "fallbacks", "app_ns", "started_chains")}
    for name, operation in row["operations"].items():
        found |= {f"{name}.{key}": value for key, value in operation.items()}
    return found


def mean(*ways: tuple[float, dict[str, float]]) -> dict[str, float]:
    names = {name for _, way in ways for name in way}
    return {name: sum(share * way.get(name, 0.0) for share, way in ways) for name in names}


def test_a_request_demands_the_mean_of_its_ways() -> None:
    hit, miss, packed = demand(workload(1)), demand(workload(0)), demand(workload(1, 1))
    assert miss["TCP.count"] > hit["TCP.count"]
    found = demand(workload(1, hit=0.75))
    assert found == pytest.approx(mean((0.75, hit), (0.25, miss)))
    # A miss does not ask whether the value is compressed.
    found = demand(workload(1, hit=0.75, compressed=0.4))
    assert found == pytest.approx(mean((0.45, hit), (0.3, packed), (0.25, miss)))


@pytest.mark.parametrize("hit", [0, 1])
def test_odds_of_0_and_1_are_facts(hit: int) -> None:
    assert demand(workload(1 - hit, hit=float(hit))) == pytest.approx(demand(workload(hit)))


def calls(exception: float) -> dict[str, Any]:
    """A service that calls three others, of which the first may report an exception."""
    call: dict[str, Any] = {"trace": "T9", "facts": {"T10": {"exception": 0, "compressed": 0}}}
    first = call | {"odds": {"T10": {"exception": exception}}}
    of = workload(1)
    (row,) = of["services"]
    row["path"][2:3] = [first, {"cpu_us": 100.0}, call, call]
    return of


def test_an_error_ends_the_request() -> None:
    always, never, half = (demand(calls(odds)) for odds in (1.0, 0.0, 0.5))
    assert half == pytest.approx(mean((0.5, always), (0.5, never)))
    # T1, T9 and T10 with its error; application logic before the call.
    assert always["app_ns"] == pytest.approx(never["app_ns"] - 110_000.0)
    assert (always["TCP.count"], always["started_chains"], always["received"]) == (4, 1, 2)
    (row,) = simulation.demands(Scenario(workload=calls(1.0)))["services"]
    assert (row["cpu_phases"], row["phases"][3][0]["core_ns"]) == (1, 0)


def test_an_error_that_is_a_fact_ends_the_request() -> None:
    of = calls(0.0)
    first = of["services"][0]["path"][2]
    del first["odds"]
    first["facts"] = {"T10": {"exception": 1, "compressed": 0}}
    assert demand(of) == pytest.approx(demand(calls(1.0)))


@pytest.mark.parametrize("system", ["non_acc", "accelflow"])
@pytest.mark.parametrize("of", [workload(1, hit=0.5), calls(0.5)])
def test_utilisations_with_odds_are_those_of_the_simulation(
    system: str, of: dict[str, Any]
) -> None:
    plan = sizing.Plan(
        workload=of,
        systems=[system],
        limits=sizing.Limits(utilization_ratio=0.5),
        slo_factor=100.0,
        requests=2_000,
        seeds=2,
    )
    (answer,) = sizing.size(plan)["systems"]
    closed, simulated = (
        answer[kind]["utilization"]["cores"] * answer[kind]["fleet"]["servers"]
        for kind in ("closed_form", "simulated")
    )
    assert closed == pytest.approx(simulated, rel=0.05)
