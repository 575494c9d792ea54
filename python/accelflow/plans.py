"""Read ARCUS's plan files, and name the place of a refused value in them.

The crate ``accelflow-arcus`` (module ``plan``) defines what a plan may contain.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, Final

from accelflow import _native
from accelflow.errors import InputError, file_path, place_in, refused, with_schema
from accelflow.files import parse_json, parse_toml, read_text, why

__all__ = [
    "PROFILES",
    "STORAGE",
    "plan_json",
    "plan_schema",
    "plans_place",
    "read_json",
    "read_toml",
]

#: The name that stands for an accelerator in flows that go directly to the storage.
STORAGE: Final = "storage"
#: The schema of the results of :func:`accelflow.arcus.profile`.
PROFILES: Final = "accelflow.arcus.profiles/3"


class FromFile(dict[str, Any]):
    """The content of a file as a dict, with the file's path and text for error messages."""

    def __init__(self, content: Mapping[str, Any], path: Path, text: str) -> None:
        """Keep the parsed `content` of the file at `path`, and the file's `text`."""
        super().__init__(content)
        self.path = path
        self.text = text


class PlanError(InputError):
    """A value in a plan that is not allowed, with the keys that lead to it."""

    def __init__(self, message: str, *keys: str | int) -> None:
        """Take the message, and the names of fields and indices of lists that lead to the value."""
        super().__init__(message, place_in(message))
        self.keys = keys


def read_toml(path: str | PathLike[str]) -> FromFile:
    """Read a plan for :func:`accelflow.arcus.plan` from a TOML file.

    Raises InputError for text that is not TOML, and OSError for a file that cannot be read.
    """
    path = file_path("path", path)
    try:
        text = read_text(path)
        return FromFile(parse_toml(text), path, text)
    except ValueError as error:
        raise InputError(f"{path}: {why(error)}") from error


def read_json(path: str | PathLike[str]) -> FromFile:
    """Read a result of :func:`accelflow.arcus.profile` from a JSON file.

    Raises InputError for a file with other contents, and OSError for one that cannot be read.
    """
    path = file_path("path", path)
    try:
        text = read_text(path)
        table = parse_json(text)
    except ValueError as error:
        raise InputError(f"{path}: {error}") from error
    return FromFile(with_schema(path, table, [PROFILES], "accelflow arcus profile"), path, text)


@contextmanager
def plans_place(source: object) -> Iterator[None]:
    """Add file, line and column to errors of the ``with`` block about values of `source`.

    `source` is a plan or a result of :func:`accelflow.arcus.profile`. If it does not come from a
    file, errors are unchanged. Errors about a result of ``profile`` get the file alone.
    """
    try:
        yield
    except InputError as error:
        if not isinstance(source, FromFile):
            raise
        place = None
        if isinstance(error, PlanError) and error.keys:
            place = _native.toml_place(source.text, list(error.keys))
        where = f"{source.path}{''.join(f':{number}' for number in place or ())}: "
        setting = None if error.place is None else f"{where}{error.place}"
        raise InputError(f"{where}{error}", setting) from error


def plan_json(request: object) -> str:
    """Check the plan `request` for :func:`accelflow.arcus.plan`, and return it as JSON.

    Raises PlanError for a plan that is not allowed; the message names the table, the field, the
    value and the rule. Raises InputError for a `request` that is no mapping.
    """
    if not isinstance(request, Mapping):
        raise refused("plan", request, "must be a dict with the tables of a plan")
    text = json.dumps(_plain(request, "plan", ()))
    found = _native.arcus_plan_refusal(text)
    if found is not None:
        refusal = json.loads(found)
        raise PlanError(refusal["message"], *refusal["keys"])
    return text


def _plain(value: object, place: str, keys: tuple[str | int, ...]) -> object:
    """Return `value` with only what JSON can express. Raises PlanError for other values."""
    if isinstance(value, Mapping):
        table = f"{keys[-2]} '{value.get('name')}'" if len(keys) == 2 else place
        return {
            str(key): _plain(item, f"{table}: {key}", (*keys, key)) for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_plain(item, place, (*keys, number)) for number, item in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        raise PlanError(str(refused(place, value, "must be a finite number")), *keys)
    if value is None or isinstance(value, str | int | float):
        return value
    raise PlanError(str(refused(place, value, "must be text, a number, a list or a table")), *keys)


def plan_schema() -> str:
    """Return the JSON Schema of files with plans for `accelflow arcus`, as text with a newline."""
    return _native.arcus_plan_schema()
