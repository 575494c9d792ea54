"""The page of floods is the one of its committed results."""

import subprocess
import sys

from conftest import ROOT


def test_the_page_of_floods_is_written_from_its_results() -> None:
    script = ROOT / "scripts" / "tenants_page.py"
    results = ROOT / "docs" / "results" / "tenants"
    done = subprocess.run(
        [sys.executable, script, results], capture_output=True, text=True, check=True
    )
    page = (ROOT / "docs" / "results" / "tenants.md").read_text(encoding="utf-8")
    assert done.stdout == page, "renew by: scripts/tenants --page"
