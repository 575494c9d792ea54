"""Fields of a workload on rates, arrivals, limits and calls between services: what each decides."""

import json
import math
import statistics
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from accelflow import simulation
from test_fields_workload import ANSWER, NEAR_US, RECEIVE, constant, rows, service, tree

#: A service that computes for 20 us and answers.
SHORT = service({"cpu_us": 20.0}, calls=False)


def counts(workload: dict[str, Any], **changes: Any) -> list[int]:
    """The counted requests of the services: of 100 at the mean rate, the first tenth is warm-up."""
    return [row["completed"] for row in rows(workload, **changes).values()]


OWN = tree({"A": {**SHORT, "rate_rps": 10.0}, "B": {**SHORT, "rate_rps": 30.0}})
SHARED = tree(
    {
        "A": {**SHORT, "rate_rps": 10.0, "rate_share": 1.2},
        "B": {**SHORT, "rate_rps": 30.0, "rate_share": 0.8},
    }
)
#: Rates with the paper's costs, for which a workload may name a set.
NAMED = {
    **tree({"A": SHORT, "B": SHORT}, costs={"source": "paper"}, rates="steep"),
    "rates": {"steep": {"A": 9.0, "B": 1.0}, "mild": {"A": 2.0, "B": 3.0}},
}


@pytest.mark.parametrize(
    ("workload", "changes", "expected"),
    [
        (OWN, {}, [45, 135]),
        (OWN, {"rates": "equal"}, [90, 90]),
        (OWN, {"by_rate": False}, [90, 90]),
        (OWN, {"rate_rps": 100.0}, [45, 135]),
        (OWN, {"rates_rps": {"A": 7.0, "B": 3.0}}, [126, 54]),
        # A share is for rates that are set from outside.
        (SHARED, {}, [45, 135]),
        (SHARED, {"rate_rps": 100.0}, [108, 72]),
        (NAMED, {}, [162, 18]),
        (NAMED, {"rates": "mild"}, [72, 108]),
        (NAMED, {"rates": "equal"}, [90, 90]),
        (NAMED, {"rate_rps": 100.0}, [90, 90]),
        (OWN, {"requests": 200}, [90, 270]),
        (OWN, {"requests": 200, "warmup": 20}, [90, 270]),
        (OWN, {"requests": 200, "warmup": 100}, [50, 150]),
    ],
)
def test_requests_are_in_proportion_to_rates(
    workload: dict[str, Any], changes: dict[str, Any], expected: list[int]
) -> None:
    assert counts(workload, **changes) == expected


def arrivals_us(folder: Path, stated: dict[str, Any], requests: int, **fields: Any) -> list[float]:
    """When requests arrive at a service with the arrivals `stated`, from the first on."""
    workload = tree({"A": {**SHORT, "arrivals": stated, **fields}})
    del workload["defaults"]["rate_rps"]
    scenario = simulation.Scenario(
        workload=workload, orchestrators=["ideal"], requests=requests, slo_factor=None
    )
    simulation.write_spans(scenario, folder / "spans.json")
    starts = []
    for line in (folder / "spans.json").read_text().splitlines():
        (resource,) = json.loads(line)["resourceSpans"]
        spans = [span for scope in resource["scopeSpans"] for span in scope["spans"]]
        starts += [int(span["startTimeUnixNano"]) for span in spans if not span["parentSpanId"]]
    return [(start - min(starts)) / 1e3 for start in sorted(starts)]


def test_requests_arrive_at_the_stated_times(tmp_path: Path) -> None:
    times_us = [float(number**2) for number in range(100)]
    stated = {"process": "times", "times_us": times_us}
    assert arrivals_us(tmp_path, stated, 100) == times_us


def test_each_rate_holds_from_its_start(tmp_path: Path) -> None:
    rates = [[0.0, 1e5], [10_000.0, 0.0], [70_000.0, 5e4]]
    found = arrivals_us(tmp_path, {"process": "rates", "rates": rates}, 2_000)
    before = [time for time in found if time < 10_000.0]
    after = [time for time in found if time >= 10_000.0]
    assert len(before) == pytest.approx(1_000, rel=0.1)
    # The first request is less than 50 us after the start.
    assert min(after) == pytest.approx(70_000.0, abs=100.0)
    assert (max(after) - min(after)) / len(after) == pytest.approx(20.0, rel=0.1)


@pytest.mark.parametrize(
    ("states", "peak"), [([[0, 0.5], [2, 0.5]], 2), ([[0, 0.9], [10, 0.1]], 10)]
)
def test_a_modulated_rate_has_its_states_for_its_dwell(
    tmp_path: Path, states: list[list[float]], peak: float
) -> None:
    def gaps(dwell_us: float) -> list[float]:
        stated = {"process": "modulated", "states": states, "dwell_us": dwell_us}
        times = arrivals_us(tmp_path, stated, 800, rate_rps=100.0)
        return [after - before for before, after in pairwise(times)]

    slow, fast = gaps(1e6), gaps(100.0)
    # All requests arrive in the second state, or at the mean rate if states change at once.
    assert statistics.median(slow) == pytest.approx(math.log(2.0) * 1e4 / peak, rel=0.15)
    assert statistics.median(fast) == pytest.approx(math.log(2.0) * 1e4, rel=0.15)
    # A silence lasts a second on average, and longer if its state is drawn again.
    assert max(slow) > 3e5
    assert max(fast) < 2e5


def test_presets_are_different_processes(tmp_path: Path) -> None:
    found = {
        name: arrivals_us(tmp_path, {"process": "preset", "preset": name}, 200, rate_rps=1e3)
        for name in ("alibaba", "azure", "short_bursts")
    }
    found["poisson"] = arrivals_us(tmp_path, {"process": "poisson"}, 200, rate_rps=1e3)
    assert len({tuple(times) for times in found.values()}) == 4
    # Without arrivals of its own, a service has those of the defaults.
    scenario = simulation.Scenario(workload=OWN, arrivals="azure")
    assert simulation.hashed(scenario) != simulation.hashed(simulation.Scenario(workload=OWN))


LIMITS: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any], float]] = [
    # The service's field, the defaults', the scenario's, and the SLO: in us, or negative as a
    # multiple of the response time on an idle server.
    ({}, {}, {"slo_factor": 4.0}, -4.0),
    ({}, {"slo_factor": 3.0}, {"slo_factor": 4.0}, -3.0),
    ({"slo_factor": 2.0}, {"slo_factor": 3.0}, {"slo_factor": 4.0}, -2.0),
    ({"slo_us": 77.0}, {"slo_factor": 3.0}, {"slo_factor": 4.0}, 77.0),
    ({}, {"slo_us": 66.0}, {"slo_factor": 4.0}, 66.0),
    ({"slo_us": 77.0}, {"slo_us": 66.0}, {}, 77.0),
    ({"slo_factor": 2.0}, {"slo_us": 66.0}, {}, -2.0),
    ({"slo_us": 77.0}, {}, {"slo_us": {"A": 55.0}}, 55.0),
    ({"slo_factor": 2.0}, {}, {"slo_us": {"A": 55.0}}, 55.0),
]


@pytest.mark.parametrize(("own", "common", "scenario", "slo"), LIMITS)
def test_the_nearest_limit_is_the_slo(
    own: dict[str, Any], common: dict[str, Any], scenario: dict[str, Any], slo: float
) -> None:
    # B is as A is, and has the multiple 1.
    workload = tree({"A": {**SHORT, **own}, "B": {**SHORT, "slo_factor": 1.0}}, **common)
    found = {name: row["slo"]["us"] for name, row in rows(workload, **scenario).items()}
    # Both are placed on the chip anew, at other distances.
    assert found["A"] == pytest.approx(slo if slo > 0 else -slo * found["B"], rel=0.03)


def test_requests_past_their_slo_are_counted() -> None:
    idle = tree({"A": {**SHORT, "slo_us": 31.0}, "B": {**SHORT, "slo_us": 30.0}})
    found = {name: row["slo"] for name, row in rows(idle).items()}
    # 9 operations of 1 us, 20 us, and at most 2 us until a thread is awake.
    assert found["A"] == {"us": 31.0, "requests": 90, "missed": 0}
    assert found["B"] == {"us": 30.0, "requests": 90, "missed": 90}


def pair(
    call: dict[str, Any] | None = None, *, servers: bool = True, **defaults: Any
) -> dict[str, Any]:
    """Front, which calls Back by a chain with the fields `call`, on two servers or one."""
    chain = {"trace": "T9", "facts": {"T10": {"exception": 0, "compressed": 0}}, "calls": "Back"}
    places = ({"server": "a"}, {"server": "b"}) if servers else ({}, {})
    front = {
        "path": [RECEIVE, {"cpu_us": 20.0}, {**chain, **(call or {})}, ANSWER],
        "rate_rps": 1.0,
        **places[0],
    }
    found = tree({"Front": front, "Back": {**SHORT, **places[1]}}, **defaults)
    del found["defaults"]["rate_rps"]
    return found


SLOWER = {"network": {"log_normal": {"median_us": 12.0, "sigma": 0.0}}}
#: What a call says, and the defaults, and the time of its two messages.
NETWORKS: list[tuple[dict[str, Any], dict[str, Any], bool, float]] = [
    ({}, {}, True, 0.0),
    ({"network": constant(9.0)}, {}, True, 2 * 9.0),
    ({}, {"network": constant(7.0)}, True, 2 * 7.0),
    ({"network": constant(9.0)}, {"network": constant(7.0)}, True, 2 * 9.0),
    (SLOWER, {}, True, 2 * 12.0),
    ({"network": constant(9.0)}, {"network": constant(7.0)}, False, 0.0),
]


def test_messages_between_servers_take_the_nearest_time_of_the_network() -> None:
    times = [
        rows(pair(call, servers=servers, **defaults), placement="colocated")["Front"]["mean_us"]
        for call, defaults, servers, _ in NETWORKS
    ]
    added = [time - times[0] for time in times]
    assert added == pytest.approx([each[-1] for each in NETWORKS], abs=NEAR_US)


def test_a_request_does_not_wait_for_a_detached_call() -> None:
    waited, free = (
        rows(pair({"detached": detached}), placement="colocated") for detached in (False, True)
    )
    assert free["Back"]["called"]["completed"] == waited["Back"]["called"]["completed"] == 90
    # The answer's 5 operations and the called service's response time do not count.
    back_us = waited["Back"]["called"]["mean_us"]
    assert waited["Front"]["mean_us"] - free["Front"]["mean_us"] > back_us + 5.0
