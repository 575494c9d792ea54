"""Which function belongs to which category: regular expressions that users can edit."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from accelflow.errors import InputError
from accelflow.files import parse_toml, why
from accelflow.profiles.categories import OTHER, Functionality, Leaf

_KINDS: Final[Mapping[str, type[StrEnum]]] = {"leaf": Leaf, "functionality": Functionality}

#: The built-in rules, in the form of a file.
DEFAULT: Final = (Path(__file__).parent / "rules.toml").read_text(encoding="utf-8")

Patterns = tuple[tuple[StrEnum, re.Pattern[str]], ...]


@dataclass(frozen=True)
class Rules:
    """Patterns for each category, in the order in which they are tried."""

    leaf: Patterns
    functionality: Patterns

    @classmethod
    def default(cls) -> "Rules":
        """Return the built-in rules."""
        return cls.parse(DEFAULT, "built-in rules")

    @classmethod
    def read(cls, path: Path) -> "Rules":
        """Read a file of rules. Raises InputError as :meth:`parse` does."""
        try:
            return cls.parse(path.read_text(encoding="utf-8"), str(path))
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: {why(error)}") from error

    @classmethod
    def parse(cls, text: str, place: str) -> "Rules":
        """Read TOML with the tables [leaf] and [functionality].

        A key is a category, its value a list of regular expressions, searched for in the names of
        functions. Raises InputError for text that is not TOML, unknown tables and categories, and
        what is no list of regular expressions.
        """
        try:
            tree = parse_toml(text)
        except ValueError as error:
            raise InputError(f"{place}: {error}") from error
        for key in tree:
            if key not in _KINDS:
                raise InputError(f"{place}: unknown table '{key}'; known are {', '.join(_KINDS)}")
        tables = {
            kind: _patterns(tree.get(kind, {}), categories, f"{place}: {kind}")
            for kind, categories in _KINDS.items()
        }
        return cls(tables["leaf"], tables["functionality"])

    def leaf_of(self, frames: Sequence[str]) -> str:
        """Return the category of the innermost of `frames`, which is the last."""
        return _category(self.leaf, frames[-1]) or OTHER

    def functionality_of(self, frames: Sequence[str]) -> str:
        """Return the category of the innermost frame that has one: whom a copy is made for."""
        found = (_category(self.functionality, frame) for frame in reversed(frames))
        return next((category for category in found if category), OTHER)


@lru_cache(maxsize=1 << 16)
def _category(patterns: Patterns, frame: str) -> str | None:
    return next((str(name) for name, pattern in patterns if pattern.search(frame)), None)


def _patterns(table: Any, categories: type[StrEnum], place: str) -> Patterns:
    if not isinstance(table, Mapping):
        raise InputError(f"{place} = {table!r}; must be a table of categories")
    known = [str(category) for category in categories]
    found: list[tuple[StrEnum, re.Pattern[str]]] = []
    for name, expressions in table.items():
        if name not in known:
            raise InputError(f"{place}: unknown category '{name}'; known are {', '.join(known)}")
        if not isinstance(expressions, list):
            raise InputError(f"{place}.{name} = {expressions!r}; must be a list of expressions")
        for index, expression in enumerate(expressions):
            where = f"{place}.{name}[{index}] = {expression!r}"
            if not isinstance(expression, str):
                raise InputError(f"{where}; must be a text")
            try:
                found.append((categories(name), re.compile(expression)))
            except (re.error, OverflowError, RecursionError) as error:
                raise InputError(f"{where}; must be a regular expression: {error}") from error
    return tuple(found)
