"""Workloads whose services call each other, on one server or two, and repeat failed attempts."""

from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import accelflow
from accelflow import simulation
from accelflow.report import Comparison, print_comparison

RPC = "facts = { T10 = { exception = 0, compressed = 0 } }"
FILE = """
schema = "accelflow.workload/1"
name = "pair"

[defaults]
sizes = {{ fixed_bytes = 500 }}

[[services]]
name = "Front"
rate_rps = 400.0
{front}
path = [
  {{ trace = "T1", facts = {{ T1 = {{ compressed = 0 }} }} }},
  {{ cpu_us = 20.0 }},
  {{ trace = "T9", {rpc}{chain} }},
  {{ cpu_us = 10.0 }},
  {{ trace = "T2" }},
]

[[services]]
name = "Back"
{back}
path = [
  {{ trace = "T1", facts = {{ T1 = {{ compressed = 0 }} }} }},
  {{ cpu_us = 150.0 }},
  {{ trace = "T2" }},
]
"""


def pair(folder: Path, *, front: str = "", chain: str = "", back: str = "") -> Path:
    path = folder / "pair.toml"
    path.write_text(FILE.format(front=front, chain=chain, back=back, rpc=RPC))
    return path


def simulated(path: Path, **changes: Any) -> accelflow.report.results.SystemResult:
    return accelflow.simulate(path, "accelflow", **{"requests": 2_000, **changes})


def test_a_called_service_answers_in_its_simulated_time(tmp_path: Path) -> None:
    found = simulated(pair(tmp_path, chain=', calls = "Back"'))
    called = found["Back"].called
    assert called is not None
    assert called.completed == found["Front"].completed
    assert found["Back"].completed == 0
    # With a constant wait of the same length in place of the call, the caller takes as long.
    wait = f", waits = {{ T10 = {{ constant_us = {called.mean_us} }} }}"
    instead = simulated(pair(tmp_path, chain=wait, back="rate_rps = 0.01"), services=["Front"])
    assert instead["Front"].mean_us == pytest.approx(found["Front"].mean_us, rel=0.01)


def test_a_server_of_its_own_takes_the_load_of_a_called_service(tmp_path: Path) -> None:
    single = simulated(pair(tmp_path, chain=', calls = "Back"'))
    double = simulated(
        pair(tmp_path, chain=', calls = "Back"', front='server = "a"', back='server = "b"')
    )
    assert double["Front"].core_utilization < single["Front"].core_utilization
    shares = [double[name].core_utilization for name in ("Front", "Back")]
    assert sum(shares) == pytest.approx(single["Front"].core_utilization, rel=0.05)


def test_retries_are_as_many_as_their_odds_say(tmp_path: Path) -> None:
    chain = ", retry = { odds = 0.5, attempts = 3, backoff_us = 10.0 }"
    path = pair(tmp_path, chain=chain, back="rate_rps = 400.0")
    scenario = simulation.Scenario(workload=path, orchestrators=("accelflow",), requests=4_000)
    front = simulation.run(scenario)["systems"][0]["services"][0]
    requests = 4_000
    # One attempt fails in half of the requests, another in half of those, and a third gives up.
    assert front["retries"]["attempts"] / requests == pytest.approx(0.75, abs=0.04)
    assert front["retries"]["gave_up"] / requests == pytest.approx(0.125, abs=0.02)


def test_the_table_marks_services_that_only_others_call(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = simulation.Scenario(
        workload=pair(tmp_path, chain=', calls = "Back"'),
        orchestrators=("accelflow",),
        requests=300,
    )
    comparison = Comparison.from_dict(simulation.run(scenario))
    print_comparison(comparison, Console(width=100), by_service=True)
    lines = capsys.readouterr().out.splitlines()
    back = lines[lines.index(next(line for line in lines if line.startswith("Back"))) + 1]
    called = comparison["accelflow"]["Back"].called
    assert called is not None
    assert f"{called.mean_us:.1f}c" in back
    assert any(line.startswith("c All requests of these services") for line in lines)


def test_a_service_that_calls_itself_through_others_is_refused(tmp_path: Path) -> None:
    path = pair(tmp_path, chain=', calls = "Back"')
    text = path.read_text().replace(
        "{ cpu_us = 150.0 },", '{ cpu_us = 9.0 }, { trace = "T9", ' + RPC + ', calls = "Front" },'
    )
    path.write_text(text)
    with pytest.raises(accelflow.InputError, match="calls in a circle are never answered"):
        simulated(path)
