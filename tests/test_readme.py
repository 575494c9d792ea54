"""README's figures are those of the committed results."""

import json
import re
from collections import Counter

from conftest import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
TEXT = " ".join(README.split())
RESULTS = [
    json.loads(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "docs/results/reproduction").glob("*.json"))
]
FINDINGS = {row["key"]: row for found in RESULTS for row in found["findings"]}
SYSTEMS = ("Non-acc", "CPU-Centric", "RELIEF", "Cohort")


def table(name: str) -> list[float]:
    """Return the shares in a row of README's table of reductions."""
    row = re.search(rf"^\| {name} \|(.*)\|$", README, re.MULTILINE)
    assert row is not None, name
    return [round(float(cell.strip().removesuffix(" %")) / 100, 3) for cell in row[1].split("|")]


def test_the_table_of_reductions_is_that_of_fig_11() -> None:
    for measure, key in (("P99", "p99_reduction"), ("mean", "mean_latency_reduction")):
        rows = [FINDINGS[f"accelflow.{key}.{system}"] for system in SYSTEMS]
        assert table(f"{measure}, here") == [round(row["mean"], 3) for row in rows]
        assert table(f"{measure}, paper") == [row["paper"] for row in rows]


def test_the_counts_of_rows_and_statements_are_those_of_the_page() -> None:
    rows = Counter(row["verdict"] for row in FINDINGS.values() if row["kind"] == "dynamic")
    exact = Counter(row["verdict"] for row in FINDINGS.values() if row["kind"] == "exact")
    assert set(rows) <= {"agrees", "off", None}
    assert set(exact) == {"as printed", "off"}
    agree, off = rows["agrees"] + exact["as printed"], rows["off"]
    all_rows = agree + off + exact["off"]
    assert f"Of {all_rows} rows, {agree} agree and {off} are off by more than a quarter" in TEXT
    assert exact["off"] == 1
    assert "One that follows from such inputs differs in its last digit" in TEXT
    assert f"{exact['as printed']} of the {agree} follow from inputs in the paper" in TEXT
    said = Counter(check["holds"] for found in RESULTS for check in found["checks"])
    holds, fails, unclear = said[True], said[False], said[None]
    counts = f"{holds} hold, {fails} do not, and {unclear} are undecided"
    assert f"Of {holds + fails + unclear} checked orders and trends, {counts}" in TEXT


def test_the_differences_have_the_figures_of_the_page() -> None:
    gain = FINDINGS["accelflow.throughput.vs_Non-acc"]
    assert (
        f"AccelFlow has {gain['mean']:.1f} times its throughput (paper: {gain['paper']} times)"
        in TEXT
    )
    assert 0.45 < FINDINGS["accelflow.sensitivity.throughput_4pe_over_8"]["mean"] < 0.55
    assert 0.4 < FINDINGS["accelflow.orchestration_overhead.RELIEF_unloaded"]["mean"] < 0.6
    serverless = FINDINGS["accelflow.serverless_p99_reduction.vs_RELIEF"]
    ours, paper = f"{serverless['mean']:.1%}", f"{serverless['paper']:.0%}"
    assert (
        f"reduces RELIEF's by {ours.replace('%', ' %')} (paper: {paper.replace('%', ' %')})" in TEXT
    )
