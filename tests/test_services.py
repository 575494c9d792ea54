"""Workloads built in Python: the same as their files, and refused by the same rules."""

from pathlib import Path
from typing import Any

import pytest

import accelflow
from accelflow import simulation
from accelflow.services import chain, cpu, parallel
from accelflow.workload import load_workload, new_workload

RPC = {"T10": {"exception": 0, "compressed": 0}}


def shop(**changes: Any) -> accelflow.Workload:
    path = [chain("T1", facts={"T1": {"compressed": 0}}), cpu(30.0), chain("T2")]
    service = accelflow.Service(**{"name": "Checkout", "path": path, "rate_rps": 500.0, **changes})
    return accelflow.Workload(name="shop", services=[service])


def test_a_written_workload_is_read_again(tmp_path: Path) -> None:
    calls = parallel(chain("T9", facts=RPC, times=2), chain("T9+Cmp", facts=RPC))
    built = shop(
        path=[chain("T1", facts={"T1": {"compressed": 1}}), cpu(), calls, cpu(5.0), chain("T2")],
        app_us=10.0,
        tenant=3,
    )
    file = tmp_path / "shop.toml"
    built.write(file)
    assert accelflow.Workload.read(file).to_document() == built.to_document()


def test_every_field_of_a_file_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "shop.toml"
    file.write_text(new_workload("shop"))
    assert accelflow.Workload.read(file).to_document() == load_workload(file)


def test_a_built_workload_is_simulated_as_its_file_is(tmp_path: Path) -> None:
    file = tmp_path / "shop.toml"
    shop().write(file)
    built = accelflow.simulate(shop(), requests=300)
    assert built["Checkout"] == accelflow.simulate(file, requests=300)["Checkout"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rate_rps": -1.0}, r"services\[0\]\.rate_rps = -1"),
        ({"path": []}, r"services\[0\]\.path"),
        ({"path": [chain("T22")]}, "T22"),
        ({"path": [chain("T1", time=4), chain("T2")]}, "did you mean times"),
        ({"name": ""}, r"services\[0\]\.name"),
    ],
)
def test_invalid_files_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(accelflow.InputError, match=message):
        simulation.check(simulation.Scenario(workload=shop(**change)))


def test_a_service_is_found_by_its_name() -> None:
    assert shop().service("Checkout").rate_rps == 500.0
    with pytest.raises(accelflow.InputError, match="must be Checkout"):
        shop().service("Chekout")
