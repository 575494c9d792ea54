"""The paper's experiments with a workload of one's own."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from accelflow import reproduce as lib
from accelflow import simulation, workload
from accelflow.errors import InputError
from accelflow.reproduce.budgets import Budget
from accelflow.reproduce.own import OwnScenario
from accelflow.reproduce.own_tables import OWN_TABLES

SMALL = Budget(name="small", requests=100, replications=2, rate_step=4.0)

#: What makes sense for the paper's services alone.
PAPER_ONLY = {
    "area",
    "dispatcher",
    "fig12_hotel",
    "fig12_media",
    "fig15",
    "fig16",
    "power",
    "queue_memory",
    "relief_manager",
    "speedups",
    "table1",
    "table2",
    "timeouts",
}

PAIR = """
schema = "accelflow.workload/1"
name = "pair"

[defaults]
sizes = { fixed_bytes = 500 }
arrivals = { process = "modulated", states = [[0.5, 0.5], [1.5, 0.5]], dwell_us = 2000.0 }

[[services]]
name = "Front"
rate_rps = 400.0
slo_us = 900.0
path = [
  { trace = "T1", facts = { T1 = { compressed = 0 } } },
  { cpu_us = 20.0 },
  { trace = "T9", facts = { T10 = { exception = 0, compressed = 0 } }, calls = "Back" },
  { cpu_us = 10.0 },
  { trace = "T2" },
]

[[services]]
name = "Back"
path = [
  { trace = "T1", facts = { T1 = { compressed = 0 } } },
  { cpu_us = 150.0 },
  { trace = "T2" },
]
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / "shop.toml"
    path.write_text(workload.new_workload("shop"))
    return path


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    path = tmp_path / "pair.toml"
    path.write_text(PAIR)
    return path


def run(file: Path, *experiments: str) -> tuple[OwnScenario, list[lib.ExperimentResult]]:
    asked = lib.of_workload(file, experiments)
    runner = lib.Runner(2)
    found = lib.reproduce(asked.definitions, budget=SMALL, runner=runner, scenario=asked.scenario)
    return asked.scenario, found


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "accelflow", "reproduce", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_experiments_of_the_paper_alone_are_left_out_by_name_with_a_reason(shop: Path) -> None:
    asked = lib.of_workload(shop)
    assert set(asked.left_out) == PAPER_ONLY
    assert all(reason.endswith(".") for reason in asked.left_out.values())
    assert {one.name for one in asked.definitions} == set(lib.names()) - PAPER_ONLY
    for definition in asked.definitions:
        assert definition.table is None or definition.table in OWN_TABLES
        assert not any(row.target in lib.targets() for row in definition.rows)
        assert "SocialNetwork" not in definition.title


def test_figures_equal_those_of_a_comparison_of_the_same_scenario(shop: Path) -> None:
    scenario, (outcome,) = run(shop, "fig11")
    loaded = simulation.loaded(simulation.Scenario(workload=shop))
    asked: dict[str, Any] = {"orchestrators": ("accelflow",), "requests": 100, "slo_factor": None}
    means = {"Checkout": 0.0, "Stock": 0.0}
    count = dict.fromkeys(means, 0)
    for seed in (1, 2):
        one = simulation.Scenario(workload=loaded.workload, seed=seed, **asked)
        for row in simulation.run(one)["systems"][0]["services"]:
            means[row["service"]] += row["mean_us"] * row["completed"]
            count[row["service"]] += row["completed"]
    shown = {
        cell.service: cell.value
        for cell in outcome.shown
        if (cell.system, cell.measure) == ("accelflow", "mean_us")
    }
    for name, total in means.items():
        found = shown[name]
        assert found is not None
        assert found.mean == pytest.approx(total / count[name])
    assert scenario.to_dict()["workload_sha256"]
    recorded = [replace(scenario, recording=text).to_dict() for text in (None, "a", "b")]
    hashes = [each["recording_sha256"] for each in recorded]
    assert (hashes[0], len(set(hashes))) == (None, 3)


def test_the_papers_figures_are_nowhere(shop: Path, tmp_path: Path) -> None:
    scenario, outcomes = run(shop, "fig12", "fig1", "table4")
    assert all(one.paper is None for outcome in outcomes for one in outcome.findings)
    out = tmp_path / "out"
    lib.write_outcomes(outcomes, scenario, SMALL, out, {"fig15": "It is a suite."})
    page = (out / "evaluation.md").read_text()
    assert "The paper's figures are not shown, since they belong to its own services" in page
    assert "- fig15: It is a suite." in page
    assert "| `p99_reduction_vs_relief_by_load.rate_x0.37` | fig12, 100 requests | 0." in page
    assert "T1-CPU-2x(T9-T10)-CPU-1x(T8-T7)\\|1x(search-found)-CPU-T2" in page
    for finding in json.loads((out / "fig12.json").read_text())["findings"]:
        assert finding["paper"] is None
        assert finding["verdict"] is None
    with pytest.raises(InputError, match=r"scenario\.workload = 'shop': must be left out"):
        lib.rewrite_page(out)


def test_loads_are_multiples_of_the_workloads_rate(shop: Path) -> None:
    asked = lib.of_workload(shop, ["fig12", "fig17"])
    sweep, idle = asked.definitions
    assert [point.label for point in sweep.points] == [
        "low: 0.37 of the rate",
        "medium: 0.75 of the rate",
        "high: 1.12 of the rate",
    ]
    rates = [point.settings["rate_rps"] for point in sweep.points]
    assert rates == pytest.approx([3000.0 * rps / 13_400 for rps in (5_000, 10_000, 15_000)])
    assert idle.setup["rate_rps"] == pytest.approx(3000.0 * 10 / 13_400)


def test_statements_by_other_definitions_and_pictures_have_the_adapted_points(
    shop: Path, tmp_path: Path
) -> None:
    asked = lib.of_workload(shop)
    for definition in asked.definitions:
        labels = {point.label for point in definition.points}
        checks = [*definition.checks, *(other for c in definition.checks for other in c.also)]
        assert {label for check in checks for pair in check.points for label in pair} <= labels
        assert set(definition.plot.points if definition.plot else ()) <= labels
    scenario, outcomes = run(shop, "fig3")
    lib.write_outcomes(outcomes, scenario, SMALL, tmp_path)
    assert (tmp_path / "fig3.png").is_file()


def test_called_services_slos_and_arrivals_of_the_file_count(pair: Path) -> None:
    scenario, (latency, throughput) = run(pair, "fig11", "pe_throughput")
    # No client calls Back, so it has no figures of its own.
    assert latency.services == ["Front"]
    assert throughput.services == ["Front"]
    assert scenario.owed_us("Front", 100.0, 5.0) == 900.0
    assert scenario.owed_us("Other", 100.0, 5.0) == 500.0
    # 90 requests at 400 a second are 112 draws of a rate, 225 with both seeds.
    assert latency.findings[-1].lacking == "225 of 300 rates of the arrivals"


def test_energy_with_custom_accelerators_is_missing_for_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "hashes.toml"
    path.write_text(
        """
schema = "accelflow.workload/1"
name = "hashes"
traces = [{ source = "kind Hash\\ntrace put:\\n    TCP Decr Hash LdB" }]
kinds.Hash.ns = 2000
[[services]]
name = "Put"
rate_rps = 400.0
path = [{ trace = "put" }, { cpu_us = 20.0 }, { trace = "T2" }]
"""
    )
    _, (throughput,) = run(path, "fig14")
    missing = [finding for finding in throughput.findings if "per_watt" in finding.key]
    assert [finding.ours for finding in missing] == [None, None]
    assert {finding.doubts for finding in missing} == {"the power of Hash is not known"}


def test_a_service_that_is_called_too_seldom_for_a_budget_is_named(pair: Path) -> None:
    pair.write_text(pair.read_text().replace('name = "Back"', 'name = "Back"\nrate_rps = 0.1'))
    said = r"budget = 'small': must have more requests .*: requests = 100: .* Back gets"
    with pytest.raises(InputError, match=said):
        run(pair, "fig11")


def test_sizes_are_those_of_the_workload() -> None:
    asked = lib.of_workload("hotelreservation", ["fig5"])
    (outcome,) = lib.reproduce(
        asked.definitions, budget=SMALL, runner=lib.Runner(1), scenario=asked.scenario
    )
    assert outcome.table is not None
    sizes = {row[:2]: row[2:] for row in outcome.table.rows}
    assert ("TCP", "in") in sizes
    assert all(name != "LdB" for name, _ in sizes)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["fig16", "--workload", "shop.toml"], "EXPERIMENT = 'fig16': must be left out with --wor"),
        (["fig99", "--workload", "shop.toml"], "EXPERIMENT = 'fig99': must be "),
        (["fig11", "--workload", "nowhere.toml"], "--workload = 'nowhere.toml': must be"),
        (["fig11", "--workload", "shopp"], "workload = 'shopp': must be socialnetwork, "),
        (
            ["fig11", "--recording", "r.json"],
            "--recording = 'r.json': must be given together with --workload",
        ),
        (["fig11", "--workload", "shop.toml", "--recording", "none.json"], "that can be read"),
        (
            ["fig11", "--workload", "shop.toml", "--config", "drawn.toml"],
            "scenario.facts = 'drawn': must be left out with a workload of your own",
        ),
        (
            ["--page", "out", "--workload", "shop.toml"],
            "must be left out with --page, which simulates nothing",
        ),
    ],
)
def test_bad_input_is_one_line(
    shop: Path, arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shop.parent)
    (shop.parent / "drawn.toml").write_text('[scenario]\nfacts = "drawn"\n')
    ran = command(*arguments)
    assert ran.returncode != 0
    assert said in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1
    assert not (shop.parent / "out").exists()


def test_the_command_says_what_it_leaves_out(shop: Path) -> None:
    ran = command("table4", "--workload", str(shop))
    assert ran.returncode == 0
    assert "Checkout" in ran.stdout
    assert "The paper's figures are not shown" in ran.stdout
    whole = json.loads(command("branches", "--json", "--workload", str(shop)).stdout)
    assert whole["left_out"] == {}
    assert whole["experiments"][0]["scenario"]["workload"] == "shop"
