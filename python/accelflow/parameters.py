"""The parameters of all engines, and settings for the simulated server.

Only the engines check values. This module converts the engines' descriptions of parameters to
Python objects.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from accelflow import _native
from accelflow.errors import (
    AccelflowError,
    InputError,
    finite_number,
    refusals,
    refused,
    whole_number,
)

__all__ = [
    "CUSTOM",
    "SIZES",
    "Choice",
    "Engine",
    "Parameter",
    "accelerators",
    "canonical",
    "check_count",
    "check_numbers",
    "checked",
    "configured",
    "engine",
    "engines",
    "flattened",
    "parameters",
    "settings",
]

#: Parameters that set the size of one accelerator, as in ``pes.TCP``; with 0, the chip has no such
#: accelerator.
SIZES: Final = ("instances", "pes", "input_entries", "output_entries")
#: The name in keys that stands for every custom accelerator, as in ``pes.own``.
CUSTOM: Final = "own"


def accelerators() -> tuple[str, ...]:
    """Return the names of the paper's nine accelerators."""
    speedup = "speedup."
    keys = (parameter.key for parameter in parameters())
    names = (key.removeprefix(speedup) for key in keys if key.startswith(speedup))
    return tuple(name for name in names if name != CUSTOM)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One of the values that a parameter may have, if they are listed one by one.

    `value` is its number in results. `name` is the name that users write, empty if they write the
    number. `meaning` explains the choice; it is empty if name or number suffice.
    """

    value: float
    name: str
    meaning: str

    @property
    def label(self) -> str:
        """Return the name, or the number if there is no name."""
        return self.name or f"{self.value:g}"


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A parameter of a simulator or model: its key, range, default, and the default's source.

    `key` is its name, and `also` another spelling of the name, or empty: ``accelerator.TCP.pes``
    for ``pes.TCP``. Values are in `unit`, empty for a bare number. `kind` is number, whole, choice,
    switch or fixed (a constant of the model). Without a setting, the value is `default`. Values are
    from `min` to `max`, or one of `choices`; `whole` is true for whole numbers only, and `allowed`
    has all this in words. `provenance` is the kind of source of the default: paper, derived,
    measured or assumed. `source` names the place in the paper or elsewhere, and `why` has the
    arithmetic or the reason.
    """

    key: str
    also: str = ""
    unit: str
    kind: str
    default: float
    min: float
    max: float
    whole: bool
    allowed: str
    provenance: str
    source: str
    why: str
    choices: tuple[Choice, ...] = ()

    def text(self, value: float) -> str:
        """Return `value` as users write it: the name of a choice, or a number."""
        labels = (choice.label for choice in self.choices if choice.value == value)
        return next(labels, f"{value:.0f}" if value.is_integer() else f"{value:g}")

    def unit_of(self, value: float) -> str:
        """Return the unit to print after `value`; empty for a choice that has a name."""
        named = any(choice.name for choice in self.choices if choice.value == value)
        return "" if named else self.unit


@dataclass(frozen=True, kw_only=True)
class Engine:
    """One of accelflow's simulators or models, and its `parameters`.

    `engine` is its identifier and `title` its name in tables. Keys of parameters begin with the
    identifier and a dot; only those of the simulated server have no prefix.
    """

    engine: str
    title: str
    parameters: tuple[Parameter, ...]


def parameters() -> list[Parameter]:
    """Return every parameter of the simulated server."""
    return list(_simulation())


def engines(tcp_cost_ns: float) -> list[Engine]:
    """Return every simulator and model with its parameters, and last the profile ``paper``.

    The profile has the costs of all operations on a core by the paper's shares, if one operation of
    TCP takes `tcp_cost_ns` ns. Raises InputError if `tcp_cost_ns` is not from 0.001 to 1e9.
    """
    with refusals():
        return list(_engines(_native.parameters(finite_number("tcp_cost_ns", tcp_cost_ns))))


def engine(name: str) -> Engine:
    """Return the engine `name` with its parameters. The profile ``paper`` is not an engine here.

    Raises InputError for an unknown name.
    """
    known = _known()
    if name not in known:
        raise refused("engine", name, known=known)
    return known[name]


@cache
def _known() -> Mapping[str, Engine]:
    return {found.engine: found for found in _engines(_native.parameters())}


@cache
def _simulation() -> tuple[Parameter, ...]:
    return _known()["simulation"].parameters


def _engines(text: str) -> Iterator[Engine]:
    for engine in json.loads(text):
        rows = tuple(map(_parameter, engine["parameters"]))
        yield Engine(**engine | {"parameters": rows})


def _parameter(row: Mapping[str, Any]) -> Parameter:
    choices = tuple(Choice(**choice) for choice in row["choices"])
    return Parameter(**{**row, "choices": choices})


def check_numbers(
    of: str, settings: object, fields: Iterable[str], *, group: str = "", place: str = ""
) -> None:
    """Raise InputError if a number in the given fields of `settings` is out of range.

    `fields` are the names of the fields. The range of each is that of a parameter of the simulator
    or model `of`, whose key is `of`, a dot, `group` and the field's name. The message begins with
    `place` and the field's name.
    """
    for name in fields:
        parameter, value = _parameter_of(of, f"{group}{name}"), getattr(settings, name)
        types = (int,) if parameter.whole else (int, float)
        if isinstance(value, bool) or not isinstance(value, types):
            raise refused(f"{place}{name}", value, f"must be {parameter.allowed}")
        try:
            _native.parameter_value(of, f"{group}{name}", value)
        except AccelflowError as error:
            raise InputError.of(error).at(f"{place}{name}") from error


def check_count(of: str, name: str, value: int | None) -> None:
    """Check that `value` is allowed as a count, such as a number of threads.

    `name` names the parameter of the simulator or model `of` that sets this count. Raises
    InputError unless `value` is a whole number from 1 to the parameter's largest value, or None,
    which stands for the default.
    """
    if value is not None:
        whole_number(name, value, 1, int(_parameter_of(of, name).max))


def _parameter_of(of: str, name: str) -> Parameter:
    found = (each for each in engine(of).parameters if each.key == f"{of}.{name}")
    return next(found)


def settings(tree: Mapping[str, Any], path: Path) -> dict[str, float]:
    """Return the parameters that a TOML file sets: values by the parameter's key.

    `tree` has the tables of the file at `path`. The form is that of a chip's file:
    ``[accelerator]`` with ``pes = 4`` sets ``accelerator.pes``. A choice is set by its name, such
    as ``core.balancing = "random"``. Raises InputError for an unknown key, for a value that is not
    allowed, and for a key that is set twice. The message begins with `path`.
    """
    try:
        values = flattened(tree)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    return configured(values, f"{path}: ")


def flattened(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the nested tables `tree` by key with dots, such as ``accelerator.pes``.

    An empty table sets nothing. But an empty table in the place of a parameter's value is returned
    as the value, so that later checks refuse it. Raises InputError for a key that is set twice.
    """
    found: dict[str, Any] = {}
    for key, value in _flatten(tree, ""):
        if key in found:  # "a.b" in quotes and b in [a] are two keys to TOML
            raise refused(key, value, f"must be set only once, as '{key}' or in a table")
        found[key] = value
    return found


def _flatten(tree: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and (value or f"{name}." in _groups()):
            yield from _flatten(value, f"{name}.")
        else:
            yield name, value


@cache
def _groups() -> frozenset[str]:
    """Return the beginnings of keys that are tables of parameters, such as ``accelerator.``."""
    keys = (key for each in parameters() for key in (each.key, each.also))
    return frozenset(key[: dot + 1] for key in keys for dot, sign in enumerate(key) if sign == ".")


def canonical(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return `values` of the simulated server's parameters with the short spelling of each key.

    ``accelerator.TCP.pes`` becomes ``pes.TCP``. A key that is set in both spellings and an unknown
    key stay as they are: later checks refuse them.
    """
    keys = {each.also: each.key for each in parameters() if each.also}
    named = {name: keys.get(name, name) for name in values}
    return {
        key if key == name or key not in values else name: values[name]
        for name, key in named.items()
    }


def configured(values: Mapping[str, Any], place: str = "") -> dict[str, float]:
    """Check `values` of the simulated server's parameters, and return them as numbers by key.

    `values` has them by key, in either spelling: ``accelerator.TCP.pes`` or ``pes.TCP``. The result
    has the short one. A choice is set by its name. Raises InputError as :func:`checked` does, with
    a message that begins with `place`.
    """
    return checked("simulation", values, place)


def checked(engine: str, values: Mapping[str, Any], place: str = "") -> dict[str, float]:
    """Check `values` of parameters of the simulator or model `engine`; return numbers by key.

    Keys do not have the prefix of the engine's name. A choice is set by its name. The simulated
    server's parameter of one accelerator may be spelt ``accelerator.TCP.pes`` or ``pes.TCP``; the
    returned key is ``pes.TCP``. Raises InputError, with a message that begins with `place`, for an
    unknown key, a value that is not allowed, and a parameter that is set twice. Raises InputError,
    too, for `values` that are no mapping.
    """
    if not isinstance(values, Mapping):
        raise refused(
            "parameters", values, "must be a mapping from keys to values, such as {'pes': 4}"
        )
    found: dict[str, float] = {}
    spelt: dict[str, str] = {}
    for given, value in values.items():
        try:
            key, number = _value(engine, str(given), value)
        except AccelflowError as error:
            setting = None if error.place is None else f"{place}{error.place}"
            raise InputError(f"{place}{error}", setting) from error
        if key in found:
            again = f"must not be set again: {spelt[key]} already sets the same parameter"
            raise refused(f"{place}{given}", value, again)
        found[key], spelt[key] = number, str(given)
    return found


def _value(engine: str, key: str, value: object) -> tuple[str, float]:
    """Return the key and number of a parameter; the simulated server's have two spellings."""
    if engine == "simulation":
        return _native.server_setting(key, value)
    return key, _native.parameter_value(engine, key, value)
