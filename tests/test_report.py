"""The tables, files and plots of a comparison, on made-up results."""

import copy
import io
import json
import math
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from rich.console import Console

from accelflow import chip, simulation
from accelflow.cli import program
from accelflow.cli.power import power
from accelflow.errors import InputError
from accelflow.files import write_whole
from accelflow.report import Comparison, print_comparison, write_json, write_parquet, write_plots
from accelflow.report.export import to_json, to_table
from accelflow.report.load_figures import throughput_figure
from accelflow.report.overview import krps_text
from accelflow.report.paper import EXPERIMENT, PAPER_REDUCTIONS, other_experiment
from accelflow.report.replications import pooled
from accelflow.report.results import mean_reduction
from conftest import SLOWNESS


@pytest.fixture
def comparison(made_up_results: dict[str, Any]) -> Comparison:
    return Comparison.from_dict(made_up_results)


def answered(comparison: Comparison, width: int = 80, **options: Any) -> str:
    """What a terminal shows of a comparison."""
    console = Console(width=width, color_system=None, file=io.StringIO(), **options)
    print_comparison(comparison, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def printed(comparison: Comparison, width: int = 80, *, force_terminal: bool = False) -> str:
    """What `--by-service` adds to that."""
    file = io.StringIO()
    console = Console(width=width, color_system=None, file=file, force_terminal=force_terminal)
    print_comparison(comparison, console, by_service=True)
    text = file.getvalue()
    return text[text.rindex(f"\n{comparison.workload}, ") + 1 :]


def test_every_system_and_service_has_a_row(comparison: Comparison) -> None:
    lines = printed(comparison).splitlines()
    for name in ["Non-acc", "CPU-Centric", "RELIEF", "Cohort", "AccelFlow", "Ideal"]:
        rows = [line for line in lines if line.startswith(f" {name} ")]
        assert len(rows) == 8, name
    (first, *_) = [line for line in lines if line.startswith(" AccelFlow ")]
    # CPost: mean 87 * 2; then the shares and sums that the made-up results hold.
    assert " ".join(first.split()) == "AccelFlow 174.0 156.6 381.6 572.4 13.4 5% TCP 30% 7"


def test_p999_needs_a_hundred_responses_beyond_it(made_up_results: dict[str, Any]) -> None:
    first = made_up_results["systems"][4]["services"][0]
    first["completed"] = 99_999
    text = printed(Comparison.from_dict(made_up_results))
    line, other, *_ = [line for line in text.splitlines() if line.startswith(" AccelFlow ")]
    assert " 381.6      - " in line
    assert " - " not in other
    assert f"P99.9 needs 100,000 responses of a service; {first['service']} has 99,999." in text


def test_a_p99_of_few_responses_and_an_slo_that_nobody_keeps_are_said(
    made_up_results: dict[str, Any],
) -> None:
    for system in made_up_results["systems"]:
        service = system["services"][1]
        service["completed"] = 4
        service["slo"] = {"us": 1.0, "requests": 4, "missed": 4}
    name = made_up_results["systems"][0]["services"][1]["service"]
    text = " ".join(printed(Comparison.from_dict(made_up_results)).split())
    few = f"The P99 of {name} (4 responses) is not precise: fewer than 10 responses are beyond it."
    assert few in text
    assert f"No response of {name} keeps its SLO of 1 us, under any system." in text
    made_up_results["systems"][0]["services"][1]["slo"]["missed"] = 3
    text = printed(Comparison.from_dict(made_up_results))
    assert "keeps its SLO" not in text


def test_a_workload_of_ones_own_has_no_word_on_the_papers_figures(
    made_up_results: dict[str, Any],
) -> None:
    assert "paper's figures are not shown" in printed(Comparison.from_dict(made_up_results))
    made_up_results["workload"] = "mycheckout"
    assert "paper's figures" not in printed(Comparison.from_dict(made_up_results))


def test_table_fits_a_terminal_of_80_columns(comparison: Comparison) -> None:
    text = printed(comparison, width=80)
    table = text[: text.index("* RELIEF")]
    assert max(len(line.rstrip()) for line in table.splitlines()) <= 80
    assert "…" not in text


def test_the_title_has_the_width_of_the_terminal(comparison: Comparison) -> None:
    title = "socialnetwork, 200,000 requests a service, profile measured, seed 1"
    second = "bursty arrivals, isolated; offered load: next to the service's name"
    assert printed(comparison, width=200).splitlines()[:2] == [title, second]
    wide = printed(comparison, 120, force_terminal=True)
    assert [line.rstrip() for line in wide.splitlines()[:2]] == [title, second]
    first, *_ = printed(comparison, 40, force_terminal=True).splitlines()
    assert title.startswith(first.rstrip())
    assert 20 < len(first.rstrip()) <= 40


def test_figures_of_the_server_are_printed_once(
    made_up_results: dict[str, Any],
) -> None:
    for system in made_up_results["systems"]:
        for service in system["services"]:
            service["core_utilization"] = 0.37
    made_up_results["placement"] = "colocated"
    text = printed(Comparison.from_dict(made_up_results), width=120)
    assert text.count("37%") == len(SLOWNESS)
    assert text.count("Busiest") == 1
    (ours, *_) = [line for line in text.splitlines() if line.startswith(" AccelFlow ")]
    assert ours.split() == ["AccelFlow", "174.0", "156.6", "381.6", "572.4", "13.4", "7"]
    (server,) = [line for line in text.splitlines() if line.startswith("AccelFlow  ")]
    assert server.split() == ["AccelFlow", "37%", "TCP", "30%"]


def test_the_spread_of_costs_stands_below_the_table(made_up_results: dict[str, Any]) -> None:
    assert "does not state how much its costs vary" in printed(
        Comparison.from_dict(made_up_results)
    )
    made_up_results["calibration"] = {
        "machine": "a machine",
        "date": "2026-01-31",
        "rounds": 10,
        "spread_ratio": {"CPost": 0.034, "UniqId": 0.012, "Login": 0.02},
        "waited_ratio": 0.2,
        "doubts": ["the machine was busy"],
    }
    text = printed(Comparison.from_dict(made_up_results), width=300)
    assert "Costs were measured on 2026-01-31 in 10 rounds." in text
    assert "Interquartile ranges of a service's costs: 1.2% (UniqId) to 3.4% (CPost)." in text
    assert "Warning: the machine was busy." in text
    made_up_results["profile"] = "paper"
    made_up_results["calibration"] = None
    assert "costs vary" not in printed(Comparison.from_dict(made_up_results))
    made_up_results["calibration"] = {"date": 3}
    with pytest.raises(InputError, match=r"results\.calibration\.date = 3"):
        Comparison.from_dict(made_up_results)


def test_no_figure_is_cut_off_when_the_terminal_is_too_narrow(comparison: Comparison) -> None:
    text = printed(comparison, width=30)
    assert "…" not in text
    assert "19,188" in text


def test_saturation_names_system_service_and_queue(comparison: Comparison) -> None:
    text = printed(comparison)
    assert "* RELIEF cannot keep up with CPost: 'manager' was overloaded" in text
    assert "522.0*" in text


def test_fallbacks_are_summed_by_reason(comparison: Comparison) -> None:
    text = printed(comparison)
    assert "Fallbacks of Ideal by reason: 24 overflow_full, 32 enqueue_denied." in text


def of_the_paper(results: dict[str, Any]) -> dict[str, Any]:
    """`results`, as if they were of the experiment that the paper reports."""
    arrivals = {"kind": "alibaba", "rate_rps": 13_400.0, "rates": "equal"}
    return results | {"profile": "paper", "arrivals": arrivals, "config": {}}


def test_reductions_stand_beside_the_papers(made_up_results: dict[str, Any]) -> None:
    text = printed(Comparison.from_dict(of_the_paper(made_up_results)))
    (cohort,) = [line for line in text.splitlines() if line.startswith("Cohort ")]
    # Means are 4 and 2 times the same number; P99 is that times 1.5 + ln of the factor.
    p99 = 1 - 2 * (1.5 + math.log(2)) / (4 * (1.5 + math.log(4)))
    assert cohort.split() == ["Cohort", f"{p99:.1%}", "70.1%", "50.0%", "37.9%"]
    assert "Differences from the paper" in text


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"workload": "serverless"}, "the workload is serverless"),
        ({"profile": "measured"}, "costs are those of the profile measured"),
        ({"profile": "recording"}, "costs are those of the profile recording"),
        ({"arrivals": {"kind": "alibaba", "rate_rps": 60_000.0}}, "the rate is not 13,400"),
        ({"arrivals": {"kind": "short_bursts", "rate_rps": 13_400.0}}, "arrivals are short_bursts"),
        ({"config": {"accelerator.pes": 4.0}}, "parameters of the server are set"),
        ({"tenants": {"CPost": 1}}, "services are of tenants"),
        ({"priorities": {"CPost": 1}}, "services are of tenants"),
        ({"shaping": {"1": {}}}, "tenants are shaped"),
    ],
)
def test_the_papers_figures_stand_beside_its_own_experiment_only(
    made_up_results: dict[str, Any], change: dict[str, Any], why: str
) -> None:
    own = of_the_paper(made_up_results)
    assert other_experiment(Comparison.from_dict(own)) is None
    assert (
        other_experiment(Comparison.from_dict(own | {"config": {"scheduling.policy": 0.0}})) is None
    )
    other = Comparison.from_dict(own | change)
    assert why in str(other_experiment(other))
    text = printed(other, width=300)
    assert "P99 paper" not in text
    for share in ("90.7%", "81.2%", "68.8%", "70.1%"):
        assert share not in text
    assert f"{why}" in text
    assert EXPERIMENT in text


def test_the_papers_figures_are_not_of_some_of_its_services(
    made_up_results: dict[str, Any],
) -> None:
    own = of_the_paper(made_up_results)
    for system in own["systems"]:
        system["services"] = system["services"][1:]
    assert "left out" in str(other_experiment(Comparison.from_dict(own)))


@pytest.mark.parametrize("saturated", ["relief", "accelflow"])
def test_reductions_of_saturated_systems_have_a_star_and_its_legend(
    made_up_results: dict[str, Any], saturated: str
) -> None:
    for system in made_up_results["systems"]:
        for service in system["services"]:
            service["saturated"] = None
    assert "cannot keep up" not in printed(Comparison.from_dict(made_up_results))
    index = list(SLOWNESS).index(saturated)
    made_up_results["systems"][index]["services"][2]["saturated"] = "manager"
    text = printed(Comparison.from_dict(made_up_results), width=200)
    table = text[text.index("Against") :]
    starred = {line.split()[0] for line in table.splitlines() if "%*" in line}
    every = {"Non-acc", "CPU-Centric", "RELIEF", "Cohort"}
    assert starred == (every if saturated == "accelflow" else {"RELIEF"})
    assert "\n* One of the two systems cannot keep up" in table


def test_paper_figures_are_those_of_the_papers_text() -> None:
    assert PAPER_REDUCTIONS == {
        "non_acc": (0.907, 0.772),
        "cpu_centric": (0.812, 0.539),
        "relief": (0.688, 0.407),
        "cohort": (0.701, 0.379),
    }


def test_reduction_averages_the_services_reductions(made_up_results: dict[str, Any]) -> None:
    relief, accelflow = made_up_results["systems"][2], made_up_results["systems"][4]
    for system, latencies in ((relief, [100.0, 10.0]), (accelflow, [50.0, 9.0])):
        system["services"] = system["services"][:2]
        for service, latency in zip(system["services"], latencies, strict=True):
            service["p99_us"] = latency
    comparison = Comparison.from_dict(made_up_results)
    ours, theirs = comparison.system("accelflow"), comparison.system("relief")
    assert ours is not None
    assert theirs is not None
    # (50 % + 10 %) / 2, not the 46 % that the sums would give.
    assert mean_reduction(ours, theirs, "p99_us") == pytest.approx(0.30)


def test_no_reductions_without_accelflow(made_up_results: dict[str, Any]) -> None:
    made_up_results["systems"] = made_up_results["systems"][:2]
    assert "Against" not in printed(Comparison.from_dict(made_up_results))


def test_service_that_completed_nothing(made_up_results: dict[str, Any], tmp_path: Path) -> None:
    service = made_up_results["systems"][0]["services"][0]
    service["completed"] = 0
    for latency in ("mean_us", "p50_us", "p99_us", "p999_us"):
        service[latency] = None
    comparison = Comparison.from_dict(made_up_results)
    assert " Non-acc          -      -      -      -" in printed(comparison)
    write_plots(comparison, tmp_path / "plot")
    write_parquet(comparison, tmp_path / "results.parquet")
    assert pq.read_table(tmp_path / "results.parquet")["p99_us"][0].as_py() is None


def test_systems_stand_in_the_papers_order(made_up_results: dict[str, Any]) -> None:
    made_up_results["systems"].reverse()
    names = [system.name for system in Comparison.from_dict(made_up_results).systems]
    assert names == ["Non-acc", "CPU-Centric", "RELIEF", "Cohort", "AccelFlow", "Ideal"]


def test_json_is_the_same_bytes_whatever_the_order_of_keys(
    made_up_results: dict[str, Any], tmp_path: Path
) -> None:
    turned = dict(reversed(made_up_results.items()))
    write_json(Comparison.from_dict(made_up_results), tmp_path / "a.json")
    write_json(Comparison.from_dict(turned), tmp_path / "b.json")
    text = (tmp_path / "a.json").read_text()
    assert (tmp_path / "b.json").read_text() == text
    assert json.loads(text) == made_up_results
    assert Comparison.from_dict(json.loads(text)) == Comparison.from_dict(made_up_results)


def test_parquet_has_a_row_for_each_pair_and_units_in_names(
    comparison: Comparison, tmp_path: Path
) -> None:
    write_parquet(comparison, tmp_path / "results.parquet")
    table = pq.read_table(tmp_path / "results.parquet")
    assert table.num_rows == 6 * 8
    rows = table.to_pylist()
    (row,) = [r for r in rows if (r["system"], r["service"]) == ("relief", "CPost")]
    assert row["mean_us"] == 87 * 6.0
    assert row["tcp_utilization_ratio"] == 0.3
    assert row["fallback_overflow_full_count"] == 3
    assert row["saturated_queue"] == "manager"
    assert row["dispatcher_mean_instructions"] is None
    units = ("_us", "_rps", "_ratio", "_count", "_instructions")
    labels = {"workload", "profile", "seed", "system", "service", "saturated_queue"}
    assert all(name in labels or name.endswith(units) for name in table.column_names)
    run = json.loads(table.schema.metadata[b"accelflow"])
    assert run["arrivals"]["burst_factor"] == 1.7
    assert "systems" not in run


def test_parquet_has_what_json_has(made_up_results: dict[str, Any], tmp_path: Path) -> None:
    service = made_up_results["systems"][2]["services"][0]
    service["spent_us"] = {"cpu": 100.0, "queueing": 422.0}
    service["slo"] = {"us": 500.0, "requests": 18_000, "missed": 90}
    service |= {"timed_out": 4, "deadlines": 50, "deadlines_missed": 6}
    write_parquet(Comparison.from_dict(made_up_results), tmp_path / "results.parquet")
    rows = pq.read_table(tmp_path / "results.parquet").to_pylist()
    (row,) = [r for r in rows if (r["system"], r["service"]) == ("relief", "CPost")]
    assert (row["spent_cpu_us"], row["spent_queueing_us"]) == (100.0, 422.0)
    assert (row["slo_us"], row["slo_requests_count"], row["slo_missed_count"]) == (
        500.0,
        18_000,
        90,
    )
    assert (row["timed_out_count"], row["deadlines_count"], row["deadlines_missed_count"]) == (
        4,
        50,
        6,
    )
    (other,) = [r for r in rows if (r["system"], r["service"]) == ("relief", "ReadH")]
    assert (other["spent_cpu_us"], other["slo_us"], other["slo_requests_count"]) == (None, None, 0)


def test_failed_write_leaves_the_old_file_and_no_scratch(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text("old")

    def fail(scratch: Path) -> None:
        scratch.write_text("half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_whole(path, fail)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_devices_are_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_whole(pipe, lambda path: path.write_text("new"))
        assert os.read(reader, 10) == b"new"
    finally:
        os.close(reader)
    assert list(tmp_path.iterdir()) == [pipe]
    assert pipe.is_fifo()


def test_results_go_to_folders_of_any_name(comparison: Comparison, tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"\xff") / "results.parquet"
    write_parquet(comparison, path)
    assert path.read_bytes().startswith(b"PAR1")


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    file, link = tmp_path / "there" / "file", tmp_path / "link"
    link.symlink_to(file)
    file.parent.mkdir()
    for content in ("made", "replaced"):
        write_whole(link, lambda path, text=content: path.write_text(text))
        assert file.read_text() == content
    assert link.is_symlink()
    assert list(file.parent.iterdir()) == [file]


def test_plots_are_the_same_bytes_for_the_same_results(
    comparison: Comparison, tmp_path: Path
) -> None:
    first = write_plots(comparison, tmp_path / "first" / "plot")
    second = write_plots(comparison, tmp_path / "second" / "plot")
    assert [path.suffix for path in first] == [".png", ".svg"]
    for each, other in zip(first, second, strict=True):
        assert each.read_bytes() == other.read_bytes()
    assert first[0].read_bytes().startswith(b"\x89PNG")
    assert b"<dc:date>" not in first[1].read_bytes()


def test_plots_show_the_results(made_up_results: dict[str, Any], tmp_path: Path) -> None:
    before = write_plots(Comparison.from_dict(made_up_results), tmp_path / "before")
    made_up_results["systems"][4]["services"][6]["p99_us"] *= 3
    after = write_plots(Comparison.from_dict(made_up_results), tmp_path / "after")
    for each, other in zip(before, after, strict=True):
        assert each.read_bytes() != other.read_bytes()


def broken(results: dict[str, Any], path: list[Any], value: Any) -> dict[str, Any]:
    """A copy with `value` at `path`; the value `...` removes it."""
    results = copy.deepcopy(results)
    place = results
    for step in path[:-1]:
        place = place[step]
    if value is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return results


SERVICE = ["systems", 0, "services", 0]
LATENCIES = ("mean_us", "p50_us", "p99_us", "p999_us")


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (
            ["schema"],
            "accelflow.compare/9",
            "results.schema = 'accelflow.compare/9': must be 'accelflow",
        ),
        (["seed"], ..., "results.seed is left out: must be given"),
        (["seed"], True, "results.seed = True: must be a whole number"),
        (["requests"], -1, "results.requests = -1: must not be negative"),
        (["systems"], [], r"results.systems = \[\]: must have at least one entry"),
        (["systems"], [3], r"results.systems\[0\] = 3: must be an object"),
        (["systems", 0, "orchestrator"], "gpu", " = 'gpu': must be non_acc, cpu_centric"),
        (["systems", 0, "orchestrator"], "ideal", "= 'ideal': must not be repeated"),
        ([*SERVICE, "service"], "ReadH", r"results.systems\[0\].services: service = 'ReadH'"),
        (
            [*SERVICE, "p99_us"],
            ...,
            r"systems\[0\].services\[0\].p99_us is left out: must be given",
        ),
        ([*SERVICE, "p99_us"], "fast", "p99_us = 'fast': must be a number"),
        ([*SERVICE, "p99_us"], math.nan, "p99_us = nan: must be finite"),
        ([*SERVICE, "mean_us"], -2.0, "mean_us = -2: must be finite and not negative"),
        ([*SERVICE, "fallbacks", "overflow_full"], 0.5, "fallbacks.overflow_full = 0.5"),
        ([*SERVICE, "accelerator_utilization", "TCP"], None, "accelerator_utilization.TCP = None"),
        ([*SERVICE, "data", "dram_bytes"], -1, "data.dram_bytes = -1: must be finite and not"),
        ([*SERVICE, "data", "llc_hit_ratio"], 1.5, "data.llc_hit_ratio = 1.5: must be from 0 to 1"),
        (
            [*SERVICE, "core_utilization"],
            7,
            r"services\[0\].core_utilization = 7: must be from 0 to 1",
        ),
        ([*SERVICE, "accelerator_utilization", "TCP"], 2.0, "TCP = 2: must be from 0 to 1"),
        (
            [*SERVICE, "slo"],
            {"us": 1.0, "requests": 4, "missed": 5},
            r"services\[0\].slo.missed = 5: must be at most slo.requests, which is 4",
        ),
        (
            [*SERVICE, "responded"],
            179_999,
            "completed = 180000: must be at most responded, which is 179999",
        ),
        (
            [*SERVICE, "called"],
            {"requests": 3, "completed": 4, **dict.fromkeys(LATENCIES)},
            "called.completed = 4: must be at most called.requests, which is 3",
        ),
    ],
)
def test_wrong_results_are_refused_by_place(
    made_up_results: dict[str, Any], path: list[Any], value: Any, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        Comparison.from_dict(broken(made_up_results, path, value))


def test_a_system_without_a_service_is_noted_on_the_page(
    made_up_results: dict[str, Any], tmp_path: Path
) -> None:
    relief = next(row for row in made_up_results["systems"] if row["orchestrator"] == "relief")
    del relief["services"][0]
    (tmp_path / "r.json").write_text(json.dumps(made_up_results), encoding="utf-8")
    arguments = ["report", str(tmp_path / "r.json"), "--out", str(tmp_path / "page.html")]
    done = CliRunner().invoke(program, arguments)
    assert done.exit_code == 0, done.output
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("has no results of") == 1
    assert "RELIEF has no results of CPost: its means are over the other services." in page


def test_results_may_say_what_moved_their_data(made_up_results: dict[str, Any]) -> None:
    del made_up_results["systems"][0]["services"][0]["data"]
    without, having = Comparison.from_dict(made_up_results).systems[0].services[:2]
    assert without.data is None
    assert having.data == {"dram_bytes": 3_000_000.0, "llc_hit_ratio": None}


def test_unknown_keys_survive_in_the_json(made_up_results: dict[str, Any]) -> None:
    made_up_results["machine"] = {"cores": 36}
    assert '"machine"' in to_json(Comparison.from_dict(made_up_results))


@pytest.mark.parametrize(
    ("rate_rps", "text"),
    [(1_234_567.0, "1,234.6"), (1_000.0, "1.0"), (49.6156, "0.0496"), (3.0, "0.003"), (0.0, "0.0")],
)
def test_low_rates_are_not_rounded_to_zero(rate_rps: float, text: str) -> None:
    assert krps_text(rate_rps) == text


@pytest.mark.parametrize(
    ("write", "name"),
    [(write_json, "q.json"), (write_parquet, "q.parquet"), (write_plots, "q")],
    ids=["json", "parquet", "plots"],
)
def test_files_are_written_to_a_path_that_is_text(
    comparison: Comparison,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    write: Callable[[Comparison, Any], object],
    name: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write(comparison, name)
    assert {path.stem for path in tmp_path.iterdir()} == {"q"}
    with pytest.raises(InputError, match=r"= 3: must be a path"):
        write(comparison, 3)


def test_rates_of_a_single_counted_request_are_unknown() -> None:
    scenario = simulation.Scenario(
        profile="paper",
        orchestrators=["accelflow"],
        services=["Login"],
        requests=100,
        warmup=99,
    )
    results = simulation.run(scenario)
    (counted,) = results["systems"][0]["services"]
    assert (counted["offered_rps"], counted["throughput_rps"]) == (None, None)
    comparison = Comparison.from_dict(results)
    assert comparison["accelflow"]["Login"].completed == 1
    text = printed(comparison)
    assert "The rates of Login are unknown: fewer than two requests are counted, or all" in text
    (service,) = [line.split() for line in text.splitlines() if line.startswith("Login")]
    assert service == ["Login", "-"]
    (row,) = [line for line in text.splitlines() if line.startswith(" AccelFlow")]
    assert " - " in row
    assert " 0.0" not in text
    assert repr(comparison["accelflow"]).splitlines()[3].split()[3] == "-"
    two = Comparison.from_dict(simulation.run(replace(scenario, warmup=98)))
    assert "are unknown" not in printed(two)


def test_every_reader_of_results_takes_unknown_rates(
    made_up_results: dict[str, Any], tmp_path: Path
) -> None:
    for system in made_up_results["systems"]:
        system["services"][0] |= {"offered_rps": None, "throughput_rps": None}
    comparison = Comparison.from_dict(made_up_results)
    ours = comparison["accelflow"]
    assert (ours.throughput_rps, ours.services[1].throughput_rps) == (None, 13391.5)
    assert "The rates of CPost are unknown" in printed(comparison)
    (first, *others) = to_table(comparison).column("throughput_rps").to_pylist()[:8]
    assert (first, set(others)) == (None, {13391.5})
    whole = replace(comparison, loads=((1.0, comparison), (2.0, comparison)))
    page = tmp_path / "page.html"
    whole.write_page(page)
    assert page.stat().st_size > 1_000
    # The total is unknown, and so are CPost's points; those of other services are drawn.
    figure = throughput_figure(whole)
    assert figure is not None
    assert "all services" not in figure.data["service"]
    assert len(set(figure.data["service"])) == 7
    pair = pooled([made_up_results, {**made_up_results, "seed": 2}])
    assert pair["systems"][0]["services"][0]["throughput_rps"] is None
    energy = chip.energy(made_up_results, "accelflow")
    assert energy["power_w"]["total_w"] > 0
    figures = ("throughput_rps", "joules_per_request", "requests_per_joule")
    assert [energy[name] for name in figures] == [None, None, None]
    file = tmp_path / "results.json"
    file.write_text(json.dumps(made_up_results))
    text = CliRunner().invoke(power, [str(file)], catch_exceptions=False).output
    (line,) = [line for line in text.splitlines() if line.startswith("accelflow ")]
    assert line.split()[2:] == ["-", "-", "-"]
