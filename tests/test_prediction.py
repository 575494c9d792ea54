"""`accelflow predict`: the laws of its rungs, a small live run, its page, and refusals."""

import importlib.util
import json
import math
import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner

from accelflow import AccelflowError, InputError, _native, prediction
from accelflow.cli import program
from accelflow.prediction.live import quantile, recorded, server_us
from accelflow.scenario import Scenario, hashed
from accelflow.simulation import run
from accelflow.workload import load_workload
from certificates import make_certificate
from conftest import ROOT

EXAMPLE = ROOT / "examples" / "prediction"
RESULTS = ROOT / "docs" / "results" / "prediction"

#: No friction of the simulated server beside its queue.
EXACT: dict[str, float | str] = {
    "core.context_switch_ns": 0.0,
    "core.wake_ns": 0.0,
    "core.transform_ns_per_kib": 0.0,
}


def recording(
    *, app_us: float = 40.0, step_us: float = 5.0, core_us: float = 0.0, client_us: float = 0.0
) -> str:
    """UniqId with constant steps, constant application logic and constant times outside of them."""

    def constant(time_us: float) -> list[list[float]]:
        return [[0.0, time_us * 1e3], [1.0, time_us * 1e3]]

    walk = _native.service_walk("UniqId", "socialnetwork")
    assert json.loads(walk)["service"] == "UniqId"
    steps = {
        "T1": ["TCP", "Decr", "RPC", "Dser", "LdB"],
        "T2": ["Ser", "RPC", "Encr", "TCP"],
    }

    def chain(trace: str) -> dict[str, Any]:
        direction = "receive" if trace == "T1" else "send"
        return {
            "steps": [
                {
                    "trace": trace,
                    "accelerator": name,
                    "direction": direction,
                    "input_bytes": 100,
                    "output_bytes": 100,
                    "cost_ns": step_us * 1e3,
                    "cost_quantiles_ns": constant(step_us),
                    "samples": 1,
                }
                for name in steps[trace]
            ]
        }

    app = {"app_ns": app_us * 1e3, "app_quantiles_ns": constant(app_us), "samples": 1}
    service: dict[str, Any] = {
        "service": "UniqId",
        "phases": [{"chains": [chain("T1")]}, {"cpu": app}, {"chains": [chain("T2")]}],
    }
    if core_us or client_us:
        service["outside"] = {
            "core_quantiles_ns": constant(core_us),
            "client_quantiles_ns": constant(client_us),
            "samples": 1,
        }
    tree = {
        "format": "accelflow-recording",
        "version": 4,
        "machine": "by hand",
        "date": "2026-01-01",
        "services": [service],
    }
    return json.dumps(tree)


def workload(text: str) -> prediction.Workload:
    return prediction.Workload(recording=text, service="UniqId", config=EXACT)


@pytest.mark.parametrize("rung", ["closed_form", "simulator"])
def test_an_idle_server_takes_all_recorded_times_once(rung: str) -> None:
    one = workload(recording(core_us=11.0, client_us=70.0))
    found = prediction.forecast(one, rung, 1.0, requests=1_000)
    # Nine steps, application logic, and what is outside of them.
    assert found.mean_us == pytest.approx(9 * 5.0 + 40.0 + 11.0 + 70.0, rel=1e-3)
    assert found.p99_us == pytest.approx(found.mean_us, rel=1e-3)


def test_medians_have_nothing_outside_of_steps() -> None:
    one = workload(recording(core_us=11.0, client_us=70.0))
    found = prediction.forecast(one, "medians", 1.0, requests=1_000)
    assert found.mean_us == pytest.approx(9 * 5.0 + 40.0, rel=1e-3)


@pytest.mark.parametrize("load", [0.3, 0.7])
def test_constant_steps_wait_as_queueing_theory_says(load: float) -> None:
    service_us = 9 * 5.0 + 40.0 + 15.0
    one = workload(recording(core_us=15.0, client_us=20.0))
    rate = load / service_us * 1e6
    simulated = prediction.forecast(one, "simulator", rate, requests=60_000)
    closed = prediction.forecast(one, "closed_form", rate, requests=60_000)
    # M/D/1 waits half as long as M/M/1.
    wait_us = service_us * load / (1.0 - load) / 2.0
    assert closed.mean_us == pytest.approx(service_us + 20.0 + wait_us, rel=1e-6)
    assert simulated.mean_us == pytest.approx(service_us + 20.0 + wait_us, rel=0.03)


def test_a_server_that_cannot_take_the_load_is_forecast_as_saturated() -> None:
    one = workload(recording())
    for rung in ("closed_form", "simulator"):
        found = prediction.forecast(one, rung, 2e6, requests=5_000)
        assert math.isinf(found.mean_us), rung


def test_an_unknown_method_of_forecasting_is_refused() -> None:
    with pytest.raises(InputError, match=r"rung = 'median': must be .*, did you mean medians"):
        prediction.forecast(workload(recording()), "median", 1.0, requests=1_000)


def test_scenarios_choose_medians_unless_they_say_otherwise() -> None:
    text = recording(client_us=50.0)
    plain = Scenario(services=("UniqId",), recording=text, orchestrators=("AccelFlow",))
    plain = replace(plain, requests=500)
    assert hashed(plain) == hashed(replace(plain, recorded_times="median"))
    drawn = replace(plain, recorded_times="distribution")
    assert hashed(plain) != hashed(drawn)
    before, after = (run(one) for one in (plain, drawn))
    assert "recorded_times" not in before
    assert after["recorded_times"] == "distribution"
    (old,), (new,) = (it["systems"][0]["services"] for it in (before, after))
    assert new["mean_us"] == pytest.approx(old["mean_us"] + 50.0, rel=0.05)
    with pytest.raises(InputError, match="recorded_times = 'distribution': must be median unless"):
        hashed(Scenario(profile="paper", recorded_times="distribution"))


def test_a_recording_says_what_it_lacks() -> None:
    assert _native.recording_lacks(recording(core_us=1.0, client_us=1.0)) == []
    lacks = _native.recording_lacks(recording())
    assert [each.split(":")[0] for each in lacks] == ["UniqId", "UniqId"]
    with pytest.raises(AccelflowError, match="must be the JSON of a recording"):
        _native.recording_lacks("[]")


def test_quantiles_and_server_times_by_hand() -> None:
    assert [quantile([3.0, 1.0, 2.0, 4.0], share) for share in (0.01, 0.5, 0.75, 0.99, 1.0)] == [
        1.0,
        2.0,
        3.0,
        4.0,
        4.0,
    ]
    (service,) = json.loads(recording(core_us=3.0))["services"]
    assert server_us(service) == pytest.approx(9 * 5.0 + 40.0 + 3.0)


def test_a_small_ladder_has_every_rung_and_its_parts(tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path)
    (tmp_path / "arguments.jsonl").write_text('{"key": "1"}\n\n{"key": "2"}\n', encoding="utf-8")
    (tmp_path / "quick.py").write_text(
        "def setup(server):\n"
        "    server.handle('Ladder.Short', lambda arguments: arguments['key'][::-1])\n",
        encoding="utf-8",
    )
    arguments = ["quick:setup", "--interface", str(EXAMPLE / "services.thrift")]
    arguments += ["--certificate", str(certificate), "--key", str(key), "--json"]
    arguments += [
        "--arguments",
        str(tmp_path / "arguments.jsonl"),
        "--service",
        "Ladder.Short=Short",
    ]
    arguments += ["--workload", str(EXAMPLE / "workload.toml"), "--requests", "2000"]
    arguments += ["--loads", "5,20", "--seconds", "0.4", "--repeats", "2"]
    arguments += ["--out", str(tmp_path / "out.json")]
    arguments += ["--save-recording", str(tmp_path / "recording.json")]
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(tmp_path))
        done = CliRunner().invoke(program, ["predict", *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    answer = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert json.loads(done.stdout) == answer
    assert answer["schema"] == prediction.SCHEMA
    assert [row["load_ratio"] for row in answer["loads"]] == [0.05, 0.2]
    for row in answer["loads"]:
        assert row["rate_rps"] == pytest.approx(row["load_ratio"] * answer["capacity_rps"])
        live = row["live"]
        assert len(live["means_us"]) == len(live["p99s_us"]) == 2
        assert live["errors"] == 0
        assert 0.0 < live["mean_us"] <= max(live["means_us"])
        for rung in row["rungs"].values():
            # Costs measured on a busy machine are high, and may saturate the model.
            if rung["mean_us"] is None:
                assert rung["mean_error_ratio"] is None
                continue
            ratio = rung["mean_us"] / live["mean_us"] - 1.0
            assert rung["mean_error_ratio"] == pytest.approx(ratio)
    recorded = (tmp_path / "recording.json").read_text(encoding="utf-8")
    assert _native.recording_lacks(recorded) == []
    check_forecasts_of(recorded, answer["loads"][0])
    shown = prediction.text(answer)
    assert "medians us" in shown
    assert "P99" in shown
    assert prediction.markdown([answer]).count("\n") == 4


def check_forecasts_of(recorded: str, row: dict[str, Any]) -> None:
    """The recording gives the same forecasts again, from its file alone."""
    one = prediction.Workload(
        recording=recorded,
        service="Short",
        workload=load_workload(EXAMPLE / "workload.toml"),
    )
    again = prediction.forecast(one, "simulator", row["rate_rps"], requests=2_000)
    found_us = row["rungs"]["simulator"]["mean_us"]
    assert again.mean_us == (math.inf if found_us is None else pytest.approx(found_us))


def test_wrong_options_are_refused_before_anything_runs(tmp_path: Path) -> None:
    needed = ["--interface", "a.thrift", "--certificate", "a", "--key", "b"]

    def refusal(*arguments: str) -> str:
        done = CliRunner().invoke(program, ["predict", "handlers:setup", *needed, *arguments])
        assert isinstance(done.exception, InputError), done.output
        return str(done.exception)

    named = ("--service", "Ladder.Short=Short")
    assert "--service = 'Short': must be FUNCTION=NAME" in refusal("--service", "Short")
    assert "--loads = 'many': must be percentages" in refusal(*named, "--loads", "many")
    assert "loads = 2" in refusal(*named, "--loads", "200")
    assert "seconds = -1" in refusal(*named, "--seconds", "-1")
    empty = tmp_path / "empty.jsonl"
    empty.write_text("\n", encoding="utf-8")
    assert "must have a JSON object" in refusal(*named, "--arguments", str(empty))
    empty.write_text("[1]\n", encoding="utf-8")
    wrong = refusal(*named, "--arguments", str(empty))
    assert f"--arguments = '{empty}:1': must be a JSON object" in wrong
    assert "must be a .thrift file" in refusal(*named, "--interface", "a.proto")
    assert "must be in a folder that exists" in refusal(
        *named, "--out", str(tmp_path / "none" / "a.json")
    )


def test_what_cannot_be_called_is_refused_before_the_measurement(tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path)
    subject = prediction.Subject(
        handlers="handlers:setup",
        interface=EXAMPLE / "services.thrift",
        certificate=certificate,
        key=key,
        function="Ladder.Short",
        service="Short",
    )
    said: list[str] = []
    options = prediction.Options(seconds=0.1)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(EXAMPLE))
        for changes, words in [
            ({"function": "Ladder.Nope"}, "method = 'Nope': must be one of Short, "),
            ({"function": "Nope.Short"}, "service = 'Nope': must be Ladder"),
            ({"arguments": [{"zz": 1}]}, "field = 'zz': must be key"),
            ({"arguments": [{"key": 1}]}, "'key' is 1 in the JSON: must be string"),
            ({"handlers": "handlers:nope"}, "handlers has no function 'nope'"),
            ({"handlers": "no_such_module:setup"}, "No module named 'no_such_module'"),
        ]:
            with pytest.raises(InputError, match=re.escape(words)):
                prediction.predict(replace(subject, **changes), options, said.append)
        assert said == []
        with pytest.raises(AccelflowError, match=r"none of the 64 calls of Ladder.Short re.*: .+"):
            prediction.predict(replace(subject, arguments=[{}]), options)
    done = CliRunner().invoke(
        program,
        [
            *("predict", "handlers", "--interface", "a.thrift", "--certificate", "a"),
            *("--key", "b", "--service", "Ladder.Short=Short"),
        ],
    )
    assert "MODULE:FUNCTION = 'handlers': must have the form" in str(done.exception)


def test_a_server_that_cannot_start_is_one_message(tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path)
    subject = prediction.Subject(
        handlers="no_such_module:setup",
        interface=EXAMPLE / "services.thrift",
        certificate=certificate,
        key=key,
        function="Ladder.Short",
        service="Short",
    )
    with pytest.raises(AccelflowError, match="No module named 'no_such_module'"):
        prediction.predict(subject, prediction.Options(seconds=0.1))


def test_a_recording_of_one_request_has_the_time_outside_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, key = make_certificate(tmp_path)
    (tmp_path / "single.py").write_text(
        "def setup(server):\n    server.handle('Ladder.Short', lambda arguments: 'x')\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    subject = prediction.Subject(
        handlers="single:setup",
        interface=EXAMPLE / "services.thrift",
        certificate=certificate,
        key=key,
        function="Ladder.Short",
        service="Short",
    )
    # With this seed, one request arrives: the first of its connection.
    text, calls = recorded(subject, core=None, rate_rps=20.0, seconds=0.05, seed=1)
    assert len(calls.response_us) == 1
    assert _native.recording_lacks(text) == []


def page_script() -> ModuleType:
    file = ROOT / "scripts" / "prediction_page.py"
    spec = importlib.util.spec_from_file_location("prediction_page", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_results_is_made_of_them() -> None:
    script = page_script()
    answers = [json.loads((RESULTS / name).read_text(encoding="utf-8")) for name in script.FILES]
    page = (ROOT / "docs" / "results" / "prediction.md").read_text(encoding="utf-8")
    assert page == script.page(answers)
