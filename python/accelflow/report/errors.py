"""Errors, retries and time-outs of services: columns that tables have if there are any."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

from accelflow.report.results import ServiceResult

__all__ = ["Counted", "error_columns"]

#: The heading of a column, and the count of a service's result that it has.
Counted: TypeAlias = tuple[str, Callable[[ServiceResult], int]]


def _errors(result: ServiceResult) -> int:
    return result.errors + (0 if result.called is None else result.called.errors)


def _timed_out(result: ServiceResult) -> int:
    return result.timed_out + (0 if result.called is None else result.called.timed_out)


_ALL: Final[Sequence[Counted]] = (
    ("Errors", _errors),
    ("Retries", lambda result: result.retries),
    ("Timed out", _timed_out),
)


def error_columns(results: Iterable[ServiceResult]) -> list[Counted]:
    """Return the columns that have a count above 0 for one of `results`.

    They count, over the whole run and for requests of clients and of other services: requests
    answered with an error, attempts that repeated a failed one, and requests without a response.
    """
    every = list(results)
    return [(name, count) for name, count in _ALL if any(count(result) for result in every)]
