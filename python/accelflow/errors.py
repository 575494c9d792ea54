"""Exceptions, which the command line turns into one line and an exit code; checks of inputs."""

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
    """An input that is not allowed; the message names its place, its value and the rule.

    The command line exits with 2 for it, as for any wrong usage, and with 1 for every other
    :class:`AccelflowError`.
    """

    exit_code: ClassVar[int] = 2


#: Similarity, from 0 to 1, above which one word may be a misspelling of another.
_NEAR: Final = 0.65


def did_you_mean(name: str, known: Iterable[str], most: int = 4) -> str:
    """Return ``; did you mean A or B?`` with up to `most` names of `known`, or an empty text.

    Suggested are names that end in the same part (``pes`` and ``accelerator.pes``) or begin with
    `name`; if there are none, names with a similar spelling.
    """
    import difflib  # noqa: PLC0415 (only errors need it)

    head, _, last = name.casefold().replace("-", "_").rpartition(".")

    def near(one: str, other: str) -> float:
        return difflib.SequenceMatcher(None, one, other).ratio()

    parts = {key: key.casefold().rpartition(".")[::2] for key in known}
    whole = f"{head}.{last}" if head else last
    found = [key for key, (_, end) in parts.items() if end == last]
    found = [key for key in found if not head or near(head, parts[key][0]) > _NEAR] or found
    found += [key for key in parts if key.casefold().startswith(f"{whole}.")]
    if not found:
        alike = {key: near(last, end) for key, (_, end) in parts.items()}
        fits = {key: not head or near(head, start) > _NEAR for key, (start, _) in parts.items()}
        ranked = sorted(alike, key=lambda key: -alike[key])
        found = [key for key in ranked if fits[key] and alike[key] > _NEAR]
    return f"; did you mean {' or '.join(found[:most])}?" if found else ""


def texts(name: str, value: Iterable[str | PathLike[str]]) -> list[str]:
    """Return `value`, the setting called `name`, as a list of texts.

    Raises InputError for a single text, and for elements that are neither texts nor paths.
    """
    single = isinstance(value, str | bytes) or not isinstance(value, Iterable)
    found = [] if single else list(value)
    if single or not all(isinstance(element, str | PathLike) for element in found):
        raise InputError(f"{name} = {value!r}: must be a list of texts")
    return [fspath(element) for element in found]


def whole_number(name: str, value: int, least: int, most: int) -> int:
    """Return `value`, the setting called `name`, if it is a whole number from `least` to `most`.

    Raises InputError otherwise, also for bools.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InputError(f"{name} = {value!r}: must be a whole number from {least} to {most}")
    return value


def positive_number(name: str, value: float, most: float) -> float:
    """Return `value`, the setting called `name`, if it is a number above 0 and at most `most`.

    Raises InputError otherwise, also for bools.
    """
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 < value <= most:
        raise InputError(f"{name} = {value!r}: must be a number above 0, at most {most:g}")
    return value
