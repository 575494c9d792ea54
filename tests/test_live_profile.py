"""The live server's profile: the script that measures it, and what the page shows of it."""

import importlib.util
import sys
from types import ModuleType

import pytest

from accelflow.companions.live_server import beside_the_paper, live_server, live_server_lines
from conftest import ROOT


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("measuring", ROOT / "scripts" / "live_server.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Its dataclass looks its module up by name.
    patch = pytest.MonkeyPatch()
    patch.setitem(sys.modules, "measuring", module)
    spec.loader.exec_module(module)
    patch.undo()
    return module


def test_callgrind_counts_the_instructions_of_a_function_and_not_of_those_it_calls(
    script: ModuleType,
) -> None:
    text = """\
version: 1
events: Ir

fn=(1) write'send'handle
12 100
cfn=(2) copy'write'send'handle
calls=1 0
12 900
+1 5

fn=(2)
* 600
cfn=(3) copy'2'copy'write'send
calls=1 0
* 300

totals: 1005
"""
    found = script.callgrind_stacks(text)
    assert found == {
        ("handle", "send", "write"): 105,
        ("handle", "send", "write", "copy"): 600,
    }


def test_the_page_compares_instructions_and_the_papers_shares() -> None:
    measured = live_server()
    for sizes in measured["sizes"].values():
        assert sizes["cumulative_ratio"] == sorted(sizes["cumulative_ratio"])
        assert sizes["cumulative_ratio"][-1] == pytest.approx(1)
    by_category = {
        which: {row["category"]: row for row in profile["functionality"]}
        for which, profile in measured["profiles"].items()
    }
    before, after = (
        by_category[which]["secure_and_insecure_io"]["instructions"]
        for which in ("before", "after")
    )
    # AES instructions replace many others.
    assert after < before / 2
    pictures = {"fig15-22": "sizes.png", "fig1": "one.png", "table6": "other.png"}
    text = "\n".join(live_server_lines(measured, pictures))
    assert "One machine was measured" in text
    assert text.index("](one.png)") < text.index("](sizes.png)")
    assert "other.png" not in text
    assert "](" not in "\n".join(live_server_lines(measured, {}))
    assert f"| {100 * (after / before - 1):+.0f} % |" in text
    for row in beside_the_paper(measured):
        assert f"| {' | '.join(row)} |" in text
