"""Rules that assign call stacks to the nine operations of the datacenter tax."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Final

from accelflow.errors import InputError, refused, unreadable
from accelflow.files import parse_toml, read_text
from accelflow.importing.path_operations import OPERATIONS
from accelflow.profiles import OTHER, Rules
from accelflow.profiles.rules import RUNTIME, Functional, patterns

__all__ = ["APPLICATION", "DEFAULT", "PAIRS", "OperationRules"]

#: The category of application functions.
APPLICATION: Final = "application"

#: The categories of functions that may be either of two operations, with the two operations. The
#: time of such functions is split between both.
PAIRS: Final = {
    "Encr+Decr": ("Encr", "Decr"),
    "Ser+Dser": ("Ser", "Dser"),
    "Cmp+Dcmp": ("Cmp", "Dcmp"),
}

#: The built-in rules, as the text of a rules file.
DEFAULT: Final = (Path(__file__).parent / "operations.toml").read_text(encoding="utf-8")

_TABLES: Final = {
    "operation": (*OPERATIONS, *PAIRS, APPLICATION),
    "dispatcher": (*OPERATIONS, OTHER, RUNTIME),
}


class OperationRules:
    """Rules that sort a profile's call stacks into kinds of operations, by names of functions.

    The rules are regular expressions.
    """

    def __init__(self, text: str, place: str) -> None:
        """Read TOML with the tables [operation] and [dispatcher]; `place` is for messages.

        Raises InputError for text that is not TOML, for unknown tables and operations, and for
        values of another form.
        """
        try:
            tree = parse_toml(text)
        except ValueError as error:
            raise InputError(f"{place}: {error}") from error
        for name in tree:
            if name not in _TABLES:
                raise refused(f"{place}: table", name, known=_TABLES)
        tables = {
            name: patterns(tree.get(name, {}), known, f"{place}: {name}")
            for name, known in _TABLES.items()
        }
        # Copies, locks and system calls of a dispatcher are its own work, as for `profile`.
        rules = Rules(Rules.default().leaf, tables["operation"], tables["dispatcher"])
        self.of: Final = lru_cache(maxsize=1 << 16)(rules.functionality_of)

    @classmethod
    def read(cls, path: Path | None) -> OperationRules:
        """Return the rules of the file `path`; without a path, the built-in rules.

        Raises InputError for a file that cannot be read or has no valid rules.
        """
        if path is None:
            return cls(DEFAULT, "built-in rules")
        try:
            return cls(read_text(path), str(path))
        except (OSError, UnicodeDecodeError) as error:
            raise unreadable("--rules", path, error) from error

    def sort(self, stack: tuple[str, ...]) -> Functional:
        """Return the category of the call stack `stack`, and a function that represents it.

        The last frame of `stack` is the innermost. The category is an operation such as ``Encr``, a
        pair of operations such as ``Encr+Decr`` (a key of `PAIRS`), `APPLICATION`, or `OTHER` if no
        rule matches.
        """
        return self.of(stack)
