"""Capacities of services whose chains repeat, wait, call others, or get no responses."""

from dataclasses import replace
from typing import Any

import pytest

from accelflow import chip, sizing
from accelflow.simulation import run
from accelflow.sizing.terminal import text

FIRST = {"trace": "T1", "facts": {"T1": {"compressed": 0}}}
CALL = {"trace": "T9", "facts": {"T10": {"exception": 0, "compressed": 0}}}
RETRY = {"odds": 0.8, "attempts": 5, "backoff_us": 10.0}


def service(*phases: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"name": "Buy", "path": [FIRST, *phases, {"trace": "T2"}], **fields}


def plan(*services: dict[str, Any], system: str = "accelflow", **fields: Any) -> sizing.Plan:
    workload = {
        "schema": "accelflow.workload/1",
        "name": "shop",
        "defaults": {"costs": {"source": "paper"}},
        "services": list(services),
    }
    return sizing.Plan(
        **{"workload": workload, "systems": (system,), "requests": 2_000, "seeds": 2, **fields}
    )


def answers(planned: sizing.Plan) -> tuple[dict[str, Any], dict[str, Any]]:
    (row,) = sizing.size(planned)["systems"]
    return row["closed_form"], row["simulated"]


def loads(planned: sizing.Plan) -> tuple[float, float]:
    closed, simulated = answers(planned)
    return closed["load_per_server_ratio"], simulated["load_per_server_ratio"]


def test_every_attempt_of_a_chain_takes_its_time() -> None:
    path = ({"cpu_us": 5.0}, {**CALL, "retry": RETRY}, {"cpu_us": 5.0})
    planned = plan(service(*path, rate_rps=1e6), system="non_acc", slo_factor=1000.0)
    closed, simulated = loads(planned)
    assert simulated == pytest.approx(closed, rel=0.1)


def test_every_attempt_calls_the_service() -> None:
    called = {"name": "Stock", "path": [FIRST, {"cpu_us": 50.0}, {"trace": "T2"}]}
    front = service({"cpu_us": 1.0}, {**CALL, "calls": "Stock", "retry": RETRY}, {"cpu_us": 1.0})
    planned = plan({**front, "rate_rps": 1e6}, called, system="non_acc", slo_factor=1000.0)
    attempts = 1 + 0.8 + 0.64 + 0.512 + 0.4096
    assert rates_rps(planned)["Stock"] == pytest.approx(1e6 * attempts)
    closed, simulated = loads(planned)
    assert simulated == pytest.approx(closed, rel=0.1)


def slos_us(planned: sizing.Plan) -> tuple[float, float]:
    """The SLO of Buy in closed form, and of the simulation: both from an idle server."""
    found = sizing.size(planned, simulate=False)["slo_us"]["Buy"]
    idle = planned.scenario_of(sizing.plan.small_share(planned), system="accelflow", seed=1)
    (row,) = [row for row in run(idle)["systems"][0]["services"] if row["service"] == "Buy"]
    return found, row["slo"]["us"]


def test_a_wait_and_a_call_at_once_take_the_longer_time() -> None:
    called = {"name": "Stock", "path": [FIRST, {"cpu_us": 1000.0}, {"trace": "T2"}]}
    wait = {**CALL, "waits": {"T10": {"constant_us": 1000.0}}}
    both = {"parallel": [wait, {**CALL, "calls": "Stock"}]}
    front = service({"cpu_us": 1.0}, both, {"cpu_us": 1.0}, rate_rps=1e3)
    closed, simulated = slos_us(plan(front, called))
    assert closed == pytest.approx(simulated, rel=0.05)


@pytest.mark.parametrize("system", ["non_acc", "accelflow"])
def test_waits_for_cores_in_called_services_count(system: str) -> None:
    work = [{"cpu_us": 100.0}, CALL, {"cpu_us": 100.0}, CALL, {"cpu_us": 100.0}]
    called = {"name": "Stock", "slo_us": 1e6, "path": [FIRST, *work, {"trace": "T2"}]}
    call = {**CALL, "calls": "Stock"}
    front = service({"cpu_us": 100.0}, call, {"cpu_us": 100.0}, rate_rps=1e5)
    limits = sizing.Limits(utilization_ratio=0.95)
    planned = plan(
        front,
        called,
        system=system,
        slo_factor=4.0,
        requests=20_000,
        limits=limits,
        scenario={"config": {"core.count": 4.0}},
    )
    closed, simulated = answers(planned)
    assert closed["binding"]["text"] == simulated["binding"]["text"] == "P99 of Buy"
    ratio = closed["load_per_server_ratio"] / simulated["load_per_server_ratio"]
    assert ratio == pytest.approx(1.0, abs=0.15)


NINE = ("TCP", "Encr", "Decr", "RPC", "Ser", "Dser", "Cmp", "Dcmp", "LdB")


@pytest.mark.parametrize("absent", [("pes.TCP",), ("output_entries.Ser",), ("instances.Encr",)])
def test_a_trace_goes_on_a_core_from_an_absent_accelerator(absent: tuple[str, ...]) -> None:
    small = {"sizes": {"fixed_bytes": 400}}
    front = service({"cpu_us": 1.0}, CALL, {"cpu_us": 1.0}, rate_rps=1e3, **small)
    whole, _ = slos_us(plan(front))
    closed, simulated = slos_us(plan(front, scenario={"config": dict.fromkeys(absent, 0.0)}))
    assert closed > 1.5 * whole
    assert closed == pytest.approx(simulated, rel=0.06)


@pytest.mark.parametrize("system", ["cpu_centric", "relief", "accelflow"])
@pytest.mark.parametrize("absent", [("RPC",), ("Ser",), NINE])
def test_capacities_count_what_cores_do_for_absent_accelerators(
    system: str, absent: tuple[str, ...]
) -> None:
    front = service({"cpu_us": 5.0}, rate_rps=1e6, sizes={"fixed_bytes": 400})
    config = {f"instances.{name}": 0.0 for name in absent}
    planned = plan(front, system=system, slo_factor=1000.0, scenario={"config": config})
    closed, simulated = loads(planned)
    assert closed == pytest.approx(simulated, rel=0.15)


def test_the_slo_is_that_of_the_workloads_file_unless_the_plan_has_one() -> None:
    small = {"sizes": {"fixed_bytes": 400}}
    path = [FIRST, {"cpu_us": 9.0}, {"trace": "T2"}]
    called = {"name": "Stock", "slo_us": 321.0, "path": path, **small}
    call = {**CALL, "calls": "Stock"}
    front = service({"cpu_us": 1.0}, call, {"cpu_us": 1.0}, rate_rps=1e3, slo_factor=7.0, **small)

    def found(**fields: Any) -> dict[str, float]:
        slos: dict[str, float] = sizing.size(plan(front, called, **fields), simulate=False)[
            "slo_us"
        ]
        return slos

    assert found()["Stock"] == pytest.approx(321.0)
    assert found()["Buy"] == pytest.approx(found(slo_factor=2.0)["Buy"])
    assert found(p99_us={"Stock": 55.0, "Buy": 66.0}) == {"Stock": 55.0, "Buy": 66.0}
    closed, simulated = slos_us(plan(front, called))
    assert closed == pytest.approx(simulated, rel=0.05)


def test_the_answer_states_the_growth_of_the_rates() -> None:
    growing = plan(service(rate_rps=1e6), growth=sizing.Growth(per_year_ratio=0.2, years=2.0))
    said = " ".join(text(sizing.size(growing, simulate=False)).split())
    assert "1,440,000 requests a second (1,000,000 today, +20% a year for 2 years)" in said


def test_drawn_waits_count_with_their_mean() -> None:
    wait = {**CALL, "waits": {"T10": {"log_normal": {"median_us": 100.0, "sigma": 1.3}}}}
    planned = plan(service({"cpu_us": 1.0}, wait, {"cpu_us": 1.0}, rate_rps=1e3), requests=20_000)
    closed, simulated = slos_us(planned)
    assert closed == pytest.approx(simulated, rel=0.15)


def test_cores_that_poll_are_no_limit() -> None:
    config = {"core.notification": "polling"}
    simple = service({"cpu_us": 5.0}, rate_rps=1e6)
    _, polling = answers(plan(simple, scenario={"config": config}))
    _, waiting = answers(plan(simple))
    assert polling["fleet"]["servers"] <= 2 * waiting["fleet"]["servers"]


@pytest.mark.parametrize("slo_factor", [50.0, 1000.0])
@pytest.mark.parametrize(("cores", "servers"), [(1.0, 286), (36.0, 8)])
@pytest.mark.parametrize("system", ["cohort", "accelflow"])
def test_a_guess_that_is_far_too_high_is_lowered(
    system: str, cores: float, servers: int, slo_factor: float
) -> None:
    # A core serves 5 requests a second, and 3.5 when it is busy for 70 % of the time.
    slow = service({"cpu_us": 200_000.0}, rate_rps=1_000.0)
    config = {"core.count": cores}
    planned = plan(slow, system=system, slo_factor=slo_factor, requests=100)
    _, simulated = answers(replace(planned, scenario={"config": config}))
    assert simulated["fleet"]["servers"] == pytest.approx(servers, rel=0.35)


def test_a_service_that_answers_half_of_its_requests_has_no_capacity() -> None:
    waits = {"T10": {"histogram_us": [[10.0, 1], [200.0, 1]]}}
    half = service({"cpu_us": 1.0}, {**CALL, "waits": waits}, {"cpu_us": 1.0}, rate_rps=1e3)
    planned = plan(half, slo_factor=50.0, scenario={"config": {"tcp.timeout_us": 100.0}})
    _, simulated = answers(planned)
    assert simulated["fleet"] is None
    assert simulated["binding"]["text"] == "P99 of Buy"


def test_services_without_application_time_have_an_ideal_system() -> None:
    bare = service(rate_rps=1e6)
    closed, _ = answers(plan(bare, system="ideal"))
    assert closed["load_per_server_ratio"] > 0


def test_the_power_is_that_of_the_chip() -> None:
    config = {"core.count": 8.0}
    simple = service({"cpu_us": 50.0}, rate_rps=1e5)
    planned = plan(simple, system="non_acc", scenario={"config": config})
    closed, simulated = answers(planned)
    most = chip.power(sizes=chip.sizes(config))["baseline_max_w"]
    for answer in (closed, simulated):
        fleet = answer["fleet"]
        assert 0.2 * most < fleet["watts"] / fleet["servers"] < most


@pytest.mark.parametrize("system", ["relief", "accelflow"])
def test_both_answers_count_the_leakage_of_accelerators(system: str) -> None:
    simple = service({"cpu_us": 50.0}, rate_rps=1e5)
    model = chip.power()
    inputs = {row["name"]: row["value"] for row in model["inputs"]}
    rest = inputs["server_idle_share"] * model["baseline_max_w"]
    leakage = inputs["leakage_share"] * model["accelerators_max_w"]
    for answer in answers(plan(simple, system=system)):
        fleet, cores = answer["fleet"], answer["utilization"]["cores"]
        without_chip = rest + (model["baseline_max_w"] - rest) * cores
        assert fleet["watts"] / fleet["servers"] > without_chip + leakage


def test_long_names_of_systems_have_room() -> None:
    simple = service({"cpu_us": 5.0}, rate_rps=1e4)
    shown = text(sizing.size(plan(simple, system="per_acc_type_q", requests=200)))
    assert "per_acc_type_q simulated" in shown


def cached(hit: float, **fields: Any) -> dict[str, Any]:
    """A read through a cache, which has the item with the probability `hit`."""
    facts = {
        "T5": {"hit": 1, "compressed": 0},
        "T6": {"found": 1, "compressed": 0, "c_compressed": 0},
        "T7": {"exception": 0},
    }
    return {"trace": "T4", "facts": facts, "odds": {"T5": {"hit": hit}}, **fields}


def rates_rps(planned: sizing.Plan) -> dict[str, float]:
    form = sizing.closed.closed_form(planned, "accelflow", sizing.plan.demands(planned, None), {})
    assert form is not None
    return dict(form.rates_rps)


SMALL = {"sizes": {"fixed_bytes": 400}}


@pytest.mark.parametrize("hit", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("system", ["non_acc", "accelflow"])
def test_operations_behind_a_branch_count_with_its_odds(system: str, hit: float) -> None:
    front = service({"cpu_us": 1.0}, cached(hit), {"cpu_us": 1.0}, rate_rps=1e6, **SMALL)
    planned = plan(front, system=system, slo_factor=1000.0)
    closed, simulated = loads(planned)
    assert simulated == pytest.approx(closed, rel=0.06)


def test_the_answers_to_a_chain_come_as_often_as_its_branches_wait() -> None:
    called = {"name": "Stock", "path": [FIRST, {"cpu_us": 50.0}, {"trace": "T2"}]}
    front = service({"cpu_us": 1.0}, cached(0.9, calls="Stock"), {"cpu_us": 1.0}, rate_rps=1e6)
    planned = plan(front, called)
    # The cache answers each request. After a miss, the database does, and then the cache's write.
    assert rates_rps(planned)["Stock"] == pytest.approx(1.2e6)
    idle = planned.scenario_of(sizing.plan.small_share(planned), system="accelflow", seed=1)
    rows = {row["service"]: row for row in run(idle)["systems"][0]["services"]}
    calls = rows["Stock"]["called"]["completed"] / rows["Buy"]["completed"]
    assert calls == pytest.approx(1.2, rel=0.05)


@pytest.mark.parametrize("system", ["non_acc", "accelflow"])
def test_requests_answered_with_an_error_have_no_later_phases(system: str) -> None:
    failing = {**CALL, "odds": {"T10": {"exception": 0.75}}}
    front = service({"cpu_us": 1.0}, failing, {"cpu_us": 400.0}, rate_rps=1e6, **SMALL)
    planned = plan(front, system=system, slo_factor=1000.0)
    (row,) = sizing.plan.demands(planned, None)["services"]
    assert row["app_ns"] == pytest.approx(1_000.0 + 0.25 * 400_000.0)
    closed, simulated = loads(planned)
    assert simulated == pytest.approx(closed, rel=0.06)


def test_a_chain_that_gives_up_ends_the_path() -> None:
    repeated = {**CALL, "retry": {"odds": 0.5, "attempts": 2, "backoff_us": 10.0}}
    front = service({"cpu_us": 1.0}, repeated, {"cpu_us": 400.0}, rate_rps=1e6, **SMALL)
    planned = plan(front, slo_factor=1000.0)
    (row,) = sizing.plan.demands(planned, None)["services"]
    assert row["app_ns"] == pytest.approx(1_000.0 + 0.75 * 400_000.0)
    closed, simulated = loads(planned)
    assert simulated == pytest.approx(closed, rel=0.06)


@pytest.mark.parametrize("system", ["non_acc", "cpu_centric", "relief", "accelflow", "ideal"])
def test_a_core_switches_to_the_request_for_each_further_attempt(system: str) -> None:
    # Every request makes five attempts and gives up.
    failing = {**CALL, "retry": {"odds": 1.0, "attempts": 5, "backoff_us": 10.0}}
    front = service({"cpu_us": 1.0}, failing, {"cpu_us": 400.0}, rate_rps=1e6, **SMALL)
    planned = plan(front, system=system)
    (row,) = run(planned.scenario_of(0.02, system=system, seed=1))["systems"][0]["services"]
    demands = sizing.plan.demands(planned, None)
    form = sizing.closed.closed_form(planned, system, demands, {})
    assert form is not None
    closed = form.utilization(row["offered_rps"] / 1e6)["cores"]
    assert closed == pytest.approx(row["core_utilization"], rel=0.03)


def test_interrupts_of_operations_waits_and_ends_take_what_the_simulated_cores_take() -> None:
    front = service({"cpu_us": 5.0}, CALL, {"cpu_us": 5.0}, rate_rps=1e6, **SMALL)
    planned = plan(front, system="cpu_centric")
    asked = planned.scenario_of(0.05, system="cpu_centric", seed=1)
    (row,) = run(asked)["systems"][0]["services"]
    demands = sizing.plan.demands(planned, None)
    form = sizing.closed.closed_form(planned, "cpu_centric", demands, {})
    assert form is not None
    closed = form.utilization(row["offered_rps"] / 1e6)["cores"]
    assert closed == pytest.approx(row["core_utilization"], rel=0.01)
