"""Options of commands: those that would do harm."""

import re
import shutil
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
    assert re.fullmatch(f"{option} = '{place}': must be another file than that of {other}", message)


def test_a_file_that_is_updated_may_be_written_again(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("times.csv").write_text("time_ms\n1\n2\n9\n")
    command = "import arrivals times.csv --into shop.toml --out shop.toml --service"
    with pytest.raises(SystemExit) as ended:
        main([*command.split(), simulation.services("shop.toml")[0]])
    assert not ended.value.code, capsys.readouterr().err
    assert "times.csv" in Path("shop.toml").read_text()


def test_devices_are_written_whatever_their_folder() -> None:
    check_file(Path("/dev/null"))
