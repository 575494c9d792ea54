"""Fields of plans: what each does to an answer, and values that are refused when a plan is read."""

import json
from pathlib import Path
from typing import Any

import pytest

from accelflow import InputError, sizing

#: One short service at a load of several servers, with power that is easy to add up.
BASE = """
schema = "accelflow.plan/1"
systems = ["non_acc", "accelflow"]
slo_factor = 1000
[rates_rps]
UniqId = 1e7
[server]
rest_w = 100
peak_w = 300
[scenario]
profile = "paper"
"""


def plan_of(text: str, folder: Path) -> sizing.Plan:
    path = folder / "plan.toml"
    path.write_text(text)
    return sizing.read_plan(path)


def fleets(text: str, folder: Path) -> dict[str, dict[str, Any]]:
    """The fleet of each system in closed form."""
    answer = sizing.size(plan_of(text, folder), simulate=False)
    return {row["system"]: row["closed_form"]["fleet"] for row in answer["systems"]}


def test_power_of_a_chip_is_added_to_that_of_its_server(tmp_path: Path) -> None:
    without = fleets(BASE, tmp_path)
    found = fleets(BASE + "[chip]\nrest_w = 10\npeak_w = 50\n", tmp_path)
    assert found["accelflow"]["servers"] == without["accelflow"]["servers"] == 8
    assert without["accelflow"]["watts"] == pytest.approx(1_674.066, abs=1e-3)
    assert found["accelflow"]["watts"] == pytest.approx(1_803.256, abs=1e-3)
    assert found["non_acc"] == without["non_acc"]


def test_the_price_of_a_chip_is_spread_over_the_lifetime(tmp_path: Path) -> None:
    text = BASE.replace("[server]", "[server]\nprice = 1000\nlifetime_years = 2")
    answer = sizing.size(plan_of(text + "[chip]\nprice = 100\n", tmp_path), simulate=False)
    non_acc, accelflow = (row["closed_form"] for row in answer["systems"])
    assert non_acc["fleet"]["cost_per_year"] == 23 * 1_000 / 2
    assert accelflow["fleet"]["cost_per_year"] == 8 * (1_000 + 100) / 2
    assert accelflow["break_even_chip_price"] == pytest.approx(1_875.0)


@pytest.mark.parametrize("config", ["config = {'pes.TCP' = 2}", "[scenario.config.pes]\nTCP = 2"])
def test_parameters_of_a_plan_may_be_nested(tmp_path: Path, config: str) -> None:
    assert fleets(BASE, tmp_path)["accelflow"]["servers"] == 8
    assert fleets(f"{BASE}{config}\n", tmp_path)["accelflow"]["servers"] == 29


def test_rates_may_shrink(tmp_path: Path) -> None:
    now = fleets(BASE, tmp_path)
    later = fleets(BASE + "[growth]\nper_year_ratio = -0.5\nyears = 1\n", tmp_path)
    assert {name: fleet["servers"] for name, fleet in now.items()} == {
        "non_acc": 23,
        "accelflow": 8,
    }
    assert {name: fleet["servers"] for name, fleet in later.items()} == {
        "non_acc": 12,
        "accelflow": 4,
    }


def write_recording(path: Path, *, app_ns: float) -> None:
    """Write a recording of UniqId whose application takes `app_ns`."""

    def phase(trace: str, direction: str, accelerators: str) -> dict[str, Any]:
        steps = [
            {
                "trace": trace,
                "accelerator": accelerator,
                "direction": direction,
                "input_bytes": 200,
                "output_bytes": 200,
                "cost_ns": 1_000.0,
                "cost_quantiles_ns": [[0, 500.0], [1, 1_500.0]],
                "samples": 100,
                "facts": {"compressed": 0} if accelerator == "Dser" else {},
            }
            for accelerator in accelerators.split()
        ]
        return {"chains": [{"steps": steps}]}

    phases = [
        phase("T1", "receive", "TCP Decr RPC Dser LdB"),
        {"cpu": {"app_ns": app_ns, "samples": 100}},
        phase("T2", "send", "Ser RPC Encr TCP"),
    ]
    tree = {
        "format": "accelflow-recording",
        "version": 4,
        "machine": "Example CPU at 2.4 GHz, Linux",
        "date": "2026-01-31",
        "services": [{"service": "UniqId", "phases": phases}],
    }
    path.write_text(json.dumps(tree))


def test_the_recording_of_a_plan_is_a_file_relative_to_it_and_has_its_costs(
    tmp_path: Path,
) -> None:
    text = BASE.replace('profile = "paper"', "recording = 'costs.json'")
    found = {}
    for app_ns in (40_000.0, 80_000.0):
        write_recording(tmp_path / "costs.json", app_ns=app_ns)
        found[app_ns] = fleets(text, tmp_path)["accelflow"]["servers"]
    assert found == {40_000.0: 17, 80_000.0: 33}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("peak_w = 300", "peak_w = 99", "server.peak_w = 99: must be at least server.rest_w, wh"),
        ("[server]", "[chip]\nrest_w = 9\npeak_w = 5\n[server]", "chip.peak_w = 5: must be at l"),
        ("[server]", "[chip]\nrest_w = 9\n[server]", "chip.peak_w = 0: must be at least chip."),
        (
            "[server]\nrest_w = 100\npeak_w = 300",
            "[chip]\nrest_w = 10\npeak_w = 50",
            "server.rest_w is left out: must be given, since chip.rest_w is given",
        ),
        (
            "[server]\nrest_w = 100\npeak_w = 300",
            "[chip]\npeak_w = 50",
            "server.rest_w is left out: must be given, since chip.peak_w is given",
        ),
        (
            "rest_w = 100\n",
            "",
            "server.rest_w is left out: must be given, since server.peak_w is given",
        ),
        ('profile = "paper"', "config = 3", "scenario.config = 3: must be a table"),
        ('profile = "paper"', "config = 'x'", "scenario.config = 'x': must be a table"),
        ('profile = "paper"', "recording = 3", "scenario.recording = 3: must be the path of a"),
        (
            'profile = "paper"',
            "recording = 'none.json'",
            "scenario.recording = 'none.json': must be a file that can be read: No such file",
        ),
        ("[server]", "[chip]\nconfig = 3\n[server]", "chip.config is given: must be left out; "),
        ("[server]", "[chip]\nfile = 3\n[server]", "chip.file = 3: must be text: the path"),
    ],
)
def test_values_of_a_plan_are_refused_when_it_is_read(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert old in BASE
    with pytest.raises(InputError) as caught:
        plan_of(BASE.replace(old, new, 1), tmp_path)
    place, text = f"{tmp_path / 'plan.toml'}: ", str(caught.value)
    assert text.startswith(place + message)
    assert "\n" not in text


@pytest.mark.parametrize(
    ("added", "message"),
    [
        ("[workload]\nx = 1", "workload = {'x': 1}: must be text: a suite's name, or the path of"),
        ("[workload]\nservices = 3", "workload = {'services': 3}: must be text: a suite's name"),
        ("[[workload.services]]\nx = 1", "workload = {'services': [{'x': 1}]}: must be text: "),
        ("scenario.warmup = 4000", "scenario.warmup = 4000: must be less than the number of reque"),
        ("scenario.arrivals = 3", "scenario.arrivals = 3: must be poisson, alibaba, azure or"),
        ("scenario.arrivals = 2026-01-02", "scenario.arrivals = 2026-01-02: must be poisson, al"),
        ("scenario.config.core.count = 2026-01-02", "scenario.config.core.count = 2026-01-02: mu"),
        ("scenario.config.core.count = 0", "scenario.config.core.count = 0: must be a whole num"),
        (
            'scenario.config = { "pes.TCP" = 2, pes = { TCP = 3 } }',
            "scenario.config.pes.TCP = 3: must be set only once",
        ),
        ('scenario.recording = "plan.toml"', "scenario.recording = 'plan.toml': must be the file"),
        ('chip.file = "smal"', "chip.file = 'smal': must be a file, or one of paper"),
        ('currency = "a\\u001b[31m"', "currency = 'a\\x1b[31m': must be text of at most 64"),
        (f'currency = "{"x" * 65}"', "currency = 'xxxxxx"),
        ("requests = 99", "requests = 99: must be a whole number from 100 to 10,000,000"),
        (
            "growth = { per_year_ratio = 100, years = 50 }",
            "rates_rps.UniqId = 1e7: must be at most 1,000,000,000,000 after the growth",
        ),
        (
            "rates_rps.Login = 1e-3\nrates_rps.CPost = 1e12",
            "rates_rps.CPost = 1e12: must be at most 100,000,000,000 times the rate of",
        ),
    ],
)
def test_unusual_values_of_a_plan_are_named_as_in_its_file(
    tmp_path: Path, added: str, message: str
) -> None:
    text = 'schema = "accelflow.plan/1"\nrates_rps.UniqId = 1e7\nscenario.profile = "paper"\n'
    with pytest.raises(InputError) as caught:
        plan_of(text + added, tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / 'plan.toml'}: {message}")
    assert "\n" not in str(caught.value)
