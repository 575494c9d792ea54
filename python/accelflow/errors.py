"""What can go wrong, in a form that the command line turns into one line and an exit code."""

from collections.abc import Iterable
from os import PathLike, fspath
from typing import ClassVar, Final

from accelflow._native import AccelflowError, CallError, DeclaredError, TraceError

__all__ = [
    "AccelflowError",
    "CallError",
    "DeclaredError",
    "InputError",
    "TraceError",
    "did_you_mean",
    "positive_number",
    "texts",
    "whole_number",
]


class InputError(AccelflowError):
    """A value that the user gave is not allowed; the message names place, value and rule.

    The command line exits with 2 for it, as for any other wrong use, and with 1 for every other
    :class:`AccelflowError`.
    """

    exit_code: ClassVar[int] = 2


#: How alike two words are that one may be misspelt for the other, from 0 to 1.
_NEAR: Final = 0.65


def did_you_mean(name: str, known: Iterable[str], most: int = 4) -> str:
    """``; did you mean A or B?`` with at most `most` of `known` like `name`; empty if none is.

    Alike are those that end in the same part (``pes`` and ``accelerator.pes``) or begin with it;
    if there are none, those whose parts are spelt nearly so.
    """
    import difflib  # noqa: PLC0415 (only errors need it)

    head, _, last = name.casefold().replace("-", "_").rpartition(".")

    def near(one: str, other: str) -> float:
        return difflib.SequenceMatcher(None, one, other).ratio()

    parts = {it: it.casefold().rpartition(".")[::2] for it in known}
    whole = f"{head}.{last}" if head else last
    found = [it for it, (_, end) in parts.items() if end == last]
    found = [it for it in found if not head or near(head, parts[it][0]) > _NEAR] or found
    found += [it for it in parts if it.casefold().startswith(f"{whole}.")]
    if not found:
        alike = {it: near(last, end) for it, (_, end) in parts.items()}
        fits = {it: not head or near(head, start) > _NEAR for it, (start, _) in parts.items()}
        ranked = sorted(alike, key=lambda it: -alike[it])
        found = [it for it in ranked if fits[it] and alike[it] > _NEAR]
    return f"; did you mean {' or '.join(found[:most])}?" if found else ""


def texts(name: str, value: Iterable[str | PathLike[str]]) -> list[str]:
    """Return `value`, the setting called `name`, as a list of texts.

    Raises InputError for a single text, and for what is none.
    """
    single = isinstance(value, str | bytes) or not isinstance(value, Iterable)
    found = [] if single else list(value)
    if single or not all(isinstance(it, str | PathLike) for it in found):
        raise InputError(f"{name} = {value!r}: must be a list of texts")
    return [fspath(it) for it in found]


def whole_number(name: str, value: int, least: int, most: int) -> int:
    """Return `value`, the setting called `name`.

    Raises InputError unless it is a whole number from `least` to `most`; bools are none.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InputError(f"{name} = {value!r}: must be a whole number from {least} to {most}")
    return value


def positive_number(name: str, value: float, most: float) -> float:
    """Return `value`, the setting called `name`.

    Raises InputError unless it is a number above 0 and at most `most`; bools are none.
    """
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 < value <= most:
        raise InputError(f"{name} = {value!r}: must be a number above 0, at most {most:g}")
    return value
