"""The page of floods: from its committed results, which agree with what its text says of them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "scripts"))

import tenants_page

SCRIPT = ROOT / "scripts" / "tenants"


def page(*arguments: str | Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "scripts" / "tenants_page.py", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)


def kept(kind: str) -> Any:
    return json.loads((tenants_page.RESULTS / f"{kind}.json").read_text(encoding="utf-8"))


def test_the_page_of_floods_is_written_from_its_results(tmp_path: Path) -> None:
    out = tmp_path / "page.md"
    assert page("--out", out).returncode == 0
    committed = (ROOT / "docs" / "results" / "tenants.md").read_text(encoding="utf-8")
    assert out.read_text(encoding="utf-8") == committed, "renew by: scripts/tenants --page"


def test_the_reasons_on_the_page_agree_with_the_results() -> None:
    for table in kept("simulated")["tables"]:
        alone, *cells = table["cells"]
        by_name = {(cell["flood"], cell["rule"]): cell for cell in cells}
        passed = {name: tenants_page.mean(cell, "flooder_rps") for name, cell in by_name.items()}
        in_time, in_traces, in_bytes = (
            f"ARCUS, in {it}" for it in ("accelerator time", "traces", "bytes")
        )
        assert passed["small", in_time] > passed["small", in_traces]
        assert passed["huge", in_time] > passed["huge", in_bytes]
        for flood in ("small", "huge", "bursty"):
            both = by_name[flood, "ARCUS, in both"]
            assert tenants_page.protects(both, alone)
            assert tenants_page.protects(by_name[flood, in_time], alone)
        assert not tenants_page.protects(by_name["huge", in_traces], alone)
        assert not tenants_page.protects(by_name["small", in_bytes], alone)
    live = kept("live")
    for cell in live["cells"]:
        if cell["rule"] == "in accelerator time":
            rates = tenants_page.of_rounds(cell, "flooder_rps")
            assert tenants_page.median(rates).high < live["promise"]["per_s"]


def test_sentences_follow_the_figures() -> None:
    def cell(
        rule: str | None, p99_us: float | None, victim_rps: float, flood: str = "small"
    ) -> Any:
        run = {"p99_us": p99_us, "victim_rps": victim_rps, "flooder_rps": 50.0, "saturated": None}
        return {"flood": flood, "rule": rule, "promised_rps": 100.0, "runs": [run, run]}

    alone = cell(None, 100.0, 1000.0)
    kept_both = [cell("limit", 110.0, 1000.0), cell("limit", 130.0, 990.0, "huge")]
    assert tenants_page.rule_sentence("limit", kept_both, alone) == (
        "*limit*: protection from small and huge, with the victim's P99 10 to 30 % above that "
        "alone; the flooder gets 50 % of its promise."
    )
    lost = [cell("limit", 110.0, 900.0), cell("limit", 300.0, 1000.0, "huge")]
    assert tenants_page.rule_sentence("limit", lost, alone) == (
        "*limit*: no protection from any flood; the victim's P99 is 1.1 to 3 times that alone."
    )
    silent = [cell("limit", None, 0.0)]
    assert tenants_page.rule_sentence("limit", silent, alone) == (
        "*limit*: no protection from any flood; no P99 is known."
    )


@pytest.mark.parametrize(
    ("stdin", "options", "words"),
    [
        ("not JSON", ["--keep", "live"], "standard input: must be JSON"),
        (
            "[1]",
            ["--keep", "live"],
            "input: must have the schema accelflow.tenant-flood/1",
        ),
        (
            '{"schema": "other/1"}',
            ["--keep", "simulated"],
            "must have the schema accelflow.ten",
        ),
        ("", [], "simulated.json: no such file; `scripts/tenants` measures it"),
    ],
)
def test_results_that_are_none_are_refused_and_no_page_is_written(
    tmp_path: Path, stdin: str, options: list[str], words: str
) -> None:
    done = page("--results", tmp_path / "results", *options, stdin=stdin)
    assert done.returncode == 1
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["500", "3"], "expected three numbers for each table"),
        (["500", "3", "twenty"], "'twenty': must be a whole number from 1 to 999999999"),
        (["--server", "0"], "ROUNDS = '0': must be a whole number from 1"),
        (["--server", "3", "0.0"], "SECONDS = '0.0': must be a number above 0"),
        (["--page", "now"], "--page takes no further arguments"),
    ],
)
def test_the_script_refuses_what_it_cannot_measure(arguments: list[str], words: str) -> None:
    done = subprocess.run([SCRIPT, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("tenants: error: ")
    assert words in done.stderr
