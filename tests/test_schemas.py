"""JSON Schemas of sizing plans and studies: they accept and refuse what the readers do."""

import contextlib
import json
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from accelflow import InputError, sizing, studies
from accelflow.cli import main
from accelflow.parameters import parameters
from conftest import ROOT

SCHEMAS = {"sizing": sizing.sizing_schema, "study": studies.study_schema}
VALIDATORS = {name: Draft202012Validator(json.loads(text())) for name, text in SCHEMAS.items()}

PLAN = 'schema = "accelflow.plan/1"\nrates_rps.Login = 1000\nscenario.profile = "paper"\n'
STUDY = 'schema = "accelflow.study/1"\nscenario.services = ["Login"]\n'
GRID = STUDY + "axes.rate_rps = [100, 200]\n"
REQUESTS = 'schema = "accelflow.study/1"\naxes.requests = [300, 400]\n'
LISTED = STUDY + "[[points]]\nrate_rps = 100\n"
FIND = STUDY + 'find.least = "config.pes.TCP"\nfind.limits.p99_us = 900\n'
RANGE = "find.range = { from = 1, to = 4, whole = true }\n"
GOAL = STUDY + 'find.minimize = "elements"\nfind.limits.slo = true\n'
AXES = 'find.axes = { "config.pes.TCP" = { from = 1, to = 4, whole = true } }\n'


def read_study(path: Path) -> object:
    """The study or the search in a file."""
    return (studies.read_find if "find" in path.read_text() else studies.read_study)(path)


READERS: dict[str, Callable[[Path], object]] = {"sizing": sizing.read_plan, "study": read_study}


def fits(kind: str, text: str) -> bool:
    return VALIDATORS[kind].is_valid(tomllib.loads(text))


def reads(kind: str, text: str, folder: Path) -> bool:
    path = folder / "file.toml"
    path.write_text(text)
    with contextlib.suppress(InputError):
        READERS[kind](path)
        return True
    return False


@pytest.mark.parametrize("kind", SCHEMAS)
def test_the_schema_is_the_committed_one(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    Draft202012Validator.check_schema(VALIDATORS[kind].schema)
    committed = ROOT / "docs" / "schemas" / f"{kind}.schema.json"
    assert SCHEMAS[kind]() == committed.read_text(encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        main(["schema", kind])
    assert not ended.value.code
    assert capsys.readouterr().out == SCHEMAS[kind]()


def test_the_help_says_which_file_each_kind_is(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["schema", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "plan (flows, for accelflow arcus plan)" in text.replace("`", "")
    for command in ("size", "sweep", "find", "compare"):
        assert f"accelflow {command}" in text


EXAMPLES = [
    *(("sizing", path) for path in sorted((ROOT / "examples" / "sizing").glob("*.toml"))),
    *(("study", path) for path in sorted((ROOT / "examples" / "studies").glob("*.toml"))),
]


@pytest.mark.parametrize(("kind", "path"), EXAMPLES, ids=lambda each: getattr(each, "name", each))
def test_examples_fit_and_misspelt_keys_do_not(kind: str, path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert fits(kind, text)
    tree = tomllib.loads(text)
    for table in list(tables_of(tree)):
        for key in list(table):
            table[f"{key}_"] = table.pop(key)
            assert not VALIDATORS[kind].is_valid(tree), key
            table[key] = table.pop(f"{key}_")
    assert VALIDATORS[kind].is_valid(tree)


def tables_of(tree: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The table `tree` and all tables in it whose keys a schema knows."""
    yield tree
    for key, value in tree.items():
        if isinstance(value, dict) and key != "rates_rps":
            yield from tables_of(value)


BOTH = [
    ("sizing", PLAN),
    ("sizing", PLAN + 'systems = ["non_acc", "accelflow"]\ncurrency = "CHF"\nseeds = 2\n'),
    ("sizing", PLAN + "p99_us.Login = 900\nrelative_error = { TCP = 0.1, own = 0.2, app = 1 }\n"),
    ("sizing", PLAN + "[scenario.config.accelerator.TCP]\npes = 2\n"),
    ("sizing", PLAN + 'scenario.config = { "pes.TCP" = 2, "core.balancing" = "random" }\n'),
    ("sizing", PLAN + 'scenario.config."accelerator.TCP.pes" = 2\nchip.file = "small"\n'),
    ("sizing", PLAN + "server = { rest_w = 100, peak_w = 200 }\nchip.peak_w = 3\n"),
    ("sizing", PLAN + "scenario.shaping.0 = [{ accelerator_s_per_s = 0.5 }]\n"),
    ("study", GRID),
    ("study", GRID + "design = { kind = 'grid', seeds = [3, 5] }\n"),
    ("study", GRID + "axes.config.pes.TCP = { from = 1, to = 9, points = 3, whole = true }\n"),
    ("study", GRID + "axes.'config.pes.TCP' = [1, 2]\naxes.chip = ['paper', 'small']\n"),
    ("study", GRID + "design = { kind = 'latin_hypercube', points = 9, seed = 2 }\n"),
    ("study", REQUESTS + "scenario.services = ['Login']\nscenario.rates_rps.Login = 9\n"),
    ("study", LISTED),
    ("study", LISTED + "config.pes.TCP = 3\n[[points]]\n'config.pes.TCP' = 3\n[design]\nseeds = 9"),
    ("study", STUDY + "design.kind = 'list'\n[[points]]\nchip = 'small'\n"),
    ("study", FIND + RANGE),
    (
        "study",
        FIND + RANGE + "find.most_seeds = 4\nfind.system = 'relief'\nfind.limits.slo = false\n",
    ),
    ("study", FIND + "find.range = { from = 1, to = 4, scale = 'log', whole = true }\n"),
    ("study", GOAL + AXES),
    (
        "study",
        GOAL
        + "find.trials = 9\nfind.seed = 0\nfind.axes.config.pes.TCP = {from=1, to=3, whole=true}\n",
    ),
]

NEITHER = [
    ("sizing", ""),
    ("sizing", PLAN.replace("plan/1", "study/1")),
    ("sizing", PLAN.replace("rates_rps.Login = 1000\n", "")),
    ("sizing", PLAN.replace("rates_rps.Login = 1000", "rates_rps = {}")),
    ("sizing", PLAN.replace("1000", "1e13")),
    ("sizing", PLAN.replace("1000", "'1000'")),
    ("sizing", PLAN + 'workload = "socialnetwrk"\n'),
    ("sizing", PLAN + "slo_facter = 5\n"),
    ("sizing", PLAN + "systems = []\n"),
    ("sizing", PLAN + 'systems = ["relief", "relief"]\n'),
    ("sizing", PLAN + 'systems = ["releif"]\n'),
    ("sizing", PLAN + "seeds = 1\n"),
    ("sizing", PLAN + "requests = 400.5\n"),
    ("sizing", PLAN + "limits.utilization_ratio = 1.5\n"),
    ("sizing", PLAN + "limits.spare = 1\n"),
    ("sizing", PLAN + "relative_error.TCP = 1.5\n"),
    ("sizing", PLAN + "p99_us.Login = 0\n"),
    ("sizing", PLAN + "chip.config = {}\n"),
    ("sizing", PLAN + "chip.file = 3\n"),
    ("sizing", PLAN + "server.rest_w = 100\n"),
    ("sizing", PLAN + "growth = 3\n"),
    ("sizing", PLAN + "scenario.seed = 3\n"),
    ("sizing", PLAN + "scenario.config.pes.TPC = 3\n"),
    ("sizing", PLAN + "scenario.config.'pes.TCP' = -3\n"),
    ("study", ""),
    ("study", STUDY),
    ("study", STUDY + "axes = {}\n"),
    ("study", GRID.replace("study/1", "plan/1")),
    ("study", GRID + "scenario.seed = 3\n"),
    ("study", GRID + "scenario.chips = []\n"),
    ("study", GRID + "axes.seed = [1]\n"),
    ("study", GRID + "axes.config = [1]\n"),
    ("study", GRID + "axes.config.pes.TPC = [1]\n"),
    ("study", GRID + "axes.'config.pes.TPC' = [1]\n"),
    ("study", GRID + "axes.requests = []\n"),
    ("study", GRID + "axes.requests = [300, 300]\n"),
    ("study", GRID + "axes.requests = 300\n"),
    ("study", GRID + "axes.requests = { from = 300 }\n"),
    ("study", GRID + "axes.requests = { from = 300, to = 400, steps = 3 }\n"),
    ("study", GRID + "axes.requests = { from = 300, to = 400, points = 1 }\n"),
    ("study", GRID + "axes.requests = { from = 300, to = 400, scale = 'lag' }\n"),
    ("study", GRID + "axes.requests = { from = 300, to = 400, whole = 1 }\n"),
    ("study", GRID + "design.points = 3\n"),
    ("study", GRID + "design.kind = 'gird'\n"),
    ("study", GRID + "design.kind = 'list'\n"),
    ("study", GRID + "design.kind = 'latin_hypercube'\n"),
    ("study", GRID + "design = { kind = 'latin_hypercube', points = 1 }\n"),
    ("study", GRID + "design.seeds = 0\n"),
    ("study", GRID + "design.seeds = []\n"),
    ("study", GRID + "design.seeds = [1, 1]\n"),
    ("study", GRID + "[[points]]\nrequests = 300\n"),
    ("study", GRID + "design.kind = 'grid'\n[[points]]\nrequests = 300\n"),
    ("study", LISTED + "reqests = 300\n"),
    ("study", FIND),
    ("study", RANGE + FIND + "axes.rate_rps = [100]\n"),
    ("study", FIND + RANGE + "design.seeds = 2\n"),
    ("study", FIND + RANGE + 'find.most = "rate_rps"\n'),
    ("study", FIND.replace("config.pes.TCP", "config") + RANGE),
    ("study", FIND.replace("config.pes.TCP", "profile") + RANGE),
    ("study", FIND.replace("config.pes.TCP", "chip") + RANGE),
    ("study", GOAL + "find.axes.chip = { from = 1, to = 4, whole = true }\n"),
    ("study", FIND.replace("p99_us", "p98_us") + RANGE),
    ("study", FIND.replace("900", "0") + RANGE),
    ("study", FIND + RANGE + "find.limits.slo_missed_ratio = 1\n"),
    ("study", FIND + RANGE.replace("whole", "points = 3, whole")),
    ("study", FIND + RANGE + "find.most_seeds = 3\n"),
    ("study", FIND + RANGE + "find.trials = 3\n"),
    ("study", FIND + RANGE + "find.system = 'acelflow'\n"),
    ("study", GOAL),
    ("study", GOAL.replace("true", "false") + AXES),
    ("study", GOAL.replace("elements", "cores") + AXES),
    ("study", GOAL + AXES + "find.trials = 0\n"),
    ("study", GOAL + AXES + RANGE),
]


@pytest.mark.parametrize(("kind", "text"), BOTH)
def test_what_the_reader_accepts_fits(kind: str, text: str, tmp_path: Path) -> None:
    assert reads(kind, text, tmp_path)
    assert fits(kind, text)


@pytest.mark.parametrize(("kind", "text"), NEITHER)
def test_what_the_reader_refuses_does_not_fit(kind: str, text: str, tmp_path: Path) -> None:
    assert not reads(kind, text, tmp_path)
    assert not fits(kind, text)


@pytest.mark.parametrize(
    "text",
    [
        GRID + "scenario.slo_us.Login = 0\n",
        GRID + "scenario.slo_us.Login = 1e10\n",
        REQUESTS + "scenario.rates_rps.Login = -1\n",
        REQUESTS + "scenario.rates_rps.Login = 'many'\n",
    ],
)
def test_rates_and_slos_out_of_range_do_not_fit(text: str) -> None:
    assert not fits("study", text)


def test_rates_may_be_those_of_a_workloads_file() -> None:
    assert fits("sizing", 'schema = "accelflow.plan/1"\nworkload = "shop.TOML"\n')


def test_every_key_of_a_plan_and_every_parameter_is_known() -> None:
    known = VALIDATORS["sizing"].schema["properties"]
    assert known.keys() == {"schema", *(each.name for each in fields(sizing.Plan))}
    for each in parameters():
        default = each.choices[0].value if each.choices else each.default
        for key in filter(None, (each.key, each.also)):
            config = {key: int(default) if default.is_integer() else default}
            for tree in (config, nested(config)):
                plan = tomllib.loads(PLAN)
                plan["scenario"]["config"] = tree
                assert VALIDATORS["sizing"].is_valid(plan), tree


def test_every_spelling_of_an_axis_is_known() -> None:
    for each in parameters():
        for key in filter(None, (each.key, each.also)):
            for name in (key, f"config.{key}"):
                for axes in ({name: [1, 2]}, nested({name: [1, 2]})):
                    study = {"schema": "accelflow.study/1", "axes": axes}
                    assert VALIDATORS["study"].is_valid(study), axes


def nested(config: dict[str, Any]) -> dict[str, Any]:
    """The parameters `config` in nested tables."""
    found: dict[str, Any] = {}
    for key, value in config.items():
        *tables, last = key.split(".")
        inner = found
        for table in tables:
            inner = inner.setdefault(table, {})
        inner[last] = value
    return found
