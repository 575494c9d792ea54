"""Workloads as files: services with their paths, arrivals, sizes, costs and waits.

A workload's file is TOML (`docs/workloads.md`). :func:`read_workload` makes a tree of plain dicts
and lists of it, with the names of the file's fields; :func:`write_workload` writes such a tree.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from accelflow import _native
from accelflow.errors import AccelflowError, InputError
from accelflow.files import read_text, why, write_whole

__all__ = ["read_workload", "workload_schema", "workload_text", "write_workload"]


def read_workload(path: str | PathLike[str]) -> dict[str, Any]:
    """Return the tree of the workload in the file at `path`, TOML or JSON.

    Files that it names (traces, recordings, CSV) are not read. Raises InputError for a file that
    cannot be read, and for the first value that is not allowed, with its line and column.
    """
    place = str(path)
    try:
        text = read_text(Path(path))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{place}: {why(error)}") from error
    try:
        tree: dict[str, Any] = json.loads(_native.workload_read(text, place))
    except AccelflowError as error:
        raise InputError(str(error)) from error
    return tree


def workload_text(workload: Mapping[str, Any]) -> str:
    """Return canonical TOML of the tree `workload`; :func:`read_workload` reads the same tree.

    Raises InputError for a value that is not allowed.
    """
    try:
        return _native.workload_write(json.dumps(workload, allow_nan=False))
    except (TypeError, ValueError, RecursionError, AccelflowError) as error:
        raise InputError(str(error)) from error


def write_workload(workload: Mapping[str, Any], path: str | PathLike[str]) -> None:
    """Write the tree `workload` to the file at `path` as canonical TOML, whole or not at all.

    Raises InputError for a value that is not allowed, and for a file that cannot be written.
    """
    text = workload_text(workload)
    try:
        write_whole(Path(path), lambda place: place.write_text(text, encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {why(error)}") from error


def workload_schema() -> str:
    """Return the JSON Schema of a workload's file, as text."""
    return _native.workload_schema()
