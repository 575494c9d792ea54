"""Fields of plans: prices, watts, limits, growth and errors, with the answers computed by hand."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from accelflow import InputError, sizing
from accelflow.sizing import terminal

#: Without accelerators a request keeps a core for 1 us for each operation, 20 us of application
#: logic and 2.5 us: a thread is woken, and two switches. T1 has 5 operations, T2 has 4.
REQUEST_NS = 20_000.0 + 9 * 1_000.0 + 2_500.0
CORES = 36
RATE_RPS = 1e7
#: Hours in a year of 365.25 days.
HOURS = 8_766.0

WORKLOAD = """
schema = "accelflow.workload/1"
name = "own"
[defaults]
sizes = { fixed_bytes = 1000 }
[defaults.costs]
source = "operations"
TCP = { ns = 1000 }
Encr = { ns = 1000 }
Decr = { ns = 1000 }
RPC = { ns = 1000 }
Ser = { ns = 1000 }
Dser = { ns = 1000 }
LdB = { ns = 1000 }
[[services]]
name = "A"
rate_rps = 1e7
path = [{ trace = "T1", facts = { T1 = { compressed = 0 } } }, { cpu_us = 20 }, { trace = "T2" }]
"""

PLAN = """
schema = "accelflow.plan/1"
workload = "own.toml"
slo_factor = 1000
systems = ["non_acc", "accelflow"]
"""


def answer(
    folder: Path, plan: str, workload: str = WORKLOAD, *, simulate: bool = False
) -> dict[str, Any]:
    (folder / "own.toml").write_text(workload)
    (folder / "plan.toml").write_text(PLAN + plan)
    return sizing.size(sizing.read_plan(folder / "plan.toml"), simulate=simulate)


def systems(folder: Path, plan: str, workload: str = WORKLOAD) -> dict[str, dict[str, Any]]:
    """The closed form of each system."""
    return {row["system"]: row["closed_form"] for row in answer(folder, plan, workload)["systems"]}


def fleets(folder: Path, plan: str, workload: str = WORKLOAD) -> dict[str, dict[str, Any]]:
    return {name: form["fleet"] for name, form in systems(folder, plan, workload).items()}


def servers(
    *, limit: float = 0.7, rate_rps: float = RATE_RPS, request_ns: float = REQUEST_NS
) -> int:
    """Servers without accelerators, by the utilisation law of their cores."""
    return math.ceil(rate_rps * request_ns * 1e-9 / (CORES * limit))


#: Parts of a plan, and the servers without accelerators that they need.
SERVERS = {
    "": servers(),
    "limits = { utilization_ratio = 0.35 }": servers(limit=0.35),
    "limits = { spare_servers = 4 }": servers() + 4,
    "limits = { utilization_ratio = 0.5, spare_servers = 2 }": servers(limit=0.5) + 2,
    "growth = { per_year_ratio = 0.5, years = 3 }": servers(rate_rps=RATE_RPS * 1.5**3),
    "growth = { per_year_ratio = 3, years = 0.5 }": servers(rate_rps=RATE_RPS * 2.0),
    "rates_rps = { A = 3e7 }": servers(rate_rps=3e7),
}


@pytest.mark.parametrize("part", SERVERS)
def test_servers_follow_from_the_utilisation_of_their_cores(tmp_path: Path, part: str) -> None:
    assert fleets(tmp_path, part)["non_acc"]["servers"] == SERVERS[part]


def test_headroom_is_that_of_the_servers_at_work(tmp_path: Path) -> None:
    found = fleets(tmp_path, "limits = { utilization_ratio = 0.5, spare_servers = 2 }")["non_acc"]
    most_rps = servers(limit=0.5) * CORES * 0.5 / (REQUEST_NS * 1e-9)
    assert found["headroom_ratio"] == pytest.approx(most_rps / RATE_RPS - 1.0)


MONEY = """
[limits]
spare_servers = 1
[server]
price = 7000
lifetime_years = 3.5
overhead_per_year = 130
rest_w = 110
peak_w = 310
[chip]
price = 1400
rest_w = 11
peak_w = 71
[electricity]
price_per_kwh = 0.25
pue_ratio = 1.6
"""


def test_watts_and_money_add_up(tmp_path: Path) -> None:
    found = systems(tmp_path, MONEY)
    chip = {"non_acc": (0.0, 0.0, 0.0), "accelflow": (1400.0, 11.0, 60.0)}
    for name, (price, rest_w, more_w) in chip.items():
        form = found[name]
        fleet, busy = form["fleet"], form["utilization"]
        elements = sum(share for part, share in busy.items() if part.endswith("elements")) / 9
        # A spare server works as the others do.
        watts = 110.0 + 200.0 * busy["cores"] + rest_w + more_w * elements
        assert fleet["watts"] == pytest.approx(fleet["servers"] * watts)
        energy = watts / 1e3 * HOURS * 1.6 * 0.25
        cost = (7000.0 + price) / 3.5 + 130.0 + energy
        assert fleet["cost_per_year"] == pytest.approx(fleet["servers"] * cost)
    needed = servers() + 1
    share = RATE_RPS * REQUEST_NS * 1e-9 / CORES
    assert found["non_acc"]["fleet"]["servers"] == needed
    assert found["non_acc"]["utilization"]["cores"] == pytest.approx(share / needed)


def test_a_chip_is_worth_what_its_servers_save(tmp_path: Path) -> None:
    found = systems(tmp_path, MONEY)
    without, fleet = (found[name]["fleet"] for name in ("non_acc", "accelflow"))
    saved = without["cost_per_year"] - fleet["cost_per_year"]
    price = 1400.0 + saved / fleet["servers"] * 3.5
    assert found["accelflow"]["break_even_chip_price"] == pytest.approx(price)


def test_a_plan_may_name_a_chip_and_change_its_parameters(tmp_path: Path) -> None:
    (tmp_path / "few.toml").write_text('name = "few"\n[pes]\nTCP = 1\n')
    slow = WORKLOAD.replace("TCP = { ns = 1000 }", "TCP = { ns = 9000 }")

    def load(part: str) -> float:
        form = systems(tmp_path, part, slow)["accelflow"]
        assert form["binding"]["text"] == "TCP elements"
        return float(form["load_per_server_ratio"])

    few = load("chip = { file = 'few.toml' }\n")
    # Two operations of 9 us, 3.5 times as fast on the only element.
    assert few == pytest.approx(0.7 / (2 * 9e-6 / 3.5 * RATE_RPS))
    assert load("scenario.config.pes.TCP = 1\n") == few
    for key in ("pes.TCP", "accelerator.TCP.pes"):
        part = f"chip.file = 'few.toml'\nscenario.config.{key} = 2\n"
        assert load(part) == pytest.approx(2 * few)


def test_the_limit_of_a_service_is_its_own_or_a_multiple_of_its_idle_time(tmp_path: Path) -> None:
    def limits(text: str) -> dict[str, float]:
        (tmp_path / "own.toml").write_text(WORKLOAD + _more("B"))
        (tmp_path / "plan.toml").write_text(PLAN.replace("slo_factor = 1000", text))
        plan = sizing.read_plan(tmp_path / "plan.toml")
        return dict(sizing.size(plan, simulate=False)["slo_us"])

    once = limits("slo_factor = 1")
    assert once["A"] == once["B"]
    assert limits("slo_factor = 7") == pytest.approx({name: 7 * us for name, us in once.items()})
    own = limits("slo_factor = 7\np99_us = { B = 123.5 }")
    assert own == pytest.approx({"A": 7 * once["A"], "B": 123.5})
    assert limits("") == pytest.approx({name: 5 * us for name, us in once.items()})


def _more(name: str, rate: str = "rate_rps = 1e7") -> str:
    """Another service like A."""
    of_a = WORKLOAD[WORKLOAD.index("[[services]]") :]
    return of_a.replace('"A"', f'"{name}"').replace("rate_rps = 1e7", rate)


KIND = """
[[traces]]
source = \"\"\"
kind Own
trace own:
    TCP Own LdB
\"\"\"
[kinds.Own]
ns = 10_000
ns_per_byte = 5
"""
#: The request has 6 operations of 1 us, and 15 us of the custom accelerator for 1,000 bytes.
WITH_KIND = (
    WORKLOAD.replace('{ trace = "T1", facts = { T1 = { compressed = 0 } } }', '{ trace = "own" }')
    + KIND
)
KIND_REQUEST_NS = 20_000.0 + 6 * 1_000.0 + 15_000.0 + 2_500.0


def interval(errors_ns: list[float], request_ns: float) -> tuple[int, int]:
    """The 95 % interval of servers without accelerators, if costs are off by `errors_ns`."""
    load = CORES * 0.7 / (RATE_RPS * request_ns * 1e-9)
    half = 1.96 * math.hypot(*(1.0 - request_ns / (request_ns + error) for error in errors_ns))
    return math.ceil(1.0 / (load * (1.0 + half))), math.ceil(1.0 / (load * (1.0 - half)))


STATED = WITH_KIND.replace("ns = 10_000", "relative_error = 0.1\nns = 10_000")
#: Parts of a plan, the workload, and by how much each cost of a request may be off, in ns.
ERRORS: list[tuple[str, str, list[float]]] = [
    ("", WITH_KIND, []),
    ("relative_error = { app = 0.1 }", WITH_KIND, [2_000.0]),
    ("relative_error = { TCP = 0.9 }", WITH_KIND, [1_800.0]),
    ("relative_error = { Dser = 0.9 }", WITH_KIND, []),  # T2 has none
    ("relative_error = { own = 0.2 }", WITH_KIND, [3_000.0]),
    ("relative_error = { Own = 0.1, app = 0.2 }", WITH_KIND, [1_500.0, 4_000.0]),
    ("relative_error = { Own = 0.1, own = 0.5 }", WITH_KIND, [1_500.0]),
    ("", STATED, [1_500.0]),
    ("", WITH_KIND.replace("Ser = {", "Ser = { relative_error = 0.8,"), [800.0]),
    ("relative_error = {}", STATED, []),
]


@pytest.mark.parametrize(("part", "workload", "errors_ns"), ERRORS)
def test_errors_of_costs_are_those_of_what_they_name(
    tmp_path: Path, part: str, workload: str, errors_ns: list[float]
) -> None:
    found = fleets(tmp_path, part, workload)["non_acc"]
    assert found["servers"] == servers(request_ns=KIND_REQUEST_NS)
    low_high = (found["servers_low"], found["servers_high"])
    assert low_high == interval(errors_ns, KIND_REQUEST_NS)


def test_a_service_that_is_called_needs_no_rate_and_another_does(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(WORKLOAD + _more("B", ""))
    (tmp_path / "plan.toml").write_text(PLAN)
    with pytest.raises(
        InputError, match=r"plan\.toml: rate of B is left out: must be given in rat"
    ):
        sizing.read_plan(tmp_path / "plan.toml")


def test_services_that_a_table_of_rates_leaves_out_are_told(tmp_path: Path) -> None:
    found = answer(tmp_path, "rates_rps = { A = 1e6 }", WORKLOAD + _more("B") + _more("C"))
    assert (found["needed_rps"], found["left_out"]) == ({"A": 1e6}, ["B", "C"])
    said = " ".join(terminal.text(found).split())
    assert "Not planned for, as the plan has no rate of them: B, C." in said
    everything = answer(tmp_path, "", WORKLOAD + _more("B"))
    assert everything["left_out"] == []
    assert "Not planned for" not in terminal.text(everything)


TABLE = "arrivals = { process = 'rates', rates = [[0, 1e6], [4000, 5e6], [5000, 8e6]] }"
#: What a service says of its arrivals, what the defaults say, and the rate that is planned for.
RATES = [
    (TABLE, "", (4 * 1e6 + 5e6 + 8e6) / 6),
    (TABLE, "rate_rps = 7e4", (4 * 1e6 + 5e6 + 8e6) / 6),
    ("", "rate_rps = 7e4", 7e4),
    ("", TABLE, (4 * 1e6 + 5e6 + 8e6) / 6),
    ("arrivals = { process = 'rates', rates = [[0, 5e6]] }", "", 5e6),
    ("rate_rps = 9e4\narrivals = { process = 'poisson' }", "rate_rps = 7e4", 9e4),
]


@pytest.mark.parametrize(("own", "common", "rate_rps"), RATES)
def test_rates_of_a_workload_are_planned_for(
    tmp_path: Path, own: str, common: str, rate_rps: float
) -> None:
    text = (WORKLOAD + _more("B", own)).replace("[defaults]\n", f"[defaults]\n{common}\n")
    (tmp_path / "own.toml").write_text(text)
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    if TABLE in {own, common}:
        with pytest.raises(InputError, match="'rates': must be a process other than rates"):
            sizing.read_plan(plan)
        plan.write_text(PLAN + "scenario.arrivals = 'poisson'\n")
    rates_rps = sizing.read_plan(plan).rates_rps
    assert rates_rps == {"A": 1e7, "B": pytest.approx(rate_rps)}


def test_arrival_times_have_no_load_that_a_plan_could_change(tmp_path: Path) -> None:
    times = "arrivals = { process = 'times', times_us = [0, 10, 40] }"
    (tmp_path / "own.toml").write_text(WORKLOAD.replace("rate_rps = 1e7", times))
    (tmp_path / "plan.toml").write_text(PLAN)
    with pytest.raises(InputError, match=r"plan\.toml: arrivals of A = 'times': must be a process"):
        sizing.read_plan(tmp_path / "plan.toml")
    (tmp_path / "plan.toml").write_text(PLAN + "scenario.arrivals = 'poisson'\n")
    assert sizing.read_plan(tmp_path / "plan.toml").rates_rps == {"A": pytest.approx(50_000.0)}


def test_requests_seeds_and_the_scenario_are_those_of_the_simulations(tmp_path: Path) -> None:
    plan = "requests = 700\nseeds = 2\nscenario.remote = 'socialnetwork'\ncurrency = 'EUR'\n"
    (tmp_path / "own.toml").write_text(WORKLOAD)
    (tmp_path / "plan.toml").write_text(PLAN + plan)
    read = sizing.read_plan(tmp_path / "plan.toml")
    asked = read.scenario_of(0.5, system="relief", seed=2)
    assert (asked.requests, asked.seed, asked.remote) == (700, 2, "socialnetwork")
    assert (asked.rates_rps, asked.orchestrators) == ({"A": 5e6}, ("relief",))
    plan_of_answer = sizing.size(read, simulate=False)["plan"]
    assert (plan_of_answer["seeds"], plan_of_answer["currency"]) == (2, "EUR")
    assert json.dumps(plan_of_answer)
