"""Options of the form NAME=NUMBER and KEY=VALUE."""

from collections.abc import Sequence

from accelflow.errors import refused

__all__ = ["read_assignments", "read_settings"]


def read_assignments(texts: Sequence[str], option: str = "--set") -> dict[str, float]:
    """Read NAME=NUMBER texts, given to `option`, into numbers by name.

    Raises InputError for any other text, and for a name that is set twice.
    """
    found: dict[str, float] = {}
    for text in texts:
        name, equals, number = text.partition("=")
        try:
            value = float(number)
        except ValueError:
            equals = ""
        if not equals or not name.strip():
            raise refused(option, text, "must be of the form NAME=NUMBER")
        if name.strip() in found:
            raise refused(option, text, f"must be given only once for {name.strip()}")
        found[name.strip()] = value
    return found


def read_settings(texts: Sequence[str], option: str = "--set") -> dict[str, float | str]:
    """Read KEY=VALUE texts, given to `option`, into values by key.

    A value that is not a number stays a text.

    Raises InputError for a text of another form, and for a key that is set twice.
    """
    found: dict[str, float | str] = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not key or not value:
            raise refused(option, text, "must be of the form KEY=VALUE")
        if key in found:
            raise refused(option, text, f"must be given only once for {key}")
        try:
            found[key] = float(value)
        except ValueError:
            found[key] = value
    return found
