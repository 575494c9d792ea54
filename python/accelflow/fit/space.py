"""The search space of `accelflow fit`: the bounds of parameters, and the optimiser."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from accelflow import simulation
from accelflow.errors import AccelflowError, one_of, refused
from accelflow.reproduce import Scenario

__all__ = ["Bound", "Optimiser", "Place", "bounds", "free_bounds", "scenario_of", "values_of"]

#: A value in the search: a number, or the name of a choice.
Value = float | str

#: The first standard deviation of the search, as a share of a parameter's range.
_FIRST_SPREAD = 0.3
#: The probability of a choice's default in the first generation.
_FIRST_CHOICE = 0.5


@dataclass(frozen=True)
class Bound:
    """The values that a search tries for the parameter `name`: `low` to `high`, or `choices`.

    A range excludes 0, since it is searched on a logarithmic scale. With `whole`, only whole
    numbers are tried. Choices are names or numbers; a parameter without choices has an empty tuple.
    `source` is the reason for these bounds.
    """

    name: str
    low: float
    high: float
    choices: tuple[Value, ...]
    source: str
    whole: bool = False

    def place(self, value: float) -> float:
        """Return the position of `value` from `low` (0) to `high` (1) on a logarithmic scale.

        Values below `low` have the position 0, values above `high` the position 1.
        """
        inside = min(max(value, self.low), self.high)
        return math.log(inside / self.low) / math.log(self.high / self.low)

    def has(self, value: Value) -> bool:
        """Return whether the search may try `value`: a choice, or a number within the range."""
        if self.choices or isinstance(value, str):
            return value in self.choices
        return self.low <= value <= self.high

    def at(self, place: float) -> float:
        """Return the number at the position `place` between `low` (0) and `high` (1).

        Positions are on a logarithmic scale: 0.5 between 1 and 100 is 10. A position below 0 gives
        `low`, and one above 1 gives `high`. The number is rounded to a whole number with `whole`,
        else to four digits.
        """
        value = self.low * (self.high / self.low) ** min(max(place, 0.0), 1.0)
        return float(round(value)) if self.whole else float(f"{value:.4g}")


@cache
def bounds() -> tuple[Bound, ...]:
    """Return the bounds of all parameters that are searched, in the order of ``bounds.toml``."""
    text = resources.files("accelflow.fit").joinpath("bounds.toml").read_text(encoding="utf-8")
    whole = {parameter.key for parameter in simulation.parameters() if parameter.whole}
    return tuple(
        Bound(
            name=name,
            low=given.get("low", 0.0),
            high=given.get("high", 0.0),
            choices=tuple(given.get("choices", ())),
            source=given["source"],
            whole=name in whole,
        )
        for name, given in tomllib.loads(text).items()
    )


def free_bounds(fixed: Mapping[str, Value]) -> list[Bound]:
    """Return the bounds of the parameters that a search varies: all except those in `fixed`.

    `fixed` maps names of parameters to their values. Raises InputError if no parameter is left, if
    a fixed parameter has no bounds, or if its value is not one of its choices or not a number.
    """
    by_name = {bound.name: bound for bound in bounds()}
    for name, value in fixed.items():
        choices = by_name[one_of("fixed", name, by_name)].choices
        if choices and value not in choices:
            raise refused(name, value, known=[_text(choice) for choice in choices])
        if not choices and isinstance(value, str):
            raise refused(name, value, "must be a number")
    free = [bound for bound in bounds() if bound.name not in fixed]
    if not free:
        raise refused("fixed", list(fixed), "must leave at least one parameter to search")
    return free


def _text(value: Value) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def values_of(scenario: Scenario, free: Sequence[Bound]) -> dict[str, Value]:
    """Return the values of the parameters `free` in `scenario`, by the parameter's name.

    A value that has a name is returned as this name, such as ``random``.
    """
    fields = scenario.to_dict()
    known = {parameter.key: parameter for parameter in simulation.parameters()}

    def value(bound: Bound) -> Value:
        if "." not in bound.name:
            field: Value = fields[bound.name]
            return field
        parameter = known[bound.name]
        number = scenario.config.get(bound.name, parameter.default)
        names = [
            choice.name for choice in parameter.choices if choice.value == number and choice.name
        ]
        return names[0] if names else number

    return {bound.name: value(bound) for bound in free}


def scenario_of(values: Mapping[str, Value]) -> Scenario:
    """Return the default scenario, changed by `values`, which maps parameters to their values.

    Names with a dot are parameters of the server, others are fields of the scenario. Raises
    InputError for a value that is not allowed.
    """
    config = simulation.configured({key: value for key, value in values.items() if "." in key})
    rest: dict[str, Any] = {key: value for key, value in values.items() if "." not in key}
    default = Scenario()
    scenario = replace(default, **rest, config={**default.config, **config})
    scenario.check()
    return scenario


@dataclass(frozen=True)
class Place:
    """A point (a set of parameter values) that the optimiser proposes.

    `values` maps names of parameters to values. `asked` is the optimiser's own object for the
    point, which it needs back with the result.
    """

    values: Mapping[str, Value]
    asked: Any


class Optimiser:
    """An optimiser over numbers and choices: CatCMA with margin, from the package ``cmaes``.

    :meth:`ask` proposes a generation of points. :meth:`tell` takes their distances from the paper,
    which the optimiser minimises. Equal seeds and distances give equal points.
    """

    def __init__(self, free: Sequence[Bound], start: Mapping[str, Value], seed: int) -> None:
        """Make an optimiser of the parameters `free` that begins around the values `start`.

        Raises AccelflowError if the package ``cmaes`` is not installed.
        """
        try:
            from cmaes import CatCMAwM  # noqa: PLC0415 (only a search needs it)
        except ImportError as error:
            raise AccelflowError(
                "accelflow fit needs the Python package cmaes, which is not installed "
                f"({error}); `pip install cmaes` installs it"
            ) from error
        self._numbers = [bound for bound in free if not bound.choices]
        self._choices = [bound for bound in free if bound.choices]
        self._engine = CatCMAwM(
            x_space=[[0.0, 1.0]] * len(self._numbers) or None,
            c_space=[len(bound.choices) for bound in self._choices] or None,
            mean=self._mean(start),
            cat_param=self._likely(start),
            sigma=_FIRST_SPREAD if self._numbers else None,
            # The default has no spread if the search begins at the end of a range.
            cov=np.eye(len(self._numbers)) if self._numbers else None,
            seed=seed,
        )

    def _mean(self, start: Mapping[str, Value]) -> Any:
        """Return the first position of each number; None without numbers."""
        places = [bound.place(float(start[bound.name])) for bound in self._numbers]
        return np.array(places) if places else None

    def _likely(self, start: Mapping[str, Value]) -> Any:
        """Return the first probabilities of choices, in rows padded with zeros, or None."""
        if not self._choices:
            return None
        likely = np.zeros((len(self._choices), max(len(bound.choices) for bound in self._choices)))
        for row, bound in zip(likely, self._choices, strict=True):
            count = len(bound.choices)
            row[:count] = 1.0 / count
            if start[bound.name] in bound.choices:
                row[:count] = (1.0 - _FIRST_CHOICE) / (count - 1)
                row[bound.choices.index(start[bound.name])] = _FIRST_CHOICE
        return likely

    @property
    def generation_size(self) -> int:
        """The number of points that :meth:`ask` proposes together."""
        return int(self._engine.population_size)

    def ask(self) -> list[Place]:
        """Return the points of the next generation."""
        return [self._place(self._engine.ask()) for _ in range(self.generation_size)]

    def tell(self, found: Sequence[tuple[Place, float]]) -> None:
        """Give the optimiser the finite distance from the paper of each point of a generation."""
        self._engine.tell([(place.asked, distance) for place, distance in found])

    def _place(self, asked: Any) -> Place:
        values: dict[str, Value] = {}
        for index, bound in enumerate(self._numbers):
            values[bound.name] = bound.at(float(asked.x[index]))
        for index, bound in enumerate(self._choices):
            values[bound.name] = bound.choices[int(asked.c[index].argmax())]
        return Place(values, asked)
