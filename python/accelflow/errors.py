"""Exceptions, which the command line prints as one line, with an exit code.

Messages about refused values have one form, ``PLACE = VALUE: must be ..., did you mean ...?``.
:func:`refused` makes them in Python, and ``Refusal`` of the crate ``accelflow-parameters`` in Rust.
"""

import errno
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import date, time
from os import PathLike, fspath
from pathlib import Path
from typing import Any, ClassVar, Final

from accelflow import _native
from accelflow._native import AccelflowError, CallError, DeclaredError, TraceError
from accelflow.files import why

__all__ = [
    "GIVEN",
    "LEFT_OUT",
    "AccelflowError",
    "CallError",
    "DeclaredError",
    "InputError",
    "OutputError",
    "TraceError",
    "as_input",
    "file_path",
    "finite_number",
    "instance_of",
    "number_within",
    "one_of",
    "place_in",
    "positive_number",
    "reading",
    "refusals",
    "refused",
    "texts",
    "unreadable",
    "unwritable",
    "whole_number",
    "with_schema",
    "writing",
]


#: Longer places and values are cut in refusals; a path may well have a hundred characters.
_LONGEST: Final = 400


class InputError(AccelflowError):
    """The error for an input that is not allowed; its message names the setting, value and rule.

    `place` is the name of the setting, or None if only the message names it or if no single setting
    is at fault. The command line exits with 2 for an input error (1 for an :class:`OutputError`),
    and with 1 for every other :class:`AccelflowError`.
    """

    #: The command line's exit code for this error.
    exit_code: ClassVar[int] = 2

    def __init__(self, message: str, place: str | None = None) -> None:
        """Make the error with its message and the name of the refused setting."""
        super().__init__(message)
        self.place = place

    @classmethod
    def of(cls, error: AccelflowError) -> "InputError":
        """Return the native engine's `error` as an InputError with the same message and setting."""
        return cls(str(error), error.place)

    def at(self, place: str) -> "InputError":
        """Return this error with the setting renamed to `place`, such as ``--seeds`` for ``seeds``.

        The new name also replaces the old one at the beginning of the message, if it is there.
        """
        text = str(self)
        if self.place is None or not text.startswith(self.place):
            return InputError(text, self.place)
        return InputError(place + text.removeprefix(self.place), place)


class OutputError(InputError):
    """The error for an output that the machine failed to write, for example on a full disk.

    It is also an :class:`InputError`, since the user may choose another place for the output. But
    the command line exits with 1 instead of 2, since the input was valid and the work was done.
    """

    exit_code: ClassVar[int] = 1

    def at(self, place: str) -> "OutputError":
        """Return this error with the setting renamed to `place`, as for :class:`InputError`."""
        found = super().at(place)
        return OutputError(str(found), found.place)


#: The errors of the operating system that depend on the machine's state, not on the chosen place.
_FAILURES: Final = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOMEM, errno.ENFILE),
    *(errno.EMFILE, errno.EPIPE),
}


class _NoValue:
    """Stands in a refusal for the value of a setting that has none."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        """Return the text that refusals show instead of a value."""
        return self._text


#: Stands for the value in a :func:`refused` error if a required setting is missing: the text of
#: the error begins with ``PLACE is left out:``.
LEFT_OUT: Final = _NoValue("left out")

#: Stands for the value in a :func:`refused` error if an option has none, such as ``--json``, or if
#: its value does not matter: the error's text begins with ``PLACE is given:``.
GIVEN: Final = _NoValue("given")


def refused(place: str, value: object, allowed: str = "", known: Iterable[str] = ()) -> InputError:
    """Create the error for a value that is not allowed: ``PLACE = VALUE: must be ...``.

    `place` is the setting, option or key as users write it, and `allowed` the clause that begins
    with ``must``. If the value is a name, `known` lists the allowed names. The text then asks ``did
    you mean ...?`` with similar names. Without `allowed`, the clause lists the names or, if there
    are many, states their number. Places and values of more than a few hundred characters are
    cut. An example is ``raise refused("service", "Logn", known=services)``.
    """
    shown = fspath(value) if isinstance(value, PathLike) else value
    if isinstance(shown, str):
        shown = _cut(shown)
    elif isinstance(shown, date | time):  # TOML's, not Python's spelling
        shown = _NoValue(shown.isoformat())
    elif len(text := repr(shown)) > _LONGEST:
        shown = _NoValue(_cut(text))
    place = _cut(place)
    return InputError(_native.refusal(place, shown, allowed, list(known)), place)


def place_in(message: str) -> str | None:
    """Return the setting in the text of a :func:`refused` error: ``seed`` for ``seed = 0: ...``.

    Returns None for a message that does not begin with a setting.
    """
    found = re.split(" = | is left out:| is given:", message, maxsplit=1)
    return found[0] if len(found) > 1 else None


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def unreadable(place: str, path: str | PathLike[str], error: Exception) -> InputError:
    """Return the InputError for an input file that cannot be read.

    `place` is the setting that names the file, `path` its value, and `error` the reason: an
    OSError, or a ValueError for contents that are not text, TOML or JSON.
    """
    return refused(place, fspath(path), f"must be a file that can be read: {why(error)}")


@contextmanager
def reading(place: str, path: str | PathLike[str]) -> Iterator[None]:
    """Raise InputError in place of other errors of a ``with`` block, which reads the file `path`.

    If the file cannot be read, the message begins with `place`, the setting that names the file. If
    its contents are not allowed, the message begins with `path`.
    """
    try:
        yield
    except (OSError, ValueError) as error:
        raise unreadable(place, path, error) from error
    except AccelflowError as error:
        raise InputError(f"{fspath(path)}: {error}") from error


def unwritable(place: str, path: str | PathLike[str], error: Exception) -> InputError:
    """Return the InputError for an output that cannot be written.

    It is an :class:`OutputError` if the machine has failed, such as for a full disk. `place` is the
    setting that names the output, `path` its value, and `error` the reason.
    """
    found = refused(place, fspath(path), f"must be a place that can be written: {why(error)}")
    return OutputError(str(found), place) if _is_failure(error) else found


def _is_failure(error: Exception) -> bool:
    if isinstance(error, OSError):
        return error.errno in _FAILURES
    # The native engine's error for a failed write has the system's reason alone.
    return str(error) in map(os.strerror, _FAILURES)


@contextmanager
def writing(place: str, path: str | PathLike[str]) -> Iterator[None]:
    """Turn failed writes of `path` in a ``with`` block into the errors of :func:`unwritable`.

    These are OSErrors, and AccelflowErrors of the engine for a failed write. `place` is the setting
    that names the file. Other errors of the block are not changed.
    """
    try:
        yield
    except OSError as error:
        raise unwritable(place, path, error) from error
    except AccelflowError as error:
        if _is_failure(error):
            raise unwritable(place, path, error) from error
        raise


def one_of(place: str, value: str, known: Iterable[str]) -> str:
    """Return `value` if it is one of `known`; `place` is the name of the setting.

    Raises InputError otherwise.
    """
    known = list(known)
    if value not in known:
        raise refused(place, value, known=known)
    return value


def with_schema(
    place: str | PathLike[str], tree: object, schemas: Iterable[str], made_by: str = ""
) -> dict[str, Any]:
    """Return `tree`, read from the JSON file at `place`, if its ``schema`` is one of `schemas`.

    `made_by` names the command that writes such files, for the message, which for a file of another
    version says to run the command again. Raises InputError if `tree` is not an object with one of
    `schemas`.
    """
    schemas = list(schemas)
    schema = tree.get("schema", LEFT_OUT) if isinstance(tree, dict) else LEFT_OUT
    if not isinstance(tree, dict) or schema not in schemas:
        allowed = f"must be {' or '.join(schemas)}"
        formats = {each.rpartition("/")[0] for each in schemas}
        if made_by and isinstance(schema, str) and schema.rpartition("/")[0] in formats:
            # Not a similar name: the contents differ, too.
            raise refused(f"{fspath(place)}: schema", schema, f"{allowed}: run `{made_by}` again")
        allowed += f", the output of `{made_by}`" if made_by else ""
        raise refused(f"{fspath(place)}: schema", schema, allowed, schemas)
    return tree


def texts(name: str, value: Iterable[str | PathLike[str]]) -> list[str]:
    """Return `value`, the setting called `name`, as a list of strings.

    Raises InputError for any other value: for a single string, for what cannot be iterated, and for
    elements that are neither strings nor paths.
    """
    single = isinstance(value, str | bytes) or not isinstance(value, Iterable)
    found = [] if single else list(value)
    if single or not all(isinstance(text, str | PathLike) for text in found):
        raise refused(name, value, "must be a list of strings")
    return [fspath(text) for text in found]


def whole_number(name: str, value: int, least: int, most: int) -> int:
    """Return `value`, the setting called `name`, if it is a whole number from `least` to `most`.

    Raises InputError otherwise, also for bools.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise refused(name, value, f"must be a whole number from {least} to {most}")
    return value


def number_within(name: str, value: float, least: float, most: float) -> float:
    """Return `value`, the setting called `name`, if it is a number from `least` to `most`.

    Raises InputError otherwise, also for bools.
    """
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not least <= value <= most:
        low = f"{least:.15g}".replace("e-0", "e-")  # as the native code writes it
        raise refused(name, value, f"must be a number from {low} to {most:,.15g}")
    return value


def instance_of(name: str, value: object, types: tuple[type, ...], allowed: str) -> None:
    """Raise InputError unless `value`, the setting called `name`, is of one of the types `types`.

    `allowed` names the types in the message. A bool does not count as a number.
    """
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        raise refused(name, value, f"must be {allowed}")


@contextmanager
def refusals() -> Iterator[None]:
    """Turn AccelflowErrors of a ``with`` block that refuse a setting's value into InputErrors.

    Other errors are raised unchanged.
    """
    try:
        yield
    except AccelflowError as error:
        if error.place is not None and not isinstance(error, InputError):
            raise InputError.of(error) from error
        raise


@contextmanager
def as_input() -> Iterator[None]:
    """Turn every AccelflowError of a ``with`` block into InputError.

    This is for blocks that only check settings or read the files that settings name, so that no
    other error can occur.
    """
    try:
        yield
    except AccelflowError as error:
        if isinstance(error, InputError):
            raise
        raise InputError.of(error) from error


def file_path(name: str, value: str | PathLike[str]) -> Path:
    """Return `value`, the setting called `name`, as a path.

    Raises InputError if it is neither a string nor a path.
    """
    if not isinstance(value, str | PathLike):
        raise refused(name, value, "must be a path")
    return Path(value)


def finite_number(name: str, value: float) -> float:
    """Return `value`, the setting called `name`, if it is a finite number.

    Raises InputError otherwise, also for bools.
    """
    number = isinstance(value, int | float) and not isinstance(value, bool)
    # An integer may be too large for a float.
    if not number or not abs(value) <= sys.float_info.max:
        raise refused(name, value, "must be a finite number")
    return value


def positive_number(name: str, value: float, most: float) -> float:
    """Return `value`, the setting called `name`, if it is a number above 0 and at most `most`.

    Raises InputError otherwise, also for bools.
    """
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 < value <= most:
        raise refused(name, value, f"must be a number above 0, at most {most:,.15g}")
    return value
