"""From an exception to one line on standard error and an exit code; no traceback reaches a user."""

import os
import sys
from collections.abc import Sequence

import click

from accelflow.errors import AccelflowError

#: Set this variable in the environment to see the traceback of an internal error.
DEBUG_VARIABLE = "ACCELFLOW_DEBUG"

OK, FAILED, WRONG_USE, INTERRUPTED, BROKEN_PIPE = 0, 1, 2, 130, 141


def run(command: click.Command, arguments: Sequence[str]) -> int:
    """Run `command` and return the exit code of the process.

    0 success; 1 the work failed; 2 wrong use or input; 130 interrupted; 141 the reader of our
    output is gone (128 + SIGINT and 128 + SIGPIPE, as a shell reports them).
    """
    # click's own `main` would exit with 1 on a broken pipe, and print errors in a form of its own.
    try:
        with command.make_context("accelflow", list(arguments)) as context:
            command.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as early:  # after --help or --version
        return early.exit_code
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        _discard_output()
        return BROKEN_PIPE
    except SystemExit:
        raise
    except BaseException as error:
        return _report(error)
    return OK


def _report(error: BaseException) -> int:
    match error:
        case click.exceptions.NoArgsIsHelpError():
            print(error.format_message(), file=sys.stderr)
            return WRONG_USE
        case click.UsageError():
            where = f" (see '{error.ctx.command_path} --help')" if error.ctx else ""
            return _say(error.format_message() + where, WRONG_USE)
        case click.ClickException():
            return _say(error.format_message(), error.exit_code)
        case AccelflowError():
            return _say(str(error), getattr(error, "exit_code", FAILED))
        case OSError(strerror=str(reason), filename=place) if place is not None:
            return _say(f"{os.fsdecode(place)}: {reason}", FAILED)
    # A defect of ours, a panic of the extension (which derives from BaseException) included.
    if os.environ.get(DEBUG_VARIABLE):
        raise error
    hint = f"set {DEBUG_VARIABLE}=1 for the traceback"
    return _say(f"internal error: {type(error).__name__}: {error} ({hint})", FAILED)


def _say(message: str, exit_code: int) -> int:
    print("accelflow: error:", " ".join(message.split()), file=sys.stderr)
    return exit_code


def _discard_output() -> None:
    """Keep the interpreter's last flush from failing once more on the closed pipe."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
