"""Every result that the three companion papers report: none forgotten, exact ones to the digit."""

import errno
import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from accelflow import AccelflowError, InputError, arcus, companions
from accelflow.cli import program
from accelflow.companions import PaperResult, ensemble, together
from accelflow.companions.accelerometer_rows import NOT_COMPUTED
from accelflow.companions.page import markdown
from accelflow.companions.together import live, simulated, systems
from accelflow.companions.together.beside import beside, workload
from accelflow.companions.together.sentences import decided
from accelflow.findings import NO_REASON, Estimate, Reported, Verdict, targets
from conftest import ROOT


@pytest.fixture(scope="module")
def outcomes() -> Mapping[str, PaperResult]:
    """Each paper with two seeds, the fewest that have an interval; Fig. 11's rates need more."""
    short = ensemble.compare(requests=100)
    seeds = {"fig11": arcus.replications("fig11")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("accelflow.companions.outcome.ensemble.compare", lambda **_: short)
        patch.setattr("accelflow.arcus.replications", lambda name: seeds.get(name, 2))
        patch.setattr("accelflow.cerebros.REPLICATIONS", 2)
        return {paper: companions.run(paper, threads=2) for paper in companions.PAPERS}


def exact_rows(paper: str) -> set[str]:
    return {
        row
        for row, target in targets().items()
        if row.startswith(f"{paper}.") and target.kind == "exact"
    }


def test_there_are_as_many_exact_rows_as_the_file_had() -> None:
    # 3 case studies and their errors, 15 recommendations, 2 gains without inference and a share of
    # offloads; 9 of the RPC layer; 4 of Table 2.
    counts = [len(exact_rows(paper)) for paper in ("accelerometer", "cerebros", "arcus")]
    assert counts == [24, 9, 4]


@pytest.mark.parametrize("paper", companions.PAPERS)
def test_every_reported_row_is_compared(paper: str, outcomes: Mapping[str, PaperResult]) -> None:
    findings = outcomes[paper].findings
    # Profiles of the paper's own services: the page shows the live server's beside them.
    others = tuple(f"{section}." for section in NOT_COMPUTED)
    reported = {
        key for key in targets() if key.startswith(f"{paper}.") and not key.startswith(others)
    }
    assert {finding.key for finding in findings if finding.paper is not None} == reported
    places = [(finding.key, finding.experiment) for finding in findings]
    assert len(set(places)) == len(places)
    for finding in findings:
        assert finding.paper is not None or finding.key not in targets()


def test_arcus_experiments_have_the_units_and_ranges_of_the_targets(
    outcomes: Mapping[str, PaperResult],
) -> None:
    reports = outcomes["arcus"].results["reports"]
    listed = [row for report in reports.values() for row in report["rows"]]
    rows = {row["key"]: row for row in listed}
    assert len(rows) == len(listed)
    assert all(key.startswith("arcus.") for key in rows)
    reported = {key for key in targets() if key in rows}
    assert {key for key, row in rows.items() if row["paper"] is not None} == reported
    for key in reported:
        assert rows[key]["unit"] == targets()[key].unit, key
    assert rows["arcus.fig9.burst_p99.Bypassed_noTS_panic"]["paper"] == [1, 1.41]
    assert rows["arcus.fig3.pattern_3_vm1_highest_over_lowest"]["paper"] == {"above": 1}


@pytest.mark.parametrize("paper", companions.PAPERS)
def test_exact_rows_come_out_to_the_printed_digit(
    paper: str, outcomes: Mapping[str, PaperResult]
) -> None:
    exact = [finding for finding in outcomes[paper].findings if finding.kind == "exact"]
    assert {finding.key for finding in exact} == exact_rows(paper)
    off = [finding.key for finding in exact if finding.verdict is not Verdict.AS_PRINTED]
    assert off == []


@pytest.mark.parametrize("paper", companions.PAPERS)
def test_large_differences_have_reasons(paper: str, outcomes: Mapping[str, PaperResult]) -> None:
    off = [finding for finding in outcomes[paper].findings if finding.verdict is Verdict.OFF]
    assert [finding.key for finding in off if not finding.why] == []


def test_every_outcome_of_a_simulation_has_its_interval(
    outcomes: Mapping[str, PaperResult],
) -> None:
    for paper in ("cerebros", "arcus"):
        for finding in outcomes[paper].findings:
            assert finding.ours is not None
            assert finding.ours.half_width is not None, finding
    figures = outcomes["cerebros"].results["figures"]
    reports = outcomes["arcus"].results["reports"]
    for result in reports.values():
        assert result["replications"] > 1
        assert all(row["half_width"] is not None for row in result["rows"])
    assert figures["replications"] > 1
    assert all(bar["half_width"] is not None for bar in figures["bars"])
    # What is drawn differs from seed to seed.
    for name in ("fig3", "fig6", "table3", "tail", "fig9", "fig11"):
        assert any(row["half_width"] for row in reports[name]["rows"]), name
    assert any(bar["half_width"] for bar in figures["bars"])


@pytest.mark.parametrize(
    ("paper", "ours", "rounded", "cut_off"),
    [
        ("0.157", 0.15775, False, True),
        ("0.157", 0.15799, False, True),
        ("0.157", 0.1565, True, True),
        ("0.157", 0.158, False, False),
        ("0.157", 0.1564, False, False),
        ("0.080", 0.0806, False, True),
        ("0.08", 0.0806, True, True),
        ("50", 50.4, True, True),
        ("50", 50.6, False, False),
        ("1.7", 1.703, True, True),
        ("1.7", 1.8, False, False),
    ],
)
def test_what_printed_means(paper: str, ours: float, rounded: bool, cut_off: bool) -> None:
    number = Reported.number(paper)
    assert number.printed_digits_match(ours) is rounded
    assert replace(number, cut_off=True).printed_digits_match(ours) is cut_off


def test_rates_of_table_2_are_compared_in_1024s(outcomes: Mapping[str, PaperResult]) -> None:
    (row,) = [one for one in outcomes["arcus"].findings if one.key.endswith("16384,65536,320")]
    for ours, verdict in (
        (102.4, Verdict.AS_PRINTED),
        (100.0, Verdict.OFF),
        (204.8, Verdict.OFF),  # without the cap of the bucket
    ):
        assert replace(row, ours=Estimate.computed(ours)).verdict is verdict


def test_pages_and_pictures_are_written_and_equal(
    outcomes: Mapping[str, PaperResult], tmp_path: Path
) -> None:
    for paper, outcome in outcomes.items():
        first = companions.write(outcome, tmp_path / "one" / paper)
        if paper == "accelerometer":
            second = companions.write(outcome, tmp_path / "two" / paper)
            assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
        names = {path.name for path in first}
        assert {"comparison.md", "results.json"} <= names
        page = first[0].read_text()
        assert NO_REASON not in page
        for name in names:
            if name.endswith(".png"):
                assert f"]({name})" in page
                assert name.removesuffix(".png") + ".svg" in names
        found = json.loads(first[1].read_text())
        assert found == json.loads(json.dumps(companions.to_json(outcome)))
        assert found["schema"] == "accelflow.companions/2"
        assert [one["key"] for one in found["findings"]] == [one.key for one in outcome.findings]
    cerebros = {path.name for path in (tmp_path / "one" / "cerebros").glob("*.png")}
    assert cerebros == {f"fig{number}.png" for number in (2, 5, 6, 7, 8, 9)}
    arcus = {path.stem for path in (tmp_path / "one" / "arcus").glob("*.png")}
    assert arcus == {
        *(f"fig{number}" for number in (3, 6, 7, 8, 9, 11)),
        *("table3", "tail", "prediction"),
    }


@pytest.mark.parametrize("paper", companions.PAPERS)
def test_the_committed_pages_are_of_the_present_models(
    paper: str, outcomes: Mapping[str, PaperResult]
) -> None:
    folder = ROOT / "docs" / "results" / paper
    renew = f"renew by: accelflow companions {paper} --out {folder}"
    committed, present = companions.read(folder / "results.json"), outcomes[paper]
    keys, expected = ([one.key for one in it.findings] for it in (committed, present))
    assert keys == expected, renew
    for found, ours in zip(committed.findings, present.findings, strict=True):
        assert found.ours is not None
        assert ours.ours is not None
        # A committed page may have more seeds.
        assert found.ours.values[: len(ours.ours.values)] == ours.ours.values, (found.key, renew)
    pictures = {path.stem: path.name for path in folder.glob("*.png")}
    page = (folder / "comparison.md").read_text(encoding="utf-8")
    assert markdown(committed, pictures) == page, f"{renew} --again"


@pytest.mark.usefixtures("no_drawing")
def test_pages_are_written_again_without_simulations(
    outcomes: Mapping[str, PaperResult], tmp_path: Path
) -> None:
    first = {path.name: path.read_bytes() for path in companions.write(outcomes["arcus"], tmp_path)}
    arguments = ["companions", "arcus", "--again", "--out", str(tmp_path)]
    done = CliRunner().invoke(program, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == first
    wrong = CliRunner().invoke(program, ["companions", "cerebros", *arguments[2:]])
    kept = tmp_path / "results.json"
    message = f"PAPER = 'cerebros': must be arcus with --again: {kept} has its results"
    assert str(wrong.exception) == message
    assert wrong.stdout == ""
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == first
    (tmp_path / "results.json").write_text('{"schema": "accelflow.companions/1"}')
    with pytest.raises(InputError, match=r"schema = .*companions/1.*: must be"):
        companions.read(tmp_path / "results.json")


@pytest.mark.usefixtures("no_drawing")
def test_the_command_writes_and_refuses(tmp_path: Path) -> None:
    out = tmp_path / "missing" / "results"
    arguments = ["companions", "accelerometer", "--out", str(out)]
    done = CliRunner().invoke(program, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "recommendations.ideal_compression" in done.stdout
    assert "31 rows agree, 0 off, 0 undecided" in done.stdout
    assert (out / "comparison.md").is_file()
    unknown = CliRunner().invoke(program, ["companions", "relief"])
    assert str(unknown.exception).startswith("PAPER = 'relief': must be accelerometer, ")
    with pytest.raises(InputError, match="paper = 'relief': must be accelerometer, "):
        companions.run("relief")


def test_table_4_says_that_its_costs_are_computed_from_the_row_it_is_compared_with() -> None:
    page = (ROOT / "docs" / "results" / "arcus" / "comparison.md").read_text(encoding="utf-8")
    (note,) = [line for line in page.splitlines() if "computed from the row" in line]
    assert note.startswith("- `rocksdb.cores`, `rocksdb.cpu_saving`: No prediction: ")
    assert "that this is compared with (2.15 cores" in note
    paper, ours = targets()["arcus.rocksdb.cores"].figure.text, "1.984"
    assert f"| `rocksdb.cores` cores | table4 | {ours} |  | {paper} | cores |" in page


@pytest.mark.usefixtures("no_drawing")
def test_results_of_another_paper_or_seed_are_kept(
    outcomes: Mapping[str, PaperResult], tmp_path: Path
) -> None:
    def names(outcome: PaperResult) -> set[str]:
        return {path.name for path in companions.write(outcome, tmp_path)}

    cerebros, arcus = outcomes["cerebros"], outcomes["arcus"]
    first = names(cerebros)
    before = {name: (tmp_path / name).read_bytes() for name in first}
    assert names(cerebros) == first
    second = names(arcus)
    assert {"comparison-2.md", "results-2.json", "fig7-2.png"} <= second
    assert "](fig7-2.png)" in (tmp_path / "comparison-2.md").read_text()
    assert "results-3.json" in names(replace(cerebros, seed=2))
    assert names(arcus) == second
    assert {name: (tmp_path / name).read_bytes() for name in first} == before


@pytest.mark.usefixtures("no_drawing")
def test_a_page_of_something_else_is_kept(tmp_path: Path) -> None:
    (tmp_path / "comparison.md").write_text("mine")
    (tmp_path / "results-2.json").write_text("{")
    outcome = companions.run("accelerometer")
    names = {path.name for path in companions.write(outcome, tmp_path)}
    drawn = ("table6", "fig16-18", "fig20", "fig15-22", "fig1", "fig2-9", "fig3-7", "fig8-10")
    pictures = {f"{name}-3.{kind}" for name in drawn for kind in ("png", "svg")}
    assert names == {"comparison-3.md", "results-3.json"} | pictures
    assert (tmp_path / "comparison.md").read_text() == "mine"


@pytest.mark.usefixtures("no_drawing")
def test_nothing_is_left_half_written(
    outcomes: Mapping[str, PaperResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    companions.write(outcomes["accelerometer"], out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("accelflow.reproduce.pictures.Figure.savefig", full)
    with pytest.raises(InputError, match=r"--out .*: No space left on device"):
        companions.write(outcomes["cerebros"], out)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="--out "):
        companions.write(outcomes["accelerometer"], tmp_path / "file" / "below")


def test_cerebros_in_the_ensemble_has_a_row_for_each_reading_and_place() -> None:
    result = ensemble.compare(requests=100)
    places = [(row["tcp_cost_us"], row["rpc"]) for row in result["rows"]]
    assert places == [
        (reading, place)
        for reading in ensemble.READINGS_US
        for place in (
            "AccelFlow's own",
            "Cerebros, headers",
            "Cerebros",
            "Cerebros, cold code",
            "Cerebros, affinity",
            "Cerebros, affinity, depth 4",
            "Cerebros, map of 4 functions",
            "Cerebros, scarce memory",
        )
    ]
    assert ensemble.compare(requests=100) == result
    own, headers, whole, cold, affinity, _, few, _ = result["rows"][:8]
    # 6 ns a message is less than any software takes over 20.5.
    assert headers["rpc_utilization"]["mean"] < own["rpc_utilization"]["mean"]
    # Payloads are its own too, and no engine moves them from their headers.
    assert whole["rpc_utilization"]["mean"] > headers["rpc_utilization"]["mean"]
    assert whole["mean_us"]["mean"] < headers["mean_us"]["mean"]
    # Another service's code costs something, and affinity takes it back.
    assert cold["mean_us"]["mean"] > max(whole["mean_us"]["mean"], affinity["mean_us"]["mean"])
    # Half of the services are left to cores.
    assert few["mean_us"]["mean"] > whole["mean_us"]["mean"]
    assert few["rpc_utilization"]["mean"] < whole["rpc_utilization"]["mean"]


def test_the_committed_ensemble_is_of_the_present_simulator() -> None:
    committed = ROOT / "docs" / "results" / "cerebros" / "results.json"
    kept = json.loads(committed.read_text(encoding="utf-8"))["results"]["ensemble"]
    (row,) = [row for row in kept["rows"] if (row["tcp_cost_us"], row["rpc"]) == (7.0, "Cerebros")]
    run = ensemble.run_one(
        7.0, ensemble.WHOLE, seed=kept["seed"], threads=2, requests=kept["requests"]
    )
    assert {key: row[key]["values"][0] for key in run} == run, "renew by: accelflow companions"


def committed_together() -> Mapping[str, Any]:
    committed = ROOT / "docs" / "results" / "together" / "together.json"
    found: Mapping[str, Any] = json.loads(committed.read_text(encoding="utf-8"))
    return found


def test_the_committed_page_of_all_papers_is_of_the_present_models() -> None:
    found = committed_together()
    page = ROOT / "docs" / "results" / "together" / "together.md"
    assert page.read_text(encoding="utf-8") == together.markdown(found, "together.png")
    assert found["schema"] == together.SCHEMA
    rows = {(row["load"], row["system"]): row for row in found["rows"]}
    assert list(rows) == [(load, system) for load in systems.LOADS for system in systems.SYSTEMS]
    # One run of each kind, again.
    setup = simulated.base_server()
    for load, name in (("even", "cores alone"), ("flood", "with both")):
        run = simulated.one_run(
            setup, load, name, seed=found["seed"], requests=found["requests"], threads=2
        )
        for measure in ("mean_us", "p99_us", "core_us", "capacity_rps", "flooding_rps"):
            assert rows[load, name][measure]["values"][0] == run[measure], (load, name, measure)


def test_what_each_paper_adds_on_one_server(tmp_path: Path) -> None:
    result = together.compare(requests=200, replications=2)
    rows = {(row["load"], row["system"]): row for row in result["rows"]}
    assert len(rows) == 10
    even, flood = (rows[load, "AccelFlow"] for load in ("even", "flood"))
    # Without queues to speak of, the closed form is near the simulation.
    alone = rows["even", "cores alone"]
    for row in (even, alone):
        assert row["closed_core_us"] == pytest.approx(row["core_us"]["mean"], rel=0.15)
        assert row["closed_mean_us"] == pytest.approx(row["mean_us"]["mean"], rel=0.25)
        assert row["closed_capacity_rps"] == pytest.approx(row["capacity_rps"]["mean"], rel=0.2)
    assert even["capacity_rps"]["mean"] > 2 * alone["capacity_rps"]["mean"]
    # The flood delays the others where cores do all, by either model.
    flooded = rows["flood", "cores alone"]
    assert flooded["closed_mean_us"] > 1.2 * alone["closed_mean_us"]
    assert flooded["mean_us"]["mean"] > 1.2 * alone["mean_us"]["mean"]
    faster = rows["even", "with Cerebros"]["mean_us"]["mean"]
    assert faster < even["mean_us"]["mean"]
    # The tenant that floods waits, and the others do not wait for it.
    shaped = rows["flood", "with ARCUS"]
    assert (shaped["tenant_waits"], shaped["overloaded"]) == (True, [])
    assert shaped["p99_us"]["mean"] < flood["p99_us"]["mean"]
    effects = {(row["load"], row["added"]): row["p99_ratio"]["mean"] for row in result["effects"]}
    assert effects["flood", "ARCUS"] > 1 < effects["even", "Cerebros"]
    files = {path.name: path for path in together.write(result, tmp_path / "out")}
    assert set(files) == {"together.md", "together.json", "together.png", "together.svg"}
    page = files["together.md"].read_text(encoding="utf-8")
    assert page == together.markdown(result, "together.png")
    (waiting,) = [line for line in page.splitlines() if line.startswith("| flood | with ARCUS ")]
    assert "| waits |" in waiting
    assert json.loads(files["together.json"].read_text(encoding="utf-8")) == result
    with pytest.raises(InputError, match="requests = 1: must be"):
        together.compare(requests=1)


@pytest.mark.parametrize(
    ("found", "sign"),
    [
        ({"mean": 1.2, "half_width": 0.1}, 1),
        ({"mean": 0.8, "half_width": 0.1}, -1),
        ({"mean": 1.05, "half_width": 0.1}, 0),
        ({"mean": 1.2, "half_width": None}, 0),
        ({"median": 1.2, "low": 1.1, "high": 1.3}, 1),
        ({"median": 1.2, "low": 0.9, "high": 1.3}, 0),
        (None, 0),
    ],
)
def test_only_intervals_beside_one_decide(found: dict[str, float] | None, sign: int) -> None:
    assert decided(found) == sign


def measured_live() -> dict[str, Any]:
    """What `live.measure` returns, by hand: the second round of each situation is 2 us slower."""

    def step(trace: str, accelerator: str, direction: str) -> dict[str, Any]:
        facts = {"compressed": 0} if accelerator == "Dser" else {}
        sizes = {"input_bytes": 900, "output_bytes": 900, "facts": facts, "samples": 10}
        costs = {"cost_ns": 1_000.0, "cost_quantiles_ns": [[0.0, 1_000.0], [1.0, 1_000.0]]}
        place = {"trace": trace, "accelerator": accelerator, "direction": direction}
        return {**place, **sizes, **costs}

    receive = [step("T1", name, "receive") for name in ("TCP", "Decr", "RPC", "Dser", "LdB")]
    respond = [step("T2", name, "send") for name in ("Ser", "RPC", "Encr", "TCP")]
    logic = {"app_ns": 4_000.0, "app_quantiles_ns": [[0.0, 4_000.0], [1.0, 4_000.0]], "samples": 10}
    outside = {"core_quantiles_ns": [[0.0, 3_000.0], [1.0, 3_000.0]], "samples": 10}
    phases = [{"chains": [{"steps": receive}]}, {"cpu": logic}, {"chains": [{"steps": respond}]}]
    names = ("Login", "UniqId")
    services = [{"service": name, "phases": phases, "outside": outside} for name in names]

    def round_of(place: int, later_us: float) -> dict[str, float]:
        return {
            "mean_us": 100.0 - place + later_us,
            "p99_us": 200.0 - 10 * place + later_us,
            "flooding_p99_us": 300.0 + later_us,
            "flooding_rps": 1_000.0,
            "core_us": 20.0 + later_us,
            "behind_s": 0.5 if place == 0 else 0.0,
        }

    tenant = {"requests_per_s": 2_000.0, "request_us": 9.0, "request_bytes": 256}
    return {
        "schema": live.SCHEMA,
        **{"machine": "a machine", "cores": 2, "own_core": True, "date": "2026-01-01"},
        **{"run_queue": [0.1, 0.3], "rounds": 2, "seconds": 1.2, "seed": 1},
        **{"rates_rps": dict.fromkeys(names, 1_000.0), "flood_ratio": 12.0},
        "control": {
            "capacity_s_per_s": 0.5,
            "tenants": [
                {"name": "flooding", "network": "::1", **tenant},
            ],
        },
        "rows": [
            {"load": load, "system": system, "rounds": [round_of(place, 0.0), round_of(place, 2.0)]}
            for load in systems.LOADS
            for place, system in enumerate(systems.SYSTEMS)
        ],
        "recording": {
            **{"format": "accelflow-recording", "version": 4, "machine": "a machine"},
            **{"date": "2026-01-01", "services": services},
        },
    }


def test_a_recorded_call_that_raised_no_exception_has_all_facts_of_its_reply() -> None:
    def step(trace: str, accelerator: str, **facts: int) -> dict[str, Any]:
        return {"trace": trace, "accelerator": accelerator, "facts": facts}

    call = [step("T9", "Ser"), step("T10", "Dser", compressed=1), step("T10", "Dcmp", compressed=1)]
    phases = [{"cpu": {}}, {"chains": [{"steps": call}]}]
    made = workload({"services": [{"service": "Compose", "phases": phases}]})
    chain = {"trace": "T9", "facts": {"T10": {"compressed": 1, "exception": 0}}}
    assert made["services"] == [{"name": "Compose", "path": [{"cpu": True}, chain]}]


def test_a_live_server_stands_beside_its_simulation_and_the_closed_form() -> None:
    found = beside(measured_live(), seed=1, replications=2, threads=1, requests=500)
    rows = {(row["load"], row["system"]): row for row in found["rows"]}
    assert len(rows) == 10
    alone = rows["even", "cores alone"]
    assert alone["live_mean_us"] == {"median": 101.0, "low": 100.0, "high": 102.0}
    assert (alone["live_overloaded"], rows["even", "AccelFlow"]["live_overloaded"]) == (True, False)
    # Nine operations of 1 us, 4 us of logic and 3 us around them, on the core that executes all.
    assert alone["closed_core_us"] == pytest.approx(16.0)
    assert alone["core_us"]["mean"] == pytest.approx(16.0, rel=0.03)
    # Hardware takes the operations away, and a core spends its Enqueues.
    for (_, system), row in rows.items():
        if system != "cores alone":
            assert 4.0 < row["closed_core_us"] < 8.0
            assert row["core_us"]["mean"] < 10.0
    assert rows["flood", "with ARCUS"]["flooding_rps"]["mean"] == pytest.approx(2_000, rel=0.15)
    effects = {(row["load"], row["added"]): row for row in found["effects"]}
    median = effects["even", "AccelFlow"]["live_p99_ratio"]
    assert median["median"] == pytest.approx((200 / 190 + 202 / 192) / 2)
    assert effects["flood", "AccelFlow"]["p99_ratio"]["mean"] > 1


def test_the_page_of_all_papers_shows_a_live_server_that_was_measured(tmp_path: Path) -> None:
    kept = live.write(measured_live(), tmp_path / "together" / "live.json")
    result = together.compare(requests=100, replications=2, live=live.read(kept))
    page = together.markdown(result)
    assert "## On a live server\n\nMeasured on 2026-01-01 on 2 cores of a machine" in page
    assert "| even | cores alone | 101 (100 to 102) † | " in page
    assert "of 2,000 promised." in page
    kept.write_text('{"schema": "accelflow.together/1"}', encoding="utf-8")
    with pytest.raises(InputError, match=r"live.json: schema = 'accelflow.together/1': must be"):
        live.read(kept)


def test_what_a_live_measurement_refuses(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="rounds = 1: must be"):
        live.measure(tmp_path / "none", rounds=1)
    with pytest.raises(InputError, match=r"seconds = 0: must be a number from 0\.5 to 60"):
        live.measure(tmp_path / "none", seconds=0)
    with pytest.raises(InputError, match=r"none': must be the executable of .*: No such file or"):
        live.measure(tmp_path / "none")
    other = Path(shutil.which("echo") or "echo")
    with pytest.raises(InputError, match=r"echo': must be the program of .*; it printed "):
        live.measure(other)
    ends = Path(shutil.which("true") or "true")
    with pytest.raises(AccelflowError, match="true ended with code 0"):
        live.measure(ends)
    arguments = ["companions", "arcus", "--measure", "x", "--out", str(tmp_path / "out")]
    refused = CliRunner().invoke(program, arguments)
    assert isinstance(refused.exception, InputError)
    assert str(refused.exception) == "--measure = 'x': must be left out unless PAPER is 'together'"
    refused = CliRunner().invoke(program, ["companions", "together", "--again"])
    assert isinstance(refused.exception, InputError)
    assert str(refused.exception) == "--again is given: must be left out, since PAPER is 'together'"
