"""The workloads, how their sequences branch, and requests with drawn facts and waits."""

import json
from typing import Any

import pytest

from accelflow import simulation
from accelflow.cli import main
from accelflow.errors import InputError

#: The paper's section III, Q2, and how far ours may be from it: exactly for Table IV's services,
#: elsewhere by what docs/simulator-reasons.md explains.
BRANCHING = {
    "socialnetwork": (18 / 26, 0.692, 0.001),
    "hotelreservation": (17 / 25, 0.625, 0.06),
    "mediaservices": (40 / 55, 0.825, 0.1),
    "trainticket": (80 / 102, 0.538, 0.25),
}


def small(workload: str, **changes: Any) -> simulation.Scenario:
    settings: dict[str, Any] = {
        "orchestrators": ["accelflow", "relief"],
        "requests": 200,
        "profile": "paper",
    }
    return simulation.Scenario(workload=workload, **{**settings, **changes})


def invoke(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """The command's exit code, output and messages."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    output, messages = capsys.readouterr()
    return int(ended.value.code or 0), output, messages


def test_workloads_say_how_many_of_their_sequences_branch() -> None:
    workloads = {workload.name: workload for workload in simulation.workloads()}
    assert tuple(workloads) == simulation.WORKLOADS
    for name, (ours, papers, distance) in BRANCHING.items():
        assert workloads[name].branching_share == pytest.approx(ours)
        assert workloads[name].paper_branching_share == papers
        assert abs(ours - papers) <= distance
    assert workloads["serverless"].paper_branching_share is None


def test_the_services_of_a_workload_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    code, output, _ = invoke(capsys, "service", "list", "--workload", "mediaservices")
    assert code == 0
    assert "RdPage" in output
    assert "T1-CPU-2x(T9-T10)-CPU-2x(T9-T10)-CPU-T3" in output
    code, output, _ = invoke(capsys, "service", "show", "Rate", "--json")
    walked = json.loads(output)
    assert (code, walked["path"]) == (0, "T1-CPU-T4-T5-CPU-T3")
    assert walked["conditionals_by_sequence"] == [1, 5, 0]
    with pytest.raises(InputError, match="workload = 'netflix': must be socialnetwork, h"):
        simulation.services("netflix")


@pytest.mark.parametrize("workload", simulation.WORKLOADS[1:])
def test_every_workload_is_simulated_with_drawn_facts_and_waits(workload: str) -> None:
    rate = 400.0 if workload == "serverless" else 2_000.0
    scenario = small(workload, facts="drawn", remote="short_drawn", rate_rps=rate)
    once = simulation.run(scenario, threads=1)
    assert once == simulation.run(scenario, threads=2)
    accelflow, relief = (once["systems"][index]["services"] for index in (0, 1))
    assert [row["service"] for row in accelflow] == simulation.services(workload)
    assert all(row["completed"] >= 180 for row in [*accelflow, *relief])


def test_errors_are_counted_and_only_where_facts_are_drawn() -> None:
    certain = {"facts.rpc_exception": 1.0}
    for facts, share in (("common", 0.0), ("drawn", 1.0)):
        found = simulation.run(
            small("socialnetwork", services=["CPost"], rates="equal", facts=facts, config=certain)
        )
        (row,) = found["systems"][0]["services"]
        assert row["errors"] == share * 200
    assert found["facts"] == "drawn"


def test_alibabas_rates_keep_the_mean_and_give_each_service_its_own() -> None:
    found = simulation.run(
        small("socialnetwork", rates="alibaba", orchestrators=["ideal"], requests=4_000)
    )
    offered = {row["service"]: row["offered_rps"] for row in found["systems"][0]["services"]}
    # Of 3,600 gaps; five standard deviations.
    assert offered["CUrls"] == pytest.approx(13_400 * 4_049.1 / 13_451.0, rel=5 / 60)
    assert offered["Follow"] == pytest.approx(13_400 * 19_063.8 / 13_451.0, rel=5 / 60)
    assert found["arrivals"] == {"kind": "poisson", "rate_rps": 13_400.0, "rates": "alibaba"}


def test_serverless_functions_have_a_rate_of_their_own() -> None:
    assert simulation.Scenario(workload="serverless").mean_rate_rps == 800.0
    assert simulation.Scenario().mean_rate_rps == 13_400.0
    assert simulation.Scenario(workload="serverless", rate_rps=5.0).mean_rate_rps == 5.0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("netflix",), ("WORKLOAD = 'netflix'", "hotelreservation")),
        (
            ("trainticket", "--rates", "alibaba"),
            ("rates = 'alibaba'", "equal (the rates that trainticket has)"),
        ),
        (("socialnetwork", "--rates", "zipf"), ("rates = 'zipf'", "equal or alibaba (the")),
        (("socialnetwork", "--facts", "rare"), ("facts = 'rare'", "common, drawn")),
        (("socialnetwork", "--remote", "moon"), ("remote = 'moon'", "short_drawn")),
        (("trainticket", "--service", "CPost"), ("--service = 'CPost'", "Preserve")),
        (
            ("serverless", "--sizes", "socialnetwork"),
            ("sizes = 'socialnetwork'", "fleet"),
        ),
        (
            ("mediaservices", "--profile", "measured"),
            ("profile = 'measured'", "paper"),
        ),
    ],
)
def test_inconsistent_workloads_are_refused_in_one_line(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    code, output, messages = invoke(capsys, "compare", *arguments)
    assert (code != 0, output) == (True, "")
    (line,) = messages.splitlines()
    assert all(word in line for word in words), line
