"""The pages of sizing, the paper's experiments and other models, made by their commands."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from accelflow.accelerometer import evaluate
from accelflow.accelerometer.files import read
from accelflow.accelerometer.simulated import Run, simulate
from accelflow.cli import program
from accelflow.page import write_page
from accelflow.reports.accelerometer import accelerometer_page
from conftest import ROOT

EXAMPLES = ROOT / "examples"

#: The arguments of a command, a text of its answer, and how many plots its page has.
PAGES = {
    "size": (
        ["size", str(EXAMPLES / "sizing/socialnetwork.toml"), "--quick"],
        "Non-acc needs 36 servers and 150,234 USD a year; RELIEF needs 16",
        2,
    ),
    "accelerometer": (
        [
            *("accelerometer", str(EXAMPLES / "accelerometer/feed1-compression.toml")),
            *("--sensitivity", "0.2"),
        ],
        "Offloading makes the service 9.1 % faster and cuts latency by 8.3 % (latency reduction"
        " 9.1 %); at best the service could be 17.6 % faster.",
        2,
    ),
    "alternatives": (
        ["accelerometer", str(EXAMPLES / "accelerometer/fig20.toml")],
        "at best the service could be 17.6 % faster. The most throughput: as given.",
        2,
    ),
    "slo": (
        [
            *("accelerometer", str(EXAMPLES / "accelerometer/ads1-inference.toml")),
            *("--seek", "acceleration_ratio", "--goal", "latency:0%"),
        ],
        "72.4 % faster and lengthens latency by 10.0 % (latency reduction -9.1 %); at best the"
        " service could be 108.3 % faster. No alternative pays within the latency SLO.",
        2,
    ),
    "fleet": (
        ["accelerometer", str(EXAMPLES / "accelerometer/fleet.toml")],
        "Offloading saves 3,269 of 28,000 servers (2,857 to 3,406, 5 % to 95 %).",
        1,
    ),
    "plan": (
        ["arcus", "plan", str(EXAMPLES / "arcus/ipsec.toml")],
        "ARCUS keeps its promise to 2 of 2 flows; 1 is rejected.",
        1,
    ),
    "experiment": (["arcus", "table4", "--replications", "1"], "are within a quarter", 1),
    "designs": (["cerebros"], "Full needs 50.0 times fewer cycles than software", 1),
    "server": (
        ["cerebros", "simulate", "UID", "--requests", "300"],
        "Full is the cheapest: 6,190 cycles",
        1,
    ),
    "reproduce": (["reproduce", "table4", "--budget", "ci"], "8 rows agree, 0 off", 1),
}


@pytest.mark.parametrize("name", PAGES)
def test_a_command_writes_its_page(name: str, tmp_path: Path) -> None:
    arguments, answer, plots = PAGES[name]
    page = tmp_path / "page.html"
    done = CliRunner().invoke(program, [*arguments, "--report", str(page)])
    assert done.exit_code == 0, done.output
    assert f"wrote {page}" in done.output
    text = page.read_text()
    (said,) = re.findall(r"<h1><bdi>(.*?)</bdi></h1>", text)
    assert answer in said.replace("\N{NO-BREAK SPACE}", " ")
    assert text.count('<figure id="') == plots
    assert len(text.encode()) < 3_000_000
    for content in re.findall(r'<script type="application/json">(.*?)</script>', text):
        data = json.loads(content)["data"]
        assert len({len(column) for column in data.values()}) == 1
        assert all(data.values())
    # Configuration says where values come from.
    assert "How to repeat it" in text
    assert arguments[0] == "accelerometer" or "Origin of the default" in text
    if name == "slo":
        assert "inference: 1.24" in text
        assert "A gain of 0 % in latency: acceleration_ratio must be at least 1.238" in text


@pytest.mark.parametrize("name", ["size", "accelerometer", "plan", "designs", "reproduce"])
def test_a_page_that_cannot_be_written_is_refused_before_any_work(
    name: str, tmp_path: Path
) -> None:
    arguments, _, _ = PAGES[name]
    done = CliRunner().invoke(program, [*arguments, "--report", str(tmp_path / "no/page.html")])
    assert done.exit_code == 1
    assert "must be in a folder that exists" in str(done.exception)
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_a_page_has_what_the_command_prints_of_draws_and_of_the_simulation(tmp_path: Path) -> None:
    example = (EXAMPLES / "accelerometer/two-accelerators.toml").read_text()
    for changed, reason in (
        (example.replace("service_scv_ratio = 2.0", "service_scv_ratio = 1.0"), "is overloaded"),
        (
            re.sub(r"acceleration_ratio = 20\n", "", example).replace(
                "scv_ratio = 2.0", "scv_ratio = 1"
            ),
            "encryption: latency unknown without encryption.acceleration_ratio",
        ),
    ):
        (tmp_path / "service.toml").write_text(changed)
        arguments = ["accelerometer", str(tmp_path / "service.toml"), "--json"]
        arguments += ["--simulate", "--load", "1.5", "--threads", "4"]
        done = CliRunner().invoke(program, [*arguments, "--report", str(tmp_path / "page.html")])
        assert done.exit_code == 0, done.output
        result = json.loads(done.stdout)
        page = (tmp_path / "page.html").read_text().replace("\N{NO-BREAK SPACE}", " ")
        text = " ".join(re.sub("<[^>]*>", " ", page).split())

        def said(ratio: float | None) -> str:
            return (
                "\N{EN DASH}"
                if ratio is None
                else f"{100 * ratio:.2f}%".replace("-", "\N{MINUS SIGN}")
            )

        median = result["intervals"]["speedup_ratio"]["p50"]
        assert "20,000 random draws of the uncertain inputs What 5 % Median 95 % Speedup" in text
        assert said(median - 1) in text
        assert "(draws are from seed 7 and the simulation has seeds 1 to 3)" in text
        rows = [(row["name"], row) for row in result["simulation"]["kernels"]]
        for name, row in [*rows, ("all kernels at once", result["simulation"]["service"])]:
            for of, ratio in (
                ("speedup, saturated", "speedup_ratio"),
                ("latency reduction, idle host", "latency_reduction_ratio"),
            ):
                closed, found = row["closed_form"][ratio], row[ratio]
                gains = [None if r is None else r - 1 for r in (closed, found["mean"])]
                cells = " ".join(said(r) for r in (*gains, found["half_width"]))
                assert f"{name} {of} {cells}" in text
            assert f"{name} P99 latency reduction, at 150 % load \N{EN DASH}" in text
        assert reason in text


def test_a_sweep_has_the_loads_that_were_simulated(tmp_path: Path) -> None:
    plan = (EXAMPLES / "sizing/socialnetwork.toml").read_text()
    plan = re.sub(r"systems = .*", 'systems = ["accelflow"]', plan)
    (tmp_path / "plan.toml").write_text(f"requests = 200\nseeds = 2\n{plan}")
    page = tmp_path / "page.html"
    arguments = ["size", str(tmp_path / "plan.toml"), "--report", str(page)]
    done = CliRunner().invoke(program, arguments)
    assert done.exit_code == 0, done.output
    contents = re.findall(r'<script type="application/json">(.*?)</script>', page.read_text())
    sweep = next(data for text in contents if "slo" in (data := json.loads(text)["data"]))
    simulated = [
        x for x, kind in zip(sweep["x"], sweep["answer"], strict=True) if kind == "simulated"
    ]
    assert len(simulated) > 3
    assert simulated == sorted(simulated)


#: Limits of a plan, and what its page says of where servers are full.
FULL = {
    "utilization_ratio = 0.2": "no server is full by it, but by another limit: Non-acc, cores"
    " at 20 % (simulated, closed form); AccelFlow, TCP elements at 20 % (simulated, closed form).",
    "utilization_ratio = 0.7": "where a curve crosses it, a server is full, except by another"
    " limit: AccelFlow, TCP elements at 70 % (simulated, closed form).",
}


@pytest.mark.parametrize("limit", FULL)
def test_a_plot_of_loads_says_what_fills_a_server_and_has_a_load_once(
    limit: str, tmp_path: Path
) -> None:
    plan = f"""
        schema = "accelflow.plan/1"
        workload = "socialnetwork"
        systems = ["non_acc", "accelflow"]
        slo_factor = 10
        requests = 300
        seeds = 3
        rates_rps = {{ CPost = 1800, UniqId = 700 }}
        limits = {{ {limit} }}
        scenario = {{ profile = "paper" }}
    """
    (tmp_path / "plan.toml").write_text(plan)
    page = tmp_path / "page.html"
    arguments = ["size", str(tmp_path / "plan.toml"), "--report", str(page)]
    done = CliRunner().invoke(program, arguments)
    assert done.exit_code == 0, done.output
    text = page.read_text()
    assert f"The dashed line is the SLO: {FULL[limit]}" in text.replace("\N{NO-BREAK SPACE}", " ")
    contents = re.findall(r'<script type="application/json">(.*?)</script>', text)
    data = next(data for text in contents if "slo" in (data := json.loads(text)["data"]))
    points = list(zip(data["name"], data["answer"], data["x"], strict=True))
    assert len(points) == len(set(points))


def test_reproduce_prints_json() -> None:
    done = CliRunner().invoke(program, ["reproduce", "table4", "--budget", "ci", "--json"])
    assert done.exit_code == 0, done.output
    (table4,) = json.loads(done.stdout)["experiments"]
    assert all(row["verdict"] == "as printed" for row in table4["findings"])


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        (["chip", "list"], None),
        (["chip", "show", "small"], "config"),
        (["companions", "accelerometer"], "findings"),
        (["doctor"], "checks"),
    ],
)
def test_answers_are_json_where_they_are_asked_for(
    arguments: list[str], key: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(program, [*arguments, "--json"])
    content = json.loads(done.stdout)
    assert content if key is None else content[key]


#: These write files or scripts, or print text that is JSON already.
NO_JSON = {"report", "timeline spans", "record", "service new", "chip new", "schema", "completion"}


def test_every_command_that_answers_has_json() -> None:
    def commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
        if isinstance(command, click.Group):
            context = click.Context(command)
            for inner in command.list_commands(context):
                found = command.get_command(context, inner)
                assert found is not None
                yield from commands(found, f"{name} {inner}".strip())
        else:
            yield name, command

    without = {
        name
        for name, command in commands(program, "")
        if not any(param.name == "as_json" for param in command.params)
    }
    assert without == NO_JSON


def test_a_page_of_a_simulation_with_one_seed_says_so(tmp_path: Path) -> None:
    service = read(EXAMPLES / "accelerometer/feed1-compression.toml")
    result = evaluate(service) | {"simulation": simulate(service, Run(requests=200, seeds=1))}
    write_page(accelerometer_page(result, {}, None), tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text().replace("\N{NO-BREAK SPACE}", " ")
    text = " ".join(re.sub("<[^>]*>", " ", page).split())
    assert "200 requests with seed 1; one seed gives no intervals." in text
    assert "(the simulation has seed 1)" in text
