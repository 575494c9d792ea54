"""Spans in and out of Python: what the engine's own tests (`crates/import`) do not reach."""

import json
from pathlib import Path

import pytest

from accelflow import _native
from accelflow.cli import main
from accelflow.errors import AccelflowError

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


def test_spans_are_of_one_orchestrator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "spans.jsonl"
    assert run([*COMPARE, "--out", str(tmp_path), "--spans", str(file)]) == 2
    assert "must be given together with exactly one --orchestrator" in capsys.readouterr().err
    assert not file.exists()
