"""What can go wrong, in a form that the command line turns into one line and an exit code."""

from typing import ClassVar

from accelflow._native import AccelflowError, CallError, DeclaredError, TraceError

__all__ = ["AccelflowError", "CallError", "DeclaredError", "InputError", "TraceError"]


class InputError(AccelflowError):
    """A value that the user gave is not allowed; the message names place, value and rule.

    The command line exits with 2 for it, as for any other wrong use, and with 1 for every other
    :class:`AccelflowError`.
    """

    exit_code: ClassVar[int] = 2
