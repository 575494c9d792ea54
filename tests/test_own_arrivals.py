"""What results say of lists of times and tables of rates, of which a part was simulated."""

import json
import warnings
from pathlib import Path

import pytest

import accelflow
from accelflow import sizing, studies
from accelflow.cli import main
from accelflow.errors import InputError
from accelflow.report import Comparison
from accelflow.workload import WorkloadWarning

PATH = """
path = [{ trace = "T1", facts = { T1 = { compressed = 0 } } }, { cpu_us = 40 }, { trace = "T2" }]
"""
#: A day whose highest rate is in its middle.
DAY = "rates = [[0, 1000], [3.6e9, 5000], [7.2e9, 3000]]"


def invoke(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """The command's exit code, output and messages."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    output, messages = capsys.readouterr()
    return int(ended.value.code or 0), output, messages


def written(folder: Path, *arrivals: str) -> str:
    text = 'schema = "accelflow.workload/1"\nname = "shop"\n'
    for name, own in zip("AB", arrivals, strict=False):
        text += f'[[services]]\nname = "{name}"\n{own}\n{PATH}'
    path = folder / "shop.toml"
    path.write_text(text)
    return str(path)


def times(count: int) -> str:
    return (
        f'arrivals = {{ process = "times", times_us = {[1000 * (1 + k) for k in range(count)]} }}'
    )


def compared(capsys: pytest.CaptureFixture[str], path: str, *options: str) -> str:
    arguments = ("--orchestrator", "ideal", "--out", str(Path(path).parent / "out"), *options)
    code, output, messages = invoke(capsys, "compare", path, *arguments)
    assert code == 0, messages
    return " ".join(output.split())


def test_a_list_of_times_says_how_many_of_its_requests_ran(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, times(200))
    whole = compared(capsys, path)
    assert "1 service, 200 requests each" in whole
    assert "arrivals in its list" not in whole
    results = json.loads((tmp_path / "out" / "compare-shop.json").read_text())
    assert (results["requests"], results["warmup_requests"]) == (200, 20)
    part = compared(capsys, path, "--requests", "150")
    assert "1 service, 150 requests each" in part
    assert "A: only the first 150 of the 200 arrivals in its list were simulated." in part


def test_services_with_different_numbers_of_requests_show_the_least_and_the_most(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "rate_rps = 1000", "rate_rps = 3000")
    assert "2 services, 500 to 1,500 requests each" in compared(capsys, path, "--requests", "1000")


def test_a_table_of_rates_says_which_part_was_simulated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, f'arrivals = {{ process = "rates", {DAY} }}')
    found = compared(capsys, path, "--requests", "2000")
    assert (
        "A: simulated from 0 to 2 s of its table of rates (the last begins at 7,200 s), at 1,000"
        " requests per second. The table's mean is 3,000, and its highest rate 5,000, from"
        " from_us = 3600000000 on." in found
    )
    path = written(tmp_path, f'arrivals = {{ process = "rates", {DAY}, from_us = 3.6e9 }}')
    comparison = accelflow.compare(path, orchestrators=["ideal"], requests=2000)
    (row,) = comparison.source["own_arrivals"]
    assert (row["from_s"], row["rate_rps"]) == (3_600.0, pytest.approx(5_000.0))
    offered = comparison["ideal"]["A"].offered_rps
    assert offered == pytest.approx(5_000.0, rel=0.1)


def test_a_table_that_a_simulation_stands_for_needs_no_note(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for table in ("rates = [[0, 1000], [1e9, 1000]]", "rates = [[0, 900], [1e6, 1100]]"):
        path = written(tmp_path, f'arrivals = {{ process = "rates", {table} }}')
        assert "table of rates" not in compared(capsys, path, "--requests", "2000")


def test_a_table_begins_within_the_allowed_times(tmp_path: Path) -> None:
    path = written(tmp_path, f'arrivals = {{ process = "rates", {DAY}, from_us = -1 }}')
    with pytest.raises(
        InputError, match=r"arrivals\.from_us = -1: must be a number from 0 to 1e12"
    ):
        accelflow.compare(path)


def test_a_plan_is_for_one_load_of_a_table(tmp_path: Path) -> None:
    written(tmp_path, f'arrivals = {{ process = "rates", {DAY} }}')
    plan = tmp_path / "plan.toml"
    text = 'schema = "accelflow.plan/1"\nworkload = "shop.toml"\nslo_factor = 5\n'
    plan.write_text(text)
    allowed = "5,000 is the highest rate, 3,000 the mean"
    with pytest.raises(InputError, match=f"arrivals of A = 'rates': must be .*{allowed}"):
        sizing.read_plan(plan)
    plan.write_text(f'{text}[rates_rps]\nA = 5000\n[scenario]\narrivals = "poisson"\n')
    assert sizing.read_plan(plan).rates_rps == {"A": 5000}
    written(tmp_path, 'arrivals = { process = "rates", rates = [[0, 700]] }')
    plan.write_text(text)
    assert sizing.read_plan(plan).rates_rps == {"A": 700.0}


def test_a_study_warns_of_a_table_that_is_longer_than_its_simulations(tmp_path: Path) -> None:
    written(tmp_path, f'arrivals = {{ process = "rates", {DAY} }}')
    place = tmp_path / "study.toml"
    text = (
        'schema = "accelflow.study/1"\n[scenario]\nworkload = "shop.toml"\nrequests = 500\n'
        'orchestrators = ["ideal"]\n[axes]\n"config.core.count" = [8, 16]\n'
    )
    place.write_text(text)
    study = studies.read_study(place)
    with pytest.warns(WorkloadWarning, match="A: a simulation begins at from_us = 0 of the table"):
        study.at({"config.core.count": 8}, 1)
    # 0.4 s before its end, the table has 2,000 requests left; 0.05 s before, 250.
    for from_us, warned in [(7.2e9 - 4e5, True), (7.2e9 - 5e4, False)]:
        written(tmp_path, f'arrivals = {{ process = "rates", {DAY}, from_us = {from_us} }}')
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", WorkloadWarning)
            study.at({"config.core.count": 8}, 1)
        assert [f"from_us = {from_us:.15g} of" in str(each.message) for each in caught] == (
            [True] * warned
        )
    place.write_text(text.replace("requests", 'arrivals = "poisson"\nrequests'))
    study = studies.read_study(place)
    assert study.at({"config.core.count": 8}, 1).arrivals == "poisson"


def test_a_study_warns_of_a_table_of_the_defaults_as_services_use_it(tmp_path: Path) -> None:
    place = tmp_path / "study.toml"
    study = (
        'schema = "accelflow.study/1"\n[scenario]\nworkload = "shop.toml"\nrequests = 500\n'
        'orchestrators = ["ideal"]\n[axes]\n"config.core.count" = [8, 16]\n'
    )
    # 400 requests until the last rate, which then holds on.
    common = '[defaults]\narrivals = { process = "rates", rates = [[0, 400], [1e6, 200]] }\n'

    def warned(*services: str, scenario: str = "") -> list[str]:
        place.write_text(study.replace("[axes]", f"{scenario}\n[axes]"))
        text = Path(written(tmp_path, *services)).read_text(encoding="utf-8")
        text = text.replace("[[services]]", f"{common}[[services]]", 1)
        (tmp_path / "shop.toml").write_text(text)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", WorkloadWarning)
            studies.read_study(place).at({"config.core.count": 8}, 1)
        return [str(each.message).partition("shop.toml: ")[2] for each in caught]

    assert warned("", "") == []
    # Requests are in proportion to rates: A has 333, and B, of which the table has 800, has 667.
    of_a, of_b = warned("", "rate_rps = 600")
    assert of_a.startswith("A: a simulation begins at from_us = 0 of the table of rates")
    assert of_b.startswith("B: a simulation begins at from_us = 0 of the table of rates")
    assert "the table's mean, scaled by 2, is 600 requests per second" in of_b
    assert "its highest rate, 800, begins at from_us = 0" in of_b
    # A has 667 of 400 requests, and B 333 of 200.
    assert warned("", "rate_rps = 150") == []
    common = common.replace("400", "800").replace("200", "400")
    (told,) = warned("", "")
    assert told.startswith("A, B: ")
    assert "the table's mean is 600 requests per second" in told
    # Only what the scenario simulates counts, at its rates.
    (of_one,) = warned("", "", scenario='services = ["A"]\nrate_rps = 1200')
    assert of_one.startswith("A: ")
    assert "the table's mean, scaled by 2, is 1,200 requests per second" in of_one
    assert "its highest rate, 1,600, begins at from_us = 0" in of_one
    # With equal rates, each service has 500 requests at the mean rate.
    (of_both,) = warned("", "rate_rps = 1800", scenario='rates = "equal"')
    assert of_both.startswith("A, B: ")
    assert "the table's mean, scaled by 2, is 1,200 requests per second" in of_both
    assert warned('rate_rps = 9\narrivals = { process = "poisson" }') == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"own_arrivals": 3}, "results.own_arrivals = 3: must be a list"),
        ({"own_arrivals": [1]}, r"results.own_arrivals\[0\] = 1: must be an object"),
        ({"own_arrivals": [{"service": "A"}]}, r"own_arrivals\[0\].requests is left out"),
        ({"requests_by_service": {"A": "many"}}, "requests_by_service.A = 'many': must be a whole"),
    ],
)
def test_results_with_wrong_numbers_of_requests_are_refused(
    change: dict[str, object], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compared(capsys, written(tmp_path, f'arrivals = {{ process = "rates", {DAY} }}'))
    results = json.loads((tmp_path / "out" / "compare-shop.json").read_text())
    assert Comparison.from_dict(results)
    with pytest.raises(InputError, match=says):
        Comparison.from_dict({**results, **change})
    del results["own_arrivals"][0]["table"]["mean_rps"]
    with pytest.raises(InputError, match=r"own_arrivals\[0\].table.mean_rps is left out"):
        Comparison.from_dict(results)
