"""Fields of a workload's services and chains: what each adds to a response time, by hand.

Requests are far apart, sizes and times are fixed, and nothing runs on an accelerator. So response
times are sums, and a field that is ignored, misread or taken from a neighbour changes the sum.
"""

from typing import Any

import pytest

from accelflow import simulation

OPERATIONS = ("TCP", "Encr", "Decr", "RPC", "Ser", "Dser", "Cmp", "Dcmp", "LdB")
#: A microsecond for each operation.
COSTS: dict[str, Any] = {"source": "operations", **{name: {"ns": 1000.0} for name in OPERATIONS}}

RECEIVE = {"trace": "T1", "facts": {"T1": {"compressed": 0}}}
CALL = {
    "trace": "T9",
    "facts": {"T10": {"exception": 0, "compressed": 0}},
    "waits": {"T10": {"constant_us": 50.0}},
}
ANSWER = {"trace": "T2"}

#: How far the sums may be off: now and then a core is still awake, which saves a microsecond.
NEAR_US = 0.05
#: A phase of application logic that follows another begins with a switch to it.
SWITCH_US = 1.0


def constant(us: float) -> dict[str, float]:
    return {"constant_us": us}


def service(
    *phases: Any, call: dict[str, Any] | None = None, calls: bool = True, **changes: Any
) -> dict[str, Any]:
    """A service that computes for 20 us, calls, and answers; or with other `phases`."""
    own = [{"cpu_us": 20.0}, {**CALL, **(call or {})}] if calls else []
    return {"path": [RECEIVE, *own, *phases, ANSWER], **changes}


def tree(services: dict[str, dict[str, Any]], **defaults: Any) -> dict[str, Any]:
    """A workload of `services` by name, each with a request a second."""
    return {
        "schema": "accelflow.workload/1",
        "name": "fields",
        "defaults": {"sizes": {"fixed_bytes": 1000}, "costs": COSTS, "rate_rps": 1.0, **defaults},
        "services": [{"name": name, **fields} for name, fields in services.items()],
    }


def rows(workload: dict[str, Any], **changes: Any) -> dict[str, dict[str, Any]]:
    """The results of each service on a server of its own, without accelerators."""
    settings: dict[str, Any] = {
        "orchestrators": ["non_acc"],
        "placement": "isolated",
        "requests": 100,
        "slo_factor": None,
        **changes,
    }
    found = simulation.run(simulation.Scenario(workload=workload, **settings), threads=1)
    return {row["service"]: row for row in found["systems"][0]["services"]}


def means(services: dict[str, dict[str, Any]], **defaults: Any) -> dict[str, float]:
    return {name: row["mean_us"] for name, row in rows(tree(services, **defaults)).items()}


def costing(**costs: dict[str, float]) -> dict[str, Any]:
    return {**COSTS, **costs}


#: A byte of a message costs a sender a nanosecond, and a receiver ten.
BY_BYTE = costing(Ser={"ns": 1000.0, "ns_per_byte": 1.0}, Dser={"ns": 1000.0, "ns_per_byte": 10.0})
BYTES = {"fixed_bytes": 3000}
OF_T10 = {"T10": constant(90.0)}
COMPRESSED = {"T10": {"exception": 0, "compressed": 1}}


def waiting(**waits: Any) -> dict[str, Any]:
    return {"waits": waits}


#: Each change of the service, and the microseconds that it adds.
CHANGES: dict[str, tuple[dict[str, Any], float]] = {
    # T1, T9, T10 and T2 have four messages: two are received, two are sent.
    "TCP": (service(costs=costing(TCP={"ns": 2000.0})), 4 * 1.0),
    "Encr": (service(costs=costing(Encr={"ns": 4000.0})), 2 * 3.0),
    "Cmp-without": (service(costs=costing(Cmp={"ns": 9000.0}, Dcmp={"ns": 9000.0})), 0.0),
    "Dcmp": (
        service(call={"facts": COMPRESSED}, costs=costing(Dcmp={"ns": 9000.0})),
        9.0,
    ),
    "bytes": (service(costs=BY_BYTE), 2 * (1.0 + 10.0)),
    "sizes": (service(costs=BY_BYTE, sizes=BYTES), 2 * 3 * (1.0 + 10.0)),
    "sizes-of-chain": (service(costs=BY_BYTE, call={"sizes": BYTES}), (1 + 3) * 11.0),
    "sizes-by-message": (
        service(costs=BY_BYTE, call={"sizes": [BYTES, {"fixed_bytes": 5000}]}),
        (1.0 + 3.0) + (10.0 + 50.0),
    ),
    "sizes-nearest": (
        service(costs=BY_BYTE, sizes={"fixed_bytes": 2000}, call={"sizes": BYTES}),
        (2 + 3) * 11.0,
    ),
    "sizes-quantiles": (
        service(costs=BY_BYTE, sizes={"quantiles": [[0, 7000], [1, 7000]]}),
        2 * 7 * 11.0,
    ),
    "sizes-counted": (
        service(costs=BY_BYTE, sizes={"histogram": [[6000, 2]]}),
        2 * 6 * 11.0,
    ),
    "sizes-log-normal": (
        service(costs=BY_BYTE, sizes={"log_normal": {"median_bytes": 4000, "sigma": 0.0}}),
        2 * 4 * 11.0,
    ),
    "waits": (service(call=waiting(T10=constant(70.0))), 20.0),
    "waits-other": (service(call=waiting(other=constant(75.0))), 25.0),
    "waits-own-before-other": (
        service(call=waiting(T10=constant(70.0), other=constant(99.0))),
        20.0,
    ),
    "waits-of-service": (service(call=waiting(), waits=OF_T10), 40.0),
    "waits-nearest": (service(waits=OF_T10), 0.0),
    "waits-of-another-trace": (service(call=waiting(T5=constant(9.0)), waits=OF_T10), 40.0),
    "waits-of-defaults": (service(call=waiting()), 10.0),
    "waits-log-normal": (
        service(call=waiting(T10={"log_normal": {"median_us": 70.0, "sigma": 0.0}})),
        20.0,
    ),
    "waits-quantiles": (service(call=waiting(T10={"quantiles_us": [[0, 80.0], [1, 80.0]]})), 30.0),
    "waits-counted": (service(call=waiting(T10={"histogram_us": [[65.0, 4]]})), 15.0),
    "facts": (service(call={"facts": COMPRESSED}), 1.0),
    "odds-before-facts": (
        service(call={"facts": COMPRESSED, "odds": {"T10": {"compressed": 0.0}}}),
        0.0,
    ),
    # The waits of three chains overlap. The core handles their answers in turn: 5 operations each,
    # and a switch to them.
    "times": (service(call={"times": 3}), 2 * (5 * 1.0 + SWITCH_US)),
    "cpu_us": (service({"cpu_us": 7.0}), 7.0),
    "cpu-constant": (service({"cpu": constant(8.0)}), 8.0),
    "cpu-log-normal": (service({"cpu": {"log_normal": {"median_us": 9.0, "sigma": 0.0}}}), 9.0),
    "cpu-quantiles": (service({"cpu": {"quantiles_us": [[0, 11.0], [1, 11.0]]}}), 11.0),
    "cpu-counted": (service({"cpu": {"histogram_us": [[12.0, 1]]}}), 12.0),
    "app_us": (service({"cpu": True}, app_us=13.0), 13.0),
    "app_us-of-others": (service({"cpu_us": 7.0}, app_us=13.0), 7.0),
    "app_us-in-parts": (service({"cpu": True}, CALL, {"cpu": True}, app_us=14.0), 14.0 + 60.0),
}


@pytest.fixture(scope="module")
def found() -> dict[str, float]:
    """The mean response time of each changed service, and of the unchanged one."""
    services = {name: changed for name, (changed, _) in CHANGES.items()}
    return means({"base": service(), **services}, waits={"T10": constant(60.0)})


@pytest.mark.parametrize("name", CHANGES)
def test_a_field_of_a_service_adds_its_time(found: dict[str, float], name: str) -> None:
    assert found[name] - found["base"] == pytest.approx(CHANGES[name][1], abs=NEAR_US)


def test_each_further_attempt_takes_its_pause_and_its_time() -> None:
    def retried(odds: float, attempts: int, backoff_us: float) -> dict[str, Any]:
        retry = {"odds": odds, "attempts": attempts, "backoff_us": backoff_us}
        return service(call={"retry": retry})

    always = 1.0 - 1e-9
    found = means(
        {
            "once": retried(1e-9, 3, 100.0),
            "two": retried(always, 2, 100.0),
            "three": retried(always, 3, 100.0),
            "pause": retried(always, 2, 300.0),
            "base": service(),
        }
    )
    assert found["once"] == pytest.approx(found["base"], abs=NEAR_US)
    # An attempt is 9 operations, a wait of 50 us, and two switches: to the answer, and back.
    attempt_us = 9 * 1.0 + 50.0 + 2 * SWITCH_US
    assert found["three"] - found["two"] == pytest.approx(100.0 + attempt_us, abs=NEAR_US)
    assert found["pause"] - found["two"] == pytest.approx(200.0, abs=NEAR_US)
