"""The page of where the equations hold: from its committed results, which are the simulation's."""

import json
import sys
from typing import Any

import pytest

from accelflow.accelerometer import validation
from conftest import ROOT

sys.path.insert(0, str(ROOT / "scripts"))

import accelerometer_page

SCRIPT = ".venv/bin/python scripts/accelerometer_page.py"


def kept() -> dict[str, Any]:
    result: dict[str, Any] = json.loads(accelerometer_page.JSON.read_text(encoding="utf-8"))
    return result


def test_the_page_is_written_from_its_results() -> None:
    result = kept()
    assert result["schema"] == validation.SCHEMA
    assert set(result["sections"]) == set(validation.SECTIONS)
    committed = accelerometer_page.PAGE.read_text(encoding="utf-8")
    assert accelerometer_page.page(result) == committed, f"renew by: {SCRIPT} --check"


@pytest.mark.parametrize(
    ("section", "number"),
    # A run without variation, one with seeds, a shared accelerator, a tail, and waits.
    [("nothing_waits", 0), ("threads", 5), ("queue", 0), ("tail", 0), ("waits", 0)],
)
def test_committed_rows_come_out_again_with_their_requests_and_seeds(
    section: str, number: int
) -> None:
    result = kept()
    rows = result["waits"] if section == "waits" else result["sections"][section]
    size = validation.Size(requests=result["requests"], seeds=result["seeds"])
    assert validation.row(section, number, size) == rows[number], f"renew by: {SCRIPT}"
