"""Costs that a workload's file states are those of its service, also off the most common path."""

from __future__ import annotations

from typing import Any

import pytest

import accelflow

TRACES = """
kind Thumbnail
trace receive:
    TCP
trace answer:
    Ser TCP
trace work:
    Ser
    branch large == 1
      on true:
        Cmp
trace shrink:
    Thumbnail
"""


def service(name: str, cmp_ns: float, large: int, odds: float | None = None) -> dict[str, Any]:
    work: dict[str, Any] = {"trace": "work", "facts": {"work": {"large": large}}}
    if odds is not None:
        work["odds"] = {"work": {"large": odds}}
    costs = {"TCP": {"ns": 1_000.0}, "Ser": {"ns": 1_000.0}, "Cmp": {"ns": cmp_ns}}
    return {
        "name": name,
        "rate_rps": 10.0,
        "sizes": {"fixed_bytes": 1_000},
        "costs": {"source": "operations", **costs},
        "path": [{"trace": "receive"}, work, {"trace": "answer"}],
    }


def mean_us(services: list[dict[str, Any]], **others: Any) -> float:
    """The mean response time of the first service on cores alone."""
    workload = {
        "schema": "accelflow.workload/1",
        "name": "mine",
        "traces": [{"source": TRACES}],
        "services": services,
        **others,
    }
    results = accelflow.compare(workload, orchestrators=["non_acc"], requests=400)
    return float(results["non_acc"][services[0]["name"]].mean_us)


def test_an_operation_off_the_common_path_costs_what_its_own_service_states() -> None:
    other = service("Other", 1_000.0, 1)
    rare = mean_us([service("Mine", 100_000.0, 0, odds=0.5), other])
    common = mean_us([service("Mine", 100_000.0, 1, odds=0.5), other])
    assert rare == common
    always = mean_us([service("Mine", 100_000.0, 0, odds=1.0), other])
    assert always == mean_us([service("Mine", 100_000.0, 1)])


def test_a_cost_per_byte_off_the_common_path_is_of_the_chains_own_messages() -> None:
    mine = service("Mine", 0.0, 0, odds=1.0)
    mine["costs"]["Cmp"] = {"ns_per_byte": 10.0, "ns": 0.0}
    small = mean_us([mine])
    mine["path"][1]["sizes"] = {"fixed_bytes": 5_000}
    assert mean_us([mine]) == pytest.approx(small + 40.0, abs=0.01)


def test_a_custom_accelerator_costs_by_its_own_message_with_the_papers_costs() -> None:
    mine = service("Mine", 0.0, 0)
    mine["costs"] = {"source": "paper"}
    shrink: dict[str, Any] = {"trace": "shrink"}
    mine["path"][1] = shrink
    kinds = {"Thumbnail": {"ns_per_byte": 100.0}}
    small = mean_us([mine], kinds=kinds)
    shrink["sizes"] = {"fixed_bytes": 5_000}
    assert mean_us([mine], kinds=kinds) == pytest.approx(small + 400.0, abs=0.01)
