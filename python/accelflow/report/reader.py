"""A checked reader of JSON results: an error names the place of the wrong value."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from accelflow.errors import LEFT_OUT, refused

__all__ = ["Interval", "Reader", "reject_repeats"]

_Wanted = TypeVar("_Wanted")

#: The words for JSON types in error messages.
_JSON_TYPES: Final[Mapping[type, str]] = {
    bool: "true or false",
    dict: "an object",
    float: "a number",
    int: "a whole number",
    list: "a list",
    str: "a string",
}

#: The largest share that is read: a mean of shares of 1 over several seeds is rounded.
_MOST_SHARE: Final = 1 + 1e-9


class Interval(NamedTuple):
    """A 95 % confidence interval of a result over several seeds, from `low` to `high`.

    For a mean over the seeds, it is Student's t interval. For a percentile of the responses of all
    seeds together, it is a jackknife interval.
    """

    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half of the distance from `low` to `high`."""
        return (self.high - self.low) / 2


def reject_repeats(names: Sequence[str], place: str, what: str) -> None:
    """Raise InputError if a name appears twice in `names`.

    The message says where in the file the names are (`place`) and what they name (`what`).
    """
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise refused(f"{place}: {what}", repeated, "must not be repeated")


class Reader:
    """A reader of one object of a JSON file, which checks each value that it reads.

    Its methods raise InputError if a member is missing or has another type or range, unless their
    description says otherwise. The message names the place in the file.
    """

    def __init__(self, value: object, place: str) -> None:
        """Make a reader of the object `value`, which stands at `place` in the file.

        Raises InputError if `value` is not an object.
        """
        if not isinstance(value, Mapping):
            raise refused(place, value, "must be an object")
        self.value = value
        self.place = place

    def get(self, key: str, wanted: type[_Wanted]) -> _Wanted:
        """Return the value of `key`, which must have the type `wanted`.

        Raises InputError if it is missing or has another type.
        """
        if key not in self.value:
            raise refused(f"{self.place}.{key}", LEFT_OUT, "must be given")
        value = self.value[key]
        if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
            raise refused(f"{self.place}.{key}", value, f"must be {_JSON_TYPES[wanted]}")
        return value

    def has(self, key: str) -> bool:
        """Return whether the object has a member `key`, even if it is null."""
        return key in self.value

    def holds(self, key: str) -> bool:
        """Return whether the object has a member `key` that is not null."""
        return self.value.get(key) is not None

    def texts(self, key: str) -> tuple[str, ...]:
        """Return the value of `key`, a list of strings. Raises InputError otherwise."""
        values = self.get(key, list)
        if not all(isinstance(value, str) for value in values):
            raise refused(f"{self.place}.{key}", values, "must be a list of strings")
        return tuple(values)

    def get_or_none(self, key: str, wanted: type[_Wanted]) -> _Wanted | None:
        """Return the value of `key`, which must have the type `wanted`; None if it is null."""
        return None if self.value.get(key, 0) is None else self.get(key, wanted)

    def number(self, key: str) -> float:
        """Return the value of `key`, a finite number that is not negative.

        Raises InputError otherwise.
        """
        whole = type(self.value.get(key)) is int  # some writers of JSON turn 1.0 into 1
        value = self.get(key, int) if whole else self.get(key, float)
        if not math.isfinite(value) or value < 0:
            raise refused(f"{self.place}.{key}", value, "must be finite and not negative")
        return float(value)

    def number_or_none(self, key: str) -> float | None:
        """Return the value of `key`, a finite number that is not negative; None if it is null."""
        return None if self.value.get(key, 0) is None else self.number(key)

    def share(self, key: str) -> float:
        """Return the value of `key`, a number from 0 to 1. Raises InputError otherwise."""
        value = self.number(key)
        if value > _MOST_SHARE:
            raise refused(f"{self.place}.{key}", value, "must be from 0 to 1")
        return value

    def text(self, key: str) -> str:
        """Return the value of `key`, a string. Raises InputError otherwise."""
        return self.get(key, str)

    def flag(self, key: str) -> bool:
        """Return the value of `key`, true or false. Raises InputError otherwise."""
        return self.get(key, bool)

    def count(self, key: str) -> int:
        """Return the value of `key`, a whole number that is not negative.

        Raises InputError otherwise.
        """
        value = self.get(key, int)
        if value < 0:
            raise refused(f"{self.place}.{key}", value, "must not be negative")
        return value

    def counts(self, key: str) -> tuple[int, ...]:
        """Return the value of `key`, a list of whole numbers that are not negative."""
        return tuple(Reader({key: value}, self.place).count(key) for value in self.get(key, list))

    def numbers(self, key: str) -> tuple[float, ...]:
        """Return the value of `key`, a list of finite numbers that are not negative."""
        return tuple(Reader({key: value}, self.place).number(key) for value in self.get(key, list))

    def interval(self, key: str) -> Interval:
        """Return the value of `key`, a list of two finite numbers in ascending order."""
        ends = self.get(key, list)
        numbers = [end for end in ends if isinstance(end, float | int) and math.isfinite(end)]
        if len(ends) != 2 or len(numbers) != 2 or numbers[0] > numbers[1]:
            allowed = "must be two finite numbers, the smaller first"
            raise refused(f"{self.place}.{key}", ends, allowed)
        return Interval(*numbers)

    def inner_if_any(self, key: str) -> Reader:
        """Return a reader of the object at `key`; if `key` is missing, one of an empty object."""
        return Reader(self.value.get(key, {}), f"{self.place}.{key}")

    def optional(
        self, key: str, absent: _Wanted, read: Callable[[Reader, str], _Wanted]
    ) -> _Wanted:
        """Return `read(self, key)`, or the value `absent` if the member `key` is missing."""
        return read(self, key) if key in self.value else absent

    def mapping(self, key: str) -> Mapping[str, Any]:
        """Return the value of `key`, a JSON object. Raises InputError otherwise."""
        return self.get(key, dict)

    def each(self, key: str, read: Callable[[Reader, str], _Wanted]) -> Mapping[str, _Wanted]:
        """Read each member of the object at `key`; return the results by the member's name.

        `read` receives a reader of that object and the member's name.
        """
        inner = Reader(self.mapping(key), f"{self.place}.{key}")
        return {name: read(inner, name) for name in inner.value}

    def each_if_any(
        self, key: str, read: Callable[[Reader, str], _Wanted]
    ) -> Mapping[str, _Wanted]:
        """Read members as :meth:`each` does; return none if `key` is missing or null."""
        return {} if self.value.get(key) is None else self.each(key, read)

    def items(self, key: str) -> list[Reader]:
        """Return readers of the objects in the list at `key`, which must not be empty."""
        values = self.get(key, list)
        if not values:
            raise refused(f"{self.place}.{key}", values, "must have at least one entry")
        return [Reader(value, f"{self.place}.{key}[{index}]") for index, value in enumerate(values)]
