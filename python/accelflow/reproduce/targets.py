"""What the papers report."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib import resources
from typing import Any

from accelflow.errors import InputError

__all__ = ["Target", "printed_figures", "targets", "uncovered"]

_DATA = "accelflow.experiments"


@dataclass(frozen=True)
class Target:
    """One reported result.

    `row` is its section and name, such as ``accelflow.p99_reduction.RELIEF``. `kind` is ``exact``
    for arithmetic on stated inputs and ``dynamic`` for the outcome of a simulation, and `use` of
    the latter is ``fit`` where it may inform calibration and ``check`` where it must not.
    """

    row: str
    value: float
    kind: str
    use: str | None


@cache
def targets() -> Mapping[str, Target]:
    """All reported results by row, in the order of the file; lists have a row for each place."""
    found: dict[str, Target] = {}
    for paper, sections in _read("paper-targets.toml").items():
        for section, content in sections.items():
            kind, use = content.pop("kind"), content.pop("use", None)
            for name, value in _flat(content):
                row = f"{paper}.{section}.{name}"
                found[row] = Target(row, value, kind, use)
    return found


@cache
def printed_figures() -> Mapping[str, Decimal]:
    """By row, the figure with the digits that it is stated with; lists are left out."""
    text = resources.files(_DATA).joinpath("paper-targets.toml").read_text(encoding="utf-8")
    tree = tomllib.loads(text, parse_float=Decimal)
    return {
        f"{paper}.{section}.{name}": Decimal(value)
        for paper, sections in tree.items()
        for section, content in sections.items()
        for name, value in content.items()
        if isinstance(value, Decimal | int)
    }


def _flat(content: Mapping[str, Any]) -> list[tuple[str, float]]:
    """The figures of a section with their names; lists have one for each place.

    A name such as ``speedup_x0.25`` is a table to TOML: its parts are put together again.
    """
    found: list[tuple[str, float]] = []
    for name, value in content.items():
        if isinstance(value, Mapping):
            found += [(f"{name}.{rest}", number) for rest, number in _flat(value)]
        elif isinstance(value, list):
            found += [(f"{name}[{place}]", float(one)) for place, one in enumerate(value)]
        else:
            found.append((name, float(value)))
    return found


@cache
def uncovered() -> Mapping[str, str]:
    """By row or section, why no experiment here has the result."""
    return _texts("uncovered.toml")


def _texts(name: str) -> Mapping[str, str]:
    """The texts of a file of data, each by a row or a section that exists."""
    found: dict[str, str] = _read(name)
    rows = list(targets())
    for key, text in found.items():
        if not any(row == key or row.startswith((f"{key}.", f"{key}[")) for row in rows):
            raise InputError(f"{name}: there is no row or section '{key}'")
        if not isinstance(text, str) or not text.strip():
            raise InputError(f"{name}: {key} is {text!r}; it must be a sentence")
    return found


def _read(name: str) -> dict[str, Any]:
    text = resources.files(_DATA).joinpath(name).read_text(encoding="utf-8")
    return tomllib.loads(text)
