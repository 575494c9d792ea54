"""Options for output files and folders: their types, and checks before any work."""

import errno
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import click

from accelflow.errors import refused, unwritable

__all__ = [
    "WRITTEN",
    "WRITTEN_FOLDER",
    "check_apart",
    "check_file",
    "check_place",
    "check_written",
    "written_as",
]

#: Parameters of files that a command reads and may write again, by the option that writes them.
_UPDATED: Final = {"out": ("into", "base"), "saved_file": ("scenario_file",)}


class _Written(click.Path[Path]):
    """The type of an option for an output file or folder, which :func:`check_written` checks.

    A file in one fixed format has one of the `endings`; with none, the name may have any ending.
    """

    endings: tuple[str, ...] = ()


def written_as(*endings: str) -> click.Path[Path]:
    """Return the type of a click option for an output file in one format.

    `endings` are the extensions of this format, the usual one first. Names without an extension are
    allowed.
    """
    found = _Written(path_type=Path, dir_okay=False)
    found.endings = endings
    return found


#: The type of an option for an output file.
WRITTEN: Final = _Written(path_type=Path, dir_okay=False)

#: The type of an option for an output folder.
WRITTEN_FOLDER: Final = _Written(path_type=Path, file_okay=False)


def check_place(out: Path, option: str = "--out") -> None:
    """Raise InputError if results cannot be written to the folder `out`.

    Commands call this before long simulations. A missing folder is allowed, since it will be
    created with its parents. (:func:`check_file`, in contrast, refuses a file in a missing folder.)
    `option` is the name of the option in the message.
    """
    _check_length(out, option)
    existing = next(place for place in (out, *out.absolute().parents) if place.exists())
    _check_folder(existing, out, option)


def check_file(out: Path, option: str = "--out") -> None:
    """Raise InputError if the file `out` cannot be written, or its folder is missing.

    `option` is the name of the option in the message. A missing folder is probably misspelt, so it
    is refused, not created. For a pipe or a device, such as ``/dev/stdout``, the folder does not
    matter.
    """
    _check_length(out, option)
    if out.is_dir():
        raise refused(option, str(out), "must be a file, not a folder")
    if out.exists() and not out.is_file():
        if not os.access(out, os.W_OK):
            raise refused(option, str(out), "must be a place that can be written")
        return
    folder = out.absolute().parent
    if not folder.exists():
        raise refused(option, str(out), f"must be in a folder that exists; {folder} does not")
    _check_folder(folder, out, option)


def _check_folder(folder: Path, out: Path, option: str) -> None:
    """Raise InputError unless `folder`, in which `out` will be, is a folder that can be written."""
    if folder.is_dir() and os.access(folder, os.W_OK):
        return
    fault = "cannot be written" if folder.is_dir() else "is not a folder"
    allowed = f"must be in a folder that can be written; {folder} {fault}"
    raise refused(option, str(out), allowed)


def _check_length(out: Path, option: str) -> None:
    """Raise InputError for a path that is too long, or that has a name that is too long."""
    try:
        out.lstat()
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise unwritable(option, out, error) from error


def check_written(given: Iterable[tuple[click.Parameter, str, Any]]) -> None:
    """Raise InputError if an output cannot be written, or if it would overwrite another file.

    Another file is one that the same command line names, such as an input. `given` has a triple for
    each option or argument on the command line: parameter, name and value.
    """
    given = list(given)
    for parameter, option, value in given:
        if not isinstance(parameter.type, _Written):
            continue
        for place in _paths(value):
            if parameter.type.dir_okay:
                check_place(place, option)
                continue
            check_file(place, option)
            for other, name, values in given:
                if other is parameter or str(other.name) in _UPDATED.get(str(parameter.name), ()):
                    continue
                if any(_same(place, path) for path in _paths(values)):
                    allowed = f"must be another file, since {name} names this one, too"
                    raise refused(option, str(place), allowed)
            _check_ending(place, option, parameter.type.endings)


def _check_ending(place: Path, option: str, endings: tuple[str, ...]) -> None:
    """Raise InputError if the extension of a file is that of another format than it will have."""
    ending = place.suffix.lower()
    # "run-0.5" has no extension, and a device or a pipe has any name.
    plain = not re.fullmatch(r"\.[a-z][a-z0-9]*", ending) or (
        place.exists() and not place.is_file()
    )
    if endings and not plain and ending not in endings:
        allowed = f"must end in {' or '.join(endings)}, the format of the file"
        raise refused(option, str(place), allowed)


def check_apart(files: Mapping[str, Path | None], folder: Path, own: str) -> None:
    """Raise InputError if an output file would overwrite a result that goes to `folder`.

    `files` has the output files by option, None for an option that is left out. `own` is a regular
    expression for the names of all results that the command may write to `folder`.
    """
    for option, file in files.items():
        if file is None:
            continue
        place = Path(os.path.realpath(file))
        if place.parent == Path(os.path.realpath(folder)) and re.fullmatch(own, place.name):
            allowed = f"must have another name: a result that goes to {folder} may have this one"
            raise refused(option, str(file), allowed)


def _paths(value: Any) -> Iterator[Path]:
    """Yield the paths in a parameter's value. A text counts if it names a file that exists."""
    for each in value if isinstance(value, tuple) else (value,):
        if isinstance(each, Path) or (isinstance(each, str) and _is_file(each)):
            yield Path(each)


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # too long for a name, or with a zero byte
        return False


def _same(first: Path, second: Path) -> bool:
    """Return whether two paths lead to the same file; False for a device or pipe."""
    if first.exists() and not first.is_file():
        return False
    return os.path.realpath(first) == os.path.realpath(second)
