"""Settings of another type or out of range are refused where they are given, by name and value."""

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args

import pytest

from accelflow import (
    Control,
    Execution,
    Fault,
    InputError,
    Limits,
    Observability,
    Pools,
    RpcProcessor,
    Server,
    Shaping,
    Slo,
    Steering,
    Telemetry,
    Timeouts,
)
from accelflow.accelerometer import Kernel, Queue, Sizes
from accelflow.accelerometer.simulated import Run
from accelflow.client import CallLimits
from accelflow.operations import Policy, SteeringPolicy
from accelflow.parameters import engine
from accelflow.server import Compression
from accelflow.trace import Ensemble

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
    ("workers_of", ["RPC"], "a mapping from names of accelerators to numbers"),
    ("workers_of", {5: 1}, "a mapping from names of accelerators to numbers"),
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
    ("endpoint", None, "a URL such as http://127"),
    ("service", 5, "the name of a service"),
    ("sample_ratio", "1", "a number from 0 to 1"),
    ("sample_ratio", True, "a number from 0 to 1"),
    ("sample_ratio", HUGE, "a number from 0 to 1"),
]

OF_SHAPING: list[tuple[str, Any, str]] = [
    ("requests_per_s", 2.0**63, "a number from 0.00012 to 429,496,729,599"),
    ("requests_per_s", 1e-4, "a number from 0.00012"),
    ("requests_per_s", NAN, "a number from 0.00012"),
    ("requests_per_s", True, "a number from 0.00012"),
    ("burst_requests", -1, "a whole number from 1 to 4294967295"),
    ("burst_requests", 5, "None if requests_per_s is None"),
    ("bytes_per_s", "fast", "a number from 0.00012"),
    ("burst_bytes", 2**32, "a whole number from 1 to 4294967295"),
    ("burst_bytes", 1, "None if bytes_per_s"),
    ("accelerator_s_per_s", 0, "a number from 1e-9 to 400"),
    ("accelerator_s_per_s", HUGE, "a number from 1e-9 to 400"),
    ("burst_accelerator_s", "1", "a number from 1e-9 to 4"),
    ("burst_accelerator_s", 1, "None if accelerator_s_per_s"),
]
OF_CONTROL: list[tuple[str, Any, str]] = [
    ("capacity_s_per_s", 0, "a number above 0, at most 400"),
    ("capacity_s_per_s", True, "a number above 0, at most 400"),
    ("most", 1.5, "a number from 1e-9 to 1"),
    ("most", None, "a number from 1e-9 to 1"),
    ("period_s", 61, "a number from 0.001 to 60"),
    ("period_s", "1", "a number from 0.001 to 60"),
]
OF_SLO: list[tuple[str, Any, str]] = [
    ("requests_per_s", 0, "a number above 0, at most 1,000,000,000"),
    ("requests_per_s", NAN, "a number above 0"),
    ("requests_per_s", True, "a number above 0"),
    ("request_us", -1, "a number from 0.001 to 10,000,000"),
    ("request_us", "1", "a number from 0.001 to 10,000,000"),
    ("request_bytes", 0, "a whole number from 1 to 2147483647"),
    ("request_bytes", 2**63, "a whole number from 1 to 2147483647"),
    ("percent_of_periods", 100, "a number from 50 to below 100"),
    ("percent_of_periods", 49.9, "a number from 50 to below 100"),
    ("percent_of_periods", True, "a number from 50 to below 100"),
    ("percent_of_periods", None, "a number from 50 to below 100"),
    ("latency_percentile", 0.99, "a number from 50 to below 100"),
    ("latency_percentile", "99", "a number from 50 to below 100"),
    ("latency_us", 0, "a number from 0.001 to 10,000,000"),
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
    "shaping": (Shaping, OF_SHAPING),
    "control": (Control, OF_CONTROL),
    "slo": (lambda **given: Slo(**{"requests_per_s": 1, "request_us": 1} | given), OF_SLO),
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


@pytest.mark.parametrize("kind", ["fail", "panic"])
def test_faults_without_delay_have_no_delay(kind: Any) -> None:
    with pytest.raises(InputError, match=r"delay_s = 2: must be left out of a fault of kind"):
        Fault(accelerator="RPC", kind=kind, share=1, delay_s=2)


@pytest.mark.parametrize("host", ["127.0.0.1:99999", "[::1]:x", "", ":80"])
def test_an_endpoint_needs_a_host_and_a_port_that_can_be(host: str, tmp_path: Path) -> None:
    (tmp_path / "echo.thrift").write_text("service S { string text(1: string s) }")
    with pytest.raises(
        InputError, match=r"^endpoint = '.*': must be a URL http://HOST/PATH or http"
    ):
        Server(
            tmp_path / "echo.thrift",
            observability=Observability(
                telemetry=Telemetry(endpoint=f"http://{host}/v1/traces", service="s")
            ),
        )


def test_values_at_the_ends_of_ranges_are_allowed() -> None:
    assert Telemetry(endpoint=ENDPOINT, service="s", sample_ratio=0).sample_ratio == 0
    assert Fault(accelerator="RPC", kind="delay", share=1, delay_s=1e9).delay_s == 1e9
    assert Steering(workers=65_536).workers == 65_536
    assert RpcProcessor(patience_s=1e9).patience_s == 1e9


def test_half_of_a_promise_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"^request_us is left out: must be given, unless request_b"
    ):
        Slo(requests_per_s=1)
    with pytest.raises(InputError, match=r"^latency_percentile is left out: must be given, since"):
        Slo(requests_per_s=1, request_us=1, latency_us=5)
    with pytest.raises(
        InputError, match=r"^latency_us is left out: must be given, since latency_p"
    ):
        Slo(requests_per_s=1, request_bytes=1, latency_percentile=99)


#: Settings and the engine whose parameters describe them, with the names that differ on purpose:
#: a default that follows from another setting, or that Python's objects need.
DESCRIBED: list[tuple[type[Any], str, str, set[str]]] = [
    (Limits, "server", "", {"max_connections_per_address", "max_value_bytes", "max_unsent_bytes"}),
    (Timeouts, "server", "", {"write_timeout_s"}),
    (Execution, "server", "", {"overwrites_freed_memory"}),
    (Observability, "server", "", set()),
    (Telemetry, "server", "", set()),
    (Control, "server", "control.", set()),
    (Pools, "server.pools", "", set()),
    (Ensemble, "server.pools", "", set()),
    (Steering, "server.steering", "", set()),
    (RpcProcessor, "server.rpc", "", {"arena_bytes"}),
    (CallLimits, "client", "", set()),
    (Kernel, "accelerometer", "", set()),
    (Queue, "accelerometer", "queue.", set()),
    (Sizes, "accelerometer", "sizes.", set()),
    (Run, "accelerometer", "simulation.", set()),
]


@pytest.mark.parametrize(
    ("settings", "name", "group", "others"), DESCRIBED, ids=[row[0].__name__ for row in DESCRIBED]
)
def test_defaults_are_those_of_the_parameters(
    settings: type[Any], name: str, group: str, others: set[str]
) -> None:
    described = {parameter.key: parameter for parameter in engine(name).parameters}
    compared = 0
    for field in fields(settings):
        parameter = described.get(f"{name}.{group}{field.name}")
        if parameter is None or field.name in others:
            continue
        default = field.default
        if isinstance(default, str):
            default = next(c.value for c in parameter.choices if c.name == default)
        assert default == parameter.default, parameter.key
        compared += 1
    assert compared > 0


@pytest.mark.parametrize(
    ("names", "name", "key"),
    [
        (Policy, "server.pools", "policy"),
        (SteeringPolicy, "server.steering", "policy"),
        (Compression, "server", "compression"),
    ],
)
def test_named_choices_are_those_of_the_parameters(names: Any, name: str, key: str) -> None:
    parameter = next(p for p in engine(name).parameters if p.key == f"{name}.{key}")
    assert {choice.name for choice in parameter.choices} == set(get_args(names))
