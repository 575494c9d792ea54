"""Checked reading of results files: a refusal names the place of the wrong value."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from accelflow.errors import LEFT_OUT, refused

__all__ = ["Interval", "Reader", "reject_repeats"]

_Wanted = TypeVar("_Wanted")

#: What refusals call the types of JSON.
_JSON_TYPES: Final[Mapping[type, str]] = {
    bool: "true or false",
    dict: "an object",
    float: "a number",
    int: "a whole number",
    list: "a list",
    str: "a string",
}


class Interval(NamedTuple):
    """A 95 % confidence interval of a mean over seeds, from `low` to `high`, by Student's t."""

    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half the distance from `low` to `high`."""
        return (self.high - self.low) / 2


def reject_repeats(names: Sequence[str], place: str, what: str) -> None:
    """Raise InputError if one of the `names` at `place` is repeated; `what` is their kind."""
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise refused(f"{place}: {what}", repeated, "must not be repeated")


class Reader:
    """An object of a results file, whose values are checked when they are read.

    Methods take the key of a value, and raise InputError with the value's place in the file if it
    is missing or not of the type that they return.
    """

    def __init__(self, value: object, place: str) -> None:
        """Read `value`, which is at `place`. Raises InputError if it is not an object."""
        if not isinstance(value, Mapping):
            raise refused(place, value, "must be an object")
        self.value = value
        self.place = place

    def get(self, key: str, wanted: type[_Wanted]) -> _Wanted:
        """Return the value of `key`; InputError if it is missing or not of type `wanted`."""
        if key not in self.value:
            raise refused(f"{self.place}.{key}", LEFT_OUT, "must be given")
        value = self.value[key]
        if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
            raise refused(f"{self.place}.{key}", value, f"must be {_JSON_TYPES[wanted]}")
        return value

    def has(self, key: str) -> bool:
        """Return whether the object has `key`; its value may be null."""
        return key in self.value

    def holds(self, key: str) -> bool:
        """Return whether the object has `key` with a value other than null."""
        return self.value.get(key) is not None

    def texts(self, key: str) -> tuple[str, ...]:
        """Return the list of strings at `key`."""
        values = self.get(key, list)
        if not all(isinstance(value, str) for value in values):
            raise refused(f"{self.place}.{key}", values, "must be a list of strings")
        return tuple(values)

    def get_or_none(self, key: str, wanted: type[_Wanted]) -> _Wanted | None:
        """Return the value of `key`, or None if it is null."""
        return None if self.value.get(key, 0) is None else self.get(key, wanted)

    def number(self, key: str) -> float:
        """Return the number at `key`, which must be finite and not negative."""
        whole = type(self.value.get(key)) is int  # some writers of JSON turn 1.0 into 1
        value = self.get(key, int) if whole else self.get(key, float)
        if not math.isfinite(value) or value < 0:
            raise refused(f"{self.place}.{key}", value, "must be finite and not negative")
        return float(value)

    def number_or_none(self, key: str) -> float | None:
        """Return the number at `key`, or None if it is null."""
        return None if self.value.get(key, 0) is None else self.number(key)

    def count(self, key: str) -> int:
        """Return the whole number at `key`, which must not be negative."""
        value = self.get(key, int)
        if value < 0:
            raise refused(f"{self.place}.{key}", value, "must not be negative")
        return value

    def counts(self, key: str) -> tuple[int, ...]:
        """Return the list at `key` of whole numbers that are not negative."""
        return tuple(Reader({key: value}, self.place).count(key) for value in self.get(key, list))

    def numbers(self, key: str) -> tuple[float, ...]:
        """Return the list at `key` of finite numbers that are not negative."""
        return tuple(Reader({key: value}, self.place).number(key) for value in self.get(key, list))

    def interval(self, key: str) -> Interval:
        """Return the confidence interval at `key`, a list of its lower and its upper end."""
        ends = self.get(key, list)
        numbers = [end for end in ends if isinstance(end, float | int) and math.isfinite(end)]
        if len(ends) != 2 or len(numbers) != 2 or numbers[0] > numbers[1]:
            raise refused(
                f"{self.place}.{key}", ends, "must be a list of two numbers, the lower one first"
            )
        return Interval(*numbers)

    def inner_if_any(self, key: str) -> Reader:
        """Return the object at `key`, or an empty one if there is none."""
        return Reader(self.value.get(key, {}), f"{self.place}.{key}")

    def optional(
        self, key: str, absent: _Wanted, read: Callable[[Reader, str], _Wanted]
    ) -> _Wanted:
        """Return the value at `key`, read by the method `read`, or `absent` if there is none."""
        return read(self, key) if key in self.value else absent

    def mapping(self, key: str) -> Mapping[str, Any]:
        """Return the object at `key`."""
        return self.get(key, dict)

    def each(self, key: str, read: Callable[[Reader, str], _Wanted]) -> Mapping[str, _Wanted]:
        """Return the members of the object at `key`, each read by the method `read`."""
        inner = Reader(self.mapping(key), f"{self.place}.{key}")
        return {name: read(inner, name) for name in inner.value}

    def each_if_any(
        self, key: str, read: Callable[[Reader, str], _Wanted]
    ) -> Mapping[str, _Wanted]:
        """Return the members as :meth:`each` does; none if the object is missing or null."""
        return {} if self.value.get(key) is None else self.each(key, read)

    def items(self, key: str) -> list[Reader]:
        """Return the objects in the list at `key`, which must not be empty."""
        values = self.get(key, list)
        if not values:
            raise refused(f"{self.place}.{key}", values, "must have at least one entry")
        return [Reader(value, f"{self.place}.{key}[{index}]") for index, value in enumerate(values)]
