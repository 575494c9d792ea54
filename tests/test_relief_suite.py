"""Fig. 15: RELIEF's applications from Python and on the command line."""

import json

import pytest
from click.testing import CliRunner

from accelflow import InputError
from accelflow.cli import program
from accelflow.relief_suite import DEFINITIONS, PAPER_MEAN_RATIO, relief_suite


def test_applications_ratios_and_means_are_all_there() -> None:
    found = relief_suite(graphs=40, warmup=4)
    names = [app["application"] for app in found["applications"]]
    assert names == ["canny", "deblur", "gru", "harris", "lstm"]
    assert found["paper_mean_ratio"] == PAPER_MEAN_RATIO == 1.8
    for app in found["applications"]:
        assert app["tasks"] == app["release"]["tasks"]
        assert round(app["bottleneck_us"]) == app["release"]["bottleneck_us"]
        assert app["systems"]["relief"]["solo_us"] == pytest.approx(
            app["release"]["relief_us"], rel=0.05
        )
        assert set(app["ratio"]) == {*DEFINITIONS, "bound"}
        # The bound is one: RELIEF's graphs one at a time, the bottleneck never idle.
        assert app["ratio"]["one_at_a_time"] <= app["ratio"]["bound"]
    bounds = [app["ratio"]["bound"] for app in found["applications"]]
    assert found["means"]["bound"]["arithmetic"] == pytest.approx(sum(bounds) / 5)
    assert found["means"]["bound"]["geometric"] < found["means"]["bound"]["arithmetic"]


def test_the_order_of_the_systems_is_the_papers() -> None:
    means = relief_suite(graphs=60, warmup=6)["means"]
    assert 1 < means["closed_loop"]["arithmetic"] <= means["one_at_a_time"]["arithmetic"]
    assert means["one_at_a_time"]["arithmetic"] < means["bound"]["arithmetic"]


def test_the_readings_differ_where_they_should() -> None:
    def one(reading: str) -> dict[str, dict[str, float]]:
        app = relief_suite(reading=reading, applications=["gru"], graphs=20, warmup=2)
        systems: dict[str, dict[str, float]] = app["applications"][0]["systems"]
        return systems

    release, text, pointer = one("release"), one("text"), one("by_pointer")
    assert text["relief"]["manager_us"] == pytest.approx(120 * 1.5)
    assert text["relief"]["solo_us"] < release["relief"]["solo_us"]
    assert text["accelflow"] == release["accelflow"]
    assert pointer["relief"] == release["relief"]
    assert pointer["accelflow"]["closed_loop_per_s"] < release["accelflow"]["closed_loop_per_s"]


def test_equal_arguments_give_equal_results() -> None:
    arguments = {"applications": ["canny"], "graphs": 30, "warmup": 3, "seed": 5}
    assert relief_suite(**arguments) == relief_suite(**arguments)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            {"reading": "mine"},
            "reading = 'mine': must be release, text, by_pointer or deadline",
        ),
        ({"applications": ["jpeg"]}, "application = 'jpeg': must be canny, deblur"),
        ({"graphs": 0}, "graphs = 0: must be a whole number from 1"),
        (
            {"graphs": 5, "warmup": 5},
            r"graphs = 5: must be above the number of graphs in the warm-up \(5\)$",
        ),
        ({"seed": True}, "seed = True: must be a whole number"),
    ],
)
def test_impossible_settings_are_one_error(arguments: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        relief_suite(**arguments)  # type: ignore[arg-type]


def test_the_command_prints_the_table_and_json() -> None:
    done = CliRunner().invoke(program, ["relief-suite", "--graphs", "20"], catch_exceptions=False)
    assert done.exit_code == 0
    assert "paper: 1.8 on average, definition not stated" in done.output
    assert "bound: the bottleneck unit computes all the time, over RELIEF's with" in done.output
    done = CliRunner().invoke(program, ["relief-suite", "--graphs", "20", "--json"])
    assert json.loads(done.stdout)["schema"] == "accelflow.relief-suite/1"


def test_a_run_that_is_too_short_is_marked() -> None:
    def warned(graphs: int) -> bool:
        done = CliRunner().invoke(program, ["relief-suite", "--graphs", str(graphs), "--json"])
        assert done.exit_code == 0
        assert json.loads(done.stdout)["graphs"] == graphs
        return f"accelflow: warning: --graphs {graphs} is too short a run" in done.stderr

    assert warned(1)
    assert warned(110)
    assert not warned(111)  # a tenth warms up, and 100 graphs are counted
