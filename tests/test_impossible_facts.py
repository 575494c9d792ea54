"""Facts that no payload can have are refused, in a workload's file."""

from __future__ import annotations

from typing import Any

import pytest

from accelflow import InputError
from accelflow.simulation import Scenario, check


def checked(condition: str, fact: str, value: int, odds: float | None = None) -> None:
    work: dict[str, Any] = {"trace": "work", "facts": {"work": {fact: value}}}
    if odds is not None:
        work["odds"] = {"work": {fact: odds}}
    source = f"""
trace receive:
    TCP
trace work:
    Ser
    branch {condition}
      on true:
        Cmp
trace answer:
    Ser TCP
"""
    workload = {
        "schema": "accelflow.workload/1",
        "name": "mine",
        "traces": [{"source": source}],
        "services": [
            {
                "name": "Mine",
                "rate_rps": 10.0,
                "path": [{"trace": "receive"}, work, {"trace": "answer"}],
            }
        ],
    }
    check(Scenario(workload=workload, orchestrators=["accelflow"], requests=100))


@pytest.mark.parametrize(
    ("condition", "fact", "value", "odds", "allowed"),
    [
        ("out[4] > 200", "out[4]", 300, None, "must be from 0 to 255"),
        ("out[4] > 200", "out[4]", -1, None, "must be from 0 to 255"),
        ("out[4:6] > 200", "out[4:6]", 65_536, None, "must be from 0 to 65535"),
        ("width > 512", "width", 640, 0.5, "must be 0 or 1, since odds"),
        ("width", "width", 2, None, "must be 0 or 1: branches test it as a bit"),
    ],
)
def test_a_fact_that_payloads_cannot_have_is_refused(
    condition: str, fact: str, value: int, odds: float | None, allowed: str
) -> None:
    with pytest.raises(InputError) as refused:
        checked(condition, fact, value, odds)
    assert f"facts.work.{fact} = {value}: {allowed}" in str(refused.value)


@pytest.mark.parametrize(
    ("condition", "fact", "value"),
    [
        ("out[4] > 200", "out[4]", 255),
        ("out[4:6] > 200", "out[4:6]", 65_535),
        ("out[0:8] > 200", "out[0:8]", -5),
        ("width < 512", "width", -(2**63)),
    ],
)
def test_other_numbers_are_possible(condition: str, fact: str, value: int) -> None:
    checked(condition, fact, value)
