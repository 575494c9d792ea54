"""Options of the form NAME=NUMBER."""

from collections.abc import Sequence

from accelflow.errors import InputError

__all__ = ["read_assignments"]


def read_assignments(texts: Sequence[str]) -> dict[str, float]:
    """The numbers that `texts` assign, by name. Raises InputError for one that assigns none."""
    found: dict[str, float] = {}
    for text in texts:
        name, equals, number = text.partition("=")
        try:
            value = float(number)
        except ValueError:
            equals = ""
        if not equals or not name:
            raise InputError(f"'{text}' is not of the form NAME=NUMBER")
        found[name.strip()] = value
    return found
