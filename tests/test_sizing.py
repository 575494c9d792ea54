"""Sizing: the closed form by hand, the simulation against it, money, and refusals."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import accelflow
from accelflow import InputError, sizing
from accelflow.cli.size import size as command
from accelflow.reports.size import size_page
from accelflow.services import chain, cpu
from accelflow.sizing import terminal
from accelflow.sizing.closed import closed_form
from accelflow.sizing.plan import demands
from accelflow.sizing.queues import CoreQueues
from accelflow.sizing.simulated import Measured

PATH = [{"trace": "T1", "facts": {"T1": {"compressed": 0}}}, {"cpu_us": 1.0}, {"trace": "T2"}]
KINDS = ("Encr", "Decr", "RPC", "Ser", "Dser", "LdB", "Cmp", "Dcmp")
COSTS = {name: {"ns": 100.0} for name in KINDS}
COSTS |= {"source": "operations", "TCP": {"ns": 100.0, "relative_error": 0.1}}
EXAMPLE = Path(__file__).parents[1] / "examples/sizing/socialnetwork.toml"


def plan(**changes: object) -> sizing.Plan:
    """One short service, and prices that are easy to add up."""
    values = {
        "rates_rps": {"UniqId": 1_000_000.0},
        "systems": ("non_acc", "accelflow"),
        "slo_factor": 1000.0,
        "scenario": {"profile": "paper"},
        "server": sizing.Server(price=4_000.0, lifetime_years=4.0, rest_w=100.0, peak_w=300.0),
        "chip": sizing.Chip(price=400.0),
        "requests": 2_000,
        "seeds": 2,
    }
    return sizing.Plan(**{**values, **changes})


def answer(planned: sizing.Plan, *, simulate: bool = False) -> dict[str, dict[str, object]]:
    return {row["system"]: row for row in sizing.size(planned, simulate=simulate)["systems"]}


def core_ns(planned: sizing.Plan) -> float:
    (row,) = demands(planned, None)["services"]
    return row["app_ns"] + sum(of["core_ns"] for of in row["operations"].values())


@pytest.mark.parametrize(
    ("workload", "message"),
    [
        ({}, "workload: schema is left out: must be accelflow.workload/1"),
        ({"services": 3}, "workload: services = 3: must be a list of 1 to 1000 values"),
        ({"services": None}, "workload: services is left out: must be a list of 1 to 1000 values"),
        ({"services": [{}]}, "workload: services[0].name is left out: must be a string"),
        ({"services": [3]}, "workload: services[0] = 3: must be a table"),
        ({"services": [{"name": "A"}]}, "workload: services[0].path is left out: must be a list"),
        ({"defaults": 3, "services": []}, "workload: defaults = 3: must be a table"),
        ({"kinds": 3, "services": []}, "workload: kinds = 3: must be a table"),
    ],
)
@pytest.mark.parametrize("rates_rps", [{"A": 1000.0}, {}])
def test_a_plan_refuses_content_that_no_workload_may_have(
    workload: dict[str, Any], rates_rps: dict[str, float], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        sizing.Plan(workload=workload, rates_rps=rates_rps)
    assert str(caught.value).startswith(message)


def test_cores_limit_a_server_without_accelerators_at_the_utilization_law():
    planned = plan()
    found = answer(planned)["non_acc"]["closed_form"]
    cores = demands(planned, None)["cores"]
    # One message wakes a thread, and the request ends with a switch to another.
    kept_ns = core_ns(planned) + 1_000.0 + 500.0 + 1_000.0
    most_rps = 0.7 * cores / (kept_ns * 1e-9)
    assert found["binding"]["text"] == "cores"
    assert found["load_per_server_ratio"] == pytest.approx(most_rps / 1e6)
    assert found["fleet"]["servers"] == math.ceil(1e6 / most_rps)


def test_accelerometer_gives_the_cores_of_a_server_with_accelerators():
    planned = plan()
    form = answer(planned)["accelflow"]["closed_form"]
    (row,) = demands(planned, None)["services"]
    from accelflow.sizing.closed import overheads  # noqa: PLC0415

    over = overheads(planned, "accelflow")
    kept_ns = row["app_ns"] + over.of(row)
    cores = demands(planned, None)["cores"]
    rate_rps = 1e6 / form["fleet"]["servers"]
    assert form["utilization"]["cores"] == pytest.approx(rate_rps * kept_ns * 1e-9 / cores)


def test_simulation_agrees_with_the_utilization_law_without_accelerators():
    planned = plan(systems=("non_acc",), requests=20_000)
    row = answer(planned, simulate=True)["non_acc"]
    closed, simulated = row["closed_form"], row["simulated"]
    assert simulated["binding"]["text"] == "cores"
    ratio = simulated["load_per_server_ratio"] / closed["load_per_server_ratio"]
    assert ratio == pytest.approx(1.0, abs=0.05)


#: By system, the least and the most of the closed form over the simulation of an idle server. The
#: form leaves out movements of data, which RELIEF has most of.
NEAR = {
    "non_acc": (0.98, 1.03),
    "cpu_centric": (0.97, 1.10),
    "relief": (0.75, 1.10),
    "accelflow": (0.90, 1.02),
    "ideal": (0.91, 1.02),
}


def test_on_an_idle_server_closed_forms_are_near_the_simulation():
    names = accelflow.simulation.services("socialnetwork")
    planned = plan(rates_rps=dict.fromkeys(names, 1_000.0), systems=tuple(NEAR))
    needed = demands(planned, None)
    found = accelflow.compare(
        "socialnetwork",
        profile="paper",
        orchestrators=list(NEAR),
        placement="isolated",
        arrivals="poisson",
        rate_rps=50.0,
        requests=500,
    )
    ratios = {}
    for system, (least, most) in NEAR.items():
        form = closed_form(planned, system, needed, {})
        for service in found[system].services:
            ratios[system, service.service] = (
                form.serial_ns[service.service] * 1e-3 / service.latencies.mean_us
            )
            assert least <= ratios[system, service.service] <= most, ratios
    assert len(ratios) == 5 * 8


@pytest.mark.parametrize("half_bytes", [2_048, 65_536])
def test_capacities_count_that_speedups_depend_on_sizes(half_bytes: int):
    config = {"accelerator.speedup_half_bytes": half_bytes, "accelerator.pes": 1}
    planned = plan(
        systems=("accelflow",),
        scenario={"profile": "paper", "sizes": "fleet", "config": config},
        requests=500,
    )
    row = answer(planned, simulate=True)["accelflow"]
    loads = [row[kind]["load_per_server_ratio"] for kind in ("closed_form", "simulated")]
    assert row["closed_form"]["binding"]["text"] == "TCP elements"
    assert loads[0] / loads[1] == pytest.approx(1.0, abs=0.15)
    # With the mean speedup for every size, it would be this.
    assert loads[0] < 0.6 * 0.175


def test_response_times_are_infinite_while_any_resource_is_overloaded():
    planned = plan(systems=("relief",))
    form = closed_form(planned, "relief", demands(planned, None), {})
    busiest = max(form.utilization(1.0), key=form.utilization(1.0).__getitem__)
    assert busiest != "cores"
    full = 1.0 / form.utilization(1.0)[busiest]
    service = next(iter(form.rates_rps))
    for time_us in (form.mean_us, form.p99_us):
        assert 0.0 < time_us(service, 0.99 * full) < math.inf
        assert time_us(service, 1.01 * full) == math.inf


def test_a_fleet_with_chips_costs_as_much_as_one_without_at_the_break_even_price():
    before = answer(plan())
    worth = before["accelflow"]["closed_form"]["break_even_chip_price"]
    after = answer(plan(chip=sizing.Chip(price=worth)))
    costs = [after[name]["closed_form"]["fleet"]["cost_per_year"] for name in after]
    assert costs[0] == pytest.approx(costs[1])


def test_costs_add_price_overhead_and_electricity():
    planned = plan(
        systems=("non_acc",),
        limits=sizing.Limits(utilization_ratio=0.5, spare_servers=3),
        server=sizing.Server(
            price=4_000.0, lifetime_years=4.0, overhead_per_year=50.0, rest_w=100.0, peak_w=300.0
        ),
        electricity=sizing.Electricity(price_per_kwh=0.1, pue_ratio=1.5),
    )
    found = answer(planned)["non_acc"]["closed_form"]
    fleet = found["fleet"]
    watts = 100.0 + 200.0 * found["utilization"]["cores"]
    assert fleet["watts"] == pytest.approx(fleet["servers"] * watts)
    each = 1_000.0 + 50.0 + watts / 1e3 * 8_766.0 * 1.5 * 0.1
    assert fleet["cost_per_year"] == pytest.approx(fleet["servers"] * each)
    alone = answer(replace(planned, limits=sizing.Limits(utilization_ratio=0.5)))["non_acc"]
    assert fleet["servers"] == alone["closed_form"]["fleet"]["servers"] + 3


def test_the_text_has_each_number_apart_and_with_its_digits():
    planned = plan(
        rates_rps={"UniqId": 0.04},
        growth=sizing.Growth(per_year_ratio=0.025, years=2),
        limits=sizing.Limits(utilization_ratio=0.675, spare_servers=1_000_000),
    )
    said = terminal.text(sizing.size(planned, simulate=False))
    fleet = answer(planned)["non_acc"]["closed_form"]["fleet"]
    row = next(line for line in said.splitlines() if line.startswith("non_acc"))
    headroom, kilowatts, cost = row.split()[4:7]
    assert headroom == f"{fleet['headroom_ratio']:,.1%}"
    assert kilowatts == f"{fleet['watts'] / 1e3:,.2f}"
    assert cost == f"{fleet['cost_per_year']:,.0f}"
    assert "For 0.042 requests a second (0.04 today, +2.5% a year for 2 years)" in said
    assert "busy for more than 67.5% of the time" in " ".join(said.split())


def test_growth_multiplies_rates():
    planned = plan(growth=sizing.Growth(per_year_ratio=0.1, years=2.0))
    assert planned.needed_rps == {"UniqId": pytest.approx(1.21e6)}


def test_errors_of_costs_widen_the_interval_by_their_share_of_the_work():
    planned = plan(systems=("non_acc",), rates_rps={"UniqId": 1e8}, relative_error={"TCP": 0.1})
    found = answer(planned)["non_acc"]["closed_form"]["fleet"]
    (row,) = demands(planned, None)["services"]
    share = row["operations"]["TCP"]["core_ns"] / (core_ns(planned) + 2_500.0)
    # The capacity falls by 1 - 1 / (1 + e): the work that grew is in its denominator.
    half = 1.96 * (1.0 - 1.0 / (1.0 + 0.1 * share))
    load = answer(planned)["non_acc"]["closed_form"]["load_per_server_ratio"]
    assert found["servers_low"] == math.ceil(1.0 / (load * (1.0 + half)))
    assert found["servers_high"] == math.ceil(1.0 / (load * (1.0 - half)))
    assert found["servers_low"] < found["servers_high"]


def test_an_slo_below_the_idle_response_time_has_no_servers_and_says_by_how_much():
    planned = plan(systems=("accelflow",), p99_us={"UniqId": 1.0})
    for kind in ("closed_form", "simulated"):
        found = answer(planned, simulate=True)["accelflow"][kind]
        assert found["fleet"] is None
        assert found["binding"]["kind"] == "idle"
        assert found["binding"]["idle_us"] > found["binding"]["slo_us"] == 1.0


def test_an_slo_of_the_idle_response_time_is_kept_while_few_requests_wait():
    def servers(slo_factor: float) -> int:
        planned = plan(rates_rps={"CPost": 1e5}, systems=("accelflow",), slo_factor=slo_factor)
        (row,) = sizing.size(planned, simulate=False)["systems"]
        found: int = row["closed_form"]["fleet"]["servers"]
        return found

    # A P99 has no wait in it if less than 1 % of requests wait.
    assert 1 == servers(1.5) < servers(1.0) < 100


def test_a_system_without_a_closed_form_is_named_or_refused(tmp_path: Path):
    found = sizing.size(plan(systems=("cohort", "accelflow")), simulate=False)
    said = " ".join(terminal.text(found).split())
    assert "No answer for cohort, which has no closed form: leave out --quick" in said
    assert "Cohort has no closed form" in size_page(found, [], None).answer
    with pytest.raises(InputError, match=r"systems = \['cohort'\]: must include a system with"):
        sizing.size(plan(systems=("cohort",)), simulate=False)


def test_p99s_of_the_found_load_are_within_their_slos():
    planned = plan(
        systems=("accelflow",), slo_factor=2.0, limits=sizing.Limits(utilization_ratio=0.9)
    )
    found = answer(planned, simulate=True)["accelflow"]["simulated"]
    result = sizing.size(planned, simulate=False)
    assert found["p99_us"]["UniqId"] <= 1.1 * result["slo_us"]["UniqId"]


def test_answers_repeat_to_the_bit():
    planned = plan(systems=("accelflow",))
    assert answer(planned, simulate=True) == answer(planned, simulate=True)


def test_services_that_others_call_are_planned_for(tmp_path: Path):
    request = chain("T1", facts={"T1": {"compressed": 0}})
    call = chain("T9", facts={"T10": {"exception": 0, "compressed": 0}}, calls="Back", times=2)
    workload = accelflow.Workload(
        name="pair",
        services=[
            accelflow.Service(
                name="Front", rate_rps=1e6, path=[request, cpu(10.0), call, cpu(5.0), chain("T2")]
            ),
            accelflow.Service(name="Back", path=[request, cpu(100.0), chain("T2")]),
        ],
    )
    workload.write(tmp_path / "pair.toml")
    (tmp_path / "plan.toml").write_text(
        "schema = 'accelflow.plan/1'\nworkload = 'pair.toml'\nsystems = ['accelflow']\n"
        "slo_factor = 1000\nrequests = 4000\nseeds = 2\n"
    )
    planned = sizing.read_plan(tmp_path / "plan.toml")
    assert planned.rates_rps == {"Front": 1e6}
    form = sizing.closed.closed_form(planned, "accelflow", sizing.plan.demands(planned, None), {})
    assert form is not None
    assert form.rates_rps == {"Front": 1e6, "Back": 2e6}
    row = answer(planned, simulate=True)["accelflow"]
    closed, simulated = row["closed_form"], row["simulated"]
    assert closed["binding"]["text"] == simulated["binding"]["text"] == "cores"
    ratio = simulated["load_per_server_ratio"] / closed["load_per_server_ratio"]
    assert ratio == pytest.approx(1.0, abs=0.06)


def test_servers_of_a_workloads_own_are_refused(tmp_path: Path):
    path = [chain("T1", facts={"T1": {"compressed": 0}}), cpu(10.0), chain("T2")]
    service = accelflow.Service(name="Front", rate_rps=1e6, server="a", path=path)
    accelflow.Workload(name="pair", services=[service]).write(tmp_path / "pair.toml")
    (tmp_path / "plan.toml").write_text("schema = 'accelflow.plan/1'\nworkload = 'pair.toml'\n")
    with pytest.raises(InputError, match="server of Front = 'a': must be left out"):
        sizing.read_plan(tmp_path / "plan.toml")


def test_the_example_answers_in_closed_form():
    result = CliRunner().invoke(command, [str(EXAMPLE), "--quick", "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    servers = {row["system"]: row["closed_form"]["fleet"]["servers"] for row in found["systems"]}
    assert servers["accelflow"] < servers["relief"] < servers["non_acc"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("schema = 'accelflow.plan/9'", "schema = 'accelflow.plan/9': must be accelflow.plan/1"),
        ("rate_rps = {CPost = 1}", "key = 'rate_rps'"),
        (
            "rates_rps = {CPost = -1}",
            "rates_rps.CPost = -1: must be a number from 0.001 to 1,000,000,000,000",
        ),
        ("rates_rps = {CPots = 10}", "rates_rps: service = 'CPots': must be CPost, "),
        (
            "rates_rps = {CPots = 10}\np99_us = {CPost = 9}",
            "rates_rps: service = 'CPots': must be CPost, ",
        ),
        ("systems = ['accelflow', 'accelflow']", "must name each system once"),
        ("systems = ['relief', 'acelflow']", "systems[1] = 'acelflow': must be "),
        ("slo_factor = nan", "slo_factor = nan: must be a number"),
        ("p99_us = {Login = 5}", "p99_us: service = 'Login'"),
        ("limits = {utilization_ratio = 1.5}", "limits.utilization_ratio = 1.5: must be a number"),
        (
            "limits = {spare = 1}",
            "limits key = 'spare': must be utilization_ratio or spare_servers",
        ),
        (
            "chip = {fil = 'x.toml'}",
            "chip key = 'fil': must be file, price, rest_w",
        ),
        (
            "server = {rest_w = 100}",
            "server.peak_w is left out: must be given, since server.rest_w is given",
        ),
        (
            "scenario = {requests = 5}",
            "scenario.requests = 5: must be left out, since the plan sets",
        ),
        ("relative_error = {Tcp = 0.1}", "did you mean"),
        ("seeds = 1", "seeds = 1: must be a whole number from 2 to 100"),
        ("server = 3", "server = 3: must be a table"),
    ],
)
def test_a_wrong_plan_is_refused_by_name(tmp_path: Path, change: str, message: str):
    lines = {
        "schema": "schema = 'accelflow.plan/1'",
        "rates_rps": "rates_rps = {CPost = 100000}",
        change.split(" ", maxsplit=1)[0]: change,
    }
    path = tmp_path / "plan.toml"
    path.write_text("\n".join(lines.values()))
    with pytest.raises(InputError) as caught:
        sizing.read_plan(path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sizing.Limits(spare_servers=-5), r"limits.spare_servers = -5: must be a whole"),
        (lambda: sizing.Server(price=-12_000.0), r"server.price = -12000: must be a number from 0"),
        (lambda: sizing.Server(lifetime_years=0), r"server.lifetime_years = 0: must be a number"),
        (lambda: sizing.Electricity(pue_ratio=0.1), r"electricity.pue_ratio = 0.1: must be"),
        (lambda: sizing.Limits(utilization_ratio=5.0), r"limits.utilization_ratio = 5: must be"),
        (lambda: plan(rates_rps={"CPost": -1e5}), r"rates_rps.CPost = -1.*: must be a number"),
        (lambda: plan(rates_rps={}), r"rates_rps = .*: must be a table"),
        (lambda: plan(relative_error={"Nope": 0.1}), r"operation of relative_error = 'Nope'"),
        (lambda: plan(server={"price": 3.0}), r"server = .*: must be an object of sizing.Server"),
        (lambda: plan(seeds=1), r"seeds = 1: must be a whole number from 2 to 100"),
    ],
)
def test_plans_made_in_python_have_the_rules_of_files(
    make: Callable[[], object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_plans_made_in_python_take_any_form_of_workload(tmp_path: Path) -> None:
    tree = {
        "schema": "accelflow.workload/1",
        "name": "shop",
        "services": [{"name": "Cart", "rate_rps": 50.0, "path": PATH, "costs": COSTS}],
    }
    file = tmp_path / "shop.json"
    file.write_text(json.dumps(tree))
    found = [sizing.Plan(workload=given).rates_rps for given in (str(file), file, tree)]
    assert found == [{"Cart": 50.0}] * 3
    assert sizing.Plan(workload=file).relative_error == {"TCP": 0.1}
    written = tmp_path / "plan.toml"
    head = 'schema = "accelflow.plan/1"\nworkload = "shop.json"\n'
    written.write_text(head)
    assert sizing.read_plan(written) == sizing.Plan(workload=file)
    written.write_text(f"{head}rates_rps = {{}}\nrelative_error = {{}}\n")
    with pytest.raises(InputError, match=r"rates_rps = \{\}: must be a table with each service's"):
        sizing.read_plan(written)
    written.write_text(f"{head}relative_error = {{}}\n")
    assert sizing.read_plan(written).relative_error == {}


@pytest.mark.parametrize("content", [b"", b"\x00\xff", b"schema = ", b"[" * 100])
def test_a_file_that_is_no_plan_is_refused(tmp_path: Path, content: bytes):
    path = tmp_path / "plan.toml"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"plan\.toml"):
        sizing.read_plan(path)


@pytest.mark.parametrize("busy", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("variation", [0.0, 0.5, 1.0, 4.0])
def test_waits_of_random_arrivals_are_those_of_pollaczek_and_khinchine(
    busy: float, variation: float
) -> None:
    queues = CoreQueues(cores=8, balancing="random", visits=2.0, visit_variation=variation)
    waiting, length = queues.wait(busy)
    assert waiting == pytest.approx(busy)
    assert waiting * length == pytest.approx(busy * (1.0 + variation) / 2.0 / (1.0 - busy))


def test_equal_visits_that_come_in_turn_wait_less_than_drawn_ones() -> None:
    def mean(balancing: str, variation: float) -> float:
        queues = CoreQueues(cores=8, balancing=balancing, visits=2.0, visit_variation=variation)
        waiting, length = queues.wait(0.7)
        return waiting * length

    assert mean("round_robin", 0.0) < mean("round_robin", 1.0) < mean("random", 1.0)


def test_the_closed_form_is_near_the_simulation_where_short_services_wait_for_long_ones() -> None:
    planned = plan(
        rates_rps={"UniqId": 700_000.0, "CPost": 300_000.0},
        systems=("non_acc",),
        slo_factor=10.0,
        requests=4_000,
    )
    row = answer(planned, simulate=True)["non_acc"]
    closed, simulated = row["closed_form"], row["simulated"]
    assert closed["binding"]["text"] == simulated["binding"]["text"] == "P99 of UniqId"
    ratio = closed["load_per_server_ratio"] / simulated["load_per_server_ratio"]
    # Phases of a service differ in length, which the closed form leaves out.
    assert 1.0 <= ratio <= 1.5


def test_a_service_that_the_idle_server_never_answers_exceeds_its_limit_at_any_load() -> None:
    measured = Measured(
        utilization={"cores": 0.1},
        p99_us={"Login": None, "UniqId": 50.0},
        slo_us={"Login": None, "UniqId": 100.0},
        saturated=None,
        power_w=100.0,
        core_utilization=0.1,
        chip_utilization=0.1,
    )
    assert (measured.broken(0.8), measured.lateness) == (None, 0.5)
    never = replace(measured, unanswered=("Login",))
    broken = never.broken(0.8)
    assert broken is not None
    assert (broken.text, never.lateness) == ("P99 of Login", math.inf)


def test_a_requests_waits_add_up_to_their_quantile() -> None:
    queues = CoreQueues(cores=8, balancing="random", visits=1.0)
    for busy in (0.3, 0.7, 0.95):
        waiting, mean = queues.wait(busy)
        single = mean * max(0.0, math.log(waiting / 0.01))
        assert queues.quantile(busy, 1.0, 0.01) == pytest.approx(single)
        # A visit that always waits: the sum of two exponential times is beyond t by (1 + t) e^-t.
        two = queues.quantile(busy, 2.0, 0.01) / mean
        both = waiting**2 * (1 + two) + 2 * waiting * (1 - waiting)
        assert both * math.exp(-two) == pytest.approx(0.01)
        found = [queues.quantile(busy, visits, 0.01) for visits in (1.0, 1.5, 2.0, 500.0, 501.0)]
        assert found[:4] == sorted(found[:4])
        # Beyond, the sum is taken as normal.
        assert found[-1] == pytest.approx(found[-2], rel=0.03)
        assert queues.quantile(busy, 1e6, 0.01) == pytest.approx(1e6 * waiting * mean, rel=0.01)
    assert queues.quantile(0.005, 1.0, 0.01) == 0.0
    assert queues.quantile(0.0, 1e6, 0.01) == pytest.approx(0.0, abs=1e-9)
