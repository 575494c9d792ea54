"""Options of the form NAME=NUMBER and KEY=VALUE."""

from collections.abc import Sequence

from accelflow.errors import InputError

__all__ = ["read_assignments", "read_settings"]


def read_assignments(texts: Sequence[str]) -> dict[str, float]:
    """Read NAME=NUMBER texts into numbers by name. Raises InputError for any other text."""
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


def read_settings(texts: Sequence[str]) -> dict[str, float | str]:
    """Read KEY=VALUE texts into values by key; a value that is not a number stays a text.

    Raises InputError for a text of another form, and for a key that is set twice.
    """
    found: dict[str, float | str] = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not key or not value:
            raise InputError(f"'{text}' is not of the form KEY=VALUE")
        if key in found:
            raise InputError(f"'{text}': {key} is set twice")
        try:
            found[key] = float(value)
        except ValueError:
            found[key] = value
    return found
