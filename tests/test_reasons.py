"""Reasons for rows that are off: evidence from committed runs, and no typed figures of ours."""

import json
import re
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

from accelflow import findings
from accelflow.findings import Reason, targets
from accelflow.readings import select
from accelflow.reproduce import load, names, reasons
from accelflow.reproduce.held import held
from accelflow.reproduce.implications.statements import statements
from accelflow.reproduce.kept import PAGE, read_kept

COMMITTED = Path(__file__).parent.parent / "docs/results/reproduction"

#: A number with decimals, or a share in per cent.
NUMBER = re.compile(r"(?<![\w.])(\d+\.\d+|\d+(?= %))")


def off_findings() -> dict[str, dict[str, Any]]:
    return {
        row["key"]: row
        for path in sorted(COMMITTED.glob("*.json"))
        for row in json.loads(path.read_text(encoding="utf-8"))["findings"]
        if row["verdict"] == "off"
    }


def off_rows() -> list[str]:
    return [*off_findings()]


def near_and_undecided(key: str) -> bool:
    """Whether runs of a reading are too short for a verdict on a figure near the paper's."""
    paper = targets()[key].value
    return any(
        reading["verdict"] == "undecided" and 0.75 <= reading["mean"] / paper <= 1.25
        for choice in findings.reasons()[key].choices
        for reading in held()[key].get(choice, ())
    )


def test_every_row_that_is_off_has_a_reason_and_its_evidence() -> None:
    """An input that is not printed has a value at which the row would agree, or might."""
    off = off_findings()
    assert off
    for key, row in off.items():
        reason = reasons()[key]
        if reason.kind == "not_printed":
            assert reason.holds or near_and_undecided(key), key
        if reason.kind == "definition":
            # A simulation has ours by other definitions as measures, a table beside the row.
            assert reason.measures or row["also"], key
        if reason.kind == "contradiction":
            assert reason.proofs, key


def test_reasons_name_choices_that_were_tried_with_the_row() -> None:
    for key, reason in findings.reasons().items():
        assert {choice.name for choice in select(reason.choices)} >= set(reason.choices), key
    for key in off_rows():
        tried = set(held().get(key, {}))
        reason = findings.reasons()[key]
        assert not reason.choices or reason.implied or set(reason.choices) & tried, key


def test_no_reason_has_a_typed_figure_of_ours() -> None:
    """Numbers in a text are the paper's, or settings: figures of ours change with the model."""
    printed = {f"{float(one.value):g}" for one in targets().values() if one.figure.single}
    shares = {f"{100 * float(it):g}" for it in printed}
    settings = {f"{one.printed.normalize():f}" for one in statements().values()}
    settings |= {f"{100 * float(it):g}" for it in settings}
    # Section VII.A.1; a share of work by the printed shares and speedups.
    allowed = printed | shares | settings | {"1.5", "40"}
    for key, reason in findings.reasons().items():
        if key.startswith("accelflow."):
            for number in NUMBER.findall(reason.text + reason.missing):
                assert f"{float(number):g}" in allowed, f"{key}: {number}"


def test_no_value_is_typed_where_a_run_can_find_it() -> None:
    text = resources.files("accelflow.experiments").joinpath("reasons.toml").read_text("utf-8")
    for key, content in tomllib.loads(text).items():
        if key.startswith("accelflow."):
            assert "holds_at" not in content, key


def test_what_holds_and_what_was_tried_is_said() -> None:
    reason = Reason(
        kind="not_printed",
        text="It depends.",
        missing="the wait",
        holds="with remote = short (1.4)",
        tried="sizes = fleet (2 to 3)",
    )
    assert reason.sentence() == (
        "*not printed*: The paper does not state the wait. It depends. "
        "The row would agree, within a quarter, with remote = short (1.4). "
        "The row would stay off with sizes = fleet (2 to 3)."
    )
    row = "accelflow.fallback.tcp_timeouts_per_million"
    assert re.search(r"with a time-out of \d", reasons()[row].holds)
    row = "accelflow.orchestration_overhead.RELIEF_unloaded"
    assert "if time of a request for each of its operations" in reasons()[row].holds


def test_statements_that_do_not_hold_have_a_reason() -> None:
    known = {(name, check.says): check.why_not for name in names() for check in load(name).checks}
    for path in COMMITTED.glob("*.json"):
        for check in json.loads(path.read_text(encoding="utf-8"))["checks"]:
            if check["holds"] is False:
                assert known[path.stem, check["says"]] is not None, check["says"]


def test_the_committed_results_have_todays_reasons() -> None:
    """Results and page are what `accelflow reproduce --page` writes; figures stay as simulated."""
    kept = read_kept(COMMITTED)
    assert kept.page == (COMMITTED / PAGE).read_text(encoding="utf-8")
    for path, text in kept.results.items():
        assert text == path.read_text(encoding="utf-8"), path.name


def test_kept_figures_that_are_equal_have_no_order() -> None:
    """Kept figures that are equal for every seed refute an order; close ones leave it open."""
    found = {
        (path.stem, statement.says): statement.holds
        for path, outcome in read_kept(COMMITTED).outcomes.items()
        for statement in outcome.statements
    }
    assert found["fig19", "fallback becomes increasingly common with fewer PEs"] is False
    grows = "the gain over RELIEF grows with the accelerators' speedups"
    assert found["accelerator_speedups", grows] is None
