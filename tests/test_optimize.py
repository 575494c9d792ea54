"""Designs of several axes: the cheapest one that a scan finds, fronts, and what is refused."""

import json
import re
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import accelflow
from accelflow import AccelflowError, InputError, chip, studies
from accelflow.cli.find import find as command

GOAL = """
schema = "accelflow.study/1"
[scenario]
services = ["UniqId"]
profile = "paper"
requests = 300
rate_rps = 600000
slo_factor = 5
[find]
minimize = "elements"
trials = 8
most_seeds = 4
[find.axes]
"config.pes.TCP" = { from = 1, to = 5, whole = true }
"config.pes.RPC" = { from = 1, to = 3, whole = true }
[find.limits]
p99_us = 40
"""


def goal_of(text: str, folder: Path) -> studies.Goal:
    path = folder / "goal.toml"
    path.write_text(text)
    found = studies.read_find(path)
    assert isinstance(found, studies.Goal)
    return found


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> tuple[studies.Front, Path]:
    pytest.importorskip("optuna")
    place = tmp_path_factory.mktemp("goal")
    return studies.optimize(goal_of(GOAL, place), place / "out"), place


OWN = """
schema = "accelflow.study/1"

[scenario]
workload = "shop.json"
requests = 300
rate_rps = 400_000

[find]
minimize = "elements"
trials = 4
limits = { p99_us = 1_000 }

[find.axes]
"config.pes.own" = { from = 1, to = 3, whole = true }
"config.pes.Cmp" = { from = 1, to = 2, whole = true }
"""


def test_elements_of_custom_accelerators_count(tmp_path: Path) -> None:
    """Each of the two declared accelerators has as many elements as pes.own."""
    pytest.importorskip("optuna")
    costs = {name: {"ns": 100.0} for name in ("TCP", "Decr", "Encr", "RPC", "Ser", "LdB")}
    tree = {
        "schema": "accelflow.workload/1",
        "name": "shop",
        "traces": [{"source": "kind Dedup\nkind Seal\ntrace put:\n  TCP Decr Dedup Seal LdB\n"}],
        "kinds": {"Dedup": {"ns": 500.0}, "Seal": {"ns": 500.0}},
        "defaults": {"costs": {"source": "operations", **costs}, "sizes": {"fixed_bytes": 500}},
        "services": [{"name": "Put", "path": [{"trace": "put"}, {"cpu_us": 1.0}, {"trace": "T2"}]}],
    }
    (tmp_path / "shop.json").write_text(json.dumps(tree))
    found = studies.optimize(goal_of(OWN, tmp_path), tmp_path / "out").best
    assert found is not None
    # Eight kinds with eight elements each, Cmp and two custom ones with one.
    assert (found.values, found.cost) == ({"config.pes.own": 1, "config.pes.Cmp": 1}, 67.0)
    by_area = OWN.replace('"elements"', '"area_mm2"')
    with pytest.raises(InputError, match=r"minimize = 'area_mm2': must be elements with the axis"):
        studies.optimize(goal_of(by_area, tmp_path), tmp_path / "area")


def holds(tcp: int, rpc: int) -> bool:
    found = accelflow.compare(
        services=["UniqId"],
        profile="paper",
        requests=300,
        rate_rps=600_000,
        slo_factor=5,
        orchestrators=["accelflow"],
        seeds=4,
        config={"pes.TCP": tcp, "pes.RPC": rpc},
    )["accelflow"]
    return found.saturated is None and found["UniqId"].p99_us <= 40


def test_the_best_design_keeps_the_limits_and_none_with_one_element_fewer_does(
    searched: tuple[studies.Front, Path],
):
    front, _ = searched
    tcp, rpc = front.best.values.values()
    assert 1 < tcp + rpc < 8
    assert holds(tcp, rpc)
    for fewer in ((tcp - 1, rpc), (tcp, rpc - 1)):
        assert min(fewer) < 1 or not holds(*fewer)
    assert front.best.cost == chip.elements({"pes.TCP": tcp, "pes.RPC": rpc}) == 56 + tcp + rpc


def test_no_point_beats_the_front(searched: tuple[studies.Front, Path]):
    front, place = searched
    for each in front.front:
        assert each.low_ratio <= each.worst_ratio <= each.high_ratio
        for other in front.tried:
            if other.worst_ratio is not None:
                assert other.cost > each.cost or other.worst_ratio >= each.worst_ratio
    assert [each.cost for each in front.front] == sorted(each.cost for each in front.front)
    rows = pq.read_table(place / "out/front.parquet").to_pylist()
    assert [row["cost"] for row in rows] == [each.cost for each in front.tried]
    assert sum(row["on_front"] for row in rows) == len(front.front)


def test_a_search_goes_on_where_it_was(searched: tuple[studies.Front, Path]):
    front, place = searched
    written = {path: path.stat().st_mtime_ns for path in (place / "out/rows").iterdir()}
    assert studies.optimize(goal_of(GOAL, place), place / "out") == front
    again = {path: path.stat().st_mtime_ns for path in (place / "out/rows").iterdir()}
    assert again == written
    longer = goal_of(GOAL.replace("trials = 8", "trials = 10"), place)
    more = studies.optimize(longer, place / "out")
    assert more.best.cost <= front.best.cost


def test_the_command_prints_the_front(searched: tuple[studies.Front, Path]):
    front, place = searched
    arguments = [str(place / "goal.toml"), "--out", str(place / "out")]
    (place / "goal.toml").write_text(GOAL)
    text = CliRunner().invoke(command, arguments)
    assert text.exit_code == 0, text.output
    tcp, rpc = front.best.values.values()
    said = f"{front.best.cost:g}, with config.pes.TCP = {tcp}, config.pes.RPC = {rpc}."
    assert f"Least elements under accelflow: {said}" in text.stdout
    found = json.loads(CliRunner().invoke(command, [*arguments, "--json"]).stdout)
    assert found["best"] == front.best.to_dict()
    assert [row["cost"] for row in found["front"]] == [each.cost for each in front.front]


def test_columns_of_axes_have_different_heads(tmp_path: Path):
    pytest.importorskip("optuna")
    axes = '"config.instances.TCP" = { from = 1, to = 2, whole = true }\n[find.limits]'
    path = tmp_path / "goal.toml"
    path.write_text(GOAL.replace("[find.limits]", axes).replace("trials = 8", "trials = 1"))
    text = CliRunner().invoke(command, [str(path), "--out", str(tmp_path / "out")]).stdout
    heads = ["elements", "pes.TCP", "pes.RPC", "instances.TCP", "seeds"]
    assert text.splitlines()[0].split()[:5] == heads


def test_area_is_that_of_the_chip(tmp_path: Path):
    pytest.importorskip("optuna")
    text = GOAL.replace('"elements"', '"area_mm2"').replace("trials = 8", "trials = 1")
    front = studies.optimize(goal_of(text, tmp_path), tmp_path / "out")
    first = front.tried[0]
    assert tuple(first.values.values()) == (5, 3)  # the dearest
    assert first.cost == pytest.approx(chip.area({"pes.TCP": 5, "pes.RPC": 3})["total_mm2"])


def test_limits_that_no_design_keeps_are_said(tmp_path: Path):
    pytest.importorskip("optuna")
    text = GOAL.replace("p99_us = 40", "p99_us = 1").replace("trials = 8", "trials = 2")
    (tmp_path / "goal.toml").write_text(text)
    arguments = [str(tmp_path / "goal.toml"), "--out", str(tmp_path / "out"), "--json"]
    found = CliRunner().invoke(command, arguments)
    assert isinstance(found.exception, AccelflowError)
    assert "no design that was tried keeps the limits" in str(found.exception)
    assert json.loads(found.stdout)["best"] is None


def test_without_optuna_it_is_said_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    goal = goal_of(GOAL, tmp_path)
    with pytest.raises(AccelflowError, match=r"pip install 'accelflow\[optimize\]'"):
        studies.optimize(goal, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_axes_that_cost_nothing_are_refused(tmp_path: Path):
    pytest.importorskip("optuna")
    text = GOAL.replace('"config.pes.RPC" = { from = 1, to = 3, whole = true }\n', "")
    text = text.replace(
        '"config.pes.TCP" = { from = 1, to = 5', '"tcp_cost_ns" = { from = 1, to = 5'
    )
    with pytest.raises(InputError, match="the axes changes; the axes are tcp_cost_ns"):
        studies.optimize(goal_of(text, tmp_path), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"elements"', '"element"', "find.minimize = element: .*did you mean elements"),
        ("trials = 8", "trails = 8", "find key = trails: .*did you mean trials"),
        ("trials = 8", "trials = 0", "find.trials = 0: must be a whole number from 1"),
        ("trials = 8", "seed = -1", "find.seed = -1: must be a whole number from 0"),
        ("config.pes.RPC", "config.pes.RPX", "find.axes key = config.pes.RPX: .*did you mean"),
        ("from = 1, to = 3", "from = 3, to = 1", "find.axes.config.pes.RPC.to = 1: must be more"),
        ("trials = 8", 'least = "rate_rps"', "find key = least"),
        ("p99_us = 40", "", "find.limits = .*must set a limit"),
    ],
)
def test_bad_goals_are_refused(tmp_path: Path, old: str, new: str, message: str):
    with pytest.raises(InputError) as refusal:
        goal_of(GOAL.replace(old, new, 1), tmp_path)
    assert re.search(message, str(refusal.value).replace("'", ""))


def test_a_goal_is_no_question_of_one_axis(tmp_path: Path):
    path = tmp_path / "goal.toml"
    path.write_text(GOAL)
    with pytest.raises(InputError, match=r"find\.minimize = .*: must be replaced by find\.least"):
        studies.read_question(path)
