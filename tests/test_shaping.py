"""Limits of tenants in comparisons: traces, bytes and accelerator time."""

import math
from dataclasses import replace
from typing import Any

import pytest

from accelflow import Shaping, arcus, simulation
from accelflow.errors import InputError
from accelflow.report import Comparison
from accelflow.report.adjusted import own_overloads
from accelflow.report.notes import notes_of
from accelflow.report.verdict import verdict


def small(**changes: Any) -> simulation.Scenario:
    return simulation.Scenario(**{"requests": 400, "profile": "paper", **changes})


def shaped(**shaping: Any) -> dict[str, dict[str, Any]]:
    results = simulation.run(
        small(
            orchestrators=["accelflow"],
            services=["UniqId", "Login"],
            rates="equal",
            sizes="fleet",
            tenants={"UniqId": 1},
            **shaping,
        )
    )
    return {row["service"]: row for row in results["systems"][0]["services"]}


def test_a_tenant_can_be_shaped() -> None:
    def limiter(interval: int) -> arcus.RateLimiter:
        return arcus.RateLimiter(refill=1, bucket=1, interval=interval, unit="operations")

    free = shaped()
    # Two traces for each of 13,400 requests a second: a token each microsecond is enough for them,
    # one each 50 us is not.
    wide, narrow = (shaped(shaping={1: limiter(interval)}) for interval in (250, 12_500))
    assert free["UniqId"]["tenant"]["shaped_traces"] == 0
    starts = free["UniqId"]["responded"] * 2
    assert wide["UniqId"]["tenant"]["shaped_traces"] == starts
    assert wide["UniqId"]["tenant"]["shaping_us"] >= starts * 0.036
    assert wide["Login"]["tenant"]["shaped_traces"] == 0
    assert wide["UniqId"]["p99_us"] < free["UniqId"]["p99_us"] * 1.5
    assert narrow["UniqId"]["p99_us"] > free["UniqId"]["p99_us"] * 10
    assert narrow["Login"]["p99_us"] < free["Login"]["p99_us"] * 1.1


def test_a_tenant_can_be_shaped_in_traces_and_bytes() -> None:
    def limiter(unit: str, refill: int, interval: int) -> arcus.RateLimiter:
        bucket = {"operations": 16, "bytes": 131_072}[unit]
        return arcus.RateLimiter(refill=refill, bucket=bucket, interval=interval, unit=unit)

    # A token each microsecond and 64 KiB each are enough; one each 50 us, or 64 B, are not.
    wide = [limiter("operations", 1, 250), limiter("bytes", 65_536, 250)]
    few = [limiter("operations", 1, 12_500), limiter("bytes", 65_536, 250)]
    small_ones = [limiter("operations", 1, 250), limiter("bytes", 64, 250)]
    p99 = [
        shaped(shaping={1: limits})["UniqId"]["p99_us"]
        for limits in (wide, wide[::-1], few, few[::-1], small_ones, small_ones[::-1])
    ]
    assert p99[0] == p99[1]
    assert p99[2] == p99[3] > 10 * p99[0]
    assert p99[4] == p99[5] > 10 * p99[0]
    results = simulation.run(small(tenants={"UniqId": 1}, shaping={1: few}))
    registers = {"refill": 65_536, "bucket": 131_072, "interval": 250}
    assert results["shaping"]["1"]["unit"] == "operations"
    assert results["shaping"]["1"]["also"] == {"unit": "bytes", **registers}


def test_a_tenant_can_be_shaped_in_accelerator_time() -> None:
    def row(*limits: arcus.RateLimiter | Shaping) -> dict[str, Any]:
        return shaped(shaping={1: limits} if limits else {})["UniqId"]

    free, wide = row(), row(Shaping(accelerator_s_per_s=400))
    assert "accelerator_us" not in free["tenant"]
    each_us = wide["tenant"]["accelerator_us"] / wide["responded"]
    assert wide["tenant"]["shaped_traces"] == 2 * wide["responded"]
    assert wide["p99_us"] < free["p99_us"] * 1.5
    # Half of what its 13,400 requests a second take.
    half = 13_400 * each_us * 1e-6 / 2
    tight = row(Shaping(accelerator_s_per_s=half, burst_accelerator_s=1e-4))
    assert tight["p99_us"] > 10 * wide["p99_us"]
    # The same operations; elements are cleared between tenants more or less often.
    spent = [one["tenant"]["accelerator_us"] for one in (tight, wide)]
    assert spent[0] == pytest.approx(spent[1], rel=0.3)
    few = arcus.RateLimiter(refill=1, bucket=16, interval=12_500, unit="operations")
    results = simulation.run(
        small(tenants={"UniqId": 1}, shaping={1: [few, Shaping(accelerator_s_per_s=half)]})
    )
    assert results["shaping"]["1"]["unit"] == "operations"
    assert results["shaping"]["1"]["accelerator_s_per_s"] == half


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        (Shaping(), r"shaping\[1\]\[0\].accelerator_s_per_s = null: must be a number from"),
        (Shaping(requests_per_s=5), "shaping: requests_per_s = 5: must be None in a simulation"),
        (
            Shaping(accelerator_s_per_s=400, burst_accelerator_s=1e-9),
            "with a bucket of 1 tokens: must be above 0",
        ),
    ],
)
def test_limits_in_accelerator_time_that_cannot_be_are_refused(limit: Shaping, words: str) -> None:
    with pytest.raises(InputError, match=words):
        simulation.run(small(shaping={1: limit}))


@pytest.mark.parametrize("count", [0, 2, 3])
def test_a_shaper_has_a_limit_of_each_unit_at_most(count: int) -> None:
    limiter = arcus.RateLimiter(refill=1, bucket=1, interval=250, unit="operations")
    with pytest.raises(InputError, match=r"shaping\[1\] = .*: must be a list of one limit, or"):
        simulation.run(small(shaping={1: [limiter] * count}))
    with pytest.raises(InputError, match=r"shaping\[1\] = 5: must be a list of one limit"):
        simulation.run(small(shaping={1: 5}))  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("tenant", "changes", "words"),
    [
        (70_000, {}, "must be a whole number from 0 to 65535"),
        (1, {"unit": "packets"}, "unit = 'packets': must be bytes or operations"),
        (1, {"clock_mhz": 100.0}, "must be 250, the clock"),
        (1, {"refill": 0}, "refill"),
    ],
)
def test_shapers_that_cannot_be_are_refused(
    tenant: int, changes: dict[str, Any], words: str
) -> None:
    limiter = arcus.RateLimiter(**{"refill": 1, "bucket": 1, "interval": 250, **changes})
    with pytest.raises(InputError, match=words):
        simulation.run(small(shaping={tenant: limiter}))


@pytest.mark.parametrize(
    ("orchestrator", "name", "isolation"),
    [
        ("accelflow", "AccelFlow", {"tenant.max_traces": 6}),
        ("cohort", "Cohort", {"tenant.isolation": "reserved", "accelerator.pes": 3}),
    ],
)
def test_isolated_tenants_keep_up_beside_one_that_does_not(
    orchestrator: str, name: str, isolation: dict[str, Any]
) -> None:
    rates = {"UniqId": 20_000, "Login": 20_000, "Follow": 200_000}
    scenario = small(
        orchestrators=[orchestrator],
        services=list(rates),
        rates_rps=rates,
        tenants={"UniqId": 1, "Follow": 2},
        config=isolation,
        requests=1_500,
    )
    results = simulation.run(scenario)
    comparison = Comparison.from_dict(results)
    system = comparison[orchestrator]
    assert [service.service for service in system.services if service.saturated] == ["Follow"]
    first, rest = verdict(comparison).split(". ", maxsplit=1)
    overload = f"'{system.saturated}' was overloaded during the run"
    assert first == f"{name} cannot keep up with Follow: {overload}"
    assert rest.startswith(f"Of Login, UniqId, {name}: P99 ")
    notes = notes_of(comparison, by_service=True)
    assert any(note.startswith(f"* {name} cannot keep up with Follow: ") for note in notes)
    short = notes_of(comparison, by_service=False)
    assert f"{name} keeps up with all services but Follow." in short
    # Long waits for remote sides are no overload of a service's own.
    early, late = (system[service] for service in ("UniqId", "Follow"))
    waits = {**early.spent_us, "remote": 20_000.0}
    far = replace(early, saturated="cores", mean_us=math.fsum(waits.values()), spent_us=waits)
    assert [service.saturated for service in own_overloads([far, late])] == [None, late.saturated]
    # Of tenants that share everything, the results of one do not tell.
    results["config"] = {}
    shared = Comparison.from_dict(results)[orchestrator]
    assert all(service.saturated for service in shared.values())
