"""Spans in and out of Python: what the engine's own tests (`crates/import`) do not reach."""

import json
import re
from pathlib import Path

import pytest

import accelflow
from accelflow import _native
from accelflow.cli import main
from accelflow.cli.import_coverage import coverage_lines
from accelflow.cli.import_times import times_lines
from accelflow.errors import AccelflowError
from accelflow.importing import timed

SPAN = {
    "traceID": "1",
    "spanID": "1",
    "operationName": "Buy",
    "references": [],
    "startTime": 1_700_000_000_000_000,
    "duration": 100,
    "tags": [{"key": "span.kind", "value": "server"}],
    "process": {"serviceName": "shop"},
}


def test_spans_become_a_workload_and_a_report(tmp_path: Path) -> None:
    file = tmp_path / "spans.json"
    file.write_text(json.dumps(SPAN), encoding="utf-8")
    found = json.loads(_native.import_spans("jaeger", [str(file)], '{"name": "shop"}'))
    assert found["workload"]["name"] == "shop"
    assert [service["name"] for service in found["workload"]["services"]] == ["Buy"]
    assert found["report"]["coverage"][0]["mean_us"] == 100.0


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("jager", "{}", "did you mean jaeger?"),
        ("jaeger", '{"shape": 2}', "did you mean shapes?"),
        ("otlp", "{}", "must have at least one request"),
    ],
)
def test_spans_that_cannot_be_imported_are_refused(
    tmp_path: Path, kind: str, options: str, message: str
) -> None:
    file = tmp_path / "spans.json"
    file.write_text("{}", encoding="utf-8")
    with pytest.raises(AccelflowError) as refused:
        _native.import_spans(kind, [str(file)], options)
    assert message in str(refused.value)


def calling(requests: list[tuple[str, int]]) -> str:
    """Lines of requests 1 ms after one another: each of an operation, with so many calls."""
    lines = []
    for number, (operation, calls) in enumerate(requests):
        start = SPAN["startTime"] + number * 1_000
        serve = {**SPAN, "traceID": f"{number + 1:x}", "startTime": start, "duration": 900}
        lines.append({**serve, "operationName": operation})
        lines += [
            {
                **serve,
                "spanID": f"{call + 2:x}",
                "parentSpanID": "1",
                "operationName": "find",
                "startTime": start + 10 + call * 20,
                "duration": 10,
                "tags": [
                    {"key": "span.kind", "value": "client"},
                    {"key": "rpc.system", "value": "grpc"},
                ],
            }
            for call in range(calls)
        ]
    return "".join(json.dumps(line) + "\n" for line in lines)


def test_the_report_says_how_much_of_each_operation_the_workload_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "spans.json", tmp_path / "shop.toml"
    file.write_text(calling([("Buy", 0), ("Pay", 0), *(("Buy", n) for n in range(1, 8))]))
    assert run(["import", "jaeger", str(file), "--out", str(out), "--shapes", "2"]) == 0
    printed = capsys.readouterr()
    assert (
        "coverage        25.0 %  of the requests of shop Buy: 2 of 8 shapes, 25.0 % of their"
        in (printed.out)
    )
    assert "coverage       100.0 %  of the requests of 1 operation\n" in printed.out
    warning = "warning: the workload's rates have only 25.0 % of the requests to shop Buy: "
    assert warning in printed.err
    asked = ["import", "jaeger", str(file), "--out", str(out), "--shapes"]
    assert run([*asked, "2", "--rates", "operation"]) == 0
    printed = capsys.readouterr()
    assert (
        "coverage        25.0 %  of the requests of shop Buy, for all of which these" in printed.out
    )
    assert "warning" not in printed.err
    assert run([*asked, "8"]) == 0
    printed = capsys.readouterr()
    assert "coverage       100.0 %  of the requests of 2 operations\n" in printed.out
    assert "warning" not in printed.err


def test_called_operations_keep_their_load_and_need_no_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inner = {"spanID": "a", "parentSpanID": "2", "operationName": "Get", "duration": 8}
    lines = [json.loads(line) for line in calling([("Buy", 1)] * 4).splitlines()]
    for line in [line for line in lines if line["operationName"] == "find"]:
        served = {**line, **inner, "startTime": line["startTime"] + 1, "tags": SPAN["tags"]}
        lines.append({**served, "process": {"serviceName": "cart"}})
    # A quarter of these makes a call of its own.
    more = {**lines[1], "spanID": "b", "parentSpanID": "a", "duration": 2}
    lines.append({**more, "startTime": more["startTime"] + 3, "process": {"serviceName": "cart"}})
    file = tmp_path / "spans.json"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert run(["import", "jaeger", str(file), "--out", str(tmp_path / "shop.toml")]) == 0
    printed = capsys.readouterr()
    assert "coverage        75.0 %  of the requests of cart Get, for all of which these stand" in (
        printed.out
    )
    assert "warning" not in printed.err


def test_the_report_has_the_times_of_the_spans_beside_those_of_the_workload(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # A request of 900 us, in which two calls of 10 us each start after one another.
    file, out = tmp_path / "spans.json", tmp_path / "shop.toml"
    lines = [json.loads(line) for line in calling([("Buy", 2)] * 100).splitlines()]
    lines[0]["duration"] = 990
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    asked = ["import", "jaeger", str(file), "--out", str(out)]
    assert run([*asked, "--json", "--check-requests", "200"]) == 0
    times = json.loads(capsys.readouterr().out)["times"]
    assert (times["orchestrator"], times["requests"]) == ("non_acc", 200)
    (row,) = times["services"]
    assert (row["service"], row["operation"], row["requests"]) == ("Buy", "shop Buy", 100)
    assert (row["traced_mean_us"], row["traced_p99_us"]) == (900.9, 900.0)
    # The tax of receiving, two calls and the answer is simulated beside the own time.
    simulated = accelflow.simulate(str(out), "non_acc", rate_rps=1.0, requests=200)
    assert row["simulated_mean_us"] == pytest.approx(simulated["Buy"].mean_us, rel=0.01)
    assert row["mean_ratio"] == row["simulated_mean_us"] / 900.9
    assert run(asked) == 0
    printed = capsys.readouterr().out
    assert "times               us  1,000 requests of each service, simulated one at" in printed
    assert re.search(r"Buy +900\.9 +900\.0 +1,0\d\d\.\d +1,1\d\d\.\d +\+13\.\d %", printed)
    assert run([*asked, "--check-requests", "0"]) == 0
    printed = capsys.readouterr().out
    assert "us  not simulated (--check-requests 0)\n" in printed
    assert re.search(r"Buy +900\.9 +900\.0 +- +- +-\n", printed)


@pytest.mark.parametrize("kind", ["alibaba-v2021", "azure-functions", "jaeger", "otlp"])
@pytest.mark.parametrize("number", ["5", "-1", "1000001"])
def test_the_number_of_requests_is_refused_before_the_files_are_read(
    kind: str, number: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing, out = str(tmp_path / "missing"), str(tmp_path / "shop.toml")
    asked = ["import", kind, missing, "--out", out]
    assert run([*asked, "--check-requests", number]) == 2
    message = f"--check-requests = {number}: must be 0, or a whole number from 100 to 1,000,000"
    assert message in capsys.readouterr().err
    with pytest.raises(accelflow.InputError, match=rf"^requests = {number}: must be 0, or"):
        timed({"services": []}, {}, int(number))


@pytest.mark.parametrize("number", [0, 100, None])
def test_a_report_without_times_of_services_has_no_lines_on_them(number: int | None) -> None:
    for times in (None, timed({"services": []}, {}, number)):
        assert list(times_lines(times)) == []


def run(arguments: list[str]) -> int:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return int(ended.value.code or 0)


COMPARE = ["compare", "trainticket", "--service", "Pay", "--requests", "100"]


def test_a_comparison_writes_spans_that_are_imported(tmp_path: Path) -> None:
    file = tmp_path / "spans.jsonl"
    asked = [*COMPARE, "--orchestrator", "accelflow", "--out", str(tmp_path), "--spans", str(file)]
    assert run(asked) == 0
    assert len(file.read_text(encoding="utf-8").splitlines()) == 100
    found = json.loads(_native.import_spans("otlp", [str(file)]))
    path = found["workload"]["services"][0]["path"]
    traces = [row["trace"] for row in path if "trace" in row]
    assert traces == ["T1", "T11", "T8", "T8", "T11", "T8", "T11", "T2"]


CALLING = """
schema = "accelflow.workload/1"
name = "shop"
[[services]]
name = "Buy"
rate_rps = 100
path = [
    { trace = "T1", facts = { T1 = { compressed = 0 } } },
    { cpu_us = 30 },
    { trace = "T9", facts = { T10 = { exception = 0, compressed = 0 } }, calls = "Get" },
    { trace = "T2" },
]
[[services]]
name = "Get"
path = [{ trace = "T1", facts = { T1 = { compressed = 0 } } }, { cpu_us = 500 }, { trace = "T2" }]
"""


def test_the_call_of_a_simulated_service_comes_back_with_the_service(tmp_path: Path) -> None:
    shop, file = tmp_path / "shop.toml", tmp_path / "spans.jsonl"
    shop.write_text(CALLING, encoding="utf-8")
    asked = ["compare", str(shop), "--requests", "100", "--orchestrator", "accelflow"]
    assert run([*asked, "--out", str(tmp_path), "--spans", str(file)]) == 0
    found = json.loads(_native.import_spans("otlp", [str(file)], '{"waits": "constant"}'))
    services = {service["name"]: service for service in found["workload"]["services"]}
    assert set(services) == {"Buy", "Get"}
    call = next(phase for phase in services["Buy"]["path"] if phase.get("trace") == "T9")
    assert call["calls"] == "Get"
    # The wait holds if Get is not simulated.
    assert call["waits"]["T10"]["constant_us"] > 500.0
    assert "rate_rps" not in services["Get"]


def test_spans_are_of_one_orchestrator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "spans.jsonl"
    assert run([*COMPARE, "--out", str(tmp_path), "--spans", str(file)]) == 2
    assert "must be given together with exactly one --orchestrator" in capsys.readouterr().err
    assert not file.exists()


def test_an_operation_that_is_left_out_stands_for_no_request() -> None:
    row = {
        **{"spans_of": "post", "operation": "Ship", "shapes": 1, "shapes_kept": 0},
        **{"share_of_rate": 1.0, "share_of_requests": 0.0, "share_of_time": 0.0},
    }
    shapes = "0 of 1 shapes, 0.0 % of their time"
    expected = f"coverage         0.0 %  of the requests of post Ship: {shapes}"
    assert list(coverage_lines([row])) == [expected]
