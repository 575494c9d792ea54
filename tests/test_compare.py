"""`accelflow compare` from the command line and from Python."""

import dataclasses
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from accelflow import AccelflowError, calibration, simulation
from accelflow.calibration import calibration_of
from accelflow.cli import doubts, program
from accelflow.cli.compare import compare as compare_command
from accelflow.cli.size import size
from accelflow.cli.sweep import sweep
from accelflow.errors import InputError
from accelflow.report import Comparison
from accelflow.report.export import to_json

SMALL = ("--profile", "paper", "--requests", "400")


def run(*arguments: str, cache: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The command as a user's shell would run it."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(cache or "/nonexistent")}
    if cache:
        environment["XDG_CACHE_HOME"] = str(cache)
    return subprocess.run(
        [sys.executable, "-m", "accelflow", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=300,
    )


#: A comparison with costs that are measured on this machine.
MEASURED = ("compare", "socialnetwork", "--requests", "200", "--json", "--out")


@dataclasses.dataclass(frozen=True)
class Measured:
    """A folder of kept recordings, and the comparison that has made the one in it."""

    cache: Path
    done: subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    cache = tmp_path_factory.mktemp("cache")
    return Measured(cache, run(*MEASURED, str(cache / "out"), cache=cache))


@pytest.fixture(scope="module")
def recording(measured: Measured) -> str:
    """The costs of the services here, measured once."""
    (kept,) = (measured.cache / "accelflow").iterdir()
    return kept.read_text()


def small(**changes: Any) -> simulation.Scenario:
    profile = {} if "recording" in changes else {"profile": "paper"}
    return simulation.Scenario(**{"requests": 400, **profile, **changes})


def test_json_is_byte_identical_for_a_seed_on_any_number_of_threads(tmp_path: Path) -> None:
    outputs = []
    for threads in ("1", "2", "2"):
        done = run(
            "compare",
            "socialnetwork",
            *SMALL,
            "--json",
            "--threads",
            threads,
            "--out",
            str(tmp_path / threads),
        )
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1] == outputs[2]
    results = json.loads(outputs[0])
    assert [system["orchestrator"] for system in results["systems"]] == [
        "non_acc",
        "cpu_centric",
        "relief",
        "cohort",
        "accelflow",
        "ideal",
    ]
    assert all(len(system["services"]) == 8 for system in results["systems"])
    other = run("compare", "socialnetwork", *SMALL, "--json", "--seed", "2", "--out", str(tmp_path))
    assert other.stdout != outputs[0]


def test_files_hold_what_was_printed(tmp_path: Path) -> None:
    done = run("compare", "socialnetwork", *SMALL, "--json", "--out", str(tmp_path / "new/dir"))
    out = tmp_path / "new/dir"
    assert (out / "compare-socialnetwork.json").read_text() == done.stdout
    table = pq.read_table(out / "compare-socialnetwork.parquet")
    assert table.num_rows == 48
    assert {"service", "system", "p99_us", "throughput_rps"} <= set(table.column_names)
    assert (out / "compare-socialnetwork.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (out / "compare-socialnetwork.svg").read_text()[:1000]


def test_results_of_another_scenario_are_not_overwritten(tmp_path: Path) -> None:
    fewer = ("--orchestrator", "accelflow", "--service", "UniqId", "--out", str(tmp_path))

    def ran(*changes: str) -> str:
        done = run("compare", "socialnetwork", *SMALL, *fewer, *changes)
        assert done.returncode == 0, done.stderr
        (wrote,) = [line for line in done.stderr.splitlines() if line.startswith("wrote ")]
        return Path(wrote.removeprefix("wrote ").split(", ")[0]).stem

    assert ran() == "compare-socialnetwork"
    first = (tmp_path / "compare-socialnetwork.json").read_bytes()
    assert ran("--seed", "2") == "compare-socialnetwork-2"
    assert ran("--set", "accelerator.pes=4") == "compare-socialnetwork-3"
    # The same once more is the same file, whatever has come after it.
    assert ran() == "compare-socialnetwork"
    assert ran("--seed", "2") == "compare-socialnetwork-2"
    assert (tmp_path / "compare-socialnetwork.json").read_bytes() == first
    (tmp_path / "compare-socialnetwork.json").write_text("mine")
    assert ran() == "compare-socialnetwork-4"
    assert (tmp_path / "compare-socialnetwork.json").read_text() == "mine"
    for suffix in (".json", ".parquet", ".png", ".svg"):
        assert (tmp_path / f"compare-socialnetwork-4{suffix}").is_file()


def made_up_calibration(recording: str, *, spread: float, waited: float) -> str:
    tree = json.loads(recording)
    for service in tree["services"]:
        costs = [1_000.0, 1_000.0 * (1 + spread / 2), 1_000.0 * (1 + spread)]
        service["calibration"] = {"round_costs_ns": costs, "waited_ratio": waited}
    return json.dumps(tree)


@pytest.mark.parametrize(
    ("spread", "waited", "says"),
    [
        (0.02, 0.01, []),
        (0.02, 0.30, ["the machine was busy: for 30% of the time"]),
        (0.50, 0.01, ["the costs are unsteady: those of CPost vary by 20% between rounds"]),
        (0.50, 0.30, ["the machine was busy", "the costs are unsteady"]),
    ],
)
def test_costs_that_are_not_known_well_are_doubted_wherever_they_are_used(
    tmp_path: Path, recording: str, spread: float, waited: float, says: list[str]
) -> None:
    recording = made_up_calibration(recording, spread=spread, waited=waited)
    found = calibration_of(recording)
    assert found is not None
    assert (found.rounds, len(found.doubts)) == (3, len(says))
    results = simulation.run(small(recording=recording, services=["CPost"]))
    assert results["calibration"]["doubts"] == found.doubts
    file = tmp_path / "recording.json"
    file.write_text(recording)
    chosen = ("--recording", str(file), "--service", "CPost", "--requests", "200")
    done = run("compare", "socialnetwork", *chosen, "--out", str(tmp_path / "out"))
    words = " ".join(done.stdout.split())
    assert "Costs were measured on" in words
    assert "in 3 rounds" in words
    for says_that in says:
        assert f"Warning: {says_that}" in words
    assert words.count("Warning: ") == len(says)


def without(tree: Any, names: set[str]) -> Any:
    """`tree` without the members called `names`, at any depth."""
    if isinstance(tree, dict):
        return {key: without(value, names) for key, value in tree.items() if key not in names}
    return [without(value, names) for value in tree] if isinstance(tree, list) else tree


def test_a_calibration_keeps_its_rounds(recording: str) -> None:
    tree = json.loads(recording)
    assert tree["version"] == 5
    for service in tree["services"]:
        assert len(service["calibration"]["round_costs_ns"]) == 10
        assert 0 <= service["calibration"]["waited_ratio"] <= 1
    found = calibration_of(recording)
    assert found is not None
    assert set(found.spread_ratio) == set(simulation.services())
    assert all(share >= 0 for share in found.spread_ratio.values())
    # Recordings of before rounds were kept are read, and do not say.
    later = {"calibration", "cost_quantiles_ns", "app_quantiles_ns", "outside", "by_size"}
    old = without(tree, later)
    old["version"] = 2
    assert calibration_of(json.dumps(old)) is None
    assert simulation.run(small(recording=json.dumps(old)))["calibration"] is None


def test_seeds_give_means_with_intervals(tmp_path: Path) -> None:
    few = ("--orchestrator", "accelflow", "--requests", "200", "--profile", "paper", "--seeds", "3")
    done = run("compare", "socialnetwork", *few, "--json", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    assert results["seeds"] == [1, 2, 3]
    service = results["systems"][0]["services"][0]
    low, high = service["intervals"]["p99_us"]
    assert low <= service["p99_us"] <= high
    refused = run("compare", "socialnetwork", "--seeds", "0", "--out", str(tmp_path))
    assert refused.returncode == 2
    assert "--seeds" in refused.stderr


def test_the_table_has_every_system_and_the_papers_figures(tmp_path: Path) -> None:
    done = run("compare", "socialnetwork", *SMALL, "--by-service", "--out", str(tmp_path))
    for name in ("Non-acc", "CPU-Centric", "RELIEF", "Cohort", "AccelFlow", "Ideal", "CPost"):
        assert name in done.stdout
    for printed in ("90.7%", "81.2%", "68.8%", "70.1%", "77.2%", "53.9%", "40.7%", "37.9%"):
        assert printed in done.stdout


def test_the_defaults_of_python_and_of_the_command_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, measured: Measured
) -> None:
    fields = {field.name for field in dataclasses.fields(simulation.Scenario)}
    default = simulation.Scenario()
    with compare_command.make_context("compare", ["socialnetwork"]) as context:
        chosen = {name: value for name, value in context.params.items() if name in fields}
    assert {"profile", "placement", "slo_factor", "seed", "requests", "remote"} <= set(chosen)
    for name, value in chosen.items():
        assert value == getattr(default, name), name
    # And what they come to: the same results, of costs that were measured once.
    monkeypatch.setenv("XDG_CACHE_HOME", str(measured.cache))
    fewer = ("--orchestrator", "accelflow", "--requests", "200", "--json")
    done = run("compare", "socialnetwork", *fewer, "--out", str(tmp_path), cache=measured.cache)
    assert done.returncode == 0, done.stderr
    ours = simulation.run(simulation.Scenario(orchestrators=["accelflow"], requests=200))
    assert to_json(Comparison.from_dict(ours)) == done.stdout
    assert ours["profile"] == "measured"
    assert ours["slo_factor"] == 5.0


def test_a_saturated_run_is_marked_where_its_reductions_stand(tmp_path: Path) -> None:
    fast = ("--profile", "paper", "--rate", "60000", "--requests", "2000", "--by-service")
    done = run("compare", "socialnetwork", *fast, "--out", str(tmp_path))
    table = done.stdout[done.stdout.index("Against") :]
    for name in ("Non-acc", "CPU-Centric", "RELIEF", "Cohort"):
        (line,) = [line for line in table.splitlines() if line.startswith(name)]
        assert all(cell.endswith("%*") for cell in line.split()[1:]), line
    assert "cannot keep up" in table
    assert "the rate is not 13,400" in table


def test_other_workloads_do_not_stand_beside_the_papers_figures(tmp_path: Path) -> None:
    small = ("serverless", "--requests", "400", "--by-service")
    done = run("compare", *small, "--out", str(tmp_path))
    assert "the workload is serverless" in done.stdout
    assert "68.8%" not in done.stdout


def test_some_services_of_a_recording_can_be_chosen(tmp_path: Path, recording: str) -> None:
    for service in ("CPost", "UniqId"):
        results = simulation.run(small(recording=recording, services=[service]))
        found = {s["service"] for system in results["systems"] for s in system["services"]}
        assert found == {service}
    file = tmp_path / "recording.json"
    file.write_text(recording)
    chosen = ("--recording", str(file), "--service", "CPost", "--requests", "200", "--json")
    done = run("compare", "socialnetwork", *chosen, "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert [s["service"] for s in json.loads(done.stdout)["systems"][0]["services"]] == ["CPost"]


def test_orchestrators_and_services_can_be_chosen(tmp_path: Path) -> None:
    done = run(
        "compare",
        "socialnetwork",
        *SMALL,
        "--json",
        "--out",
        str(tmp_path),
        "--orchestrator",
        "accelflow",
        "--orchestrator",
        "relief",
        "--service",
        "Login",
    )
    systems = json.loads(done.stdout)["systems"]
    # In the order of tables, whatever the order of the options.
    assert [system["orchestrator"] for system in systems] == ["relief", "accelflow"]
    assert [s["service"] for system in systems for s in system["services"]] == ["Login", "Login"]


def test_the_papers_spellings_are_understood() -> None:
    spelled = ["Non-acc", "cpu-centric", "RELIEF", "Cohort", "AccelFlow", "ideal"]
    results = simulation.run(small(orchestrators=spelled, services=["UniqId"]))
    ids = [system["orchestrator"] for system in results["systems"]]
    assert ids == [name for name, _ in simulation.orchestrators()]
    with pytest.raises(InputError, match="orchestrators = 'relief': must be given only once"):
        simulation.run(small(orchestrators=["relief", "RELIEF"]))


def test_the_ladder_can_be_chosen() -> None:
    ladder = ["RELIEF", "PerAccTypeQ", "Direct", "CntrFlow", "AccelFlow"]
    results = simulation.run(small(orchestrators=ladder, services=["Login"]))
    found = Comparison.from_dict(results)
    assert [system.name for system in found.systems] == ladder
    means = [system.services[0].mean_us or 0.0 for system in found.systems]
    assert means == sorted(means, reverse=True)
    assert set(dict(simulation.orchestrators())) < set(dict(simulation.systems()))


def test_orders_of_queues_have_names() -> None:
    scarce = {"accelerator.pes": 1.0}
    found = [
        simulation.run(small(orchestrators=[system], config=scarce, policy=policy, slo_factor=5.0))[
            "systems"
        ][0]["services"]
        for system, policy in [
            ("accelflow", "fifo"),
            ("accelflow", "deadline"),
            ("accelflow", "edf"),
            ("accelflow_deadline", None),
            ("accelflow_edf", None),
        ]
    ]
    assert found[0] != found[1] != found[2] != found[0]
    assert found[3:] == found[1:3]
    with pytest.raises(InputError, match="edf"):
        simulation.run(small(policy="earliest"))


def test_measured_costs_are_kept_so_that_runs_can_be_repeated(
    tmp_path: Path, measured: Measured
) -> None:
    first, second = measured.done, run(*MEASURED, str(tmp_path), cache=measured.cache)
    assert first.returncode == 0, first.stderr
    assert "costs were measured" in first.stderr
    assert "costs as recorded" in second.stderr
    assert first.stdout == second.stdout
    assert json.loads(first.stdout)["profile"] == "measured"


def test_a_recording_is_a_profile(tmp_path: Path, recording: str) -> None:
    file = tmp_path / "recording.json"
    file.write_text(recording)
    done = run(
        "compare",
        "socialnetwork",
        "--requests",
        "200",
        "--recording",
        str(file),
        "--json",
        "--out",
        str(tmp_path),
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["profile"] == "recording"


def test_choices_have_names_in_files_commands_and_python(tmp_path: Path) -> None:
    file = tmp_path / "server.toml"
    named: dict[str, float | str] = {"core.balancing": "random", "scheduling.policy": "Deadline"}
    numbers: dict[str, float | str] = {"core.balancing": 1.0, "scheduling.policy": 2.0}
    lines = [f'"{key}" = "{name}"' for key, name in named.items()]
    file.write_text("\n".join(lines))
    assert simulation.read_config(file) == numbers
    chosen = {"orchestrators": ["accelflow"], "services": ["UniqId"]}
    by_name = simulation.run(small(**chosen, config=named))
    assert by_name == simulation.run(small(**chosen, config=numbers))
    assert by_name["config"] == numbers
    settings = [part for key, name in named.items() for part in ("--set", f"{key}={name}")]
    services = ("--orchestrator", "accelflow", "--service", "UniqId", "--json")
    done = run("compare", "socialnetwork", *SMALL, *services, *settings, "--out", str(tmp_path))
    assert json.loads(done.stdout)["config"] == numbers, done.stderr
    policies = {p.key: p for p in simulation.parameters()}["scheduling.policy"].choices
    assert tuple(choice.name for choice in policies) == simulation.POLICIES


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("accelerator.pes", "--set = 'accelerator.pes': must be of the form KEY=VALUE"),
        (
            "pes=4",
            "--set parameter = 'pes': must be the key of a parameter, did you mean",
        ),
        ("accelerator.pes=many", "--set accelerator.pes = 'many': must be a whole number from 1"),
        ("core.balancing=fair", "--set core.balancing = 'fair': must be least_loaded, random"),
    ],
)
def test_settings_that_cannot_be_are_refused(tmp_path: Path, setting: str, words: str) -> None:
    out = tmp_path / "out"
    done = run("compare", "socialnetwork", *SMALL, "--set", setting, "--out", str(out))
    assert done.returncode == 2
    assert words in done.stderr
    assert not out.exists()


def test_explain_says_what_is_allowed_and_what_may_be_meant() -> None:
    chiplets = run("explain", "network.chiplets").stdout
    assert "allowed     1, 2, 3, 4 or 6 chiplets\n" in chiplets
    balancing = run("explain", "core.balancing").stdout
    assert balancing.startswith("core.balancing = round_robin\n")
    assert "least_loaded     the core with the fewest requests in flight" in balancing
    assert "fifo" in run("explain", "scheduling.policy").stdout
    for wrong, right in (
        ("walkers", "tlb.walkers"),
        ("acelerator.pes", "accelerator.pes"),
        ("tlb.walker", "tlb.walkers"),
        ("profile.tcp_cost", "profile.tcp_cost_ns"),
    ):
        done = run("explain", wrong)
        assert done.returncode == 2
        assert "did you mean" in done.stderr
        assert right in done.stderr
        assert done.stderr.count(" or ") <= 3
    done = run("explain", "nothing.alike")
    refusal = "parameter = 'nothing.alike': must be a key that `accelflow explain` lists\n"
    assert done.stderr.endswith(refusal)
    assert len(done.stderr) < 200
    assert "; pes.own is that of custom accelerators" in run("explain", "pes.Hash").stderr
    for typo in ("pes.Encrr", "pes.", "core.Hash"):
        assert "custom" not in run("explain", typo).stderr


def test_a_configuration_changes_the_server(tmp_path: Path) -> None:
    file = tmp_path / "server.toml"
    file.write_text("[network]\nnotification_cycles = 80000\n[speedup]\nTCP = 1.0\n")
    config = simulation.read_config(file)
    assert config == {"network.notification_cycles": 80000, "speedup.TCP": 1}
    chosen = {"orchestrators": ["accelflow"], "services": ["UniqId"]}
    base = simulation.run(small(**chosen))
    slow = simulation.run(small(**chosen, config=config))
    mean = [r["systems"][0]["services"][0]["mean_us"] for r in (base, slow)]
    assert mean[1] > mean[0] + 33, "one notification of 33 us is on the path"
    assert slow["config"] == config


def test_more_load_than_the_server_can_hold_is_called_saturated() -> None:
    results = simulation.run(
        small(orchestrators=["non_acc"], rate_rps=200_000.0, requests=2_000, arrivals="poisson")
    )
    (system,) = results["systems"]
    assert {service["saturated"] for service in system["services"]} == {"cores"}


@pytest.mark.parametrize("recording", ["", "{}", "[]", '{"format": "accelflow-recording"}', "\0"])
def test_a_broken_recording_is_refused(recording: str) -> None:
    with pytest.raises(AccelflowError):
        simulation.run(small(recording=recording))


def test_a_file_that_is_no_recording_is_named(tmp_path: Path) -> None:
    file = tmp_path / "other.json"
    file.write_text('{"format": "something else"}')
    for name in (file, tmp_path / "none"):
        done = run("compare", "socialnetwork", "--recording", str(name), "--out", str(tmp_path))
        assert done.returncode == 2
        assert str(name) in done.stderr


def test_a_damaged_kept_recording_is_measured_anew(
    tmp_path: Path, recording: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(calibration, "measure", lambda _progress: recording)
    kept = calibration.kept_recording()
    kept.parent.mkdir()
    kept.write_text("{")
    found, says = calibration.calibrated()
    assert found == kept.read_text() == recording
    assert says == f"costs were measured and are kept in {kept}"


def test_commands_that_plan_doubt_measured_costs_too(
    tmp_path: Path, recording: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    kept = calibration.kept_recording()
    kept.parent.mkdir()
    kept.write_text(made_up_calibration(recording, spread=0.5, waited=0.3))
    plan, study = tmp_path / "plan.toml", tmp_path / "study.toml"
    plan.write_text('schema = "accelflow.plan/1"\n[rates_rps]\nUniqId = 1000\n')
    asked = 'requests = 200\nservices = ["UniqId"]\norchestrators = ["ideal"]\n'
    axis = "[axes]\nrate_rps = [1000]\n"
    study.write_text(f'schema = "accelflow.study/1"\n[scenario]\n{asked}{axis}')
    folder = str(tmp_path / "folder")
    for command, arguments in (
        (size, ["--quick", str(plan)]),
        (sweep, [str(study), "--out", folder]),
    ):
        monkeypatch.setattr(doubts, "_PRINTED", set())
        said = CliRunner().invoke(command, arguments).stderr
        assert said.count("accelflow: warning: the machine was busy: for 30% of the time") == 1
        assert said.count("accelflow: warning: the costs are unsteady: those of") == 1
    plan.write_text(plan.read_text() + '[scenario]\nprofile = "paper"\n')
    assert not CliRunner().invoke(size, ["--quick", str(plan)]).stderr


def test_costs_of_another_build_are_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    places = []
    for optimized in (True, False):
        monkeypatch.setattr("accelflow._native.is_optimized", lambda found=optimized: found)
        places.append(calibration.kept_recording())
    assert places[0].parent == places[1].parent
    assert places[0] != places[1]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_long_comparison_without_files(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    command = [sys.executable, "-m", "accelflow", "compare", "socialnetwork", "--profile", "paper"]
    command += ["--requests", "2000000", "--out", str(tmp_path / "out")]
    # What a shell runs in the background inherits that interrupts are ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        signal.signal(signal.SIGINT, before)
        try:
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(timeout=8)
            process.send_signal(number)
            assert process.wait(timeout=30) == code
        finally:
            process.kill()
    assert not (tmp_path / "out").exists()


def test_every_default_says_where_it_comes_from() -> None:
    rows = simulation.parameters()
    assert len(rows) > 30
    for row in rows:
        assert row.provenance in {"paper", "derived", "measured", "assumed"}
        assert row.source
        assert row.why or row.provenance == "paper"
        done = CliRunner().invoke(program, ["explain", row.key])
        assert row.provenance in done.stdout


def test_a_parameter_set_twice_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "twice.toml"
    file.write_text('"accelerator.pes" = 3\n[accelerator]\npes = 4\n')
    with pytest.raises(InputError, match=r"accelerator\.pes = 4: must not be set again"):
        simulation.read_config(file)


def test_a_file_without_end_is_refused() -> None:
    with pytest.raises(InputError, match="more than 67108864 bytes"):
        simulation.read_config(Path("/dev/zero"))


def test_the_costs_of_the_papers_profile_say_where_they_come_from() -> None:
    rows = {row["name"]: row for row in simulation.profile_parameters()}
    assert rows["tcp_cost_ns"]["value"] == simulation.ASSUMED_TCP_COST_NS
    assert rows["tcp_cost_ns"]["provenance"] == "assumed"
    done = run("explain", "profile.tcp_cost_ns")
    assert done.stdout.startswith("profile.tcp_cost_ns = 7000 ns\n")
    assert "provenance  assumed\n" in done.stdout
    listed = run("explain", "profile").stdout
    assert all(f"profile.{name} " in listed for name in rows)
    assert run("explain", "profile.nothing").returncode == 2


def test_the_cost_of_tcp_scales_the_papers_profile(tmp_path: Path) -> None:
    chosen = ("--orchestrator", "non_acc", "--service", "UniqId", "--json", "--out", str(tmp_path))
    means = []
    for cost in ("7000", "14000"):
        done = run("compare", "socialnetwork", *SMALL, *chosen, "--tcp-cost", cost)
        (system,) = json.loads(done.stdout)["systems"]
        means.append(system["services"][0]["mean_us"])
    assert means[1] > 1.8 * means[0]
    done = run("compare", "socialnetwork", *SMALL, "--tcp-cost", "-1")
    assert done.returncode == 2
    assert "--tcp-cost = -1: must be a number from 0.001 to 1e9" in done.stderr
