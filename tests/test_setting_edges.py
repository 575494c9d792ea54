"""Settings at their edges: waits in closed form, arrival times, tiny values, older generations."""

import json
from pathlib import Path
from typing import Any

import pytest

from accelflow import simulation
from accelflow.cli import main
from accelflow.errors import InputError
from test_fields_workload import constant, service, tree


def scenario(workload: Any = "socialnetwork", **changes: Any) -> simulation.Scenario:
    settings = {"orchestrators": ["accelflow"], "requests": 100, **changes}
    return simulation.Scenario(workload=workload, **settings)


def test_closed_forms_have_the_waits_of_chains_and_services() -> None:
    services = {
        "chain": service(),
        "service": service(waits={"T10": constant(90.0)}, call={"waits": {}}),
        "defaults": service(call={"waits": {}}),
    }
    found = simulation.demands(scenario(tree(services, waits={"T10": constant(60.0)})))
    waits = {row["service"]: row["phases"][1][0]["remote_ns"] for row in found["services"]}
    assert waits == {"chain": 50_000.0, "service": 90_000.0, "defaults": 60_000.0}


def timed(*times_us: float) -> dict[str, Any]:
    arrivals = {"process": "times", "times_us": list(times_us)}
    return tree({"A": service(), "B": service(arrivals=arrivals, rate_rps=None)})


def without_none(workload: dict[str, Any]) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(json.dumps(workload))
    for row in loaded["services"]:
        if row.get("rate_rps", 0) is None:
            del row["rate_rps"]
    return loaded


def test_a_rate_beside_arrival_times_is_refused() -> None:
    workload = without_none(timed(1.0, 1_000.0, 2_000.0))
    refused = "rates_rps\\['B'\\] = 500: must be left out, since the workload states when"
    with pytest.raises(InputError, match=refused):
        simulation.check(scenario(workload, rates_rps={"A": 9.0, "B": 500.0}))
    simulation.check(scenario(workload, rates_rps={"A": 9, "B": 500}, arrivals="poisson"))


def test_equal_arrival_times_need_a_rate_in_the_file() -> None:
    workload = without_none(timed(5.0, 5.0))
    del workload["defaults"]["rate_rps"]
    workload["services"][0]["rate_rps"] = 1.0
    with pytest.raises(InputError) as refused:
        simulation.check(scenario(workload))
    assert "services[1].rate_rps is left out: must be a rate in requests per second here or in" in (
        str(refused.value)
    )
    assert "scenario" not in str(refused.value)
    workload["services"][1]["rate_rps"] = 1.0
    simulation.check(scenario(workload))


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("memory.tenant_gb_per_s", 4e-10, "must be 0, or large enough not to be rounded to 0"),
        ("memory.tenant_gb_per_s", 1e-9, "must be 0 or at least 0.001"),
        ("core.time_slice_ns", 4e-4, "must be 0, or large enough not to be rounded to 0"),
        ("core.time_slice_ns", 999.0, "must be 0 or at least 1000"),
        ("rpc_message_ns", 4e-4, "must be 0, or large enough not to be rounded to 0"),
    ],
)
def test_values_that_would_mean_something_else_are_refused(
    key: str, value: float, allowed: str
) -> None:
    key = key if "." in key else f"accelerator.{key}"
    with pytest.raises(InputError) as refused:
        simulation.check(scenario(config={key: value}))
    assert f"{key} = " in str(refused.value)
    assert allowed in str(refused.value)


def test_a_time_slice_is_no_shorter_than_a_switch() -> None:
    config = {"core.time_slice_ns": 5_000.0, "core.context_switch_ns": 5_000.0}
    simulation.check(scenario(config=config))
    with pytest.raises(InputError, match=r"must be 0 or at least 5001, the value of core.context"):
        simulation.check(scenario(config=config | {"core.context_switch_ns": 5_001.0}))


def test_an_older_generation_may_cost_more_than_a_setting_may() -> None:
    config = {"core.generation": "haswell", "core.submit_ns": 1_000_000.0}
    found = simulation.run(
        scenario(orchestrators=["relief"], services=["UniqId"], profile="paper", config=config)
    )
    assert found["systems"][0]["services"][0]["completed"] > 0


@pytest.mark.parametrize(
    ("system", "config"), [("non_acc", {}), ("accelflow", {"instances.RPC": 0})]
)
def test_only_an_rpc_processor_refuses_messages(system: str, config: dict[str, Any]) -> None:
    config = {
        "accelerator.rpc_processor": "whole",
        "accelerator.rpc_memory_bytes": 1,
        **config,
    }
    found = simulation.run(
        scenario(orchestrators=[system], services=["Login"], profile="paper", config=config)
    )
    row = found["systems"][0]["services"][0]
    assert row["completed"] == 100 - 10
    assert row["timed_out"] == 0


@pytest.mark.parametrize(
    ("system", "config", "allowed"),
    [
        (
            "relief",
            {},
            "must be 'shared' with several tenants under relief, whose accelerators have",
        ),
        ("accelflow", {"accelerator.pes": 1}, "an output entry for each of the 2 tenants"),
    ],
)
def test_reservations_that_cannot_be_are_refused(
    system: str, config: dict[str, Any], allowed: str
) -> None:
    asked = scenario(
        orchestrators=[system],
        services=["Login", "UniqId"],
        profile="paper",
        placement="colocated",
        tenants={"Login": 1, "UniqId": 2},
        config={"tenant.isolation": "reserved", **config},
    )
    with pytest.raises(InputError, match=f"tenant.isolation = reserved: .*{allowed}"):
        simulation.run(asked)


@pytest.mark.parametrize("system", [system for system, _ in simulation.systems()])
def test_energy_is_known_of_every_system(
    system: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    common = ["compare", "socialnetwork", "--profile", "paper", "--requests", "200"]
    with pytest.raises(SystemExit) as ended:
        main([*common, "--service", "UniqId", "--orchestrator", system, "--out", str(out)])
    assert not ended.value.code
    with pytest.raises(SystemExit) as ended:
        main(["power", str(next(out.glob("*.json")))])
    assert not ended.value.code
    assert system in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["jaeger", "otlp"])
def test_spans_may_begin_with_a_byte_order_mark(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A document without spans is refused for that, and not for its first bytes."""
    said = []
    out = str(tmp_path / "w.toml")
    for name, mark in [("plain", b""), ("marked", b"\xef\xbb\xbf")]:
        text = {"jaeger": b'{"data": []}', "otlp": b'{"resourceSpans": []}'}[kind]
        (tmp_path / f"{name}.json").write_bytes(mark + text)
        with pytest.raises(SystemExit) as ended:
            main(["import", kind, str(tmp_path / f"{name}.json"), "--out", out])
        said.append((ended.value.code, capsys.readouterr().err.replace(name, "")))
    assert said[0] == said[1]
