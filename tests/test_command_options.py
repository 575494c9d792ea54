"""Options of commands: those that would do nothing, that contradict, or that would do harm."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from accelflow import simulation
from accelflow.cli import main
from accelflow.cli.places import check_file
from accelflow.workload import new_workload
from conftest import ROOT

#: A comparison that is simulated in a moment.
COMPARE = (
    "compare socialnetwork --profile paper --requests 100 --service UniqId --orchestrator ideal"
)

PREDICT = "predict a:b --interface a.thrift --certificate a --key b --service X.y=UniqId"

#: Options that would do nothing or contradict others, each with what the refusal begins with.
USELESS = [
    (f"{COMPARE} --recalibrate", "--recalibrate is given: must be left out"),
    (
        "compare usuite --requests 100 --policy edf --orchestrator relief --orchestrator non_acc",
        "--policy = 'edf': must be left out, since it has no effect with the orchestrators relief"
        " and non_acc",
    ),
    (
        f"{COMPARE} --policy edf --set scheduling.policy=priority",
        "--set scheduling.policy = 'priority': must be left out, since --policy edf replaces it",
    ),
    (
        "compare shop.toml --requests 300 --slo-factor 3",
        "--slo-factor = 3: must be left out, since every service has an SLO of its own",
    ),
    ("compare usuite --requests 100 --recalibrate", "--recalibrate is given: must be left out"),
    ("compare socialnetwork --profile measured --tcp-cost 9", "--tcp-cost = 9: must be left out"),
    (
        f"{COMPARE} --chip paper --chip small --spans s.jsonl",
        "--spans = 's.jsonl': must be left out for several chips",
    ),
    (f"{COMPARE} --timeline-request 3", "--timeline-request = 3: must be given together with"),
    (
        "trace watch UniqId --request 1 --percentile 9",
        "--percentile = 9: must be left out with --request",
    ),
    ("trace watch UniqId --chip paper --chip small", "--chip = 'small': must be given only once"),
    ("why UniqId --chip paper --chip small", "--chip = 'small': must be given only once"),
    ("reproduce table4 --quick --budget ci", "--budget = 'ci': must be left out with --quick"),
    ("reproduce table4 --list", "EXPERIMENT = 'table4': must be left out with --list"),
    ("reproduce --list --json", "--json is given: must be left out with --list"),
    ("reproduce --page . --out x", "--out = 'x': must be left out with --page"),
    ("reproduce --page . --implications x.md", "--implications = 'x.md': must be left out with"),
    ("reproduce --implications x.md --set core.count=3", "--set = 'core.count=3': must be left"),
    ("readings --list --out x", "--out = 'x': must be left out with --list"),
    ("readings --list fig11", "EXPERIMENT = 'fig11': must be left out with --list"),
    ("readings --list --budget ci", "--budget = 'ci': must be left out with --list"),
    ("readings --list --json", "--json is given: must be left out with --list"),
    ("readings --page . --budget ci", "--budget = 'ci': must be left out with --page"),
    ("record usuite --out r.json --port 9", "--port = 9: must be left out: the workload usuite"),
    (
        "record --from http://127.0.0.1:1 --service a.b=CPost --out r.json --seconds 9",
        "--seconds = 9: must be left out with --from",
    ),
    ("companions arcus --again --seed 3", "--seed = 3: must be left out with --again"),
    ("companions arcus --most-seeds 3", "--most-seeds = 3: must be given together with"),
    ("companions together --most-seeds 3", "--most-seeds = 3: must be given together with"),
    ("explain --json --markdown x.md", "--json is given: must be left out with --markdown"),
    (f"{COMPARE} --json --by-service", "--by-service is given: must be left out with --json"),
    ("area --json --inputs", "--inputs is given: must be left out with --json"),
    ("power --json --inputs", "--inputs is given: must be left out with --json"),
    ("power r.json --inputs", "--inputs is given: must be left out with RESULTS"),
    ("power --set share=1 --set share=2", "--set = 'share=2': must be given only once for share"),
    ("area --set pes=4 --set pes=5", "--set = 'pes=5': must be given only once for pes"),
    ("cerebros simulate --set cores=1 --set cores=2", "--set = 'cores=2': must be given only once"),
    ("cerebros simulate --design Full --design Full", "--design = 'Full': must be given only once"),
    ("cerebros simulate --affinity", "--affinity is given: must be left out unless --design Full"),
    ("chip show small --file --json", "--json is given: must be left out with --file"),
    ("profile a.folded --json --details", "--details is given: must be left out with --json"),
    ("profile --print-rules a.folded", "FILE = 'a.folded': must be left out with --print-rules"),
    ("profile --json --print-rules", "--json is given: must be left out with --print-rules"),
    ("profile --print-rules --requests 1", "--requests = '1': must be left out with --print-rules"),
    ("import perf p.txt --print-rules", "FILE = 'p.txt': must be left out with --print-rules"),
    ("import folded --print-rules --out x", "--out = 'x': must be left out with --print-rules"),
    ("profile a.folded a.folded", "FILE = 'a.folded': must be given only once"),
    ("profile a.folded b.folded --details", "--details is given: must be left out for several"),
    ("arcus profile plan.toml --path inline_tx", "--size is left out: must be given together with"),
]

#: Values that are not allowed, each with what the refusal begins with.
WRONG = [
    (f"{COMPARE} --timeline t.pftrace --timeline-service X", "--timeline-service = 'X': must be"),
    ("cerebros --rpc-cycles -1", "--rpc-cycles = -1: must be a number from 1"),
    ("cerebros simulate --load 0", "--load = 0: must be above 0"),
    ("cerebros simulate --requests 0", "--requests = 0: must be above"),
    (
        "arcus shape --refill 0 --bucket 1 --interval 1",
        "--refill = 0: must be a whole number from 1",
    ),
    (f"{PREDICT} --loads 200", "--loads = 200: must be a percentage above 0 and at most 95"),
    (f"{PREDICT} --recorded-load 0", "--recorded-load = 0: must be a percentage above 0"),
    (f"{PREDICT} --set core.cout=3", "--set parameter = 'core.cout': must be the key of"),
    (f"{PREDICT} --workload usuite", "--service = 'UniqId': must be HdSearch"),
    ("chip new a/b", "NAME = 'a/b': must be a name without '/'"),
    ("chip new x --out x.json", "--out = 'x.json': must end in .toml"),
    ("explain .", "KEY = '.': must be a key"),
    ("profile", "FILE is left out: must be given"),
    ("trace list --file plan.toml", "plan.toml: line 4: statement = '[[flow]]': must be 'trace"),
]

#: Options and arguments that are empty, as those of a shell's variable that is not set.
EMPTY = [
    (COMPARE, "--out"),
    (COMPARE, "--report"),
    (COMPARE, "--spans"),
    (COMPARE, "--timeline"),
    ("reproduce table4", "--out"),
    ("reproduce table4", "--config"),
    ("reproduce table4", "--placement"),
    ("reproduce table4", "--slo-system"),
    ("sweep plan.toml", "--out"),
    ("companions accelerometer", "--out"),
    ("profile a.folded", "--plot"),
    ("profile a.folded", "--sample-type"),
    ("arcus profile plan.toml", "--out"),
    ("explain", "--markdown"),
    ("trace list", "--file"),
    ("explain", "KEY"),
    ("chip new", "NAME"),
]

#: Options for a single file, without the file.
FILES = [
    f"{COMPARE} --spans",
    f"{COMPARE} --save-scenario",
    f"{COMPARE} --samples",
    f"{COMPARE} --timeline",
    "trace watch UniqId --svg",
    "chip new x --out",
    "explain --markdown",
    "arcus profile plan.toml --out",
    "readings fig17 --held",
    "reproduce --implications",
    f"{PREDICT} --save-recording",
]

#: Commands whose option would overwrite a file that another option reads or writes.
CLASHES = [
    ("report r.json --out r.json", "--out", "RESULTS"),
    ("compare shop.toml --report shop.toml", "--report", "WORKLOAD"),
    (f"{COMPARE} --spans x --samples ./x", "--samples", "--spans"),
    ("arcus profile plan.toml --out plan.toml", "--out", "FILE"),
    ("size plan.toml --report plan.toml", "--report", "PLAN"),
    ("timeline spans r.json --out link.json", "--out", "FILE"),
    ("accelerometer --recording r.json --service A --out r.json", "--out", "--recording"),
    (f"{PREDICT} --out x.json --save-recording x.json", "--out", "--save-recording"),
]


#: Commands whose option would overwrite a file that the command itself writes to a folder.
OWN_RESULTS = [
    (f"{COMPARE} --out o --spans o/compare-socialnetwork.json", "--spans"),
    (f"{COMPARE} --out o --samples o/compare-socialnetwork-2.parquet", "--samples"),
    (f"{COMPARE} --out o --spans ./o/../o/compare-socialnetwork.json", "--spans"),
    (
        f"{COMPARE} --out o --save-scenario o/compare-socialnetwork-recording.json",
        "--save-scenario",
    ),
    ("compare shop.toml --out o --save-scenario o/compare-shop-12.json", "--save-scenario"),
]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a plan, a workload, profiles, and a file and a link to it."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "examples" / "arcus" / "ipsec.toml", "plan.toml")
    Path("shop.toml").write_text(new_workload("shop"))
    for name in ("a.folded", "b.folded"):
        Path(name).write_text("main;work 3\n")
    Path("r.json").write_text("{}")
    Path("link.json").symlink_to("r.json")
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The refusal of a command, which printed and wrote nothing else."""
    before = {path: path.stat().st_mtime_ns for path in Path().iterdir()}
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    printed = capsys.readouterr()
    assert (ended.value.code, printed.out) == (2, ""), printed.err
    assert {path: path.stat().st_mtime_ns for path in Path().iterdir()} == before
    message = printed.err.strip().removeprefix("accelflow: error: ")
    assert "\n" not in message
    return message


@pytest.mark.parametrize(("typed", "begins"), USELESS, ids=[typed for typed, _ in USELESS])
def test_an_option_that_would_do_nothing_is_refused(
    here: Path, capsys: pytest.CaptureFixture[str], typed: str, begins: str
) -> None:
    assert said(capsys, *typed.split()).startswith(begins)


def test_a_factor_of_slos_must_hold_for_a_chosen_service(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = new_workload("shop").replace("slo_factor = 5.0", "")
    head, name, rest = text.partition('name = "Checkout"\n')
    assert rest
    Path("shop.toml").write_text(f"{head}{name}slo_us = 900\n{rest}")
    command = "compare shop.toml --requests 100 --orchestrator ideal --slo-factor 3 --service"
    message = said(capsys, *command.split(), "Checkout")
    assert message.startswith("--slo-factor = 3: must be left out, since every chosen service ")
    for services in (["Stock"], ["Stock", "--service", "Checkout"]):
        with pytest.raises(SystemExit) as ended:
            main([*command.split(), *services])
        assert not ended.value.code, capsys.readouterr().err


@pytest.mark.parametrize(("typed", "begins"), WRONG, ids=[typed for typed, _ in WRONG])
def test_a_wrong_value_is_named_as_it_was_typed(
    here: Path, capsys: pytest.CaptureFixture[str], typed: str, begins: str
) -> None:
    assert said(capsys, *typed.split()).startswith(begins)


@pytest.mark.parametrize(("command", "option"), EMPTY, ids=[f"{c} {o}" for c, o in EMPTY])
def test_an_empty_value_is_no_default(
    here: Path, capsys: pytest.CaptureFixture[str], command: str, option: str
) -> None:
    given = (option, "") if option.startswith("--") else ("",)
    assert said(capsys, *command.split(), *given).startswith(f"{option} = '': must be ")


@pytest.mark.parametrize("command", FILES)
def test_the_place_of_a_file_is_checked_before_any_work(
    here: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    option = command.rsplit(maxsplit=1)[-1]
    for place in ("missing/x.svg", "shop.toml/x.svg"):
        message = said(capsys, *command.split(), place)
        assert message.startswith(f"{option} = '{place}': must be in a folder that "), message


@pytest.mark.parametrize("option", ["--plot"])
@pytest.mark.parametrize("command", ["profile a.folded", "accelerometer plan.toml"])
def test_the_place_of_pictures_is_checked_before_any_work(
    here: Path, capsys: pytest.CaptureFixture[str], command: str, option: str
) -> None:
    message = said(capsys, *command.split(), option, "shop.toml/x")
    assert message.startswith(f"{option} = 'shop.toml/x': must be in a folder that can be written")


@pytest.mark.parametrize("command", ["sweep", "find"])
def test_the_folder_of_a_study_is_checked_before_any_work(
    here: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    study = str(ROOT / "examples" / "studies" / "tcp-elements.toml")
    message = said(capsys, command, study, "--out", "shop.toml/x")
    assert message.startswith("--out = 'shop.toml/x': must be in a folder that can be written")


@pytest.mark.parametrize(
    ("typed", "option", "other"), CLASHES, ids=[typed for typed, _, _ in CLASHES]
)
def test_a_file_is_never_written_over_another_of_the_command(
    here: Path, capsys: pytest.CaptureFixture[str], typed: str, option: str, other: str
) -> None:
    message = said(capsys, *typed.split())
    place = re.escape(message.split("'")[1])
    allowed = f"must be another file, since {other} names this one, too"
    assert re.fullmatch(f"{option} = '{place}': {allowed}", message)


@pytest.mark.parametrize(("typed", "option"), OWN_RESULTS, ids=[typed for typed, _ in OWN_RESULTS])
def test_a_file_is_never_written_over_the_results_of_its_command(
    here: Path, capsys: pytest.CaptureFixture[str], typed: str, option: str
) -> None:
    Path("o").mkdir()
    message = said(capsys, *typed.split())
    allowed = "must have another name: a result that goes to o may have this one"
    assert re.fullmatch(f"{option} = '[^']*': {allowed}", message), message
    assert not any(Path("o").iterdir())


#: Options for files of one format, each with names that it has not, and names that it may have.
ENDINGS = [
    (COMPARE, "--samples", ["s.csv", "o/compare-socialnetwork.json"], ["s.parquet", "s", "s.0"]),
    (COMPARE, "--timeline", ["t.foo", "t.json"], ["t.pftrace", "t.PFTRACE", "t.perfetto-trace"]),
    (COMPARE, "--report", ["r.md", "o/compare-socialnetwork.svg"], ["r.html", "r.htm"]),
    (COMPARE, "--spans", ["s.parquet", "s.gz"], ["s.jsonl", "s.json"]),
    (COMPARE, "--save-scenario", ["s.toml", "s.txt"], ["s.json", "s"]),
    ("reproduce table4", "--report", ["o/comparison.md", "o/table4-2.json"], []),
    ("reproduce", "--implications", ["x.html"], []),
    ("accelerometer kernel.toml --plot o", "--report", ["o/breakdown.png"], []),
    ("accelerometer --recording r.json --service A", "--out", ["k.json"], []),
    ("size plan.toml", "--report", ["r.json"], []),
    ("report r.json", "--out", ["r.pdf"], []),
    ("timeline spans r.json", "--out", ["t.json"], []),
    ("arcus profile plan.toml", "--out", ["t.csv"], []),
    ("readings fig17", "--held", ["x.md"], []),
    ("explain", "--markdown", ["x.html"], ["x.md"]),
    ("record a:b --service a.b=C", "--out", ["x.toml"], []),
    (PREDICT, "--out", ["x.csv"], []),
    (PREDICT, "--save-recording", ["x.toml"], []),
]


@pytest.mark.parametrize("given", ENDINGS, ids=[f"{c} {o}" for c, o, _, _ in ENDINGS])
def test_the_extension_of_a_file_is_that_of_its_format(
    here: Path, capsys: pytest.CaptureFixture[str], given: tuple[str, str, list[str], list[str]]
) -> None:
    command, option, wrong, right = given
    Path("o").mkdir()
    for name in wrong:
        message = said(capsys, *command.split(), option, name)
        assert message.startswith(f"{option} = '{name}': must end in .")
    for name in right:
        with pytest.raises(SystemExit) as ended:
            main([*command.split(), option, name])
        assert not ended.value.code, capsys.readouterr().err
        assert Path(name).is_file()


def test_a_file_may_be_beside_the_results_of_its_command(here: Path) -> None:
    for name in ("compare-socialnetwork-x.json", "compare-socialnetwork-spans.json", "a.json"):
        with pytest.raises(SystemExit) as ended:
            main([*COMPARE.split(), "--out", "o", "--save-scenario", f"{name}"])
        assert not ended.value.code


def test_a_file_that_is_updated_may_be_written_again(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("times.csv").write_text("time_ms\n1\n2\n9\n")
    command = "import arrivals times.csv --into shop.toml --out shop.toml --service"
    with pytest.raises(SystemExit) as ended:
        main([*command.split(), simulation.services("shop.toml")[0]])
    assert not ended.value.code, capsys.readouterr().err
    assert "times.csv" in Path("shop.toml").read_text()


@pytest.mark.parametrize("command", ["service new", "chip new"])
def test_a_proposed_command_is_quoted_for_a_shell(
    here: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*command.split(), "tt", "--out", "sp ace.toml"])
    assert not ended.value.code
    assert shlex.split(capsys.readouterr().out)[-1] == "sp ace.toml"


def test_devices_are_written_whatever_their_folder() -> None:
    check_file(Path("/dev/null"))


#: Commands whose work is native and takes long.
LONG = [
    "cerebros simulate --requests 90000000",
    "relief-suite --graphs 90000000",
    "arcus table3 --replications 1000",
]

#: Runs a command that interrupts itself when it has started its work in a thread.
INTERRUPTED = """
import os, signal, sys, threading
started = threading.Thread.start
def start(thread):
    started(thread)
    if thread.daemon:
        os.kill(os.getpid(), signal.SIGINT)
threading.Thread.start = start
signal.signal(signal.SIGINT, signal.default_int_handler)
from accelflow.cli import main
main(sys.argv[1:])
"""


@pytest.mark.parametrize("typed", LONG, ids=[typed.split()[0] for typed in LONG])
def test_an_interrupt_ends_native_work_and_leaves_nothing(here: Path, typed: str) -> None:
    before = set(here.iterdir())
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, *typed.split()],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
    assert set(here.iterdir()) == before
