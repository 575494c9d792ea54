"""Searches: the answer of a scan of the whole range, and what is refused."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyarrow import parquet

import accelflow
from accelflow import InputError, studies
from accelflow.cli.find import find as command
from accelflow.studies.find import Tried, _Bisection
from accelflow.studies.look import look_until_clear

QUESTION = """
schema = "accelflow.study/1"
[scenario]
services = ["Login", "UniqId"]
profile = "paper"
requests = 300
rate_rps = 60000
slo_factor = 5
[find]
least = "config.pes.TCP"
range = { from = 1, to = 8, whole = true }
most_seeds = 4
[find.limits]
p99_us = 250
"""


def ask(text: str, folder: Path) -> studies.Question:
    path = folder / "question.toml"
    path.write_text(text)
    return studies.read_question(path)


def worst_p99_us(**fields: object) -> float:
    """The longest of the services' P99s, each a mean over four seeds."""
    found = accelflow.compare(
        services=["Login", "UniqId"],
        profile="paper",
        requests=300,
        orchestrators=["accelflow"],
        seeds=4,
        slo_factor=5,
        **fields,
    )["accelflow"]
    return max(service.p99_us for service in found.services)


def test_the_least_value_is_that_of_a_scan(tmp_path: Path):
    answer = studies.find(ask(QUESTION, tmp_path), tmp_path / "out")
    holding = []
    for elements in range(1, 9):
        if worst_p99_us(rate_rps=60_000, config={"pes.TCP": elements}) <= 250:
            holding.append(elements)
    assert 1 < min(holding) < 8
    assert holding == list(range(min(holding), 9))
    assert answer.best.value == min(holding)
    assert answer.beyond.value == min(holding) - 1
    assert answer.clear == (answer.best.clear and answer.beyond.clear)
    assert len(answer.tried) < 8


def test_a_search_ends_beside_zero_if_only_zero_holds(tmp_path: Path):
    text = QUESTION.replace('least = "config.pes.TCP"', 'most = "config.core.wake_ns"')
    text = text.replace("{ from = 1, to = 8, whole = true }", "{ from = 0, to = 1000 }")
    tried = []

    def at(value: float) -> Tried:
        tried.append(value)
        held = value == 0.0
        ratios = {f"{end}_ratio": 0.5 if held else 2.0 for end in ("worst", "low", "high")}
        return Tried(value=value, holds=held, clear=True, seeds=4, binding="p99_us", **ratios)

    search = _Bisection(ask(text, tmp_path), at)
    search.run()
    assert search.best.value == 0.0
    # A fiftieth of a thousandth of the range.
    assert 0.0 < search.beyond.value <= 0.02
    assert len(tried) < 20


def test_the_most_value_is_between_neighbours_that_differ_by_two_percent(tmp_path: Path):
    text = QUESTION.replace('least = "config.pes.TCP"', 'most = "rate_rps"').replace(
        "{ from = 1, to = 8, whole = true }", '{ from = 10000, to = 1000000, scale = "log" }'
    )
    answer = studies.find(ask(text.replace("rate_rps = 60000\n", ""), tmp_path), tmp_path / "out")
    low, high = answer.best.value, answer.beyond.value
    assert low < high <= low * 1.0205
    assert worst_p99_us(rate_rps=low) <= 250
    assert "saturated" in answer.beyond.binding or worst_p99_us(rate_rps=high) > 250


def test_a_search_goes_on_where_it_was(tmp_path: Path):
    question = ask(QUESTION, tmp_path)
    first = studies.find(question, tmp_path / "out")
    written = {path: path.stat().st_mtime_ns for path in (tmp_path / "out/rows").iterdir()}
    assert studies.find(question, tmp_path / "out") == first
    again = {path: path.stat().st_mtime_ns for path in (tmp_path / "out/rows").iterdir()}
    assert again == written


def test_ends_of_the_range_are_answers(tmp_path: Path):
    everything = studies.find(ask(QUESTION.replace("250", "1e9"), tmp_path), tmp_path / "out")
    assert everything.best is not None
    nothing = studies.find(ask(QUESTION.replace("= 250", "= 1"), tmp_path), tmp_path / "out")
    assert nothing.best is None
    assert nothing.beyond.value == 8.0
    path = tmp_path / "question.toml"
    found = CliRunner().invoke(command, [str(path), "--out", str(tmp_path / "out"), "--json"])
    assert isinstance(found.exception, accelflow.AccelflowError)
    assert "no value of config.pes.TCP keeps the limits" in str(found.exception)
    printed = json.loads(found.stdout)
    assert (printed["best"], printed["clear"]) == (None, None)
    assert (everything.clear, nothing.clear) == (True, None)


def called_service(folder: Path, limits: str, cpu_us: int) -> studies.Answer:
    """Search with a service Stock of `cpu_us` that only Front calls, which does not wait for it."""
    facts = "facts = { T10 = { exception = 0, compressed = 0 } }"
    chain = f'{{ trace = "T9", calls = "Stock", detached = true, {facts} }}'
    first = '{ trace = "T1", facts = { T1 = { compressed = 0 } } }'
    (folder / "shop.toml").write_text(f"""
schema = "accelflow.workload/1"
name = "shop"
defaults = {{ costs = {{ source = "paper" }} }}
[[services]]
name = "Front"
rate_rps = 1000
path = [{first}, {{ cpu_us = 5 }}, {chain}, {{ cpu_us = 1 }}, {{ trace = "T2" }}]
[[services]]
name = "Stock"
slo_us = 200
path = [{first}, {{ cpu_us = {cpu_us} }}, {{ trace = "T2" }}]
""")
    text = f"""
schema = "accelflow.study/1"
[scenario]
workload = "shop.toml"
requests = 100
orchestrators = ["accelflow"]
[find]
least = "config.pes.TCP"
range = {{ from = 1, to = 2, whole = true }}
[find.limits]
{limits}
"""
    return studies.find(ask(text, folder), folder / "out")


@pytest.mark.parametrize(
    ("limit", "requests", "note"),
    [
        ("p99_us = 1e6", 1_000, "The P99 of UniqId (900 responses) is not precise: fewer than 10"),
        ("p99_us = 1e6", 1_200, ""),
        ("p999_us = 1e6", 1_200, "The P99.9 of UniqId (1,080 responses) is not precise: fewer"),
        ("slo = true", 300, "The P99 of UniqId (270 responses) is not precise: fewer than 10"),
        ("mean_us = 1e6", 300, ""),
    ],
)
def test_a_percentile_of_few_responses_is_named(
    tmp_path: Path, limit: str, requests: int, note: str
):
    path = tmp_path / "question.toml"
    text = QUESTION.replace("p99_us = 250", limit).replace("= 300", f"= {requests}")
    path.write_text(text.replace('"Login", ', "").replace("to = 8", "to = 2"))
    done = CliRunner().invoke(command, [str(path), "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    last = done.stdout.splitlines()[-1]
    assert last.startswith(note)
    assert ("not precise" in done.stdout) == bool(note)


@pytest.mark.parametrize("limits", ["slo = true", "p99_us = 200", "slo_missed_ratio = 0.5"])
def test_calls_of_other_services_have_the_limits_of_every_service(tmp_path: Path, limits: str):
    assert called_service(tmp_path, limits, cpu_us=5).best is not None
    late = called_service(tmp_path, limits, cpu_us=500)
    assert late.best is None
    assert {tried.binding.partition(" of ")[2] for tried in late.tried} == {"calls to Stock"}
    rows = parquet.read_table(tmp_path / "out/results.parquet").to_pylist()
    called = [row for row in rows if row["service"] == "Stock"]
    for row in called:
        assert row["called_requests_count"] == 100
        assert row["called_slo_missed_count"] == row["called_slo_requests_count"] == 90
        assert row["called_p99_us"] > 500
        assert row["p99_us"] is None
    assert all(row["called_p99_us"] is None for row in rows if row["service"] == "Front")


@dataclass
class Limits:
    """The limits of a search."""

    limits: dict[str, float]
    slo: bool = False
    most_seeds: int = 4


@pytest.mark.parametrize(("lost", "message"), [(0, "service Stock: no limit can be"), (1, None)])
def test_calls_without_a_counted_response_are_no_reason_to_hold(lost: int, message: str | None):
    row = {"saturated_queue": None, "slo_us": None, "unanswered_ratio": 0.0}
    front = {"service": "Front", "offered_rps": 9.0, "p99_us": 5.0}
    stock = {"service": "Stock", "offered_rps": 0.0, "p99_us": None, "called_p99_us": None}
    stock |= {"called_requests_count": 2, "called_timed_out_count": lost}

    def rows(seeds: int) -> list[dict[str, object]]:
        both = (row | front, row | stock)
        return [service | {"seed": seed} for seed in range(seeds) for service in both]

    limits = Limits({"p99_us": 50.0})
    if message is not None:
        with pytest.raises(accelflow.AccelflowError, match=message):
            look_until_clear(limits, rows)
        return
    found = look_until_clear(limits, rows)
    assert (found.holds, found.binding) == (False, "calls to Stock without a response")


@pytest.mark.parametrize(("limit", "holds"), [("p99_us = 1000", False), ("mean_us = 1000", True)])
def test_a_percentile_of_requests_without_a_response_breaks_its_limit(
    tmp_path: Path, limit: str, holds: bool
):
    (tmp_path / "half.toml").write_text("""
schema = "accelflow.workload/1"
name = "half"
defaults = { costs = { source = "paper" } }
[[services]]
name = "Half"
rate_rps = 1000
path = [
  { trace = "T1", facts = { T1 = { compressed = 0 } } },
  { cpu_us = 1 },
  { trace = "T9", facts = { T10 = { exception = 0, compressed = 0 } }, waits = { T10 = { histogram_us = [[10, 1], [200, 1]] } } },
  { cpu_us = 1 },
  { trace = "T2" },
]
""")  # noqa: E501
    text = f"""
schema = "accelflow.study/1"
[scenario]
workload = "half.toml"
requests = 200
orchestrators = ["accelflow"]
config = {{ "tcp.timeout_us" = 100 }}
[find]
least = "config.pes.TCP"
range = {{ from = 1, to = 2, whole = true }}
[find.limits]
{limit}
"""
    answer = studies.find(ask(text, tmp_path), tmp_path / "out")
    assert {tried.holds for tried in answer.tried} == {holds}
    named = {tried.binding == "requests of Half without a response" for tried in answer.tried}
    assert named == {not holds}


def test_requests_without_a_response_are_a_share_of_the_whole_run(tmp_path: Path):
    (tmp_path / "few.toml").write_text("""
schema = "accelflow.workload/1"
name = "few"
defaults = { costs = { source = "paper" } }
[[services]]
name = "Few"
rate_rps = 1000
path = [
  { trace = "T1", facts = { T1 = { compressed = 0 } } },
  { cpu_us = 1 },
  { trace = "T9", facts = { T10 = { exception = 0, compressed = 0 } }, waits = { T10 = { histogram_us = [[10, 995], [200, 5]] } } },
  { cpu_us = 1 },
  { trace = "T2" },
]
""")  # noqa: E501
    text = """
schema = "accelflow.study/1"
[scenario]
workload = "few.toml"
requests = 5000
warmup = 4000
orchestrators = ["accelflow"]
config = { "tcp.timeout_us" = 100 }
[find]
least = "config.pes.TCP"
range = { from = 1, to = 2, whole = true }
[find.limits]
p99_us = 1000
"""
    answer = studies.find(ask(text, tmp_path), tmp_path / "out")
    assert {tried.holds for tried in answer.tried} == {True}


def test_saturation_breaks_every_limit(tmp_path: Path):
    text = QUESTION.replace("rate_rps = 60000", "rate_rps = 3000000").replace(
        "p99_us = 250", "slo = true"
    )
    answer = studies.find(ask(text, tmp_path), tmp_path / "out")
    assert answer.best is None
    assert "saturated" in answer.beyond.binding


def test_noise_takes_more_seeds_until_it_is_clear_or_there_are_none(tmp_path: Path):
    p99_us = worst_p99_us(rate_rps=60_000, config={"pes.TCP": 8})
    text = QUESTION.replace("p99_us = 250", f"p99_us = {p99_us * 1.0001!r}").replace(
        "most_seeds = 4", "most_seeds = 8"
    )
    answer = studies.find(ask(text, tmp_path), tmp_path / "out")
    by_value = {each.value: each for each in answer.tried}
    assert by_value[8.0].seeds == 8  # so near the limit that four seeds cannot tell
    far = studies.find(ask(QUESTION.replace("most_seeds = 4", ""), tmp_path), tmp_path / "out")
    assert {each.seeds for each in far.tried if each.value in (1.0, 8.0)} == {4}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[find]\n", "[find]\nleats = 1\n", r"find key = leats: .*did you mean least"),
        ('least = "config.pes.TCP"', 'least = "config.pes.TPC"', r"did you mean config.pes.TCP"),
        ('least = "config.pes.TCP"', "", r"must have exactly one of the keys least, most and min"),
        ("from = 1, ", "", r"find.range.from is left out"),
        ("p99_us = 250", "", r"find.limits = .*must set a limit"),
        ("p99_us = 250", "p98_us = 250", r"find.limits key = p98_us: .*did you mean p99_us"),
        ("p99_us = 250", "p99_us = -1", r"find.limits.p99_us = -1: must be a number above 0"),
        ("p99_us = 250", "slo = 1", r"find.limits.slo = 1: must be true or false"),
        ("most_seeds = 4", "most_seeds = 1", r"find.most_seeds = 1: must be a whole number from 4"),
        ("most_seeds = 4", 'system = "reilef"', r"find.system = reilef: .*did you mean relief"),
    ],
)
def test_bad_questions_are_refused(tmp_path: Path, old: str, new: str, message: str):
    with pytest.raises(InputError) as refusal:
        ask(QUESTION.replace(old, new, 1), tmp_path)
    assert re.search(message, str(refusal.value).replace("'", ""))


def test_a_file_without_a_question_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match="find is left out: must be a table"):
        ask('schema = "accelflow.study/1"\n', tmp_path)


def test_a_value_that_cannot_be_simulated_is_refused(tmp_path: Path):
    text = QUESTION.replace("to = 8", "to = 1e9")
    with pytest.raises(InputError, match=r"pes\.TCP = 1000000000"):
        studies.find(ask(text, tmp_path), tmp_path / "out")


def test_only_the_rows_of_a_point_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    axis = studies.Axis(name="rate_rps", values=(1_000, 2_000))
    fields = {"services": ["UniqId"], "profile": "paper", "requests": 100}
    others = studies.Study(scenario=fields, axes=[axis], seeds=range(1, 11))
    place = tmp_path / "out"
    studies.sweep(others, place)
    parts = sorted(part.name for part in (place / "rows").iterdir())
    assert len(parts) == 20
    keys, whole = [], []

    def read(part: Path, **options: object) -> object:
        (keys if "columns" in options else whole).append(part.name)
        return read_table(part, **options)

    read_table = parquet.read_table
    monkeypatch.setattr(parquet, "read_table", read)
    answer = studies.find(ask(QUESTION, tmp_path), place)
    assert sorted(keys) == parts  # once each, whatever the number of values
    assert not set(whole) & set(parts)
    assert len(whole) == 2 * 4 * len(answer.tried)  # for the answer, and for results.parquet
    rows = read_table(place / "results.parquet").to_pylist()
    assert {row["axis.config.pes.TCP"] for row in rows} == {each.value for each in answer.tried}
