"""Settings of another type or out of range are refused where they are given, by name and value."""

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import pytest

from accelflow import (
    Execution,
    Fault,
    InputError,
    Pools,
    RpcProcessor,
    Steering,
    Telemetry,
)

ENDPOINT = "http://127.0.0.1:4318/v1/traces"
NAN = float("nan")
HUGE = 10**400

#: Wrong values of settings, each with the beginning of the rule in the message.
OF_POOLS: list[tuple[str, Any, str]] = [
    ("workers", 2**31 - 1, "a whole number from 1 to 65536"),
    ("workers", 65_537, "a whole number from 1 to 65536"),
    ("workers", True, "a whole number"),
    ("core_workers", 2**62, "a whole number from 1 to 65536"),
    ("instances", 2**31 - 1, "a whole number from 1 to 65536"),
    ("workers_of", ["RPC"], "a mapping of numbers"),
    ("workers_of", {5: 1}, "a mapping with names of accelerators"),
    ("queue_entries", 0, "a whole number from 1"),
    ("overflow_entries", -1, "a whole number from 0"),
    ("least_bytes", 1.5, "a whole number from 0"),
    ("policy", "lifo", "fifo, priority, deadline or edf"),
    ("policy", 1, "fifo, priority, deadline or edf"),
    ("pinned", 1, "True or False"),
]
OF_STEERING: list[tuple[str, Any, str]] = [
    ("policy", "x", "affinity, function_map, round_robin or least_loaded"),
    ("policy", None, "affinity, function_map, round_robin or least_loaded"),
    ("workers", 2**31 - 1, "a whole number from 1 to 65536"),
    ("pinned", None, "True or False"),
    ("function_map_depth", "1", "a whole number from 1"),
]
OF_FAULT: list[tuple[str, Any, str]] = [
    ("accelerator", 1, "the name of an accelerator"),
    ("kind", None, "fail, panic or delay"),
    ("nth", 1.0, "a whole number from 1"),
    ("share", "half", "a number from 0 to 1"),
    ("share", True, "a number from 0 to 1"),
    ("share", 1.5, "a number from 0 to 1"),
    ("seed", -1, "a whole number from 0"),
    ("delay_s", NAN, "a number from 0 to 1,000,000,000"),
    ("delay_s", -1, "a number from 0 to 1,000,000,000"),
    ("delay_s", float("inf"), "a number from 0 to 1,000,000,000"),
    ("delay_s", True, "a number from 0"),
]
OF_TELEMETRY: list[tuple[str, Any, str]] = [
    ("endpoint", None, "an address that begins with http://"),
    ("service", 5, "the name of a service"),
    ("sample_ratio", "1", "a number from 0 to 1"),
    ("sample_ratio", True, "a number from 0 to 1"),
    ("sample_ratio", HUGE, "a number from 0 to 1"),
]

#: Groups of settings: how they are made, and wrong values of each.
GROUPS: dict[str, tuple[Callable[..., Any], list[tuple[str, Any, str]]]] = {
    "pools": (Pools, OF_POOLS),
    "steering": (Steering, OF_STEERING),
    "fault": (lambda **given: Fault(**{"accelerator": "RPC", "kind": "fail"} | given), OF_FAULT),
    "telemetry": (
        lambda **given: Telemetry(**{"endpoint": ENDPOINT, "service": "s"} | given),
        OF_TELEMETRY,
    ),
}
WRONG = [
    pytest.param(make, setting, value, allowed, id=f"{group}-{setting}-{str(value)[:12]}")
    for group, (make, rows) in GROUPS.items()
    for setting, value, allowed in rows
]


@pytest.mark.parametrize(("make", "setting", "value", "allowed"), WRONG)
def test_a_value_that_is_not_allowed_is_refused_by_name(
    make: Callable[..., Any], setting: str, value: Any, allowed: str
) -> None:
    with pytest.raises(InputError) as refused:
        make(**{setting: value})
    message = str(refused.value)
    assert message.startswith(setting)
    assert f": must be {allowed}" in message
    assert "\n" not in message


def test_more_threads_than_can_be_are_refused_however_they_are_given() -> None:
    allowed = "must be a whole number from 1 to 65536"
    with pytest.raises(InputError, match=f"^workers = 2147483647: {allowed}"):
        Execution(workers=2**31 - 1)
    with pytest.raises(InputError, match=rf"^workers_of\.RPC = 9223372036854775808: {allowed}"):
        Pools(workers_of={"RPC": 2**63})
    with pytest.raises(InputError, match=r"^instances = 4: must be at most 3, with 20000 workers"):
        Pools(workers_of={"RPC": 20_000}, instances=4)
    assert Execution(workers=65_536).workers == 65_536
    assert Pools(workers_of={"RPC": 65_536}).workers_of == {"RPC": 65_536}


def test_any_mapping_has_numbers_of_workers() -> None:
    given = MappingProxyType({"RPC": 2})
    assert Pools(workers_of=given).workers_of == {"RPC": 2}


def test_values_at_the_ends_of_ranges_are_allowed() -> None:
    assert Telemetry(endpoint=ENDPOINT, service="s", sample_ratio=0).sample_ratio == 0
    assert Fault(accelerator="RPC", kind="delay", share=1, delay_s=1e9).delay_s == 1e9
    assert Steering(workers=65_536).workers == 65_536
    assert RpcProcessor(patience_s=1e9).patience_s == 1e9
