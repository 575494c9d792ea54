"""The types of a workload's tree are those of its JSON Schema, and a type checker knows them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from accelflow import Service, phases
from accelflow.services import chain, cpu, parallel
from accelflow.workload import workload_schema

SCHEMA = json.loads(workload_schema())["$defs"]

#: Types by the definition of the schema that each is, and kinds of value by theirs.
SAME = {
    "Chain": phases.Chain,
    "Cpu": phases.Cpu,
    "Defaults": phases.Defaults,
    "LogNormalBytes": phases.LogNormalBytes,
    "LogNormalTime": phases.LogNormalTime,
    "OperationCost": phases.OperationCost,
    "Parallel": phases.Parallel,
    "Retry": phases.Retry,
    "Timed": phases.Timed,
}
KINDS = {
    "Arrivals": phases.Arrivals,
    "Costs": phases.Costs,
    "Sizes": phases.Sizes,
    "Traces": phases.Traces,
    "Wait": phases.Times,
}


def fields(schema: dict[str, Any]) -> tuple[set[str], set[str]]:
    return set(schema["properties"]), set(schema.get("required", ()))


def of_type(found: Any) -> tuple[set[str], set[str]]:
    return set(get_type_hints(found)), set(found.__required_keys__)


@pytest.mark.parametrize("name", SAME)
def test_a_type_has_the_fields_of_the_file(name: str) -> None:
    assert of_type(SAME[name]) == fields(SCHEMA[name])


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_of_value_has_the_fields_of_the_file(name: str) -> None:
    def key(of: tuple[set[str], set[str]]) -> list[list[str]]:
        return [sorted(part) for part in of]

    found = sorted(key(of_type(alternative)) for alternative in get_args(KINDS[name]))
    assert found == sorted(key(fields(each)) for each in SCHEMA[name]["oneOf"])


def test_a_service_has_the_fields_of_the_file() -> None:
    assert set(get_type_hints(Service)) == set(SCHEMA["Service"]["properties"])


def test_phases_are_those_of_the_file() -> None:
    assert cpu() == {"cpu": True}
    assert cpu(12.5) == {"cpu_us": 12.5}
    drawn = cpu({"log_normal": {"median_us": 9.0, "sigma": 0.5}})
    assert drawn == {"cpu": {"log_normal": {"median_us": 9.0, "sigma": 0.5}}}
    call = chain("T9", calls="Mail", detached=True)
    assert parallel(call, chain("T4")) == {
        "parallel": [{"trace": "T9", "calls": "Mail", "detached": True}, {"trace": "T4"}]
    }


WRONG = """
from accelflow.phases import Chain, Cpu, Phase, Retry, Times
good: list[Phase] = [
    {"trace": "T9", "times": 2, "retry": {"odds": 0.1, "attempts": 3, "backoff_us": 1.0}},
    {"cpu": {"histogram_us": [(1.0, 3)]}},
    {"parallel": [{"trace": "T4"}]},
    {"cpu_us": 3.0},
]
a: Chain = {"trace": "T9", "detatched": True}
b: Chain = {"times": 2}
c: Retry = {"odds": 0.1, "attempts": 3}
d: Times = {"constant_ms": 3.0}
e: Cpu = {"cpu": "yes"}
"""


def test_a_type_checker_finds_misspelt_and_missing_fields(tmp_path: Path) -> None:
    snippet = tmp_path / "snippet.py"
    # The module alone: its package would be checked as a whole.
    (tmp_path / "phases.py").write_text(Path(phases.__file__).read_text())
    snippet.write_text(WRONG.replace("accelflow.phases", "phases"))
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", os.devnull, "snippet.py"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, encoding="utf-8")
    lines = [line for line in ran.stdout.splitlines() if ": error: " in line]
    assert [int(line.split(":")[1]) for line in lines] == [9, 10, 11, 12, 13], ran.stdout
