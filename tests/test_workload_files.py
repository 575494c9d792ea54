"""Workloads as files: written by a command, read, simulated, refused."""

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

import accelflow
from accelflow import simulation
from accelflow.chips import find_chip
from accelflow.cli import main
from accelflow.cli.doubts import each_once, plain_warnings
from accelflow.errors import InputError
from accelflow.workload import (
    WorkloadWarning,
    load_workload,
    new_workload,
    read_workload,
    suite_text,
    workload_schema,
    workload_text,
    write_workload,
)

ROOT = Path(__file__).parents[1]

#: A workload that names files of each kind.
FILES = """
schema = "accelflow.workload/1"
name = "shop"

[[traces]]
module = "build.py"

[[traces]]
file = "more.txt"

[[services]]
name = "Timed"
arrivals = { process = "times", file = "times.csv" }
sizes = { histogram_file = "sizes.csv" }
path = [{ trace = "T1", facts = { T1 = { compressed = 0 } } }, { cpu_us = 5 }, { trace = "answer" }]

[[services]]
name = "Rated"
arrivals = { process = "rates", file = "rates.csv" }
path = [{ trace = "T1", facts = { T1 = { compressed = 0 } } }, { cpu = true }, { trace = "more" }]
"""

MODULE = """
from accelflow.trace import Trace, seq
print("what a module prints is no trace")
trace = Trace()
trace.build(seq("Ser", "Encr", "TCP"))
trace.register("answer")
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """The workload FILES, with its files."""
    (tmp_path / "shop.toml").write_text(FILES)
    (tmp_path / "build.py").write_text(MODULE)
    (tmp_path / "more.txt").write_text("trace more:\n  Ser RPC Encr TCP\n")
    times = "".join(f"{1000 * index}\n" for index in range(400))
    (tmp_path / "times.csv").write_text(f"time_us\n{times}")
    (tmp_path / "sizes.csv").write_text("count,size_bytes\n3,100\n1,5000\n")
    (tmp_path / "rates.csv").write_text("start_us,rate_rps\n0,1000\n1000000,500\n")
    return tmp_path / "shop.toml"


def small(workload: Any, **changes: Any) -> simulation.Scenario:
    settings = {"orchestrators": ["accelflow"], "requests": 200, **changes}
    return simulation.Scenario(workload=workload, **settings)


def invoke(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """The command's exit code, output and messages."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    output, messages = capsys.readouterr()
    return int(ended.value.code or 0), output, messages


def test_a_new_file_runs_and_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert invoke(capsys, "service", "new", "shop")[0] == 0
    written = Path("shop.toml").read_text()
    code, output, _ = invoke(
        capsys, "compare", "shop.toml", "--requests", "200", "--orchestrator", "relief", "--json"
    )
    results = json.loads(output)
    assert (code, results["workload"], results["profile"]) == (0, "shop", "paper")
    assert results["arrivals"] == {"kind": "own", "rate_rps": 3000.0, "rates": "own"}
    assert results["facts"] == "drawn"
    services = results["systems"][0]["services"]
    assert [service["service"] for service in services] == ["Checkout", "Stock"]
    code, _, messages = invoke(capsys, "service", "new", "shop")
    assert code == 2
    assert "'shop.toml': must not exist yet" in messages
    assert Path("shop.toml").read_text() == written
    code, _, messages = invoke(capsys, "service", "new", "my shop")
    assert code == 2
    assert "NAME = 'my shop': must be 1 to 64 letters" in messages
    assert "must be 1 to 64 letters, digits, - and _" in messages
    code, _, messages = invoke(capsys, "service", "new", "usuite")
    assert code == 2
    assert "NAME = 'usuite': must differ from the names of the suites" in messages
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "shop.toml"]


@pytest.mark.parametrize("suite", simulation.WORKLOADS)
def test_a_copy_of_a_suite_does_what_the_suite_does(suite: str, tmp_path: Path) -> None:
    path = tmp_path / "copy.toml"
    path.write_text(new_workload("copy", suite))
    assert simulation.services(path) == simulation.services(suite)
    first = simulation.services(suite)[:1]
    changes = {"services": first, "profile": "paper", "rate_rps": 500.0, "requests": 100}
    own, copied = (
        simulation.run(small(workload, **changes), threads=1) for workload in (suite, path)
    )
    assert copied.pop("workload") == "copy"
    assert own.pop("workload") == suite
    # What a file says is told apart by its content; a suite does not change.
    assert len(copied.pop("workload_sha256")) == 64
    assert copied == own


def test_results_of_an_edited_file_do_not_replace_those_before(
    shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [str(shop), "--requests", "100", "--orchestrator", "ideal", "--out", str(tmp_path)]
    assert invoke(capsys, "compare", *asked)[0] == 0
    before = (tmp_path / "compare-shop.json").read_bytes()
    shop.write_text(shop.read_text().replace("cpu_us = 5 ", "cpu_us = 6 "))
    assert invoke(capsys, "compare", *asked)[0] == 0
    assert (tmp_path / "compare-shop.json").read_bytes() == before
    assert (tmp_path / "compare-shop-2.json").exists()


def test_the_files_that_a_workload_names_are_read(shop: Path) -> None:
    tree = load_workload(shop)
    assert tree["traces"][0]["source"] == "trace answer:\n    Ser\n    Encr\n    TCP\n"
    assert len(tree["services"][0]["arrivals"]["times_us"]) == 400
    assert tree["services"][0]["sizes"] == {"histogram": [[100, 3], [5000, 1]]}
    assert tree["services"][1]["arrivals"]["rates"] == [[0.0, 1000.0], [1000000.0, 500.0]]
    found = simulation.run(small(shop), threads=1)
    timed, rated = found["systems"][0]["services"]
    assert timed["offered_rps"] == pytest.approx(1000.0)
    assert rated["offered_rps"] == pytest.approx(1000.0, rel=0.3)
    assert found == simulation.run(small(tree), threads=1)
    with pytest.raises(InputError, match="rate_rps = 5: must be left out, since the workload"):
        simulation.run(small(shop, rate_rps=5.0))


def test_a_hash_covers_the_files_that_a_workload_names(shop: Path) -> None:
    before = simulation.hashed(small(shop))
    shop.write_text(f"# A comment.\n{FILES}")
    assert simulation.hashed(small(shop)) == before
    (shop.parent / "sizes.csv").write_text("count,size_bytes\n3,100\n1,5001\n")
    assert simulation.hashed(small(shop)) != before


def test_a_scenario_names_its_workload_or_holds_it(shop: Path) -> None:
    scenario = shop.parent / "scenario.toml"
    scenario.write_text('workload = "shop.toml"\nrequests = 200\n')
    found = simulation.read_scenario(scenario)
    saved = shop.parent / "saved.json"
    simulation.write_scenario(found, saved)
    shop.unlink()
    assert simulation.hashed(simulation.read_scenario(saved)) == simulation.hashed(found)


def test_a_trace_that_no_service_uses_is_a_warning(
    shop: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(shop.parent)
    text = shop.read_text().replace('trace = "more"', 'trace = "T2"')
    shop.write_text(text)
    with pytest.warns(WorkloadWarning, match=r"shop.toml: traces\[1\]: no service uses the trace"):
        load_workload(shop)
    for arguments in (
        ("service", "list", "--workload", str(shop)),
        ("compare", str(shop), "--requests", "100", "--orchestrator", "relief", "--json"),
    ):
        code, _, messages = invoke(capsys, *arguments)
        assert code == 0
        warning = f"accelflow: warning: {shop}: traces[1]: no service uses the trace 'more'"
        assert messages.splitlines().count(warning) == 1
        assert "WorkloadWarning" not in messages


#: A workload with a network that no message takes.
UNUSED_NETWORK = """
schema = "accelflow.workload/1"
name = "net"
defaults = { costs = { source = "paper" }, network = { constant_us = 12 } }

[[services]]
name = "Back"
rate_rps = 2000
path = [{ trace = "T1", facts = { T1 = { compressed = 0 } } }, { cpu_us = 40 }, { trace = "T2" }]
"""


def test_every_command_prints_a_workloads_warnings_as_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("net.toml").write_text(UNUSED_NETWORK)
    Path("plan.toml").write_text(
        'schema = "accelflow.plan/1"\nworkload = "net.toml"\nslo_factor = 5\n'
    )
    Path("study.toml").write_text(
        'schema = "accelflow.study/1"\n'
        '[scenario]\nworkload = "net.toml"\nrequests = 100\norchestrators = ["relief"]\n'
        "[axes]\nrate_rps = [100, 200]\n"
    )
    for arguments in (("size", "plan.toml", "--quick"), ("sweep", "study.toml", "--out", "rows")):
        code, _, messages = invoke(capsys, *arguments)
        assert code == 0, messages
        warning = "accelflow: warning: net.toml: defaults.network: has no effect"
        assert sum(line.startswith(warning) for line in messages.splitlines()) == 1
        assert "WorkloadWarning" not in messages


def test_warnings_of_other_kinds_are_not_printed_as_a_workloads(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def warn() -> None:
        with each_once(), plain_warnings():
            warnings.warn("old", DeprecationWarning, stacklevel=1)
            warnings.warn("no effect", WorkloadWarning, stacklevel=1)
            assert not capsys.readouterr().err

    with pytest.warns(DeprecationWarning, match="old"):
        warn()
    assert capsys.readouterr().err.splitlines() == ["accelflow: warning: no effect"]


def test_a_call_in_python_warns_of_a_workload_once(tmp_path: Path) -> None:
    path = tmp_path / "net.toml"
    path.write_text(UNUSED_NETWORK)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        accelflow.compare(path, orchestrators=["relief"], requests=100)
    (doubt,) = found
    assert doubt.filename == __file__


def test_unreadable_files_are_refused_with_the_place(shop: Path) -> None:
    def refusal(file: str, content: str | bytes | None) -> str:
        place = shop.parent / file
        before = place.read_bytes()
        if content is None:
            place.unlink()
        else:
            place.write_bytes(content.encode() if isinstance(content, str) else content)
        with pytest.raises(InputError) as refused:
            load_workload(shop)
        place.write_bytes(before)
        return str(refused.value)

    place = f"{shop}:13:40: services[0].arrivals.file"
    assert refusal("times.csv", None).startswith(f"{place} = 'times.csv': must be a file that can")
    assert "must have a first line with the columns time_us" in refusal("times.csv", "time\n1\n")
    assert "must have rows" in refusal("times.csv", "time_us\n")
    assert "time_us in line 3 of times.csv = 'soon': must be a number" in refusal(
        "times.csv", "time_us\n1\nsoon\n"
    )
    assert refusal("times.csv", "time_us\n5\n\n3\n").startswith(
        f"{place}: time_us in line 4 of times.csv = 3: must be from 5 to 1e12 us: times"
    )
    assert "must be text in UTF-8" in refusal("rates.csv", b"\xff\xfe\x00")
    sizes = ".histogram_file: size_bytes in line 2 of sizes.csv"
    assert f"{sizes} = 1.5: must be a whole number from 0 to below 1e15" in refusal(
        "sizes.csv", "size_bytes,count\n1.5,1\n"
    )
    assert f"{sizes} = 0: must be from 1 to" in refusal("sizes.csv", "size_bytes,count\n0,1\n")
    assert "sizes.histogram_file = 'sizes.csv': must have at least one count above 0" in refusal(
        "sizes.csv", "size_bytes,count\n7,0\n"
    )
    assert refusal("more.txt", "# ours\nSer\n").startswith(
        f"{shop}:9:8: traces[1].file = 'more.txt': must be the text of traces: line 2: statement ="
        " 'Ser': must be 'trace NAME:'"
    )
    assert "must be the path of an existing Python file" in refusal("build.py", None)
    failed = "must be a module that builds its traces without an error: ZeroDivisionError"
    assert failed in refusal("build.py", "1 / 0\n")
    assert "must be TOML" in refusal("shop.toml", b"\x00\x01")
    assert "schema is left out" in refusal("shop.toml", "")


def test_unknown_workloads_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"shp.toml': must be a file that can be read: No such"):
        simulation.check(small("shp.toml"))
    with pytest.raises(InputError, match=r"or a file whose name ends in .toml or .json, did you"):
        simulation.check(small("socialnetwrok"))
    with pytest.raises(InputError, match="workload = 5: must be"):
        simulation.check(small(5))
    suite = tmp_path / "own.toml"
    suite.write_text(suite_text("serverless"))
    with pytest.raises(InputError, match=r"own.toml:26:8: name = 'serverless': must differ"):
        simulation.check(small(suite))
    with pytest.raises(InputError, match="workload = 'netflix': must be socialnetwork, "):
        suite_text("netflix")


def test_written_files_are_read_back_unchanged(tmp_path: Path) -> None:
    tree = read_workload_text(new_workload("shop"), tmp_path)
    place = tmp_path / "again.toml"
    write_workload(tree, place)
    assert read_workload(place) == tree
    assert workload_text(read_workload(place)) == place.read_text()
    with pytest.raises(InputError, match="workload: services = a list of 0: must be a list of 1"):
        write_workload(tree | {"services": []}, tmp_path / "none.toml")
    assert not (tmp_path / "none.toml").exists()


def read_workload_text(text: str, folder: Path) -> dict[str, Any]:
    place = folder / "text.toml"
    place.write_text(text)
    return read_workload(place)


def test_services_of_a_file_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "shop.toml"
    origin = (
        '[origin]\nkind = "jaeger"\nfiles = [{ name = "a.json", sha256 = "00" }]\n'
        'dropped = { "spans without a parent" = 3 }\n'
    )
    place.write_text(new_workload("shop") + origin)
    code, output, _ = invoke(capsys, "service", "show", "Stock", "--workload", str(place))
    assert code == 0
    assert "path          T1-T4-T5-CPU-T2" in output
    assert "imported      jaeger: a.json" in output
    assert "dropped          3  spans without a parent" in output
    code, _, messages = invoke(capsys, "service", "show", "Stok", "--workload", str(place))
    assert (code, "did you mean Stock?" in messages) == (2, True)
    code, output, _ = invoke(capsys, "schema", "workload")
    committed = ROOT / "docs" / "schemas" / "workload.schema.json"
    assert (code, output) == (0, committed.read_text())
    assert output == workload_schema()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("deep.toml", f"a = {'[' * 90}{']' * 90}", "must be TOML: tables and lists are nested"),
        ("deep.toml", f"a = {'{ a = ' * 90}1{' }' * 90}", "must be TOML: tables and lists are"),
        ("deep.toml", f"{'a.' * 90}a = 1", "must be TOML: tables and lists are nested more than"),
        ("deep.json", f'{{"a": {"[" * 200}{"]" * 200}}}', "must be JSON: objects and lists are"),
    ],
)
def test_nesting_that_is_too_deep_is_said_as_such(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as refused:
        load_workload(path)
    assert message in str(refused.value)
    assert " deep" in str(refused.value)
    if name.endswith(".toml"):
        with pytest.raises(InputError, match="tables and lists are nested more than"):
            find_chip(str(path))
