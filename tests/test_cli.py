"""The command line: exit codes and one-line errors; commands have files of their own."""

import errno
import io
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from rich.console import Console

from accelflow import AccelflowError, InputError, __version__
from accelflow.cli import COMMANDS, output, program
from accelflow.cli.failure import run
from accelflow.cli.output import Lines, bar, busy
from conftest import ROOT

SCRIPT = Path(sys.executable).with_name("accelflow")


def accelflow(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SCRIPT, *arguments], capture_output=True, text=True, check=False)


def command_that(action: Callable[[], object]) -> click.Command:
    return click.Command("made-up", callback=action)


def failing(error: BaseException) -> click.Command:
    def fail() -> None:
        raise error

    return command_that(fail)


def test_version() -> None:
    done = accelflow("--version")
    assert (done.returncode, done.stdout) == (0, f"accelflow {__version__}\n")


def test_python_dash_m_is_the_same_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "accelflow", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == accelflow("--version").stdout


def test_every_command_has_help() -> None:
    paths: list[list[str]] = [[]]

    def collect(command: click.Command | None, path: list[str]) -> None:
        if not isinstance(command, click.Group):
            return
        context = click.Context(command)
        for name in command.list_commands(context):
            paths.append([*path, name])
            collect(command.get_command(context, name), [*path, name])

    collect(program, [])
    assert len(paths) >= 1 + len(COMMANDS)
    for path in paths:
        done = CliRunner().invoke(program, [*path, "--help"], prog_name="accelflow")
        assert done.exit_code == 0, path
        assert done.output.startswith(f"Usage: {' '.join(['accelflow', *path])}"), path


def test_the_list_of_commands_says_what_each_says_of_itself() -> None:
    files = {path.stem for path in (ROOT / "python/accelflow/cli").glob("*.py")}
    helpers = {
        "__init__",
        "arcus_plan",
        "asking",
        "running",
        "assignments",
        "campaigns",
        "chosen",
        "deciding",
        "doubts",
        "experiments",
        "failure",
        "interrupts",
        "import_coverage",
        "import_times",
        "listing",
        "naming",
        "offered",
        "output",
        "pages",
        "places",
        "precise",
        "printed_rules",
        "recorded",
        "watch",
    }
    assert {listed.file for listed in COMMANDS} == files - helpers - {"parameter_page"}
    for listed in COMMANDS:
        command = listed.load()
        assert command.name == listed.name
        paragraph = " ".join((command.help or "").split("\n\n")[0].split())
        assert paragraph.startswith(listed.help), listed.name


@pytest.mark.parametrize("group", [[], ["arcus"], ["chip"], ["import"], ["trace"]])
def test_descriptions_of_commands_are_not_cut_off(group: list[str]) -> None:
    done = CliRunner().invoke(program, [*group, "--help"], terminal_width=60)
    listed = done.output.partition("Commands:\n")[2]
    assert max(map(len, listed.splitlines())) <= 60
    described = " ".join(listed.split())
    assert "..." not in described
    if not group:
        assert "Fit assumed parameters to numbers of the paper's Fig. 11." in described


#: Slow to load, and of no use to somebody who asks for help or completion.
HEAVY = {"asyncio", "matplotlib", "numpy", "pyarrow", "rich"}


@pytest.mark.parametrize(
    ("arguments", "heavy"),
    [
        (["--help"], HEAVY),
        (["--version"], HEAVY),
        (["frobnicate"], HEAVY),
        (["explain", "core.count"], HEAVY),
        (["compare", "--help"], HEAVY - {"rich"}),
        (["compare", "nothing"], HEAVY - {"rich"}),
    ],
)
def test_commands_import_only_what_they_need(arguments: list[str], heavy: set[str]) -> None:
    script = (
        "import atexit, sys\n"
        "import accelflow.cli\n"
        f"say = lambda: print(sorted({heavy!r} & set(sys.modules)), file=sys.stderr)\n"
        "atexit.register(say)\n"
        f"accelflow.cli.main({arguments!r})\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.stderr.splitlines()[-1] == "[]", done.stderr


def test_long_work_says_how_long_where_no_terminal_is() -> None:
    console = Console(file=io.StringIO(), width=80)
    progress = {1.0: 10, 29.0: 290, 31.0: 310, 60.0: 400, 92.0: 500, 200.0: 1000}
    times = iter([0.0, *progress])
    lines = Lines(console, "simulating", clock=lambda: next(times))
    for done in progress.values():
        lines.report(done, 1000)
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue().splitlines() == [
        "simulating: 31% after 0 min 31 s, about 1 min 9 s left",
        "simulating: 50% after 1 min 32 s, about 1 min 32 s left",
    ]


class Shown(io.StringIO):
    """A terminal that says when something is shown."""

    def __init__(self) -> None:
        super().__init__()
        self.something = threading.Event()

    def write(self, text: str) -> int:
        written = super().write(text)
        if "simulating" in text:
            self.something.set()
        return written


def test_a_terminal_shows_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "SHOWN_AFTER_S", 0.0)
    file = Shown()
    console = Console(file=file, width=100, force_terminal=True, color_system=None)
    with bar(console, "simulating") as report:
        report(480, 960)
        assert file.something.wait(60)
    shown = file.getvalue()
    assert "50%" in shown
    assert "left" in shown
    file = Shown()
    console = Console(file=file, width=100, force_terminal=True, color_system=None)
    with busy(console, "simulating"):
        assert file.something.wait(60)


def test_short_work_shows_no_progress() -> None:
    file = Shown()
    console = Console(file=file, width=100, force_terminal=True, color_system=None)
    with bar(console, "simulating") as report:
        report(480, 960)
    with busy(console, "simulating"):
        pass
    with busy(Console(file=file, width=100), "simulating"):
        pass
    assert file.getvalue() == ""


def test_the_contents_of_the_package_can_be_listed() -> None:
    script = (
        "import accelflow\n"
        "assert set(accelflow.__all__) <= set(dir(accelflow))\n"
        "for name in accelflow.__all__: getattr(accelflow, name)\n"
        "assert accelflow.server.Server is accelflow.Server\n"
        "assert not hasattr(accelflow, 'nothing')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("arguments", [["frobnicate"], ["--frobnicate"]])
def test_wrong_use_is_one_line_and_exit_2(arguments: list[str]) -> None:
    done = accelflow(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("accelflow: error: ")
    assert done.stderr.count("\n") == 1
    assert "frobnicate" in done.stderr


def test_no_arguments_shows_the_help_and_exits_2() -> None:
    done = accelflow()
    assert done.returncode == 2
    assert done.stderr.startswith("Usage: accelflow")


@pytest.mark.parametrize(
    ("error", "exit_code", "line"),
    [
        (AccelflowError("the engine\nfailed"), 1, "the engine failed"),
        (InputError("seed is x; a number is needed"), 2, "seed is x; a number is needed"),
        (FileNotFoundError(2, "No such file", "a.toml"), 1, "a.toml: No such file"),
        (click.BadParameter("is wrong"), 2, "Invalid value: is wrong (see 'accelflow --help')"),
    ],
)
def test_error_is_one_line(
    error: Exception, exit_code: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(failing(error), []) == exit_code
    assert capsys.readouterr() == ("", f"accelflow: error: {line}\n")


def test_defect_says_how_to_get_the_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(failing(ZeroDivisionError("oops")), []) == 1
    error = capsys.readouterr().err
    assert error.startswith("accelflow: error: internal error: ZeroDivisionError: oops")
    assert "ACCELFLOW_DEBUG" in error
    monkeypatch.setenv("ACCELFLOW_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        run(failing(ZeroDivisionError("oops")), [])


def test_interrupt_is_130_and_prints_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(failing(KeyboardInterrupt()), []) == 130
    assert "Traceback" not in capsys.readouterr().err


def test_broken_pipe_is_quiet() -> None:
    # A child whose reader leaves before it writes more than a pipe holds.
    code = (
        "import click, sys\nfrom accelflow.cli.failure import run\n"
        "sys.exit(run(click.Command('x', callback=lambda: print('line\\n' * 100_000)), []))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.read(4)
        child.stdout.close()
        assert child.stderr.read() == b""
    assert child.returncode == 141


def test_a_full_disk_under_our_output_is_no_internal_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(failing(OSError(errno.ENOSPC, "No space left on device")), []) == 1
    assert capsys.readouterr().err == "accelflow: error: output: No space left on device\n"


def test_an_argument_that_is_no_utf_8_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = failing(UnicodeEncodeError("utf-8", "T\udcff", 1, 2, "surrogates not allowed"))
    assert run(wrong, []) == 2
    assert "not valid UTF-8" in capsys.readouterr().err


def test_without_standard_output_nothing_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert run(command_that(lambda: None), []) == 0


@pytest.mark.parametrize(
    "typed", ["explain", "trace show T1 --json", "service list", "--help", "--version"]
)
def test_output_that_is_closed_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: str
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert run(program, typed.split()) == 1
    assert capsys.readouterr().err == "accelflow: error: output: Bad file descriptor\n"


def test_success_is_0() -> None:
    assert run(command_that(lambda: None), []) == 0
