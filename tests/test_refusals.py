"""What a new user gets wrong first: each is one line that names the place and the remedy."""

import re
from pathlib import Path

import pytest

from accelflow import arcus, cerebros, compare, simulation
from accelflow.cli import main
from accelflow.errors import InputError
from accelflow.workload import new_workload

CALLS = """
schema = "accelflow.workload/1"
name = "calls"
[[services]]
name = "Checkout"
rate_rps = 1000
path = [
    { trace = "T1", facts = { T1 = { compressed = 0 } } },
    { trace = "T9", calls = "Inventory", facts = { T10 = { exception = 0, compressed = 0 } } },
    { cpu_us = 10 },
    { trace = "T2" },
]
[[services]]
name = "Inventory"
path = [{ trace = "T1", facts = { T1 = { compressed = 0 } } }, { cpu_us = 9 }, { trace = "T2" }]
"""


#: The form of every refusal.
FORM = re.compile(
    r"accelflow: error: (?P<place>[^=]+?) (?:= (?P<value>.+?)|is (?:given|left out)): must .+"
)

#: Wrong uses of commands, each with the place that the refusal names.
WRONG = [
    ("frobnicate", "command"),
    ("compare", "WORKLOAD"),
    ("compare nosuch", "WORKLOAD"),
    ("compare none.toml", "WORKLOAD"),
    ("compare socialnetwork more", "argument"),
    ("compare socialnetwork --frob", "option"),
    ("compare socialnetwork --seed", "--seed"),
    ("compare socialnetwork --by-service=1", "--by-service"),
    ("compare socialnetwork --seed x", "--seed"),
    ("compare socialnetwork --seed -1", "--seed"),
    ("compare socialnetwork --seeds 0", "--seeds"),
    ("compare socialnetwork --seed 18446744073709551615 --seeds 2", "--seed"),
    ("service new a/b", "NAME"),
    ("sweep study.toml --batch 0", "--batch"),
    ("compare socialnetwork --requests 7", "--requests"),
    ("compare socialnetwork --threads 0", "--threads"),
    ("compare socialnetwork --rate fast", "--rate"),
    ("compare socialnetwork --rate nan", "--rate"),
    ("compare socialnetwork --warmup x", "--warmup"),
    ("compare socialnetwork --precision p99", "--precision"),
    ("compare socialnetwork --precision p99:80%", "--precision"),
    ("compare socialnetwork --time-limit soon", "--time-limit"),
    ("compare socialnetwork --time-limit 9s", "--time-limit"),
    ("compare socialnetwork --profile x", "--profile"),
    ("compare socialnetwork --placement x", "--placement"),
    ("compare socialnetwork --arrivals x", "--arrivals"),
    ("compare socialnetwork --service Nope", "--service"),
    ("compare socialnetwork --orchestrator best", "--orchestrator"),
    ("compare socialnetwork --chip none.toml", "--chip"),
    ("compare socialnetwork --chip none", "--chip"),
    ("compare socialnetwork --set core.cout=1", "--set parameter"),
    ("compare socialnetwork --set core.count=0", "--set core.count"),
    ("compare socialnetwork --set core.count", "--set"),
    ("compare socialnetwork --recording none.json", "--recording"),
    ("compare --scenario none.toml", "--scenario"),
    ("compare socialnetwork --spans s.jsonl", "--spans"),
    ("compare socialnetwork --samples no/s.parquet", "--samples"),
    ("compare socialnetwork --report no/r.html", "--report"),
    ("compare socialnetwork --loads 1", "--loads"),
    ("compare socialnetwork --timeline no/t.pftrace", "--timeline"),
    ("compare socialnetwork --timeline t.pftrace --timeline-slowest -1", "--timeline-slowest"),
    ("compare socialnetwork --timeline-from 3", "--timeline-from"),
    ("sweep", "STUDY"),
    ("sweep none.toml", "STUDY"),
    ("sweep none.toml --workers 0", "--workers"),
    ("sweep none.toml --workers x", "--workers"),
    ("size", "PLAN"),
    ("size none.toml", "PLAN"),
    ("import nothing", "command"),
    ("import jaeger --out w.toml", "FILE"),
    ("import jaeger none.json --out w.toml", "FILE"),
    ("import arrivals none.csv --out w.csv", "FILE"),
    ("import arrivals none.csv --out w.csv --unit week", "--unit"),
    ("import arrivals none.csv --out w.toml --into w.toml", "--service"),
    ("trace show T99", "NAME"),
    ("trace show T1 --out t.pdf", "--out"),
    ("trace watch Nope", "SERVICE"),
    ("trace watch Login --request x", "--request"),
    ("trace watch Login --percentile 200", "--percentile"),
    ("accelerometer none.toml", "service"),
    ("accelerometer --recording none.json", "--recording"),
    ("accelerometer --measure --threads 3", "--threads"),
    ("profile none.folded", "FILE"),
    ("profile none.folded --rules none.toml", "--rules"),
    ("accelerometer --measure --simulate", "--simulate"),
    ("accelerometer none.toml --seek acceleration_ratio", "--goal"),
    ("accelerometer none.toml --goal speedup:1%", "--goal"),
    ("cerebros simulate UID --interface x.thrift", "SERVICE"),
    ("cerebros simulate --interface x.thrift", "--recording"),
    ("cerebros simulate --include-dir x", "--interface"),
    ("cerebros simulate --senders 3 --rate 5", "--rate"),
    ("companions together --again", "--again"),
    ("companions arcus --again", "results"),
    ("companions arcus --precision 80%", "--precision"),
    ("companions arcus --measure x", "--measure"),
    ("fit --evaluations 1", "--evaluations"),
]


@pytest.mark.parametrize(("typed", "place"), WRONG, ids=[typed for typed, _ in WRONG])
def test_every_refusal_has_one_form_and_names_what_was_typed(
    here: Path, capsys: pytest.CaptureFixture[str], typed: str, place: str
) -> None:
    costs = "--profile" in typed or "--recording" in typed
    profile = ["--profile", "paper"] * (" socialnetwork" in typed and not costs)
    message = said(capsys, *typed.split(), *profile)
    found = FORM.fullmatch(message)
    assert found is not None, message
    assert found["place"] == place
    assert not list(here.iterdir())


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 2) -> str:
    capsys.readouterr()
    assert exit_code(*arguments) == code, arguments
    return capsys.readouterr().err.strip()


def exit_code(*arguments: str) -> object:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return ended.value.code or 0


def test_a_file_whose_end_was_forgotten_is_proposed(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("shop.toml").write_text(new_workload("shop"))
    refused = "accelflow: error: WORKLOAD = 'shop': must be "
    message = said(capsys, "compare", "shop")
    assert message.startswith(refused)
    assert message.endswith(", did you mean shop.toml?")
    message = said(capsys, "service", "list", "--workload", "shop")
    assert message.endswith(", did you mean shop.toml?")
    assert "did you mean" not in said(capsys, "compare", "stock")


def test_a_service_of_another_file_is_looked_for_with_workload(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = said(capsys, "service", "show", "Checkout")
    assert message == (
        "accelflow: error: service = 'Checkout': must be a service of the suites; --workload FILE"
        " finds it in a file of your own"
    )
    message = said(capsys, "service", "show", "Logn")
    assert message.endswith("did you mean Login?")
    Path("shop.toml").write_text(new_workload("shop"))
    message = said(capsys, "service", "show", "Chekout", "--workload", "shop.toml")
    assert message == (
        "accelflow: error: service = 'Chekout': must be a service of shop.toml: Checkout,"
        " Stock, did you mean Checkout?"
    )


def test_a_rate_that_is_left_out_is_named_by_file_line_and_column(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = CALLS.replace("rate_rps = 1000\n", "")
    Path("calls.toml").write_text(text)
    place = "calls.toml:4:1: services[0].rate_rps is left out: must be given"
    assert said(capsys, "compare", "calls.toml").startswith(f"accelflow: error: {place}")
    with pytest.raises(InputError, match=r"^calls.toml:4:1: services\[0\].rate_rps is left out"):
        compare("calls.toml", requests=300)
    Path("out").mkdir()
    rate = "--rate", "1000", "--rates", "equal"
    assert exit_code("compare", "calls.toml", *rate, "--requests", "300") == 0


def test_requests_that_nobody_sends_are_refused_with_the_remedy(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("calls.toml").write_text(CALLS)
    message = said(capsys, "compare", "calls.toml", "--service", "Inventory")
    assert message == (
        "accelflow: error: --service = 'Inventory': must be simulated together with a"
        " service that calls it (Checkout), or have a rate in rates_rps or, without rates_rps, in"
        " the workload: it has no requests of its own"
    )
    stock = CALLS.replace('name = "Inventory"\n', 'name = "Inventory"\nrate_rps = 1.0\n')
    Path("calls.toml").write_text(stock)
    message = said(capsys, "compare", "calls.toml", "--requests", "200")
    assert message.startswith("accelflow: error: --requests = 200: must be at least ")
    message = said(capsys, "compare", "calls.toml", "--rate", "1e9")
    assert message.startswith("accelflow: error: --rate = 1e9: must be at most ")
    assert "the rate of Checkout is 1.998" in message


def test_all_missing_facts_of_a_service_are_said_at_once(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("calls.toml").write_text(
        CALLS.replace(", facts = { T10 = { exception = 0, compressed = 0 } }", "")
    )
    assert said(capsys, "compare", "calls.toml") == (
        "accelflow: error: calls.toml:9:5: services[0].path[1].facts.T10.exception is left out: "
        "must be 0 or 1, or a probability in odds, since trace T10 branches on it; Checkout also "
        "leaves out path[1].facts.T10.compressed (if T10.exception = 0)"
    )
    Path("calls.toml").write_text(CALLS.replace("exception = 0", "exception = 2"))
    message = said(capsys, "compare", "calls.toml")
    assert message.endswith("facts.T10.exception = 2: must be 0 or 1: branches test it as a bit")


def test_a_path_that_sends_no_answer_is_a_warning(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep = 'name = "calls"\n[[traces]]\nsource = """\ntrace keep:\n    Ser Encr\n"""\n'
    text = CALLS.replace('name = "calls"\n', keep, 1).replace('"T2" },\n]', '"keep" },\n]', 1)
    Path("calls.toml").write_text(text)
    message = said(capsys, "service", "list", "--workload", "calls.toml", code=0)
    assert message.startswith(
        "accelflow: warning: calls.toml: services[0].path[3]: sends no answer, as none of its"
    )


def test_numbers_that_are_not_finite_and_misspelt_arguments_are_named() -> None:
    with pytest.raises(InputError, match=r"^config\.accelerator\.pes = inf: must be a finite"):
        simulation.resolved(simulation.Scenario(config={"accelerator.pes": float("inf")}))
    with pytest.raises(InputError, match=r"'rate': .* did you mean rate_rps or rates\?"):
        compare("socialnetwork", rate=3.0)  # type: ignore[call-overload]


def test_chips_have_names_of_their_own_and_set_something(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = said(capsys, "chip", "new", "paper")
    assert message.startswith("accelflow: error: NAME = 'paper': must differ from the names of")
    assert not list(here.iterdir())
    Path("empty.toml").write_text("# nothing\n")
    message = said(capsys, "chip", "show", "empty.toml")
    assert (
        message == "accelflow: error: CHIP = 'empty.toml': must be a file that sets a parameter, a"
        " name or a description"
    )


def test_an_import_takes_no_name_of_a_suite(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("spans.json").write_text('{"data": []}')
    message = said(capsys, "import", "jaeger", "spans.json", "--out", "socialnetwork.toml")
    assert message == (
        "accelflow: error: --out = 'socialnetwork.toml': must not have the name of the"
        " suite socialnetwork; set another name with --name"
    )
    arguments = "spans.json", "--out", "mine.toml", "--name", "usuite"
    message = said(capsys, "import", "jaeger", *arguments)
    assert message.startswith("accelflow: error: --name = 'usuite': must differ from")


def test_control_characters_of_names_do_not_reach_the_terminal(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in (
        ("compare", "\x1b[31mred"),
        ("service", "show", "\x1b]0;title\x07"),
        ("compare", "\x1b[31m.toml"),
        ("chip", "show", "\x9b31m"),
        ("import", "jaeger", "\x1b[2J.json", "--out", "x.toml"),
    ):
        message = said(capsys, *arguments)
        assert not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in message), message


def test_times_of_arrivals_need_a_column_in_few_words(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("a.csv").write_text("when,what\n1,2\n")
    message = said(capsys, "import", "arrivals", "a.csv", "--out", "b.csv")
    assert message == (
        "accelflow: error: a.csv:1: columns = 'when, what': must include times, such as time_s,"
        " time_ms or timestamp; or name the column of times with --column"
    )


def test_refusals_of_companions_have_their_place() -> None:
    with pytest.raises(InputError) as refused:
        cerebros.simulate(parameters={"pipelines": 0})
    assert refused.value.place == "pipelines"
    with pytest.raises(InputError) as refused:
        cerebros.simulate("Nobody")
    assert refused.value.place == "service"
    with pytest.raises(InputError) as refused:
        arcus.experiment("fig99")
    assert refused.value.place == "experiment"
