"""Classification rules: regular expressions that assign functions to categories."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from accelflow.errors import InputError, one_of, refused, unreadable
from accelflow.files import parse_toml, read_text
from accelflow.profiles.categories import OTHER, PARTS, Functionality, Leaf
from accelflow.profiles.frames import function_name

#: The category of functions that a dispatcher, such as a server's loop, calls for its own work.
RUNTIME: Final = "runtime"

#: The tables of a file, and the keys of each.
_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "leaf": tuple(map(str, Leaf)),
    "functionality": tuple(map(str, Functionality)),
    "dispatcher": (*map(str, Functionality), OTHER, RUNTIME),
    **{str(leaf): parts for leaf, parts in PARTS.items()},
}

#: The built-in rules, as the text of a rules file.
DEFAULT: Final = (Path(__file__).parent / "rules.toml").read_text(encoding="utf-8")

#: Pairs of a category and a regular expression for function names, in the order of their use.
Patterns = tuple[tuple[str, re.Pattern[str]], ...]


@dataclass(frozen=True)
class Functional:
    """The purpose of a call stack: its category, and a function that represents the stack."""

    category: str
    #: The function that the innermost dispatcher called, or the leaf. It is the name shown in
    #: `other`.
    function: str


@dataclass(frozen=True)
class Rules:
    """Regular expressions that assign functions to categories; the first that matches decides."""

    leaf: Patterns
    functionality: Patterns
    dispatcher: Patterns
    #: The patterns for the parts of leaf categories, by category.
    parts: Mapping[str, Patterns] = field(default_factory=dict, hash=False)

    @classmethod
    def default(cls) -> "Rules":
        """Return the built-in rules."""
        return cls.parse(DEFAULT, "built-in rules")

    @classmethod
    def read(cls, path: Path) -> "Rules":
        """Read a file of rules. Raises InputError as :meth:`parse` does."""
        try:
            return cls.parse(read_text(path), str(path))
        except (OSError, UnicodeDecodeError) as error:
            raise unreadable("rules", path, error) from error

    @classmethod
    def parse(cls, text: str, place: str) -> "Rules":
        """Read TOML with the tables [leaf], [functionality] and [dispatcher].

        The tables [memory], [kernel], [synchronization] and [c_libraries] divide these leaf
        categories into parts. Each key of a table is a category or part; [dispatcher] also has
        ``other`` and ``runtime``. The value of a key is a list of regular expressions, which are
        searched in function names (see :func:`accelflow.profiles.frames.function_name`). `place`
        begins error messages. Raises InputError for text that is not TOML, for unknown tables and
        categories, and for values of another form.
        """
        try:
            tree = parse_toml(text)
        except ValueError as error:
            raise InputError(f"{place}: {error}") from error
        for key in tree:
            one_of(f"{place}: table name", key, _KINDS)
        tables = {
            kind: patterns(tree.get(kind, {}), known, f"{place}: {kind}")
            for kind, known in _KINDS.items()
        }
        parts = {str(leaf): tables[leaf] for leaf in PARTS}
        return cls(tables["leaf"], tables["functionality"], tables["dispatcher"], parts)

    def leaf_of(self, frames: Sequence[str]) -> str:
        """Return the leaf category of the innermost (last) frame; ``other`` if no rule matches."""
        return _category(self.leaf, frames[-1]) or OTHER

    def part_of(self, leaf: str, frames: Sequence[str]) -> str:
        """Return the part of the leaf category `leaf` to which the innermost frame belongs.

        The last of `frames` is the innermost. The part is ``other`` if no rule matches.
        """
        return _category(self.parts.get(leaf, ()), frames[-1]) or OTHER

    def functionality_of(self, frames: Sequence[str]) -> Functional:
        """Return the category of functionality of the call stack `frames`, outermost first.

        This is the category of the innermost frame that has one; a memory copy, which has none,
        belongs to the function that called it. The search ends at a dispatcher, such as a server's
        loop, since a dispatcher calls handlers of every category. The dispatcher's own category
        counts only if all frames that it called are known as leaves or as `runtime`.
        """
        own, called = True, frames[-1]
        for frame in reversed(frames):
            if category := _category(self.functionality, frame):
                return Functional(category, function_name(called))
            kind = _category(self.dispatcher, frame)
            if kind and kind != RUNTIME:
                return Functional(kind if own else OTHER, function_name(called))
            if kind != RUNTIME and _category(self.leaf, frame) is None:
                own, called = False, frame
        return Functional(OTHER, function_name(frames[-1]))


@lru_cache(maxsize=1 << 16)
def _category(patterns: Patterns, frame: str) -> str | None:
    name = function_name(frame)
    return next((category for category, pattern in patterns if pattern.search(name)), None)


def patterns(table: Any, known: Sequence[str], place: str) -> Patterns:
    """Return the regular expressions of `table`, each with its category, in the table's order.

    `table` maps categories to lists of regular expressions. Raises InputError for categories that
    are not `known` and for values of another form.
    """
    if not isinstance(table, Mapping):
        raise refused(place, table, "must be a table of categories")
    found: list[tuple[str, re.Pattern[str]]] = []
    for name, expressions in table.items():
        one_of(f"{place}: category name", name, known)
        if not isinstance(expressions, list):
            raise refused(f"{place}.{name}", expressions, "must be a list of regular expressions")
        for index, expression in enumerate(expressions):
            where = f"{place}.{name}[{index}]"
            if not isinstance(expression, str):
                raise refused(where, expression, "must be a string")
            try:
                found.append((name, re.compile(expression)))
            except (re.error, OverflowError, RecursionError) as error:
                allowed = f"must be a regular expression: {error}"
                raise refused(where, expression, allowed) from error
    return tuple(found)
