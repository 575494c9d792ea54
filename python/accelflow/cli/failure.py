"""Report exceptions as one line on standard error and an exit code.

A traceback appears only for an internal error, and only if ACCELFLOW_DEBUG is set.
"""

import errno
import io
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import click

from accelflow.cli.naming import option_name
from accelflow.errors import LEFT_OUT, AccelflowError, refused

#: The environment variable that makes internal errors show their traceback.
DEBUG_VARIABLE = "ACCELFLOW_DEBUG"

#: A number with too many digits to be useful in a message.
_LONG_NUMBER: Final = re.compile(r"(\d{24})\d{76,}")

#: Characters that a terminal obeys, and those that change the direction of text.
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

#: The exit codes that :func:`run` returns.
OK, FAILED, WRONG_USE, INTERRUPTED, BROKEN_PIPE = 0, 1, 2, 130, 141

#: The exit code in the place of INTERRUPTED if the signal was SIGTERM (128 + SIGTERM).
TERMINATED = 143


def run(command: click.Command, arguments: Sequence[str]) -> int:
    """Run `command` and return the exit code of the process.

    The codes are 0 for success, 1 for a failure, 2 for wrong usage or input, 130 for an interrupt
    (128 + SIGINT), and 141 for a broken output pipe (128 + SIGPIPE).
    """
    # click's own `main` would exit with 1 on a broken pipe, and format errors differently.
    try:
        with _output():
            return _invoked(command, arguments)
    except click.exceptions.NoArgsIsHelpError as help_instead:
        print(help_instead.format_message(), file=sys.stderr)
        return WRONG_USE
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        _discard_output()
        return BROKEN_PIPE
    except SystemExit:
        raise
    except BaseException as error:
        return _report(error)


def _invoked(command: click.Command, arguments: Sequence[str]) -> int:
    """Run `command` with all of its output, and return its exit code."""
    code = OK
    try:
        with command.make_context("accelflow", list(arguments)) as context:
            command.invoke(context)
    except click.exceptions.Exit as early:  # after --help or --version
        code = early.exit_code
    sys.stdout.flush()
    return code


class _Closed(io.RawIOBase):
    """A closed standard output: the first write fails."""

    def __init__(self) -> None:
        super().__init__()
        self._failed = False

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        if not self._failed:
            self._failed = True
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        return len(data)  # the interpreter flushes again when it ends


@contextmanager
def _output() -> Iterator[None]:
    """Let output fail if standard output is closed, as after a shell's `>&-`.

    Python has no `sys.stdout` then, and click would drop the output.
    """
    if sys.stdout is not None:
        yield
        return
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(_Closed()), encoding="utf-8")
    try:
        yield
    finally:
        sys.stdout = None


def _report(error: BaseException) -> int:
    known = _message(error)
    if known is not None:
        return _say(*known)
    # A bug, such as a panic of the extension, which derives from BaseException.
    if os.environ.get(DEBUG_VARIABLE):
        raise error
    hint = f"set {DEBUG_VARIABLE}=1 for the traceback"
    return _say(f"internal error: {type(error).__name__}: {error} ({hint})", FAILED)


def _message(error: BaseException) -> tuple[str, int] | None:
    """Return the message and the exit code of an expected error; None for a bug."""
    message: tuple[str, int] | None = None
    match error:
        case click.UsageError():
            message = _wrong_use(error), WRONG_USE
        case click.ClickException():
            message = error.format_message(), error.exit_code
        case AccelflowError():
            message = str(error), getattr(error, "exit_code", FAILED)
        case OSError(strerror=str(reason)):
            # An error without a file name is one of our own output.
            place = "output" if error.filename is None else os.fsdecode(error.filename)
            message = f"{place}: {reason}", FAILED
        case UnicodeEncodeError(object=text, reason="surrogates not allowed"):
            message = f"{text!r} is not valid UTF-8", WRONG_USE
    return message


def _wrong_use(error: click.UsageError) -> str:
    """Return the message for a wrong use of the command line, in the form of all refusals."""
    command = error.ctx.command_path if error.ctx else "accelflow"
    listed = f"that '{command} --help' lists"
    parameters = error.ctx.command.params if error.ctx else []
    match error:
        case click.MissingParameter(param=click.Parameter() as missing):
            allowed = f"must be given; see '{command} --help'"
            choices = missing.type.choices if isinstance(missing.type, click.Choice) else ()
            if choices:
                allowed = f"must be {', '.join(map(str, choices))}"
            return str(refused(option_name(missing), LEFT_OUT, allowed))
        case click.NoSuchOption(option_name=name):
            known = [option for parameter in parameters for option in parameter.opts]
            return str(refused("option", name, f"must be an option {listed}", known))
        case click.NoSuchCommand(command_name=name):
            names = _commands(error.ctx) if error.ctx else []
            return str(refused("command", name, f"must be a command {listed}", names))
        case click.BadOptionUsage(option_name=name):
            own = next((each for each in parameters if name in each.opts), None)
            flag = isinstance(own, click.Option) and own.is_flag
            allowed = "must be given without a value" if flag else "must be given a value"
            return f"{name} = {'VALUE' if flag else LEFT_OUT!r}: {allowed}"
    return f"{error.format_message()} (see '{command} --help')"


def _commands(context: click.Context) -> list[str]:
    group = context.command
    return group.list_commands(context) if isinstance(group, click.Group) else []


def _say(message: str, exit_code: int) -> int:
    line = plain(_LONG_NUMBER.sub(r"\1...", " ".join(message.split())))
    print("accelflow: error:", line, file=sys.stderr)
    return exit_code


def plain(text: str) -> str:
    """Escape the control characters in `text`, so that a terminal does not execute them."""
    shown = (repr(letter)[1:-1] if _CONTROL.match(letter) else letter for letter in text)
    return "".join(shown)


def _discard_output() -> None:
    """Redirect standard output, so that the interpreter's last flush does not fail again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
