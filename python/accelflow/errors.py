"""What can go wrong, in a form that the command line turns into one line and an exit code."""

from typing import ClassVar

from accelflow._native import AccelflowError, CallError, DeclaredError, TraceError

__all__ = [
    "AccelflowError",
    "CallError",
    "DeclaredError",
    "InputError",
    "TraceError",
    "whole_number",
]


class InputError(AccelflowError):
    """A value that the user gave is not allowed; the message names place, value and rule.

    The command line exits with 2 for it, as for any other wrong use, and with 1 for every other
    :class:`AccelflowError`.
    """

    exit_code: ClassVar[int] = 2


def whole_number(name: str, value: int, least: int, most: int) -> int:
    """Return `value`, the setting called `name`.

    Raises InputError unless it is a whole number from `least` to `most`; bools are none.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InputError(f"{name} = {value!r}: must be a whole number from {least} to {most}")
    return value
