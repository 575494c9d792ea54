"""Use over time, and comparisons at multiples of their load."""

import math
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import accelflow
from accelflow.cli import program
from accelflow.comparing import at_loads
from accelflow.errors import InputError
from accelflow.page import to_html
from accelflow.report.load_figures import (
    latency_load_figure,
    throughput_figure,
    use_over_time_figure,
)
from accelflow.report.page import comparison_page
from accelflow.report.results import Comparison

ASKED = accelflow.Scenario(
    profile="paper",
    services=["UniqId", "Follow"],
    orchestrators=["relief", "accelflow"],
    requests=400,
)
TIMES = """
schema = "accelflow.workload/1"
name = "given"

[[services]]
name = "Front"
arrivals = { process = "times", times_us = [0, 100, 200, 300, 400, 500, 600, 700, 800, 900] }
path = [{ trace = "T1", facts = { T1 = { compressed = 0 } } }, { cpu_us = 10 }, { trace = "T2" }]
"""


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return accelflow.compare(ASKED, use_over_time=True, loads=[4.0, 0.5, 0.5])


def test_use_over_time_and_loads_change_no_results(comparison: Comparison) -> None:
    plain = accelflow.compare(ASKED)
    assert comparison.source == plain.source
    assert (plain.use, plain.loads) == ((), ())


def test_use_has_every_resource_of_each_system(comparison: Comparison) -> None:
    assert [each.system for each in comparison.use] == ["relief", "accelflow"]
    for each in comparison.use:
        assert set(each.services) == {"UniqId", "Follow"}
        assert {"cores", "manager", "A-DMA engines", "TCP", "LdB"} <= set(each.shares)
        assert 30 <= len(each.from_us) <= 120
        assert each.from_us[1:] == each.until_us[:-1]
        for name, shares in each.shares.items():
            assert len(shares) == len(each.from_us), name
            assert all(0.0 <= share <= 1.0 for share in shares), name
    relief, ours = comparison.use
    assert max(relief.shares["manager"]) > max(ours.shares["manager"])
    # The mean over time is the utilisation of the results, but for the warm-up.
    mean = math.fsum(relief.shares["TCP"]) / len(relief.shares["TCP"])
    utilization = comparison["relief"]["UniqId"].accelerator_utilization["TCP"]
    assert mean == pytest.approx(utilization, rel=0.2)


def test_isolated_services_have_servers_of_their_own() -> None:
    found = accelflow.compare(ASKED, placement="isolated", use_over_time=True, requests=100)
    assert [each.services for each in found.use] == [("Follow",), ("UniqId",)] * 2
    figure = use_over_time_figure(found)
    assert figure is not None
    assert [control.label for control in figure.controls] == ["Resource", "Server of"]


def test_loads_are_multiples_with_the_same_limits(comparison: Comparison) -> None:
    assert [factor for factor, _ in comparison.loads] == [0.5, 4.0]
    (_, low), (_, high) = comparison.loads
    for system in comparison:
        for service in ("UniqId", "Follow"):
            whole = comparison[system][service]
            assert low[system][service].slo_us == high[system][service].slo_us == whole.slo_us
            assert low[system][service].offered_rps == pytest.approx(
                0.5 * whole.offered_rps, rel=0.25
            )
            assert high[system][service].offered_rps == pytest.approx(
                4 * whole.offered_rps, rel=0.25
            )
    assert low.requests == 400


def test_given_rates_are_multiplied_too() -> None:
    asked = accelflow.Scenario(
        profile="paper",
        services=["UniqId"],
        orchestrators=["accelflow"],
        rates_rps={"UniqId": 1000.0},
        requests=300,
    )
    ((_, found),) = at_loads(asked, [3.0])
    assert found.arrivals["rates_rps"] == {"UniqId": 3000.0}


@pytest.mark.parametrize(
    ("loads", "words"),
    [
        ([0.0], "loads = 0: must be more than 0 and at most 1,000"),
        ([-1.0], "loads = -1: must be more than 0"),
        ([1001.0], "loads = 1001: must be more than 0 and at most 1,000"),
        ([math.nan], "loads = nan"),
        (["2"], "loads = '2'"),
        ("2", "loads = '2': must be a list of at most 100 numbers"),
        ([1.0] * 101, "must be a list of at most 100 numbers"),
    ],
)
def test_loads_that_cannot_be_are_refused(loads: Any, words: str) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        accelflow.compare(ASKED, loads=loads)


def test_given_times_of_arrivals_have_no_load_to_multiply(tmp_path: Path) -> None:
    (tmp_path / "given.toml").write_text(TIMES)
    words = "loads = [2.0]: must be left out, since the workload has arrivals of its own"
    with pytest.raises(InputError, match=re.escape(words)):
        accelflow.compare(tmp_path / "given.toml", loads=[2.0])


def test_figures_say_what_they_show(comparison: Comparison) -> None:
    throughput, latency = throughput_figure(comparison), latency_load_figure(comparison)
    use = use_over_time_figure(comparison)
    assert throughput is not None
    assert latency is not None
    assert use is not None
    assert "0.5 and 4 times the load" in throughput.notes[0]
    data = throughput.data
    whole = {
        x: y
        for name, x, y in zip(data["name"], data["x"], data["y"], strict=True)
        if name == "the whole load"
    }
    assert all(x == y for x, y in whole.items())
    served = [
        (x, y)
        for name, service, x, y in zip(
            data["name"], data["service"], data["x"], data["y"], strict=True
        )
        if (name, service) == ("AccelFlow", "UniqId")
    ]
    assert served == sorted(served)
    assert "Intervals of about" in use.notes[0]
    page = to_html(comparison_page(comparison))
    assert "not simulated at other loads" not in page
    assert len(page.encode()) < 3_000_000


def test_a_page_without_them_says_so() -> None:
    page = to_html(comparison_page(accelflow.compare(ASKED, requests=100)))
    assert "This comparison was not simulated at other loads." in page
    assert "How it changes over time is not in a file of results." in page


def command(*arguments: str) -> Any:
    asked = ["compare", "socialnetwork", "--profile", "paper", "--service", "UniqId"]
    fewer = ["--orchestrator", "accelflow", "--requests", "100"]
    return CliRunner().invoke(program, [*asked, *fewer, *arguments])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--loads", "2"], "--loads = '2': must be given together with --report FILE.html"),
        (
            ["--loads", "2;3", "--report", "page.html"],
            "--loads = '2;3': must be none, or numbers separated by commas, such as 0.5,1,2",
        ),
        (["--loads", "0,1", "--report", "page.html"], "loads = 0: must be more than 0"),
    ],
)
def test_the_option_is_refused_before_anything_is_simulated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = command(*arguments, "--out", "out")
    assert isinstance(done.exception, InputError)
    assert words in str(done.exception)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "At 0.5, 1, 1.5, 2, 3 and 4 times the load"),
        (["--loads", "0.25,2"], "At 0.25 and 2 times the load"),
        (["--loads", "none"], "This comparison was not simulated at other loads."),
    ],
)
def test_the_option_chooses_the_loads_of_the_page(
    tmp_path: Path, arguments: list[str], words: str
) -> None:
    page = tmp_path / "page.html"
    done = command(*arguments, "--report", str(page), "--out", str(tmp_path / "out"))
    assert done.exit_code == 0, done.output
    text = page.read_text()
    assert words in text
    assert "How busy a resource is over time" in text


def test_a_page_of_given_times_has_no_other_loads(tmp_path: Path) -> None:
    (tmp_path / "given.toml").write_text(TIMES)
    page = tmp_path / "page.html"
    asked = ["compare", str(tmp_path / "given.toml"), "--orchestrator", "accelflow"]
    done = CliRunner().invoke(
        program,
        [*asked, "--requests", "100", "--report", str(page), "--out", str(tmp_path / "out")],
    )
    assert done.exit_code == 0, done.output
    assert "This comparison was not simulated at other loads." in page.read_text()
