"""What `accelflow compare` and `simulation.run` refuse, and how they say so."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import accelflow
from accelflow import Shaping, simulation
from accelflow.errors import InputError


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command as a user's shell would run it."""
    return subprocess.run(
        [sys.executable, "-m", "accelflow", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"},
        timeout=300,
    )


def small(**changes: Any) -> simulation.Scenario:
    return simulation.Scenario(**{"requests": 400, "profile": "paper", **changes})


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nosuch",), "WORKLOAD = 'nosuch': must be socialnetwork"),
        (("socialnetwork", "--orchestrator", "best"), "--orchestrator = 'best': must be non_acc"),
        (("socialnetwork", "--service", "Nope"), "--service = 'Nope': must be CPost"),
        (("socialnetwork", "--placement", "x"), "placement = 'x': must be colocated or isolated"),
        (("socialnetwork", "--arrivals", "x"), "arrivals = 'x': must be poisson"),
        (("socialnetwork", "--sizes", "x"), "sizes = 'x': must be socialnetwork"),
        (("socialnetwork", "--requests", "7"), "requests = 7: must be a whole number from 100"),
        (("socialnetwork", "--seed", "-1"), "seed = -1: must be a whole number from 0"),
        (("socialnetwork", "--threads", "0"), "threads = 0: must be a whole number from 1"),
        (("socialnetwork", "--rate", "0"), "--rate = 0"),
        (("socialnetwork", "--rate", "nan"), "--rate = nan"),
        (
            ("socialnetwork", "--tcp-cost", "1e-4"),
            "--tcp-cost = 0.0001: must be a number from 0.001 to 1e9",
        ),
        (("socialnetwork", "--seed", "9" * 5_000), "--seed = "),
        (
            ("--scenario", "/no/a", "--scenario", "/no/b"),
            "--scenario = '/no/b': must be given only once",
        ),
        (
            ("socialnetwork", "--profile", "/no/file"),
            "= '/no/file': must be measured or paper",
        ),
        (
            ("socialnetwork", "--recording", "/no/file"),
            "'paper': must be left out with --recording",
        ),
        (
            ("socialnetwork", "--config", "/no/file"),
            "--chip = '/no/file': must be a file that can be read",
        ),
    ],
)
def test_bad_arguments_are_one_line_and_a_failure(
    tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    defaults = () if "--profile" in arguments else ("--profile", "paper")
    done = run("compare", *arguments, *defaults, "--out", str(tmp_path / "out"))
    assert done.returncode in {1, 2}
    assert done.stdout == ""
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert len([line for line in done.stderr.splitlines() if "error" in line]) == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[accelerator]\npes = 0", "accelerator.pes = 0: must be a whole number from 1 to 1024"),
        ("[accelerator]\npes = 1.5", "accelerator.pes = 1.5: must be a whole number"),
        ("[accelerator]\nunits = 3", "parameter = 'accelerator.units': must be the key of"),
        ("pes = 3", "parameter, did you mean accelerator.pes, pes.TCP, "),
        (
            "[accelerator]\npse = 3",
            "'accelerator.pse': must be the key of",
        ),
        ("[core]\nbalancng = 1", ", did you mean core.balancing?"),
        ("[network]\nchiplets = 5", "network.chiplets = 5: must be 1, 2, 3, 4 or 6"),
        ("[core]\nbalancing = 'rand'", "core.balancing = 'rand': must be least_loaded, random"),
        ("[core]\nbalancing = 7", "core.balancing = 7: must be least_loaded, random, "),
        (
            "[core]\ncount = '36'",
            "core.count = '36': must be a whole number from 1 to 1024 cores; numbers have no",
        ),
        (
            "[core]\ncount = '4096'",
            "core.count = '4096': must be a whole number from 1 to 1024 cores",
        ),
        ("[core]\ncount = true", "core.count = true: must be a whole number from 1"),
        ("[core]\nenqueue_ns = -1", "core.enqueue_ns = -1: must be a number from 0"),
        ("[core\n", ":1:6: "),
    ],
)
def test_bad_configurations_name_file_key_and_range(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "server.toml"
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        simulation.read_config(file)
    assert str(file) in str(caught.value)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"requests": "abc"}, "requests = 'abc': must be a whole number from 100 to 10000000"),
        ({"requests": 400.0}, "requests = 400.0: must be a whole number"),
        ({"requests": None}, "requests = null: must be a whole number"),
        ({"seed": 1.5}, "seed = 1.5: must be a whole number from 0"),
        ({"seed": True}, "seed = true: must be a whole number"),
        ({"config": None}, "config = null: must be a mapping"),
        ({"config": ["core.count"]}, 'config = ["core.count"]: must be a mapping'),
        ({"config": {"core.count": None}}, "config.core.count = null: must be a whole number"),
        ({"config": {3: 1}}, "parameter = '3': must be the key of a parameter"),
        ({"config": {"core.cout": 3}}, "did you mean core.count?"),
        ({"services": "CPost"}, "services = 'CPost': must be a list of strings"),
        ({"services": 5}, "services = 5: must be a list of strings"),
        ({"orchestrators": "relief"}, "orchestrators = 'relief': must be a list of strings"),
        ({"orchestrators": [1]}, "orchestrators = [1]: must be a list of strings"),
        ({"workload": None}, "workload = null: must be socialnetwork"),
        ({"placement": ["isolated"]}, 'placement = ["isolated"]: must be colocated'),
        ({"rate_rps": "fast"}, "rate_rps = 'fast': must be a number from 0.001 to 1e9"),
        ({"rate_rps": float("nan")}, "rate_rps = nan: must be a number from 0.001 to 1e9"),
        ({"rate_rps": object()}, ": must be a number from 0.001 to 1e9"),
        ({"seed": None}, "seed = null: must be a whole number from 0"),
        ({"slo_factor": "5"}, "slo_factor = '5'"),
        ({"slo_us": 3}, "slo_us = 3: must be a mapping"),
        ({"slo_us": {"CPost": "late"}}, "slo_us['CPost'] = 'late'"),
        ({"tenants": {"CPost": 1.5}}, "tenants['CPost'] = 1.5: must be a whole number from 0"),
        ({"priorities": {"CPost": 256}}, "priorities['CPost'] = 256: must be a whole number"),
        ({"shaping": {1: "slow"}}, "shaping[1] = 'slow'"),
        ({"shaping": {"1": None}}, "shaping[1] = null: must be a list of one limit"),
        ({"shaping": {"one": None}}, "shaping: tenant = 'one': must be a whole number"),
        ({"recording": Path("recording.json")}, "must be the text of a recording"),
        ({"recording": "/no/live.json"}, "recording = '/no/live.json': must be the text of"),
        ({"recording": "live.json"}, "pass Path(...).read_text()"),
        ({"recording": "x" * 1_000}, "xxx...': must be the text of a recording"),
    ],
)
def test_values_of_the_wrong_kind_are_input_errors_that_name_them(
    changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError) as caught:
        simulation.run(small(**changes))
    assert words in str(caught.value)


def test_threads_and_scenarios_of_the_wrong_kind_are_input_errors() -> None:
    with pytest.raises(InputError, match="threads = 'all': must be a whole number"):
        simulation.run(small(), threads="all")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="'socialnetwork': must be a Scenario"):
        simulation.run("socialnetwork")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "arguments",
    [
        ("compare", "socialnetwork", "--config", "/no/file"),
        ("compare", "socialnetwork", "--recording", "/no/file"),
        ("power", "/no/file"),
        ("accelerometer", "/no/file"),
        ("profile", "/no/file"),
        ("reproduce", "fig11", "--config", "/no/file"),
        ("arcus", "plan", "/no/file"),
        ("record", "--from", "http://127.0.0.1:9", "--service", "a.b=C", "--out", "x"),
        ("record", "a:b", "--service", "a.b=C", "--base", "/no/file", "--out", "x"),
        ("trace", "list", "--file", "/no/file"),
        ("cerebros", "simulate", "--interface", "/no/file.thrift"),
        ("cerebros", "simulate", "--interface", "/no/file.proto"),
        ("cerebros", "simulate", "--interface", "/"),
        ("record", "a:b", "--interface", "/no/file.thrift", "--service", "a.b=C", "--out", "x"),
        ("record", "a:b", "--interface", "/no/file.proto", "--service", "a.b=C", "--out", "x"),
        (
            *("record", "json:dumps", "--interface", "/no/file.thrift"),
            *("--certificate", "/no/cert.pem", "--key", "/no/key.pem"),
            *("--service", "a.b=C", "--out", "x"),
        ),
        ("import", "jaeger", "/no/file", "--out", "x.toml"),
        ("import", "otlp", "/", "--out", "x.toml"),
        ("compare", "/no/file.toml"),
        ("why", "UniqId", "--workload", "/no/file.toml"),
    ],
)
def test_what_cannot_be_read_is_named_without_numbers_of_errors(arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert done.returncode in {1, 2}
    assert "Errno" not in done.stderr
    assert "os error" not in done.stderr
    assert "internal error" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


def test_a_table_is_no_recording_and_the_commands_for_both_are_named(tmp_path: Path) -> None:
    table = tmp_path / "spans.csv"
    table.write_text("time,service\n1,a\n", encoding="utf-8")
    done = run("compare", "socialnetwork", "--recording", str(table))
    assert done.returncode != 0
    assert f"--recording = '{table}': must be a recording" in done.stderr
    assert "accelflow record" in done.stderr
    assert "accelflow import" in done.stderr
    assert "column" not in done.stderr


@pytest.mark.parametrize("policy", ["fifo", "priority", "deadline", "edf"])
@pytest.mark.parametrize(
    "systems", [["relief"], ["non_acc"], ["accelflow_deadline", "AccelFlow+EDF", "RELIEF"]]
)
def test_an_order_of_queues_that_no_system_takes_is_refused(
    policy: str, systems: list[str]
) -> None:
    with pytest.raises(InputError, match=f"^policy = '{policy}': must be left out, since it has"):
        accelflow.compare(small(orchestrators=systems), policy=policy)
    # A system that takes it is enough.
    found = accelflow.compare(
        small(orchestrators=[*systems, "cohort"], services=["Login"], requests=100), policy=policy
    )
    assert len(found) == len(systems) + 1


@pytest.mark.parametrize("policy", ["deadline", "edf"])
def test_an_order_by_deadlines_needs_slos(policy: str) -> None:
    scenario = small(
        services=["Login"], orchestrators=["accelflow"], policy=policy, slo_factor=None
    )
    with pytest.raises(InputError, match=f"^policy = '{policy}': .* no service has an SLO"):
        accelflow.compare(scenario)
    assert accelflow.compare(scenario, slo_us={"Login": 100.0})["accelflow"].p99_us
    assert accelflow.compare(scenario, slo_factor=3.0)["accelflow"].p99_us


def test_limits_of_a_tenant_that_no_service_has_are_refused() -> None:
    limited = small(orchestrators=["accelflow"], services=["Login"], requests=100)
    shaping = {7: Shaping(accelerator_s_per_s=0.5)}
    with pytest.raises(InputError) as caught:
        simulation.check(replace(limited, shaping=shaping, tenants={"Login": 3}))
    allowed = "must be the number of a tenant that has services: 3"
    assert str(caught.value) == f"shaping = 7: {allowed}"
    simulation.check(replace(limited, shaping=shaping, tenants={"Login": 7}))
