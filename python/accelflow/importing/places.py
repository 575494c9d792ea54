"""Check that an import overwrites none of its inputs, and no file of another service."""

from __future__ import annotations

import filecmp
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from accelflow.errors import InputError, refused
from accelflow.importing.workloads import Tree, read_workload

__all__ = ["check_companions", "check_existing"]

#: A place in a workload, and the file that it names there.
_Named = tuple[str, str]


def check_companions(
    tree: Tree, names: Mapping[str, str], out: Path, inputs: Iterable[Path]
) -> None:
    """Raise InputError if an import to the workload file `out` would write over a file in use.

    The import writes companion files, such as tables of arrivals, beside `out`. `tree` is the
    workload's content, and `names` maps the name that `tree` has for each companion to the name of
    the file to write. No companion may be one of `inputs`, the files that the import reads, or a
    file that another part of `tree` names.
    """
    read = {os.path.realpath(path) for path in inputs}
    others = {
        os.path.realpath(out.parent / name): place
        for place, name in _named(tree)
        if name not in names and "\0" not in name
    }
    for name in names.values():
        path = os.path.realpath(out.parent / name)
        if path in read:
            raise _needed(out, name, "is a file that it reads")
        if path in others:
            raise _needed(out, name, f"is already named by {others[path]} of the workload")


def check_existing(tree: Tree, made: Mapping[str, Path], out: Path) -> None:
    """Raise InputError if a file written beside the workload `out` would replace an unrelated one.

    `made` maps the name of each such companion file to the path of the temporary file with its
    content. An existing file may be replaced if its content is equal, or if the old workload in
    `out` names the file for the same service as the new workload, `tree`.
    """
    before = _before(out)
    for name, new in made.items():
        old = out.parent / name
        if not os.path.lexists(old):
            continue
        if old.is_file() and filecmp.cmp(old, new, shallow=False):
            continue
        if not _services(tree, name) & _services(before, name):
            raise _needed(out, name, "exists and is no file of the same service in that workload")


def _needed(out: Path, name: str, why: str) -> InputError:
    allowed = f"must be another file: the import would also write {out.parent / name}, which {why}"
    return refused("--out", str(out), allowed)


def _before(out: Path) -> Tree:
    try:
        return read_workload(out)
    except InputError:  # there is none, or it is no workload
        return {}


def _services(tree: Tree, name: str) -> set[str]:
    """The services of `tree` whose arrivals are the file `name`."""
    return {
        service["name"]
        for service in tree.get("services", [])
        if any(each == name for _, each in _named(service))
    }


def _named(value: Any, place: str = "") -> Iterator[_Named]:
    """Yield the places in `value`, a workload's tree, that name a file, and these names."""
    if isinstance(value, dict):
        for key, each in value.items():
            inner = f"{place}.{key}" if place else key
            if isinstance(each, str):
                if key in {"file", "histogram_file", "module"}:
                    yield inner, each
            else:
                yield from _named(each, inner)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _named(each, f"{place}[{index}]")
