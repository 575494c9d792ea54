"""The command line: exit codes and one-line errors; commands have files of their own."""

import errno
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from accelflow import AccelflowError, InputError, __version__
from accelflow.cli import COMMANDS, program
from accelflow.cli.failure import run

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

    def collect(command: click.Command, path: list[str]) -> None:
        for name, child in getattr(command, "commands", {}).items():
            paths.append([*path, name])
            collect(child, [*path, name])

    collect(program, [])
    assert len(paths) >= 1 + len(COMMANDS)
    for path in paths:
        done = accelflow(*path, "--help")
        assert done.returncode == 0, path
        assert done.stdout.startswith("Usage: accelflow"), path


def test_commands_start_without_what_only_pictures_need() -> None:
    script = "import sys, accelflow.cli; print(sorted({'matplotlib'} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


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
    assert "no UTF-8" in capsys.readouterr().err


def test_without_standard_output_nothing_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert run(command_that(lambda: None), []) == 0


def test_success_is_0() -> None:
    assert run(command_that(lambda: None), []) == 0
