"""`accelflow import` as a command, and the results of load generators."""

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from accelflow import InputError
from accelflow.cli import program
from accelflow.cli.failure import run
from accelflow.importing import AlibabaOptions, Report, compared, import_alibaba, read_latencies
from conftest import ROOT
from test_import import DATA, alibaba, counts, table

SHOP = ROOT / "tests/data/shop.json"

# Response times of load generators.


def test_wrk2_and_locust_are_read_with_their_failures() -> None:
    report = Report("deathstarbench")
    found = read_latencies([DATA / "wrk2.txt", DATA / "locust.csv"], report)
    wrk2, first, *_ = found
    assert (wrk2.requests, wrk2.failed, wrk2.rate_rps, wrk2.mean_us) == (60_000, 10, 2000.12, 3_002)
    assert wrk2.percentiles_us[50] == 2_504  # of the spectrum, which has more digits
    assert wrk2.percentiles_us[99.9] == 20_000
    assert (first.name, first.requests, first.failed, first.mean_us) == ("UniqId", 1000, 3, 2_500)
    assert first.percentiles_us[99] == 10_000
    assert counts(report, "guessed") == {"failed requests": 16}


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        (",2.5,", ",-2.5,", "rows with a negative mean or rate"),
        (",33.3,", ",-5,", "rows with a negative mean or rate"),
        (",1000,", ",1.9,", "rows without a number of requests"),
        (",1000,3,", ",1000,0.5,", "rows without a number of requests"),
        (",1000,", ",-1,", "rows without a number of requests"),
    ],
)
def test_impossible_rows_of_locust_are_dropped_and_counted(
    old: str, new: str, what: str, tmp_path: Path
) -> None:
    text = (DATA / "locust.csv").read_text()
    report = Report("deathstarbench")
    found = read_latencies([table(tmp_path, text.replace(old, new, 1))], report)
    assert [measured.name for measured in found] == ["CPost", "Aggregated"]
    assert counts(report, "dropped") == {what: 1}


@pytest.mark.parametrize(
    "text", ["", "hello\n", "Running 3s test @ x\n", "Request Count,Name\n1,a\n"]
)
def test_other_texts_are_no_results_of_load_generators(text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        read_latencies([table(tmp_path, text)], Report("deathstarbench"))


def test_percentiles_of_wrk2_without_a_time_are_dropped_and_counted(tmp_path: Path) -> None:
    text = (DATA / "wrk2.txt").read_text()
    text = text.replace("50.000%    2.50ms", "50.000%    nanms").replace("100.000% ", "100.001% ")
    report = Report("deathstarbench")
    (found,) = read_latencies([table(tmp_path, text)], report)
    assert set(found.percentiles_us) == {75, 90, 99, 99.9}
    (drop,) = report.remarks("dropped")
    assert (drop.what, drop.count) == ("percentiles that are no time of 0 to 100 %", 2)
    assert drop.places == [f"{tmp_path / 'table.csv'}:8", f"{tmp_path / 'table.csv'}:13"]


def test_percentiles_that_fall_are_refused(tmp_path: Path) -> None:
    text = (DATA / "wrk2.txt").read_text()
    # What is rounded may differ by its rounding.
    near = text.replace("90.000%    4.10ms", "90.000%    3.29ms")
    assert read_latencies([table(tmp_path, near)], Report("deathstarbench"))
    fallen = table(tmp_path, text.replace("75.000%    3.30ms", "75.000%    9.99s"))
    refusal = r"csv:1: P90 of http.* = '4100 us': must be at least its P75, 9\.99e\+06 us"
    with pytest.raises(InputError, match=refusal):
        read_latencies([fallen], Report("deathstarbench"))
    rows = (DATA / "locust.csv").read_text().splitlines()
    columns = rows[0].split(",")
    cells = rows[1].split(",")
    cells[columns.index("99%")] = "0"
    report = Report("deathstarbench")
    changed = table(tmp_path, "\n".join([rows[0], ",".join(cells), *rows[2:]]))
    found = read_latencies([changed], report)
    assert [measured.name for measured in found] == ["CPost", "Aggregated"]
    assert counts(report, "dropped") == {"rows with a percentile below a lower one": 1}


# The command.


def command(*arguments: str | Path) -> int:
    return run(program, ["import", *map(str, arguments)])


@pytest.mark.parametrize("out", ["o.csv", "shop.json"])
def test_a_full_disk_is_said_with_the_file_that_it_stopped(tmp_path: Path, out: str) -> None:
    times = table(tmp_path, "time_s\n" + "".join(f"{second}\n" for second in range(5_000)))
    (tmp_path / "shop.json").write_bytes(SHOP.read_bytes())
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    into = [] if out == "o.csv" else ["--into", tmp_path / out, "--service", "Checkout"]
    arguments = ["import", "arrivals", times, *into, "--out", tmp_path / out]
    # A limit to the length of files stops writing as a full disk does: without a file's name.
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (9_000, 9_000))"
    code = f"{limit}\nfrom accelflow.cli import main\nmain()"
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == f"accelflow: error: {tmp_path / out}: File too large\n"
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_arrivals_update_a_workload_and_say_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shop, times = tmp_path / "shop.json", table(tmp_path, "time_s\n0\n1\n2\n")
    shop.write_bytes(SHOP.read_bytes())
    arguments = ["arrivals", times, "--into", shop, "--service", "Checkout", "--json"]
    assert command(*arguments, "--out", shop) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["schema"] == "accelflow.import/1"
    assert report["understood"] == [{"what": "rows of times", "count": 3, "done": "", "places": []}]
    companion = tmp_path / "shop-Checkout.times.csv"
    assert report["written"] == [str(companion), str(shop)]
    assert companion.read_text() == "time_us\n0\n1000000\n2000000\n"
    (service,) = json.loads(shop.read_text())["services"]
    assert service["rate_rps"] == 1
    assert service["arrivals"] == {"process": "times", "file": companion.name}
    assert service["path"] == json.loads(SHOP.read_text())["services"][0]["path"]
    # Again: the same bytes, but for the origin, which has both imports.
    before = companion.read_bytes()
    assert command(*arguments, "--out", shop) == 0
    assert companion.read_bytes() == before
    assert json.loads(shop.read_text())["origin"]["kind"] == "arrivals, arrivals"


def test_equal_input_gives_equal_bytes(tmp_path: Path) -> None:
    files = [DATA / "MSCallGraph.csv", DATA / "MSRTQps.csv"]
    texts = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        assert command("alibaba-v2021", *files, "--out", tmp_path / name / "w.json") == 0
        texts.append([path.read_bytes() for path in sorted((tmp_path / name).iterdir())])
    assert texts[0] == texts[1]
    assert len(texts[0]) == 2


def test_gzipped_tables_are_unpacked(tmp_path: Path) -> None:
    packed = tmp_path / "calls.csv.gz"
    packed.write_bytes(gzip.compress((DATA / "MSCallGraph.csv").read_bytes()))
    found = import_alibaba([packed], Report("a"), AlibabaOptions())
    assert found.tree == alibaba("MSCallGraph.csv")[0]


def test_a_table_is_not_overwritten_by_its_own_arrivals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    times = table(tmp_path, "time_s\n0\n1\n")
    assert command("arrivals", times, "--out", tmp_path / "." / "table.csv") == 2
    assert "must be another file, since FILE names this one, too" in capsys.readouterr().err
    assert times.read_text() == "time_s\n0\n1\n"
    assert command("arrivals", times, "--out", tmp_path / "other.csv") == 0
    assert '"rate_rps": 1.0' in capsys.readouterr().out


def shop_with(folder: Path, **arrivals: dict[str, str]) -> Path:
    """A workload with services of these names, with these arrivals if they are not empty."""
    tree = json.loads(SHOP.read_text())
    (service,) = tree["services"]
    tree["services"] = [
        service | {"name": name} | ({"arrivals": given} if given else {})
        for name, given in arrivals.items()
    ]
    path = folder / "shop.json"
    path.write_text(json.dumps(tree))
    return path


def import_into(shop: Path, times: Path) -> int:
    service = ["--service", "Checkout"]
    return command("arrivals", times, "--into", shop, *service, "--out", shop)


def test_arrivals_do_not_replace_the_table_that_they_come_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = shop_with(tmp_path, Checkout={})
    times = table(tmp_path, "time_s\n5\n6\n", "shop-Checkout.times.csv")
    assert import_into(shop, times) == 2
    error = capsys.readouterr().err
    assert f"--out = {str(shop)!r}: must be another file: the import would also write" in error
    assert "is a file that it reads" in error
    assert times.read_text() == "time_s\n5\n6\n"
    rows = "app,func,end_timestamp,duration\n" + "a,f,9,1\n" * 5
    events = table(tmp_path, rows, "az-a-f.rates.csv")
    assert command("azure-functions", events, "--out", tmp_path / "az.json") == 2
    assert "is a file that it reads" in capsys.readouterr().err
    assert events.read_text() == rows
    assert not (tmp_path / "az.json").exists()


def test_arrivals_do_not_replace_those_of_another_service(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = table(tmp_path, "time_us\n0\n7\n", "shop-Checkout.times.csv")
    times = table(tmp_path, "time_s\n0\n1\n")
    shop = shop_with(tmp_path, Other={"process": "times", "file": own.name}, Checkout={})
    assert import_into(shop, times) == 2
    assert "is already named by services[0].arrivals.file of the work" in capsys.readouterr().err
    assert own.read_text() == "time_us\n0\n7\n"


def test_arrivals_replace_only_what_the_workload_named_for_the_same_service(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = table(tmp_path, "time_us\n0\n7\n", "shop-Checkout.times.csv")
    times = table(tmp_path, "time_s\n0\n1\n")
    shop = shop_with(tmp_path, Checkout={})
    assert import_into(shop, times) == 2
    assert "exists and is no file of the same service" in capsys.readouterr().err
    assert own.read_text() == "time_us\n0\n7\n"
    # Equal contents do no harm.
    own.write_text("time_us\n0\n1000000\n")
    assert import_into(shop, times) == 0
    # Now the workload names the file.
    times.write_text("time_s\n0\n2\n")
    assert import_into(shop, times) == 0
    assert own.read_text() == "time_us\n0\n2000000\n"


def test_nothing_is_written_after_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = table(tmp_path, (DATA / "MSCallGraph.csv").read_text() + '"never closed\n')
    assert command("alibaba-v2021", bad, "--out", tmp_path / "w.json") == 2
    assert "table.csv:26': must be a row of CSV" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["alibaba-v2021", "{data}/MSCallGraph.csv", "--out", "w.txt"], "must end in"),
        (["alibaba-v2021", "{data}/none.csv", "--out", "{tmp}/w.json"], "No such file"),
        (
            ["alibaba-v2021", "{data}/MSCallGraph.csv", "--out", "{tmp}/x/w.json"],
            "in a folder that exists",
        ),
        (
            ["alibaba-v2021", "{data}/MSCallGraph.csv", "--out", "{tmp}/w.json", "--top", "0"],
            "--top = 0: must be a whole number from 1",
        ),
        (
            ["alibaba-v2021", "{data}/MSCallGraph.csv", "--out", "{tmp}/w.json", "--sampled", "2"],
            "--sampled = 2: must be above 0 and at most 1",
        ),
        (
            ["alibaba-v2021", "{data}/MSCallGraph.csv", "--out", "{tmp}/w.json", "--name", "a b"],
            "--name = 'a b': must be 1 to 64 letters",
        ),
        (
            ["azure-functions", "{data}/durations.csv", "--out", "{tmp}/w.json", "--duration", "m"],
            "--duration = 'm': must be median or mean",
        ),
        (["arrivals", "{data}/wrk2.txt", "--out", "{tmp}/w.json"], "must end in .csv"),
        (["arrivals", "{data}/wrk2.txt", "--out", "{tmp}/w.csv"], "must include times"),
        (
            ["arrivals", "{data}/wrk2.txt", "--out", "{tmp}/w.csv", "--unit", "min"],
            "--unit = 'min'",
        ),
        (
            ["arrivals", "{data}/wrk2.txt", "--out", "{tmp}/w.csv", "--service", "Checkout"],
            "--into is left out: must be given together with --service",
        ),
        (
            ["arrivals", "{data}/durations.csv", "--out", "{tmp}/w.csv", "--column", "Averag"],
            "--column = 'Averag': must be",
        ),
        (
            ["arrivals", "{data}/MSRTQps.csv", "--out", "{tmp}/w.csv"],
            "values that are not times (6): their rows are left out (numbers need --unit, such as",
        ),
        (
            [
                *("arrivals", "{data}/MSRTQps.csv", "--out", "{tmp}/w.csv", "--unit", "s"),
                "--zone",
                "UTC",
            ],
            "--zone = 'UTC': must be left out for times in s",
        ),
        (
            ["deathstarbench", "{data}/wrk2.txt", "--against", "{data}/wrk2.txt"],
            "wrk2.txt': must be results",
        ),
        (["frobnicate"], "command = 'frobnicate': must be a command"),
    ],
)
def test_wrong_use_is_one_line_that_says_what_is_allowed(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    filled = [argument.format(data=DATA, tmp=tmp_path) for argument in arguments]
    assert command(*filled) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_measurements_stand_beside_a_simulation(
    tmp_path: Path, made_up_results: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results.json"
    results.write_text(json.dumps(made_up_results))
    locust = ["deathstarbench", DATA / "locust.csv", "--against", results]
    assert command(*locust, "--json") == 0
    rows = json.loads(capsys.readouterr().out)["compared"]
    assert {(row["measured"], row["service"]) for row in rows} == {
        *(("UniqId", "UniqId"), ("CPost", "CPost"))
    }
    assert command(*locust, "--service", "UniqId") == 0
    table = capsys.readouterr().out.partition("measurement  service")[2].splitlines()[1:]
    assert {tuple(line.split()[:2]) for line in table} == {("UniqId", "UniqId")}
    arguments = ["deathstarbench", DATA / "wrk2.txt", "--against", results]
    assert command(*arguments, "--service", "UniqId", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["compared"]
    ours = {(row["orchestrator"], row["figure"]): row["simulated_us"] for row in rows}
    assert ours["non_acc", "mean"] == 9 * 30.0
    assert {row["measured_us"] for row in rows if row["figure"] == "P50"} == {2_504}
    assert command(*arguments, "--service", "UniqIds") == 2
    assert "did you mean UniqId?" in capsys.readouterr().err
    assert command(*arguments, "--service", "UniqId") == 0
    assert "non_acc" in capsys.readouterr().out


@pytest.mark.parametrize(("completed", "shown"), [(99_999, set()), (100_000, {"P99.9"})])
def test_p999_needs_as_many_simulated_responses_as_in_a_comparison(
    completed: int, shown: set[str], tmp_path: Path, made_up_results: dict[str, Any]
) -> None:
    for system in made_up_results["systems"]:
        for service in system["services"]:
            service["completed"] = completed
    results = tmp_path / "results.json"
    results.write_text(json.dumps(made_up_results))
    measured = read_latencies([DATA / "wrk2.txt"], Report("deathstarbench"))
    figures = {row["figure"] for row in compared(measured, results, "UniqId")}
    assert figures == {"mean", "P50", "P99"} | shown
