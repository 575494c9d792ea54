"""Parameters of all engines: what is allowed, what is refused, and the page that lists them."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from accelflow import InputError, _native, simulation
from accelflow.cli import program
from accelflow.errors import (
    AccelflowError,
    as_input,
    one_of,
    positive_number,
    refused,
    whole_number,
)
from accelflow.parameters import Engine, Parameter, engines
from conftest import ROOT

ENGINES = engines(simulation.ASSUMED_TCP_COST_NS)
#: The profile's numbers follow from its options: they are listed, and nobody sets them.
SETTABLE = [engine for engine in ENGINES if engine.engine != "profile"]
ROWS = [(engine, parameter) for engine in SETTABLE for parameter in engine.parameters]


def explain(*arguments: str) -> str:
    done = CliRunner().invoke(program, ["explain", *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def value_of(engine: Engine, parameter: Parameter, value: object) -> float:
    """`value` as the engine reads it, whose own keys have no prefix."""
    key = parameter.key
    if engine.engine != "simulation":
        key = key.removeprefix(f"{engine.engine}.")
    return _native.parameter_value(engine.engine, key, value)


def refusal_of(engine: Engine, parameter: Parameter, value: object) -> str:
    with pytest.raises(AccelflowError) as caught:
        value_of(engine, parameter, value)
    return str(caught.value)


def test_every_engine_is_listed_and_no_key_twice() -> None:
    assert [engine.engine for engine in ENGINES] == [
        "simulation",
        "area",
        "power",
        "accelerometer",
        "cerebros",
        "cerebros.analytic",
        "arcus",
        "server",
        "server.pools",
        "server.steering",
        "server.rpc",
        "client",
        "relief_suite",
        "profile",
    ]
    keys = [parameter.key for engine in ENGINES for parameter in engine.parameters]
    assert len(set(keys)) == len(keys) > 300
    for engine in ENGINES:
        assert engine.parameters
        for parameter in engine.parameters:
            assert parameter.provenance in {"paper", "derived", "measured", "assumed"}
            assert parameter.source, parameter.key
            assert engine.engine == "simulation" or parameter.key.startswith(f"{engine.engine}.")


def test_defaults_and_the_ends_of_ranges_are_allowed_and_nothing_beyond() -> None:
    for engine, parameter in ROWS:
        for value in (parameter.default, parameter.min, parameter.max):
            assert value_of(engine, parameter, value) == value
        wrong = [
            parameter.min - abs(parameter.min) - 1,
            parameter.max + abs(parameter.max) + 1,
            math.nan,
            math.inf,
            None,
            "none of them",
            [1],
        ]
        if parameter.whole:
            wrong.append(parameter.min + 0.5)
        if parameter.kind != "switch":
            wrong.append(True)
        for value in wrong:
            text = refusal_of(engine, parameter, value)
            own = parameter.key.removeprefix(f"{engine.engine}.")
            assert text.startswith(f"{own} = "), text
            assert f": must be {parameter.allowed}" in text


def test_names_of_choices_are_read_as_their_numbers() -> None:
    named = 0
    for engine, parameter in ROWS:
        for choice in parameter.choices:
            assert value_of(engine, parameter, choice.value) == choice.value
            assert parameter.text(choice.value) == choice.label
            if choice.name:
                named += 1
                spelt = choice.name.replace("_", "-").upper()
                assert value_of(engine, parameter, choice.name) == choice.value
                assert value_of(engine, parameter, spelt) == choice.value
    assert named > 30


@given(st.sampled_from(ROWS), st.floats(allow_nan=False), st.booleans())
def test_a_value_is_read_unchanged_or_refused(
    row: tuple[Engine, Parameter], value: float, whole: bool
) -> None:
    engine, parameter = row
    value = float(round(value)) if whole and math.isfinite(value) else value
    inside = parameter.min <= value <= parameter.max
    choices = [choice.value for choice in parameter.choices]
    if parameter.choices and "a whole number" not in parameter.allowed:
        inside = value in choices
    elif parameter.whole:
        inside = inside and value.is_integer()
    if inside:
        assert value_of(engine, parameter, value) == value
    else:
        assert "must be" in refusal_of(engine, parameter, value)


def test_a_cost_of_tcp_that_is_not_allowed_is_refused_as_it_was_given() -> None:
    for cost, text in [(-1.0, "-1"), (0.0, "0"), (1e-9, "1e-9"), (2e9, "2e9")]:
        for use in (engines, simulation.service_breakdown):
            with pytest.raises(InputError) as refused:
                use(cost)
            expected = f"tcp_cost_ns = {text}: must be a number from 0.001 to 1e9"
            assert (str(refused.value), refused.value.place) == (expected, "tcp_cost_ns")
    assert len(engines(1e9)) == len(engines(0.001)) == len(ENGINES)


def test_refusals_of_the_engines_name_the_setting() -> None:
    host = {"kernels": [], "uncertain": [], "draws": 1, "seed": 1, "around_ratio": None}
    service = json.dumps({"host_cycles_per_s": -1.0, **host})
    for call, place in [
        (lambda: _native.accelerometer_evaluate(service), "host_cycles_per_s"),
        (lambda: _native.area_model(json.dumps({"cores": -1.0})), "cores"),
        (lambda: _native.power_model(json.dumps({}), json.dumps({"core_w": 1.0})), "parameter"),
    ]:
        with pytest.raises(AccelflowError) as found:
            call()
        assert found.value.place == place
        with pytest.raises(InputError) as refused, as_input():
            call()
        assert refused.value.place == place


def test_unknown_engines_and_keys_are_refused() -> None:
    with pytest.raises(AccelflowError) as caught:
        _native.parameter_value("areas", "cores", 1)
    assert str(caught.value).startswith("engine = 'areas': must be simulation, area, power, ")
    assert str(caught.value).endswith(", did you mean area?")
    with pytest.raises(AccelflowError) as caught:
        _native.parameter_value("area", "core", 1)
    assert str(caught.value) == (
        "parameter = 'core': must be the key of a parameter, did you mean cores?"
    )


def test_explain_covers_all_engines() -> None:
    for engine in ENGINES:
        parameter = engine.parameters[0]
        shown = explain(parameter.key)
        assert shown.startswith(f"{parameter.key} = {parameter.text(parameter.default)}")
        assert f"provenance  {parameter.provenance}\n" in shown
    everything = explain().splitlines()
    assert len(everything) == sum(len(engine.parameters) for engine in ENGINES)
    rows = json.loads(explain("arcus.pcie", "--json"))
    assert {row["key"].rpartition(".")[0] for row in rows} == {"arcus.pcie"}
    assert json.loads(explain("arcus.pcie.", "--json")) == rows
    assert "constant of the model" in explain("arcus.pcie.lanes")
    for wrong, right in (
        ("cerebros.core", "cerebros.cores"),
        ("arcus.pcie.lane", "arcus.pcie.lanes"),
        ("profile.tcp_cost", "profile.tcp_cost_ns"),
        ("relief_suite.interupt_us", "relief_suite.interrupt_us"),
    ):
        done = CliRunner().invoke(program, ["explain", wrong])
        assert isinstance(done.exception, InputError)
        assert f"did you mean {right}" in str(done.exception)


def test_the_page_of_all_parameters_is_up_to_date(tmp_path: Path) -> None:
    page = tmp_path / "parameters.md"
    explain("--markdown", str(page))
    written = page.read_text(encoding="utf-8")
    assert all(f"| `{p.key}` |" in written for engine in ENGINES for p in engine.parameters)
    kept = (ROOT / "docs" / "parameters.md").read_text(encoding="utf-8")
    assert kept == written, "write it again: accelflow explain --markdown docs/parameters.md"


def test_a_page_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    page = tmp_path / "parameters.md"
    page.write_text("kept", encoding="utf-8")
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (4_096, 4_096)); "
    code = limit + "from accelflow.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "explain", "--markdown", str(page)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "File too large" in done.stderr
    assert "parameters" in done.stderr
    assert page.read_text(encoding="utf-8") == "kept"


def test_refusals_have_one_form() -> None:
    services = ["CPost", "Login", "ReadH"]
    for error, text in (
        (refused("pes", 2.5, "must be a whole number"), "pes = 2.5: must be a whole number"),
        (refused("pes", None, "must be a number"), "pes = None: must be a number"),
        (
            refused("service", "Logn", known=services),
            "service = 'Logn': must be CPost, Login or ReadH, did you mean Login?",
        ),
        (
            refused("service", "Logn", "must be one that runs", services),
            "service = 'Logn': must be one that runs, did you mean Login?",
        ),
        (refused("service", "x", known=["CPost"]), "service = 'x': must be CPost"),
    ):
        assert isinstance(error, InputError)
        assert str(error) == text
    assert one_of("service", "Login", services) == "Login"
    with pytest.raises(InputError, match="service = 'x': must be CPost, Login or ReadH"):
        one_of("service", "x", services)
    with pytest.raises(InputError, match=r"port = 1\.0: must be a whole number from 0 to 9"):
        whole_number("port", 1.0, 0, 9)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="rate = 0: must be a number above 0, at most 1,000"):
        positive_number("rate", 0, 1e3)


def test_the_page_is_of_all_parameters() -> None:
    done = CliRunner().invoke(program, ["explain", "core.count", "--markdown", "/dev/null"])
    assert isinstance(done.exception, InputError)
    assert str(done.exception).startswith("KEY = 'core.count': must be left out with --markdown")
