"""A strict reader of tables in a TOML file: every key must be known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from accelflow.errors import LEFT_OUT, one_of, refused

__all__ = ["Section"]


class Section:
    """A table of a TOML file, read key by key; :meth:`end` refuses keys that were not read."""

    def __init__(self, content: Mapping[str, Any] | None, place: str) -> None:
        """Make a reader of `content`, the table at `place` of the file; None for no table."""
        self._content = dict(content or {})
        self._allowed: list[str] = []
        self.present = content is not None
        self.place = place

    def __contains__(self, key: str) -> bool:
        """Return whether the table has `key` and it was not read yet."""
        self._allowed.append(key)
        return key in self._content

    def take(self, key: str, default: Any = None) -> Any:
        """Return the value of `key`, or `default` if the key is missing.

        Raises InputError if the key is missing and `default` is None.
        """
        self._allowed.append(key)
        if key not in self._content and default is None:
            raise refused(f"{self.place}.{key}", LEFT_OUT, "must be given")
        return self._content.pop(key, default)

    def string(self, key: str, default: str | None = None) -> str:
        """Return the value of `key`, or `default` if the key is missing.

        Raises InputError for a value that is not a string, and if the key is missing and `default`
        is None.
        """
        return str(self._typed(key, str, "a string", default))

    def number(self, key: str, default: float | None = None) -> float:
        """Return the value of `key`, or `default` if the key is missing.

        Raises InputError for a value that is not a number, and if the key is missing and `default`
        is None.
        """
        return float(self._typed(key, (int, float), "a number", default))

    def flag(self, key: str) -> bool:
        """Return the value of `key`; False if the key is missing.

        Raises InputError for a value that is not true or false.
        """
        value = self.take(key, False)
        if not isinstance(value, bool):
            raise refused(f"{self.place}.{key}", value, "must be true or false")
        return value

    def strings(self, key: str) -> list[str]:
        """Return the value of `key`, a list of strings.

        Raises InputError for any other value, and if the key is missing.
        """
        value = self.take(key)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise refused(f"{self.place}.{key}", value, "must be a list of strings")
        return value

    def choice(self, key: str, allowed: Sequence[str], default: str | None = None) -> str:
        """Return the value of `key`, one of `allowed`, or `default` if the key is missing.

        Raises InputError for any other value, and if the key is missing and `default` is None.
        """
        return one_of(f"{self.place}.{key}", self.string(key, default), map(str, allowed))

    def choices(self, key: str, allowed: Sequence[str]) -> tuple[str, ...]:
        """Return the value of `key`: one or more texts of `allowed`, each at most once.

        Raises InputError for any other value, and if the key is missing.
        """
        values = self.strings(key)
        for value in values:
            one_of(f"{self.place}.{key}", value, allowed)
        if not values or len(set(values)) < len(values):
            raise refused(f"{self.place}.{key}", values, "must name one or more, each once")
        return tuple(values)

    def table(self, key: str, *, needed: bool = True) -> Section:
        """Return a reader of the table that is the value of `key`.

        If the key is missing and not `needed`, the reader is one of an empty table. Raises
        InputError if the key is missing and needed, and for a value that is not a table.
        """
        self._allowed.append(key)
        if not needed and key not in self._content:
            return Section(None, f"{self.place}.{key}")
        content = self.take(key)
        if not isinstance(content, Mapping):
            raise refused(f"{self.place}.{key}", content, "must be a table")
        return Section(content, f"{self.place}.{key}")

    def tables(self, key: str) -> list[Section]:
        """Return readers of the tables in the list `key`; empty if the key is missing.

        Raises InputError for a value that is not a list of tables.
        """
        content = self.take(key, [])
        if not isinstance(content, list) or not all(isinstance(item, Mapping) for item in content):
            raise refused(f"{self.place}.{key}", content, "must be a list of tables")
        return [Section(item, f"{self.place}.{key}[{at}]") for at, item in enumerate(content)]

    def end(self) -> None:
        """Raise InputError for the first key that was not read."""
        if self._content:
            unknown = next(iter(self._content))
            known = sorted(set(self._allowed))
            raise refused(f"{self.place}: key", unknown, "" if known else "must be left out", known)

    def _typed(self, key: str, kind: Any, what: str, default: Any) -> Any:
        value = self.take(key, default)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise refused(f"{self.place}.{key}", value, f"must be {what}")
        return value
