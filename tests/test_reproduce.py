"""The paper's evaluation: files of experiments, statistics, checks, and a small run of all."""

import dataclasses
import json
import math
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from accelflow import reproduce as lib
from accelflow import simulation
from accelflow.cli import program
from accelflow.errors import InputError
from accelflow.findings import Estimate, Finding, Reported, Target, Verdict
from accelflow.findings.statistics import estimate
from accelflow.reproduce.budgets import Budget
from accelflow.reproduce.measures import figure, read
from accelflow.reproduce.outcomes import of_cells
from accelflow.reproduce.page import markdown
from accelflow.reproduce.plans import plan as plan_of
from accelflow.reproduce.runs import Runner, identity, run_plans

CI = lib.budget("ci")

SMALL = """
title = "Two systems at two loads"
place = "section 0"
kind = "simulation"
measures = ["p99_us", "mean_us"]

[setup]
systems = ["relief", "accelflow"]
services = ["UniqId", "StoreP"]
arrivals = "poisson"

[[point]]
label = "1"
rate_rps = 1000.0

[[point]]
label = "5"
rate_rps = 5000.0

[[row]]
target = "p99_reduction.RELIEF"
measure = "p99_us"
form = "reduction"
of = { system = "accelflow", point = "5" }
to = { system = "relief", point = "5" }

[[order]]
says = "AccelFlow is faster"
measure = "mean_us"
systems = ["accelflow", "relief"]
point = "1"

[[trend]]
says = "RELIEF gets slower"
measure = "mean_us"
of = { system = "relief" }
direction = "rises"

[plot]
form = "bars"
measures = ["p99_us"]
star = "mean_us"
y = "P99"
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "accelflow", "reproduce", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


# Files of experiments.


def test_all_files_are_read() -> None:
    names = lib.names()
    assert {"fig1", "fig3", "fig5", "fig11", "fig12", "fig14", "fig17", "fig19"} <= set(names)
    assert names[:2] == ["fig1", "fig3"]
    for name in names:
        definition = lib.load(name)
        assert definition.title
        assert definition.place


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('title = "', 'titel = "x"\ntitle = "', "small.toml: key = 'titel': must be "),
        ('kind = "simulation"', 'kind = "guess"', "small.toml.kind = 'guess': must be sim"),
        ('"relief", "acc', '"relieve", "acc', "setup.systems = 'relieve': must be non_acc"),
        (
            '"relief", "accelflow"]\nserv',
            '"relief", "relief"]\nserv',
            "must name one or more, each once",
        ),
        ('["p99_us", "mean_us"]', '["p98_us"]', "60 known names, did you mean p99_us"),
        ("rate_rps = 1000.0", "rate_rps = 1000.0\npes = 3", "point[0]: key = 'pes': must be"),
        ('label = "5"', 'label = "1"', "label = '1': given to several points"),
        (
            "p99_reduction.RELIEF",
            "p99_reduction.RELIVE",
            "target = 'p99_reduction.RELIVE': must be",
        ),
        ('form = "reduction"', 'form = "quotient"', "form = 'quotient': must be value"),
        ('point = "5" }\nto', 'point = "6" }\nto', "row[0].of.point = '6': must be 1 or 5"),
        (', point = "5" }\nto', " }\nto", "row[0].of.point is left out: must be given"),
        ('systems = ["accelflow", "relief"]', 'systems = ["accelflow"]', "a list of two or more"),
        ('direction = "rises"', 'direction = "up"', "direction = 'up': must be rises or falls"),
        (
            'star = "mean_us"',
            'star = "p50_us"',
            "plot.star = 'p50_us': must be mean_us or p99_us",
        ),
        ('form = "bars"', 'form = "pie"', "plot.form = 'pie': must be bars"),
        ('"UniqId"', '"Unique"', "services[0] = 'Unique': must be CPost"),
        ('place = "section 0"', "place = 0", "small.toml.place = 0: must be a string"),
        ("title = ", "title == ", "small.toml: "),
        (
            '[[order]]\nsays = "',
            '[[row.also]]\nsays = "x"\nmeasure = "p50_us"\n[[order]]\nsays = "',
            "small.toml.row[0].also[0].measure = 'p50_us': must be mean_us or p99_us",
        ),
        (
            '[[order]]\nsays = "',
            '[[order]]\nwhy_not = "so"\nsays = "',
            "order[0].why_not = 'so': must be a table with class (contradiction, definition",
        ),
        (
            'direction = "rises"\n',
            'direction = "rises"\npoints = ["1", "6"]\n',
            "trend[0].points = '6': must be 1 or 5",
        ),
        (
            'direction = "rises"\n',
            'direction = "rises"\nto_points = ["1"]\n',
            "trend[0].to_points = ['1']: must be as many as `points` has: 2",
        ),
        (
            "[plot]",
            '[[ranking]]\nsays = "x"\nmeasures = ["p99_us", "p50_us"]\n'
            'of = { system = "relief", point = "1" }\n[plot]',
            "ranking[0].measures = 'p50_us': must be mean_us or p99_us",
        ),
        (
            "[plot]",
            '[[most]]\nsays = "x"\nmeasure = "p99_us"\nservices = []\n'
            'of = { system = "relief", point = "1" }\n[plot]',
            "most[0].services = []: must name at least one service",
        ),
    ],
)
def test_what_a_file_may_not_say(old: str, new: str, said: str) -> None:
    assert old in SMALL
    with pytest.raises(InputError) as refused:
        lib.parse("small", SMALL.replace(old, new, 1))
    assert said in str(refused.value)


def test_production_arrivals_come_with_the_rates_of_services() -> None:
    text = SMALL.replace('arrivals = "poisson"', 'arrivals = "production"')
    said = r"setup\.rates is left out: must be one of equal, alibaba, azure, .*'production'"
    with pytest.raises(InputError, match=said):
        lib.parse("small", text)
    with pytest.raises(InputError, match="rates = 'alibabas': must be equal"):
        lib.parse("small", text.replace('"production"', '"production"\nrates = "alibabas"'))
    assert lib.parse("small", text.replace('"production"', '"production"\nrates = "equal"'))


def test_the_experiments_at_production_load_have_the_rates_of_alibabas_services() -> None:
    """Section VI: "we use the real-world invocation rates of those Alibaba services"."""
    found = {
        name: lib.load(name).setup["rates"]
        for name in lib.names()
        if lib.load(name).setup.get("arrivals") == "production"
    }
    assert {"fig11", "fig13", "fig18", "fig19", "fig20", "energy"} <= set(found)
    assert found.pop("fig16") == "azure", "the functions' own rates"
    assert set(found.values()) == {"alibaba"}
    setup = lib.load("fig11").setup
    one = lib.Scenario(arrivals="poisson").experiment(
        "accelflow", setup, lib.load("fig11").points[0], 300, 1
    )
    rows = simulation.run(one, threads=1)["systems"][0]["services"]
    rates = {row["service"]: row["offered_rps"] for row in rows}
    assert sum(rates.values()) / len(rates) == pytest.approx(13_400.0, rel=0.1)
    assert rates["Follow"] > 3.0 * rates["CUrls"]


def test_an_slo_has_a_range_of_loads() -> None:
    text = SMALL.replace('"simulation"', '"throughput"') + (
        "\n[slo]\nfactor = 5\nlow_rps = 10\nhigh_rps = 5\n"
    )
    with pytest.raises(InputError, match=r"low_rps = 10: must be above 0 and below high_rps = 5"):
        lib.parse("small", text)


# What is compared with what.


def test_every_reported_row_has_an_experiment_or_a_reason_to_have_none() -> None:
    covered = {row.target for name in lib.names() for row in lib.load(name).rows}
    missing = []
    for row in lib.targets():
        excused = any(row == key or row.startswith(f"{key}.") for key in lib.uncovered())
        if row not in covered and not excused:
            missing.append(row)
    assert missing == []
    idle = [
        key
        for key in lib.uncovered()
        if all(row in covered for row in lib.targets() if row == key or row.startswith(f"{key}."))
    ]
    assert idle == [], "these rows do have an experiment"


def test_reasons_are_for_rows_that_exist() -> None:
    assert set(lib.reasons()) <= set(lib.targets())


def test_targets_keep_kind_use_and_names_with_dots() -> None:
    targets = lib.targets()
    assert targets["accelflow.p99_reduction.RELIEF"] == Target(
        "accelflow.p99_reduction.RELIEF", Reported.number("0.688"), "dynamic", "fit"
    )
    assert targets["accelflow.table4.CPost"].kind == "exact"
    assert targets["accelflow.sensitivity.throughput_vs_relief_speedup_x0.25"].value == 1.4
    assert targets["arcus.table3.Arcus[0]"].value == -0.007
    assert targets["accelflow.power_energy.accelerators_w"].unit == "W"
    assert targets["accelflow.throughput.below_Ideal"].unit == ""
    assert targets["arcus.fig9.burst_1500_b.Arcus"].unit == "Gbit/s"
    assert targets["arcus.fig9.burst_p99.Arcus"].figure.text == "at most 0.74"
    with pytest.raises(
        ValueError, match=r"arcus.fig9.burst_p99.Arcus is at most 0.74, not a number"
    ):
        targets["arcus.fig9.burst_p99.Arcus"].value  # noqa: B018


@pytest.mark.parametrize(
    ("kind", "paper", "ours", "matches"),
    [
        ("exact", 0.207, 0.20721, True),
        ("exact", 0.207, 0.2076, False),
        ("exact", 87.0, 87.0, True),
        ("exact", 87.0, 88.0, False),
        ("dynamic", 0.8, 0.999, True),
        ("dynamic", 0.8, 1.01, False),
        ("dynamic", 0.8, 0.59, False),
    ],
)
def test_when_a_figure_matches(kind: str, paper: float, ours: float, matches: bool) -> None:
    target = Target("a.b", Reported.number(paper), kind)
    row = Finding.of(target, Estimate.computed(ours))
    assert row.agrees is matches


@pytest.mark.parametrize(
    ("low", "high", "ours", "difference"),
    [
        ("1", "2", 1.5, 0.0),
        ("1", "2", 2.2, 0.1),
        ("1", "2", 0.5, -0.5),
        ("1", "Infinity", 7.0, 0.0),
        ("1", "Infinity", 0.5, -0.5),
        ("0", "0", 0.02, 0.02),
    ],
)
def test_differences_count_from_the_nearer_end(
    low: str, high: str, ours: float, difference: float
) -> None:
    target = Target("a.b", Reported(Decimal(low), Decimal(high)), "dynamic", "check")
    row = Finding.of(target, Estimate.computed(ours))
    assert row.difference == pytest.approx(difference)
    assert row.agrees is (abs(difference) <= 0.25)


@pytest.mark.parametrize(
    ("ours", "half_width", "lacking", "verdict"),
    [
        (1.2, 0.25, "", Verdict.AGREES),
        (1.2, 0.26, "", Verdict.UNDECIDED),
        (9.0, 0.26, "", Verdict.UNDECIDED),
        (9.0, 0.25, "", Verdict.OFF),
        (1.0, None, "", Verdict.UNDECIDED),
        (1.0, 0.0, "7 of 100 responses beyond P99", Verdict.UNDECIDED),
    ],
)
def test_what_is_not_known_well_enough_is_undecided(
    ours: float, half_width: float | None, lacking: str, verdict: Verdict
) -> None:
    target = Target("accelflow.p99_reduction.RELIEF", Reported.number(1), "dynamic", "check")
    row = Finding.of(target, Estimate(ours, half_width, (ours,)), lacking=lacking)
    assert row.verdict is verdict
    assert row.agrees is (verdict is Verdict.AGREES)
    assert lacking in row.doubts
    assert bool(row.doubts) is (verdict is Verdict.UNDECIDED)


def test_the_head_of_the_page_counts_what_agrees() -> None:
    table = lib.reproduce([lib.load("table4")], budget=CI, runner=Runner(1))[0]
    target = Target("accelflow.p99_reduction.RELIEF", Reported.number(1), "dynamic", "check")
    found = [
        Finding.of(target, Estimate(ours, half, (ours,)))
        for ours, half in ((1.0, 1e-17), (2.0, 0.1), (2.0, 0.9))
    ]
    outcome = dataclasses.replace(table, findings=tuple(found))
    page = markdown([outcome], lib.Scenario(), CI)
    assert "**1 row agrees, 1 off, 1 undecided.**" in page.splitlines()[2]
    assert "| +100% | check | undecided (wide interval) |" in page


def test_a_figure_that_could_not_be_had_does_not_match() -> None:
    row = Finding.of(Target("a.b", Reported.number(1), "dynamic", "check"), None)
    assert not row.agrees
    assert row.difference is None


# Statistics and measures.


def test_the_interval_of_a_mean_is_students() -> None:
    # Mean 3, standard deviation sqrt(2.5), t(0.975, 4) = 2.776.
    found = estimate([1.0, 2.0, 3.0, 4.0, 5.0])
    assert found is not None
    assert found.mean == 3.0
    assert found.half_width == pytest.approx(2.7764 * math.sqrt(2.5 / 5), rel=1e-3)
    assert estimate([7.0]) == Estimate(7.0, None, (7.0,))
    assert estimate([1.0, None]) is None
    assert estimate([]) is None


def test_figures_weigh_services_alike() -> None:
    ours = {"a": 1.0, "b": 3.0}
    theirs = {"a": 4.0, "b": 4.0}
    assert figure("value", "mean", ours, None) == 2.0
    assert figure("value", "max", ours, None) == 3.0
    assert figure("ratio", "mean", ours, theirs) == 0.5
    assert figure("reduction", "mean", ours, theirs) == 0.5
    assert figure("ratio", "mean", ours, {"a": 4.0, "b": None}) is None
    assert figure("ratio", "mean", ours, {"a": 4.0, "b": 0.0}) is None


def test_shares_leave_the_remote_side_out(made_up_results: dict[str, Any]) -> None:
    row = made_up_results["systems"][0]["services"][0]
    row["spent_us"] = {
        "cpu": 6.0,
        "accelerator": 1.0,
        "dispatcher": 0.5,
        "manager": 0.25,
        "cores": 0.25,
        "communication": 1.0,
        "queueing": 1.0,
        "remote": 90.0,
    }
    assert read("cpu_share", row) == 0.6
    assert read("orchestration_share", row) == 0.1
    row["responded"], row["operations_per_request"] = 18000, 87.0
    row["slo"] = {"requests": 200, "missed": 5}
    assert read("slo_missed_share", row) == 0.025
    row["slo"] = {"requests": 0, "missed": 0}
    assert read("slo_missed_share", row) is None
    assert read("overflow_full_share", row) == 3 / (87 * 18000)
    assert read("max_rps", row) is None
    assert read("overflow_full_per_request", row) == 3 / 18000
    assert read("orchestration_share_of_response", row) == 0.01


def test_accelerators_are_measured_by_several_definitions(made_up_results: dict[str, Any]) -> None:
    run = {**made_up_results, "placement": "colocated", "systems": []}
    row = made_up_results["systems"][4]["services"][0]
    assert read("any_busy_TCP", row) is None, "results of before it was counted"
    shares = dict.fromkeys(row["accelerator_utilization"], 0.5)
    row["accelerator_any_busy"] = {**shares, "Encr": 0.9, "Decr": 0.7}
    row["accelerator_denied"] = {**shares, "Encr": 0.25}
    row["accelerator_on_core"] = {**shares, "Encr": 0.75}
    assert read("any_busy_Encr_Decr", row) == pytest.approx(0.8)
    assert read("denied_Encr", row) == 0.25
    assert read("on_core_Encr", row) == 0.75
    row["data"] = {"tlb_lookups": 40, "tlb_misses": 10, "page_faults": 3}
    assert read("tlb_miss_share", row) == 0.25
    row["responded"], row["operations_per_request"] = 1_000, 30.0
    other = {**row, "responded": 2_000, "service": "other"}
    row["run"] = {**run, "systems": [{"services": [row, other]}]}
    assert read("page_faults_per_million_operations", row) == pytest.approx(3 / 0.09)
    row["run"]["placement"] = "isolated"
    assert read("page_faults_per_million_operations", row) == pytest.approx(3 / 0.03)
    row["data"] = {"tlb_lookups": 0, "tlb_misses": 0, "page_faults": 0}
    assert read("tlb_miss_share", row) is None


def test_what_the_engine_says_of_accelerators() -> None:
    definition = lib.load("fig12")
    point = definition.points[0]
    for system in ("accelflow", "non_acc"):
        one = lib.Scenario().experiment(system, definition.setup, point, 100, 1)
        row = simulation.run(one, threads=1)["systems"][0]["services"][0]
        used, busy = row["accelerator_utilization"], row["accelerator_any_busy"]
        assert all(used[name] <= busy[name] <= min(1.0, 8 * used[name] + 1e-9) for name in used)
        assert (max(busy.values()) > 0) is (system == "accelflow")
        assert set(row["accelerator_on_core"].values()) == {1.0 if system == "non_acc" else 0.0}


# Runs.


def test_a_simulation_is_run_once_whoever_asks_for_it() -> None:
    one, other = (lib.parse(name, SMALL) for name in ("one", "other"))
    runner = Runner(2)
    outcomes = lib.reproduce([one, other], budget=CI, runner=runner)
    assert runner.simulated == 2 * 2 * CI.replications
    assert outcomes[0].shown == outcomes[1].shown


def test_everything_that_matters_is_in_the_identity() -> None:
    base = simulation.Scenario(orchestrators=("relief",))
    others = [
        simulation.Scenario(orchestrators=("relief",), seed=2),
        simulation.Scenario(orchestrators=("ideal",)),
        simulation.Scenario(orchestrators=("relief",), config={"accelerator.pes": 4.0}),
        simulation.Scenario(orchestrators=("relief",), by_rate=True),
    ]
    assert len({identity(one) for one in (base, *others)}) == 5
    default = simulation.Scenario(orchestrators=("relief",), config={"accelerator.pes": 8.0})
    assert identity(base) == identity(default)
    assert identity(base) == identity(simulation.Scenario(orchestrators=["relief"]))


def test_a_failure_ends_the_run() -> None:
    def plan() -> Any:
        yield [simulation.Scenario(orchestrators=("relief",), sizes="none", requests=100)]

    with pytest.raises(InputError, match="sizes = 'none': must be socialnetwork"):
        run_plans({"broken": plan()}, Runner(2))


def test_a_search_ends_at_the_last_rate_that_is_met() -> None:
    """Rates are tried by a stand-in that meets everything up to 2,500 RPS."""
    text = SMALL.replace('"simulation"', '"throughput"').replace('"p99_us", "mean_us"', '"max_rps"')
    text = text[: text.index("[[row]]")] + "[slo]\nfactor = 5\nlow_rps = 100\nhigh_rps = 10000\n"
    definition = lib.parse("search", text.replace('"UniqId", ', ""))

    def answer(one: simulation.Scenario) -> dict[str, Any]:
        late = one.rate_rps > 2500
        p99_us = 51.0 if late else 50.0
        row = {"service": "StoreP", "mean_us": 10.0, "p99_us": p99_us}
        row |= {"saturated": None, "completed": 100, "errors": 0, "timed_out": 0}
        return {"StoreP": {**row, "tail_us": [p99_us] * 100}}

    plan = plan_of(definition, lib.Scenario(), CI)
    wanted, asked = next(plan), 0
    while True:
        try:
            asked += len(wanted)
            wanted = plan.send([answer(one) for one in wanted])
        except StopIteration as ended:
            cells = ended.value
            break
    found = {runs[0]["StoreP"]["max_rps"] for runs in cells.values()}
    best = max(100 * CI.rate_step**k for k in range(20) if 100 * CI.rate_step**k <= 2500)
    assert len(found) == 1
    assert found.pop() == pytest.approx(best)
    # The search of all seeds, and one without each.
    assert asked <= len(cells) * CI.replications * 6 * 2
    outcome = of_cells(definition, cells, CI)
    assert all(one.value and one.value.mean == pytest.approx(best) for one in outcome.shown)


@pytest.mark.parametrize("slo_system", ["own", "accelflow"])
@pytest.mark.parametrize("name", ["accelerator_speedups", "pe_throughput", "deadline_misses"])
def test_a_sweep_owes_the_same_at_all_points(name: str, slo_system: str) -> None:
    """What counts is the idle response time of the server at the point that the file names."""
    definition = lib.load(name)
    assert definition.slo is not None
    named = next(it for it in definition.points if it.label == definition.slo.point)
    assert named.label in ("x1", "8 PEs")
    scenario = lib.Scenario(slo_system=slo_system)
    wanted = next(plan_of(definition, scenario, CI))
    assert len(wanted) == len(definition.points) * len(definition.systems) * CI.replications
    servers = [dict(one.config) for one in wanted]
    expected = scenario.experiment("accelflow", definition.setup, named, CI.requests, 1)
    assert servers == [dict(expected.config)] * len(wanted)
    whose = set(definition.systems) if slo_system == "own" else {slo_system}
    assert {one.orchestrators[0] for one in wanted} == whose


def test_orders_and_trends_are_judged() -> None:
    short, enough = (
        Budget(name="x", requests=n, replications=4, rate_step=1.4) for n in (100, 600)
    )

    def judged(text: str, budget: Budget) -> lib.ExperimentResult:
        return lib.reproduce([lib.parse("small", text)], budget=budget, runner=Runner(2))[0]

    assert [one.holds for one in judged(SMALL, enough).statements] == [True, True]
    turned = SMALL.replace('["accelflow", "relief"]', '["relief", "accelflow"]')
    outcome = judged(turned.replace('"rises"', '"falls"'), enough)
    assert [one.holds for one in outcome.statements] == [False, False]
    assert "does not hold" in markdown([outcome], lib.Scenario(), enough)
    # Two loads of which neither delays anybody: their difference is within its interval.
    alike = SMALL.replace("rate_rps = 5000.0", "rate_rps = 1001.0")
    outcome = judged(alike, short)
    assert [one.holds for one in outcome.statements] == [True, None]
    assert "| undecided |" in markdown([outcome], lib.Scenario(), short)
    # The same load twice: the figures are equal for every seed, so nothing rises.
    outcome = judged(SMALL.replace("rate_rps = 5000.0", "rate_rps = 1000.0"), short)
    assert [one.holds for one in outcome.statements] == [True, False]


# The command.


def test_the_command_writes_equal_bytes_for_any_number_of_threads(tmp_path: Path) -> None:
    places = [tmp_path / "one", tmp_path / "two"]
    for place, threads in zip(places, ("1", "3"), strict=True):
        done = run(
            "fig17", "table4", "fig1", "--budget", "ci", "--threads", threads, "--out", place
        )
        assert done.returncode == 0, done.stderr
    names = sorted(path.name for path in places[0].iterdir())
    assert {"comparison.md", "fig17.json", "fig17.png", "fig17.svg", "table4.json"} <= set(names)
    for name in names:
        assert (places[0] / name).read_bytes() == (places[1] / name).read_bytes(), name
    results = json.loads((places[0] / "fig17.json").read_text())
    assert results["schema"] == "accelflow.reproduce/3"
    assert results["seeds"] == [1, 2]
    assert results["warmup_requests"] == CI.requests // 10
    assert {row["key"] for row in results["findings"]} == {
        "accelflow.orchestration_overhead.AccelFlow_unloaded",
        "accelflow.orchestration_overhead.RELIEF_unloaded",
    }
    assert "`orchestration_overhead.RELIEF_unloaded`" in (places[0] / "comparison.md").read_text()


def test_a_page_is_written_anew_from_the_results(tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    for out, names in ((whole, ["fig17", "table4"]), (parts, ["fig17"]), (parts, ["table4"])):
        assert run(*names, "--budget", "ci", "--out", str(out)).returncode == 0
    page = parts / "comparison.md"
    assert "fig17" not in page.read_text(encoding="utf-8")
    assert run("--page", str(parts)).returncode == 0
    assert page.read_bytes() == (whole / "comparison.md").read_bytes()

    results = json.loads((parts / "table4.json").read_text(encoding="utf-8"))

    def refused(change: dict[str, Any], said: str) -> None:
        text = json.dumps({**results, **change})
        (parts / "table4.json").write_text(text, encoding="utf-8")
        done = CliRunner().invoke(program, ["reproduce", "--page", str(parts)])
        assert isinstance(done.exception, InputError)
        assert said in str(done.exception)
        assert page.read_bytes() == (whole / "comparison.md").read_bytes()

    refused({"budget": "quick"}, "budget = 'quick': must be 'ci'")
    refused({"schema": "x/1"}, "schema = 'x/1'")
    refused({"findings": [{"key": "nothing"}]}, "'nothing' is missing or unknown to this version")
    refused({"seeds": [1.5]}, "table4.json: seeds[0] = 1.5: must be a whole number from 0")
    refused({"setup": {}}, "has results of a different setup of the experiment; run")
    done = run("--page", str(tmp_path))
    assert "must be a folder with results of `accelflow reproduce`" in done.stderr


def test_a_search_runs_end_to_end() -> None:
    done = run("pe_throughput", "--budget", "ci")
    assert done.returncode == 0, done.stderr
    rows = [line for line in done.stdout.splitlines() if "throughput_2pe_over_8" in line]
    assert len(rows) == 1
    assert "undecided (5 of 100 responses beyond P99)" in rows[0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["fig99"], "EXPERIMENT = 'fig99': must be one of 35 known names, did you mean fig"),
        (["--budget", "huge"], "--budget = 'huge': must be full, medium, quick or ci"),
        (["table4", "--out", "/dev/null/x"], "must be in a folder that can be written"),
        (["table4", "--threads", "0"], "--threads = 0: must be at least 1"),
        (["table4", "--placement", "apart"], "--placement = 'apart': must be colocated"),
        (["table4", "--slo-system", "best"], "--slo-system = 'best': must be own"),
        (["table4", "--config", "/nowhere.toml"], "/nowhere.toml"),
    ],
)
def test_wrong_use(arguments: list[str], said: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
