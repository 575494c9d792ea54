"""Single requests that end without a response, since an answer does not come in time."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from accelflow import InputError, simulation, watching
from accelflow.cli import main
from accelflow.simulation import Scenario
from accelflow.watching import Shown
from accelflow.waterfall import show
from accelflow.waterfall.picture import write_picture
from perfetto_file import read_timeline

COSTS = ", ".join(f"{name} = {{ ns = 2000 }}" for name in ("TCP", "Encr", "Decr", "RPC", "Dser"))
FACTS = "facts = { T10 = { compressed = 0, exception = 0 } }"
WAITS = "waits = { T10 = { log_normal = { median_us = 50.0, sigma = 0.5 } } }"
#: A call that takes longer than the time-out for a third of the requests.
CALLER = f"""
schema = "accelflow.workload/1"
name = "caller"

[[services]]
name = "Front"
rate_rps = 10000.0
sizes = {{ fixed_bytes = 200 }}
costs = {{ source = "operations", {COSTS}, Ser = {{ ns = 1000 }}, LdB = {{ ns = 100 }} }}
path = [
  {{ trace = "T1", facts = {{ T1 = {{ compressed = 0 }} }} }},
  {{ cpu_us = 20 }},
  {{ trace = "T9", {FACTS}, {WAITS} }},
  {{ trace = "T2" }},
]
"""
TIMEOUT_US = 60.0


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("timed_out") / "caller.toml"
    file.write_text(CALLER, encoding="utf-8")
    return file


def scenario(file: Path) -> Scenario:
    return Scenario(
        workload=str(file),
        orchestrators=("accelflow",),
        requests=100,
        config={"tcp.timeout_us": TIMEOUT_US},
    )


@pytest.fixture(scope="module")
def ended(file: Path) -> tuple[int, int]:
    """The number of requests that ended with a response, and without one."""
    (system,) = simulation.run(scenario(file))["systems"]
    (front,) = system["services"]
    assert front["responded"] > 20
    assert front["timed_out"] > 20
    return front["responded"], front["timed_out"]


@pytest.fixture(scope="module")
def timed_out(file: Path) -> dict[str, Any]:
    """The first request that timed out."""
    found = (watching.watch(scenario(file), "Front", request=number) for number in range(100))
    return next(request for request in found if request["timed_out"])


def test_the_allowed_numbers_are_those_of_all_requests(file: Path, ended: tuple[int, int]) -> None:
    last = sum(ended) - 1
    with pytest.raises(InputError, match=f"from 0 to {last}$"):
        watching.watch(scenario(file), "Front", request=last + 1)
    assert watching.watch(scenario(file), "Front", request=last)["request"] == last


def test_text_and_picture_say_that_there_is_no_response(
    file: Path, timed_out: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert timed_out["response_us"] is None
    assert timed_out["error"] is False
    ended_us = f"{timed_out['ended_us']:.1f} us"
    arguments = ["trace", "watch", "Front", "--request", str(timed_out["request"])]
    arguments += ["--workload", str(file), "--requests", "100"]
    with pytest.raises(SystemExit) as code:
        main([*arguments, "--set", f"tcp.timeout_us={TIMEOUT_US:g}"])
    assert not code.value.code
    text = capsys.readouterr().out
    assert text == show(timed_out, 80)
    first = text.splitlines()[0]
    assert first == (
        f"Front {timed_out['request']} under accelflow: no response, ended after {ended_us}"
    )
    assert re.search(rf"{TIMEOUT_US:.1f} us  \d+\.\d%  remote", text), text
    picture = tmp_path / "one.svg"
    write_picture(timed_out, picture)
    assert "no response, ended after" in picture.read_text(encoding="utf-8")


def test_timelines_show_the_end_without_a_response(
    file: Path, timed_out: dict[str, Any], tmp_path: Path
) -> None:
    timeline = tmp_path / "one.pftrace"
    shown = Shown(requests=(timed_out["request"],))
    assert watching.write_timeline(scenario(file), timeline, shown) == (1, 1)
    pieces = read_timeline(timeline).slices
    (request,) = (piece for piece in pieces if piece.name == f"Front {timed_out['request']}")
    assert "response_us" not in request.arguments
    assert request.arguments["ended_us"] == pytest.approx(timed_out["ended_us"])
    assert request.arguments["timed_out"] is True
    assert request.arguments["error"] is False
    instants = [piece.name for piece in pieces if piece.instant]
    assert instants == ["no response"]


def test_spans_of_timed_out_requests_end_with_the_call_that_timed_out(
    file: Path, ended: tuple[int, int], tmp_path: Path
) -> None:
    spans_file = tmp_path / "spans.jsonl"
    simulation.write_spans(scenario(file), spans_file)
    failed = 0
    for line in spans_file.read_text(encoding="utf-8").splitlines():
        (scope,) = json.loads(line)["resourceSpans"][0]["scopeSpans"]
        whole, *parts = scope["spans"]
        (call,) = (part for part in parts if part["kind"] == 3)
        time_us = (int(call["endTimeUnixNano"]) - int(call["startTimeUnixNano"])) / 1e3
        late = time_us == pytest.approx(TIMEOUT_US, abs=2e-3)
        assert late == (call["status"]["code"] == 2) == (whole["status"]["code"] == 2)
        failed += late
    assert failed == ended[1]
