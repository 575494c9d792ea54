"""Workloads built in Python: the same as their files, and refused by the same rules."""

import math
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


def test_files_that_a_built_workload_names_are_read_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "trace keep:\n    Ser Encr TCP\n"
    Path("own.trace").write_text(text)
    Path("own.py").write_text(
        "from accelflow.trace import Trace, seq\n"
        "trace = Trace()\ntrace.build(seq(['Ser', 'Encr', 'TCP']))\ntrace.register('keep')\n"
    )
    Path("times.csv").write_text("time_us\n0\n2000\n4000\n")
    path = [chain("T1", facts={"T1": {"compressed": 0}}), cpu(30.0), chain("keep")]

    def built(traces: Any, arrivals: Any) -> accelflow.Workload:
        service = accelflow.Service(name="S", path=path, rate_rps=500.0, arrivals=arrivals)
        return accelflow.Workload(name="w", services=[service], traces=[traces])

    inline = built({"source": text}, {"process": "times", "times_us": [0, 2000, 4000]})
    expected = accelflow.simulate(inline, requests=300)["S"]
    for traces in ({"file": "own.trace"}, {"module": "own.py"}):
        named = built(traces, {"process": "times", "file": "times.csv"})
        for workload in (named, named.to_document()):
            assert accelflow.simulate(workload, requests=300)["S"] == expected
    # It is written with the names.
    named.write("w.toml")
    assert 'module = "own.py"' in Path("w.toml").read_text()
    Path("times.csv").unlink()
    with pytest.raises(
        accelflow.InputError, match=r"^workload\.services\[0\]\.arrivals\.file = 'times\.csv': must"
    ):
        simulation.check(simulation.Scenario(workload=named))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"rate_rps": math.nan},
            r"^workload\.services\[0\]\.rate_rps = nan: must be a finite numb",
        ),
        ({"app_us": -math.inf}, r"^workload\.services\[0\]\.app_us = -inf: must be a finite"),
        ({"rate_rps": 10**400}, r"rate_rps = 'about 10\*\*400': must be a finite number$"),
        ({"rate_rps": 10**5000}, r"rate_rps = 'about 10\*\*5000': must be a finite number$"),
        (
            {"path": [chain("T1", facts={"T1": {"compressed": 2**63}}), chain("T2")]},
            r"^workload\.services\[0\]\.path\[0\]\.facts\.T1\.compressed = 9223372036854775808:"
            r" must be a whole number from -9223372036854775808 to 9223372036854775807$",
        ),
        (
            {"path": [chain("T1", facts={"T1": {"compressed": {"odds": math.nan}}})]},
            r"^workload\.services\[0\]\.path\[0\]\.facts\.T1\.compressed\.odds = nan: must be",
        ),
    ],
)
def test_numbers_that_no_workload_has_are_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(accelflow.InputError, match=message):
        simulation.check(simulation.Scenario(workload=shop(**change)))
    tree = shop().to_document()
    tree["services"][0] |= change
    with pytest.raises(accelflow.InputError, match=message):
        simulation.check(simulation.Scenario(workload=tree))
    with pytest.raises(accelflow.InputError, match=message):
        accelflow.Workload.from_document(tree)
