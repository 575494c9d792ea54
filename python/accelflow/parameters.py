"""The parameters of the simulated server: what they are, and files that set them."""

from __future__ import annotations

import json
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any

from accelflow import _native
from accelflow.errors import InputError, did_you_mean
from accelflow.files import parse_toml, read_text, why

__all__ = ["Choice", "Parameter", "configured", "parameters", "read_config", "settings"]


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A value of a parameter that has only some; `name` is empty if it has none but the number."""

    value: float
    name: str


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A parameter of the simulated server.

    `provenance` is one of paper, derived, measured and assumed; `source` names the place and `why`
    gives the arithmetic or the reason. `choices` are the only values that it can have, if they are
    not all from `min` to `max`.
    """

    key: str
    unit: str
    default: float
    min: float
    max: float
    whole: bool
    provenance: str
    source: str
    why: str
    choices: tuple[Choice, ...] = ()

    @property
    def allowed(self) -> str:
        """The values that it can have, in words."""
        if self.choices:
            *others, last = map(self.text, (choice.value for choice in self.choices))
            return f"{', '.join(others)} or {last}"
        kind = "a whole number" if self.whole else "a number"
        return f"{kind} from {self.min:g} to {self.max:g} {self.unit}".rstrip()

    def text(self, value: float) -> str:
        """`value` with its name, if it has one."""
        names = (choice.name for choice in self.choices if choice.value == value and choice.name)
        return next((f"{name} ({value:g})" for name in names), f"{value:g}")

    def number(self, value: object) -> float | None:
        """The number that `value` is, or that it is the name of; None if it is not allowed."""
        if isinstance(value, str):
            plain = value.casefold().replace("-", "_").replace(" ", "_")
            return next((it.value for it in self.choices if it.name and it.name == plain), None)
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            return None
        found = float(value)
        whole = not self.whole or found.is_integer()
        inside = self.min <= found <= self.max and whole
        if self.choices:
            inside = found in [choice.value for choice in self.choices]
        return found if inside else None


def parameters() -> list[Parameter]:
    """Every parameter of the simulated server."""
    rows = json.loads(_native.simulation_parameters())
    return [
        Parameter(**row | {"choices": tuple(Choice(**it) for it in row["choices"])}) for row in rows
    ]


def read_config(path: str | PathLike[str]) -> dict[str, float]:
    """The parameters that the TOML file at `path` sets, by key.

    ``[accelerator]`` with ``pes = 4`` sets ``accelerator.pes``. A choice may be given by its name,
    such as ``core.balancing = "random"``. Raises InputError for a file that cannot be read, is not
    TOML, or sets something that is no parameter or out of range.
    """
    path = Path(path)
    try:
        tree = parse_toml(read_text(path))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {why(error)}") from error
    return settings(tree, path)


def settings(tree: Mapping[str, Any], path: Path) -> dict[str, float]:
    """The parameters that the content of a TOML file sets, by key, as :func:`read_config`."""
    found = _flatten(tree, "")
    values = dict(found)
    if len(values) < len(found):  # "a.b" in quotes and b in [a] are two keys to TOML
        keys = [key for key, _ in found]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise InputError(f"{path}: {twice} is set twice")
    return configured(values, f"{path}: ")


def _flatten(tree: Mapping[str, Any], prefix: str) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, value in tree.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            found += _flatten(value, f"{name}.")
        else:
            found.append((name, value))
    return found


def configured(values: Mapping[str, Any], place: str = "") -> dict[str, float]:
    """The numbers that `values` give parameters, by key, where choices may be named.

    Raises InputError, with `place` in front, for an unknown key and a value that is not allowed.
    """
    known = _parameters_by_key()
    found = {}
    for key, value in values.items():
        if key not in known:
            hint = did_you_mean(str(key), known) or "; `accelflow explain` lists them all"
            raise InputError(f"{place}unknown key '{key}'{hint}")
        number = known[key].number(value)
        if number is None:
            plain = isinstance(value, int | float) and not isinstance(value, bool)
            shown = f"{value:g}" if plain else repr(value)
            raise InputError(f"{place}{key} = {shown}; must be {known[key].allowed}")
        found[key] = number
    return found


@cache
def _parameters_by_key() -> Mapping[str, Parameter]:
    return {parameter.key: parameter for parameter in parameters()}
