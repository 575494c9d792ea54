"""Scenarios: one description for Python, the command line and files."""

import json
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pytest

from accelflow import Shaping, arcus, simulation
from accelflow.cli import main
from accelflow.errors import InputError
from accelflow.simulation import Scenario
from conftest import ROOT

SCHEMA = json.loads(simulation.scenario_schema())
PROPERTIES: dict[str, dict[str, Any]] = SCHEMA["properties"]

SMALL = """
workload = "socialnetwork"
profile = "paper"
orchestrators = ["AccelFlow"]
services = ["UniqId", "Login"]
requests = 200
slo_us = { Login = 400 }
tenants.UniqId = 1

[config]
"accelerator.pes" = 4
"core.balancing" = "random"

[[shaping.1]]
unit = "operations"
refill = 1
bucket = 4
interval = 250

[[shaping.1]]
accelerator_s_per_s = 0.5
burst_accelerator_s = 0.002
"""


def small() -> Scenario:
    """The scenario that SMALL describes."""
    limiter = arcus.RateLimiter(unit="operations", refill=1, bucket=4, interval=250)
    return Scenario(
        profile="paper",
        orchestrators=["AccelFlow"],
        services=["UniqId", "Login"],
        requests=200,
        slo_us={"Login": 400},
        tenants={"UniqId": 1},
        config={"accelerator.pes": 4, "core.balancing": "random"},
        shaping={1: [limiter, Shaping(accelerator_s_per_s=0.5, burst_accelerator_s=0.002)]},
    )


def invoke(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """The command's exit code, output and messages."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    output, messages = capsys.readouterr()
    return int(ended.value.code or 0), output, messages


def test_the_committed_schema_is_the_engines(capsys: pytest.CaptureFixture[str]) -> None:
    code, output, _ = invoke(capsys, "schema", "scenario")
    assert code == 0
    assert output == (ROOT / "docs" / "schemas" / "scenario.schema.json").read_text()


def test_the_dataclass_has_the_fields_of_a_scenario() -> None:
    ours = {field.name for field in fields(Scenario)}
    assert ours == PROPERTIES.keys() - {"schema", "$schema"}


@pytest.mark.parametrize("field", fields(Scenario), ids=lambda each: each.name)
def test_defaults_of_the_dataclass_are_those_of_a_scenario(field: Any) -> None:
    default = field.default if field.default is not MISSING else field.default_factory()
    written = list(default) if isinstance(default, tuple) else default
    assert written == PROPERTIES[field.name]["default"]


def test_choices_are_those_of_the_schema() -> None:
    tuples = {
        "placement": simulation.PLACEMENTS,
        "arrivals": simulation.ARRIVALS,
        "facts": simulation.FACTS,
        "recorded_times": simulation.RECORDED_TIMES,
        "profile": simulation.PROFILES,
        "sizes": simulation.SIZES,
        "policy": simulation.POLICIES,
        "remote": simulation.REMOTES,
    }
    chosen = {name: row["enum"] for name, row in PROPERTIES.items() if "enum" in row}
    assert chosen.keys() == tuples.keys()
    for name, names in tuples.items():
        assert [each for each in chosen[name] if each is not None] == list(names)
    # A workload may also be a file, and have rates of its own.
    assert PROPERTIES["workload"]["anyOf"][0]["enum"] == list(simulation.WORKLOADS)
    assert simulation.RATES == ("equal", "alibaba", "azure", "own")


@pytest.mark.parametrize(
    "scenario",
    [
        Scenario(),
        small(),
        Scenario(workload="serverless", slo_factor=None, seed=2**64 - 1, by_rate=True),
        Scenario(recording='{"a": "text"}', rate_rps=1234.5678901234567, policy="edf"),
    ],
)
def test_a_written_scenario_is_read_back_unchanged(scenario: Scenario, tmp_path: Path) -> None:
    path = tmp_path / "scenario.json"
    simulation.write_scenario(scenario, path)
    read = simulation.read_scenario(path)
    assert simulation.hashed(read) == simulation.hashed(scenario)
    again = tmp_path / "again.json"
    simulation.write_scenario(read, again)
    assert again.read_text() == path.read_text()
    assert json.loads(path.read_text())["schema"] == "accelflow.scenario/1"


def test_hashes_differ_between_scenarios_but_not_between_spellings() -> None:
    base = simulation.hashed(Scenario(profile="paper"))
    assert base == simulation.hashed(Scenario(profile="paper", rates="alibaba", by_rate=True))
    assert base == simulation.hashed(Scenario(profile="paper", config={"accelerator.pes": 8}))
    assert base == simulation.hashed(Scenario(profile="paper", tenants={"UniqId": 0}))
    assert base == simulation.hashed(Scenario(profile="paper", priorities={"UniqId": 0}))
    assert base != simulation.hashed(Scenario(profile="paper", tenants={"UniqId": 1}))
    assert base != simulation.hashed(Scenario(profile="paper", seed=2))
    assert len(base) == 64
    with pytest.raises(InputError, match="seed = -1: must be a whole number"):
        simulation.hashed(Scenario(seed=-1))
    with pytest.raises(InputError, match=r"^seed = 18446744073709551616: must be a whole number"):
        simulation.hashed(Scenario(seed=2**64))


def test_a_scenario_is_run_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    assert simulation.hashed(simulation.read_scenario(file)) == simulation.hashed(small())
    saved = tmp_path / "saved.json"
    out = ("--json", "--out", str(tmp_path))
    code, first, messages = invoke(
        capsys, "compare", "--scenario", str(file), "--save-scenario", str(saved), *out
    )
    assert code == 0, messages
    (wrote,) = [line for line in messages.splitlines() if line.startswith("wrote ")]
    assert wrote.removeprefix("wrote ").split(", ")[-1] == str(saved)
    services = json.loads(first)["systems"][0]["services"]
    assert {row["service"] for row in services} == {"UniqId", "Login"}
    code, second, messages = invoke(capsys, "compare", "--scenario", str(saved), *out)
    assert (code, second) == (0, first), messages


def test_options_replace_fields_of_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    typed = ("--requests", "300", "--service", "CPost", "--set", "accelerator.pes=6")
    code, output, messages = invoke(
        capsys, "compare", "--scenario", str(file), *typed, "--json", "--out", str(tmp_path)
    )
    found = json.loads(output)
    assert code == 0, messages
    assert found["requests"] == 300
    assert found["config"] == {"accelerator.pes": 6.0, "core.balancing": 1.0}
    assert [row["service"] for row in found["systems"][0]["services"]] == ["CPost"]
    assert [row["orchestrator"] for row in found["systems"]] == ["accelflow"]


def test_a_comparison_needs_a_workload_or_a_scenario(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, messages = invoke(capsys, "compare")
    assert code == 2
    assert "error: WORKLOAD is left out: must be one of socialnetwork, hotelreservation" in messages
    assert "--scenario FILE" in messages


def test_a_scenario_may_begin_with_a_byte_order_mark_and_nest_its_parameters(
    tmp_path: Path,
) -> None:
    texts = {
        "flat.toml": "[config]\n'core.count' = 4\n'accelerator.pes' = 2\n",
        "nested.toml": "\ufeff[config.core]\ncount = 4\n[config.accelerator]\npes = 2\n",
        "nested.json": '\ufeff{"config": {"core": {"count": 4}, "accelerator.pes": 2}}',
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    flat, *others = [simulation.read_scenario(tmp_path / name) for name in texts]
    assert flat.config == {"core.count": 4, "accelerator.pes": 2}
    assert others == [flat, flat]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.toml", "placment = 'isolated'", "field = 'placment': must be one of"),
        ("a.toml", "placment = 'isolated'", "did you mean placement?"),
        ("a.toml", "requests = 12.5", "requests = 12.5: must be a whole number from 100"),
        ("a.toml", "seed = 1979-05-27", "seed = 1979-05-27: must be a string, a number,"),
        ("a.TOML", "[config]\n'accelerator.pes' = nan", "accelerator.pes = nan: must be a finite"),
        ("a.json", '{"seed": 1, "seed": 2}', "an object has the name 'seed' twice"),
        ("a.toml", "services = ['UniqID']", "services[0] = 'UniqID': must be CPost"),
        ("a.toml", "[config]\n'core.cout' = 3", "did you mean core.count?"),
        ("a.toml", "requests = [", "Invalid value"),
        ("a.json", "[]", "scenario = []: must be an object with the fields of a scenario"),
        ("a.json", '{"schema": "accelflow.scenario/9"}', "must be accelflow.scenario/1"),
        ("a.json", '{"rate_rps": NaN}', "rate_rps = nan: must be a finite number"),
        ("a.json", "{", "Expecting"),
        ("a.json", f'{{"seed": {"9" * 5_000}}}', "an integer has more than 64 bits"),
        ("a.toml", f"seed = {'9' * 5_000}", "an integer has more than 64 bits"),
        ("a.toml", f"seed = 0x{'9' * 5_000}", "an integer has more than 64 bits"),
        (
            "a.toml",
            "config.'core.count' = 3\nconfig.core.count = 4",
            "core.count = 4: must be set only once",
        ),
    ],
)
def test_files_that_are_no_scenarios_are_refused_by_name(
    tmp_path: Path, name: str, text: str, words: str
) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError) as refused:
        simulation.read_scenario(path)
    assert str(path) in str(refused.value)
    assert words in str(refused.value)


@pytest.mark.parametrize("chip", ["{'pes.TCP' = 2}", "{pes.TCP = 2}", "{pes = {TCP = 2}}"])
def test_parameters_of_chips_may_be_nested(tmp_path: Path, chip: str) -> None:
    path = tmp_path / "a.toml"
    path.write_text(f"chips = [{{name = 'a', config = {chip}}}]\n")
    assert simulation.read_scenario(path).chips == {"a": {"pes.TCP": 2}}
    path.write_text("chips = [{name = 'a', config = 3}]\n")
    with pytest.raises(InputError, match="config"):
        simulation.read_scenario(path)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("{'core.balancing' = {}}", "config.core.balancing = {}: must be least_loaded, random"),
        ("{core = {balancing = {}}}", "config.core.balancing = {}: must be least_loaded, random"),
        ("{pes = {TCP = {}}}", "config.pes.TCP = {}: must be a whole number from 0 to 1024"),
        ("{accelerator = {TCP = {pes = {}}}}", "config.accelerator.TCP.pes = {}: must be a whole"),
        ("{corre = {}}", "parameter = 'corre': must be the key of a parameter"),
    ],
)
def test_an_empty_table_is_no_value_of_a_parameter(
    tmp_path: Path, config: str, message: str
) -> None:
    path = tmp_path / "a.toml"
    path.write_text(f"config = {config}\n")
    with pytest.raises(InputError) as caught:
        simulation.read_scenario(path)
    assert str(caught.value).startswith(f"{path}: {message}")


@pytest.mark.parametrize("config", ["{}", "{core = {}}", "{accelerator = {TCP = {}}}"])
def test_an_empty_group_of_parameters_sets_nothing(tmp_path: Path, config: str) -> None:
    path = tmp_path / "a.toml"
    path.write_text(f"config = {config}\n")
    assert simulation.read_scenario(path).config == {}


def test_a_missing_file_and_a_closed_place_are_named(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"scenario = .*none\.json': must be a file that can be read: No"
    ):
        simulation.read_scenario(tmp_path / "none.json")
    with pytest.raises(InputError, match=r"/dev/null/x\.json"):
        simulation.write_scenario(Scenario(), "/dev/null/x.json")
    with pytest.raises(InputError, match=r"x\.toml': must not end in \.toml"):
        simulation.write_scenario(Scenario(), tmp_path / "x.toml")
    assert not (tmp_path / "x.toml").exists()
