"""Why requests are slow, and where the time of one goes, from Python and the command line."""

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest

from accelflow import InputError, simulation, watching
from accelflow.cli import main
from accelflow.reports.why import row_name
from accelflow.simulation import Scenario
from accelflow.waterfall import ASCII, rows_of, show, totals
from accelflow.waterfall.picture import write_picture

COSTS = ", ".join(f"{name} = {{ ns = 1000 }}" for name in ("TCP", "Encr", "Decr", "RPC", "Dser"))
PATH = '{ trace = "T1", facts = { T1 = { compressed = 0 } } }, { cpu_us = 5 }, { trace = "T2" }'
#: One slow neighbour: `Hog` is the only one that asks much of Ser, which has one element.
NEIGHBOURS = f"""
schema = "accelflow.workload/1"
name = "neighbours"

[defaults]
sizes = {{ fixed_bytes = 200 }}

[[services]]
name = "Hog"
rate_rps = 4000.0
arrivals = {{ process = "modulated", states = [[4.0, 0.2], [0.25, 0.8]], dwell_us = 2000 }}
costs = {{ source = "operations", {COSTS}, Ser = {{ ns = 300000 }}, LdB = {{ ns = 100 }} }}
path = [{PATH}]

[[services]]
name = "Victim"
rate_rps = 4000.0
costs = {{ source = "operations", {COSTS}, Ser = {{ ns = 1000 }}, LdB = {{ ns = 100 }} }}
path = [{PATH}]
"""


def run(arguments: list[str]) -> int:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return int(ended.value.code or 0)


@pytest.fixture(scope="module")
def neighbours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("why") / "neighbours.toml"
    file.write_text(NEIGHBOURS, encoding="utf-8")
    return file


def scenario(neighbours: Path) -> Scenario:
    return Scenario(
        workload=str(neighbours),
        orchestrators=("accelflow",),
        config={"accelerator.Ser.pes": 1},
        requests=3_000,
    )


def command(neighbours: Path) -> list[str]:
    return ["--workload", str(neighbours), "--set", "accelerator.Ser.pes=1", "--requests", "3000"]


def test_a_slow_neighbour_is_named(neighbours: Path) -> None:
    found = watching.why(scenario(neighbours), "Victim")
    verdict = found["verdict"]
    assert (verdict["at"], verdict["waits"], verdict["occupant"]) == (
        "Ser input queue",
        True,
        "Hog",
    )
    assert verdict["share"] > 0.8
    assert verdict["occupied"] > 0.9
    assert [burst["service"] for burst in verdict["bursts"]] == ["Hog"]


def test_bands_are_those_of_the_results(neighbours: Path) -> None:
    found = watching.why(scenario(neighbours), "Victim")
    results = simulation.run(scenario(neighbours))
    (victim,) = [
        service for service in results["systems"][0]["services"] if service["service"] == "Victim"
    ]
    assert found["bands"]["slow"]["response_us"] == pytest.approx(victim["p99_us"], rel=0.1)
    assert found["bands"]["median"]["response_us"] == pytest.approx(victim["p50_us"], rel=0.1)
    for band in ("slow", "median"):
        total = sum(row[f"{band}_us"] for row in found["times"])
        assert total == pytest.approx(found["bands"][band]["response_us"], rel=1e-3)


def test_a_service_alone_has_no_neighbour_to_blame(tmp_path: Path) -> None:
    """Without queues, what differs is work, and nobody occupies it."""
    alone = Scenario(
        workload="socialnetwork",
        profile="paper",
        orchestrators=("accelflow",),
        services=("CPost",),
        rate_rps=20.0,
        requests=1_200,
    )
    verdict = watching.why(alone, "CPost")["verdict"]
    assert not verdict["waits"]
    assert verdict["occupant"] is None
    assert verdict["bursts"] == []


def test_rows_of_the_cores_have_names_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["why", "CPost", "--profile", "paper", "--requests", "2000", "--system", "relief"]
    assert run(command) == 0
    lines = capsys.readouterr().out.splitlines()
    names = [line.split("│")[1].strip() for line in lines if line.count("│") == 6]
    assert len(names) == len(set(names))
    assert {"waits: cores (queueing)", "waits: cores (orchestration)"} <= set(names)
    asked = Scenario(orchestrators=("relief",), profile="paper", requests=2_000)
    rows = watching.why(asked, "CPost")["times"]
    assert len({row_name(row) for row in rows}) == len(rows)


def test_the_terminal_says_it_in_a_sentence(
    neighbours: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["why", "Victim", *command(neighbours)]) == 0
    text = capsys.readouterr().out
    first = text.splitlines()[0]
    assert first.startswith("Around P99, Victim takes ")
    assert "of the difference is waiting in the Ser input queue; Hog occupied it for" in first
    assert re.search(r"requests arrived more often than on average: [\d.]+ times for Hog", first)
    assert "waits: Ser input queue" in text
    assert run(["why", "Victim", *command(neighbours), "--json"]) == 0
    as_json = json.loads(capsys.readouterr().out)
    assert as_json == watching.why(scenario(neighbours), "Victim")


#: Front calls Mail, which computes longer for one request of four.
CALLS = """
schema = "accelflow.workload/1"
name = "calls"

[[services]]
name = "Front"
rate_rps = 100.0
server = "front"
path = [
  { trace = "T1", facts = { T1 = { compressed = 0 } } },
  { trace = "T9", calls = "Mail", facts = { T10 = { exception = 0, compressed = 0 } } },
  { trace = "T2" },
]

[[services]]
name = "Mail"
server = "mail"
path = [
  { trace = "T1", facts = { T1 = { compressed = 0 } } },
  { cpu = { histogram_us = [[10, 3], [900, 1]] } },
  { trace = "T2" },
]
"""


def test_a_slow_service_is_named_as_the_cause_to_its_callers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "calls.toml").write_text(CALLS)
    asked = ["--workload", str(tmp_path / "calls.toml"), "--requests", "1500"]
    assert run(["why", "Front", *asked]) == 0
    text = capsys.readouterr().out
    assert "of the difference is the call to Mail." in text.splitlines()[0]
    assert "call to Mail" in text.partition("place")[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["why", "Victin"], "did you mean Victim"),
        (["why", "Victim", "--percentile", "50"], "percentile = 50"),
        (["why", "Victim", "--percentile", "99.99"], "must have at least 10 requests"),
        (["trace", "watch", "Victim", "--request", "999999"], "request = 999999"),
        (["trace", "watch", "Victim", "--percentile", "0"], "percentile = 0"),
        (["trace", "watch", "Victim", "--svg", "x.jpg"], "must end in .svg or .png"),
        (["trace", "watch", "Victim", "--system", "accellflow"], "did you mean accelflow"),
    ],
)
def test_requests_that_cannot_be_explained_are_refused(
    neighbours: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert run([*arguments, *command(neighbours)]) != 0
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


def test_too_many_requests_are_refused_by_their_own_name(neighbours: Path) -> None:
    many = dataclasses.replace(scenario(neighbours), requests=5_000_000)
    for found in (watching.why, watching.watch):
        with pytest.raises(InputError, match=r"^requests = 5000000: must leave at most") as refused:
            found(many, "Victim", percentile=99.0)
        assert refused.value.place == "requests"


def waterfall(neighbours: Path, **which: Any) -> dict[str, Any]:
    return watching.watch(scenario(neighbours), "Victim", **which)


def test_a_request_is_chosen_by_number_or_percentile(neighbours: Path) -> None:
    median, slow = (waterfall(neighbours, percentile=percent) for percent in (50.0, 100.0))
    assert slow["response_us"] > 2.0 * median["response_us"]
    assert waterfall(neighbours, request=median["request"]) == median


def test_a_number_that_no_request_has_is_refused_with_the_last(neighbours: Path) -> None:
    with pytest.raises(InputError) as refused:
        waterfall(neighbours, request=1 << 40)
    allowed = r"must be the number of a simulated request of Victim, from 0 to (\d+)"
    stated = re.fullmatch(rf"request = {1 << 40}: {allowed}", str(refused.value))
    assert stated is not None, refused.value
    last = int(stated[1])
    assert waterfall(neighbours, request=last)["request"] == last
    with pytest.raises(InputError, match=f"request = {last + 1}: must .* to {last}$"):
        waterfall(neighbours, request=last + 1)


def test_the_critical_path_fills_the_response_time(neighbours: Path) -> None:
    found = waterfall(neighbours, percentile=99.0)
    spent_us = sum(time for *_, time in totals(rows_of(found))) / 1e3
    assert spent_us == pytest.approx(found["response_us"], rel=1e-9)
    assert totals(rows_of(found))[0][:2] == ("Ser input queue", True)


def test_executions_that_share_a_number_one_after_the_other_have_rows_of_their_own() -> None:
    def segment(from_ns: float, until_ns: float) -> dict[str, Any]:
        of = {"job": 3, "trace": "T9", "part": "accelerator", "at": "TCP"}
        return {**of, "from_ns": from_ns, "until_ns": until_ns, "waits": False, "critical": True}

    segments = [segment(0.0, 4.5), segment(4.5, 6.0), segment(9.25, 11.0)]
    rows = rows_of({"segments": segments})
    assert [[piece.length_ns for piece in row.pieces] for row in rows] == [[4.5, 1.5], [1.75]]


def test_waterfalls_are_text_and_pictures(
    neighbours: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "one.svg"
    arguments = ["trace", "watch", "Victim", "--percentile", "99", "--svg", str(picture)]
    assert run([*arguments, *command(neighbours)]) == 0
    text = capsys.readouterr().out
    found = waterfall(neighbours, percentile=99.0)
    assert text == show(found, 80)
    assert all(row.name in text for row in rows_of(found))
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "waits for Ser input queue" in text
    assert "/////" in text, "waits are hatched"
    assert text.translate(ASCII).isascii()
    drawn = picture.read_bytes()
    assert drawn.startswith(b"<?xml")
    assert b"hatch" in drawn or b"pattern" in drawn
    write_picture(found, picture)
    assert picture.read_bytes() == drawn, "equal requests are equal bytes"
    assert run([*arguments, *command(neighbours), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == found
