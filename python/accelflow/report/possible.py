"""A check of a service's results against what every run obeys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from accelflow.errors import refused

if TYPE_CHECKING:
    from accelflow.report.reader import Reader

__all__ = ["check_possible"]

#: Counts of a service, each with one that it is a part of.
_PARTS: Final = (
    ("completed", "responded"),
    ("errors", "responded"),
    ("deadlines_missed", "deadlines"),
    ("slo.missed", "slo.requests"),
    ("called.completed", "called.requests"),
    ("called.errors", "called.requests"),
    ("called.slo.missed", "called.slo.requests"),
)


def check_possible(reader: Reader) -> None:
    """Raise InputError for results of a service, at `reader`, that no run can have.

    A part must not be larger than its whole. The members have their types; one that is missing or
    null is not checked.
    """
    for name, of in _PARTS:
        part, whole = (_member(reader.value, each.split(".")) for each in (name, of))
        if part is not None and whole is not None and part > whole:
            raise refused(f"{reader.place}.{name}", part, f"must be at most {of}, which is {whole}")


def _member(value: Any, names: list[str]) -> int | None:
    for name in names:
        value = None if value is None else value.get(name)
    found: int | None = value
    return found
