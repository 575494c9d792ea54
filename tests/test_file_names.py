"""Names that are too long for a file, and names that are not UTF-8: refused with their place."""

import html
import os
import subprocess
import sys
from pathlib import Path

import pytest

import accelflow
from accelflow import InputError, studies
from accelflow.chips import find_chip
from accelflow.cli import main

#: More than any usual file system allows.
LONG = "a" * 300

#: A byte that is not UTF-8, as Python has it in the arguments of a command.
BYTE = os.fsdecode(b"\xff")

COMPARE = (
    "compare socialnetwork --profile paper --requests 100 --service UniqId --orchestrator ideal"
)

STUDY = """
schema = "accelflow.study/1"
[scenario]
workload = "socialnetwork"
profile = "paper"
services = ["UniqId"]
orchestrators = ["ideal"]
requests = 100
[axes]
rate_rps = [1000, 2000]
"""

#: Commands with a name that is too long, and the place that the refusal names.
TOO_LONG = [
    (f"compare {LONG}", "WORKLOAD"),
    (f"{COMPARE} --chip {LONG}", "--chip"),
    (f"{COMPARE} --out {LONG}", "--out"),
    (f"{COMPARE} --out {LONG}/x", "--out"),
    (f"{COMPARE} --report {LONG}.html", "--report"),
    (f"{COMPARE} --save-scenario {LONG}.json", "--save-scenario"),
    (f"chip show {LONG}", "CHIP"),
    (f"chip new {LONG}", "--out"),
    (f"area --chip {LONG}", "--chip"),
    (f"service list --workload {LONG}", "--workload"),
    (f"explain --markdown {LONG}", "--markdown"),
    (f"reproduce table4 --workload {LONG}", "--workload"),
    (f"reproduce table4 --out {LONG}", "--out"),
    ("sweep study.toml --out " + LONG, "--out"),
]

#: Commands with a name that is not UTF-8, and what the refusal says of it.
NOT_UTF8 = [
    (f"service new {BYTE}", "NAME = '\\udcff': must be 1 to 64 letters, digits, - and _"),
    (f"chip new {BYTE}", "NAME = '\\udcff': must be a name in UTF-8"),
    (
        f"compare socialnetwork --profile paper --service {BYTE}",
        "--service = '\\udcff': must be text in UTF-8",
    ),
    (f"compare socialnetwork --rates {BYTE}", "--rates = '\\udcff': must be text in UTF-8"),
    (f"sweep study.toml --out d{BYTE}", "--out = 'd\\udcff': must be a name in UTF-8"),
]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY, encoding="utf-8")
    return tmp_path


def refusal(typed: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What the command `typed` says when it refuses a value."""
    with pytest.raises(SystemExit) as ended:
        main(typed.split())
    said = capsys.readouterr().err
    assert ended.value.code == 2, said
    assert said.count("\n") == 1
    return said.removeprefix("accelflow: error: ").rstrip("\n")


@pytest.mark.parametrize(("typed", "place"), TOO_LONG)
def test_a_name_that_is_too_long_is_refused_with_its_place(
    here: Path, capsys: pytest.CaptureFixture[str], typed: str, place: str
) -> None:
    assert refusal(typed, capsys).startswith(f"{place} = '{LONG}")
    assert [path.name for path in here.iterdir()] == ["study.toml"]


@pytest.mark.parametrize(("typed", "message"), NOT_UTF8)
def test_a_name_that_is_not_utf8_is_refused_and_leaves_no_file(
    here: Path, capsys: pytest.CaptureFixture[str], typed: str, message: str
) -> None:
    assert refusal(typed, capsys) == message
    assert [path.name for path in here.iterdir()] == ["study.toml"]


def test_a_page_may_have_a_name_that_is_not_utf8(tmp_path: Path) -> None:
    page = tmp_path / f"{BYTE}.html"
    command = (*COMPARE.split(), "--loads", "none", "--report", str(page), "--out", str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-m", "accelflow", *command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert f"--report '{tmp_path}/?.html'" in html.unescape(page.read_text(encoding="utf-8"))


def test_names_that_are_too_long_are_input_errors_in_python(here: Path) -> None:
    with pytest.raises(InputError, match="workload = 'aaa"):
        accelflow.simulate(LONG, requests=100)
    with pytest.raises(InputError, match="chip = 'aaa"):
        find_chip(LONG)


def test_a_study_refuses_a_folder_that_is_not_utf8(here: Path) -> None:
    with pytest.raises(InputError, match="must be a name in UTF-8"):
        studies.sweep(studies.read_study(here / "study.toml"), here / BYTE)
    assert [path.name for path in here.iterdir()] == ["study.toml"]
