"""A time limit for a computation, after which it stops cleanly."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from typing import Final

from accelflow.errors import AccelflowError, refused

__all__ = ["TimeLimit", "TimeUpError", "parse_time_limit", "seconds_text"]

_UNITS_S: Final = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_FORM: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)", re.ASCII)
_LEAST_S: Final = 0.1
_MOST_S: Final = 366 * 86_400.0


class TimeUpError(AccelflowError):
    """The time limit expired before there was a result."""


class TimeLimit:
    """A time limit that expires some `seconds` after its creation; with None, it never expires.

    A change of the machine's time of day does not affect it.
    """

    def __init__(self, seconds: float | None = None) -> None:
        """Start the clock. Raises InputError for a limit below 0.1 s or above 366 days."""
        number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
        if seconds is not None and not (number and _LEAST_S <= seconds <= _MOST_S):
            raise refused(
                "time_limit_s",
                seconds,
                "must be a number of seconds from 0.1 to 31622400 (366 days)",
            )
        self.seconds = math.inf if seconds is None else float(seconds)
        self._end_s = time.monotonic() + self.seconds

    @property
    def passed(self) -> bool:
        """Whether the time limit has expired."""
        return time.monotonic() >= self._end_s

    def check(self) -> None:
        """Raise TimeUpError if the time limit has expired."""
        if self.passed:
            raise TimeUpError(f"the time limit of {self} has passed")

    def checked(self, progress: Callable[[int, int], object] | None) -> Callable[[int, int], None]:
        """Return a ``progress`` function that ends a simulation after the time limit.

        The function raises TimeUpError if the time limit has expired, and otherwise calls
        `progress`. Raises InputError if `progress` is neither callable nor None.
        """
        if progress is not None and not callable(progress):
            raise refused("progress", progress, "must be a function or None")

        def report(done: int, total: int) -> None:
            self.check()
            if progress is not None:
                progress(done, total)

        return report

    def __str__(self) -> str:
        """Return the limit in the form of --time-limit, such as ``10m``, or ``no limit``."""
        return "no limit" if math.isinf(self.seconds) else seconds_text(self.seconds)


def parse_time_limit(text: str) -> float:
    """Read a time such as ``90s``, ``10m``, ``1.5h`` or ``2d``, and return its seconds.

    Raises InputError for another form, and for less than 0.1 s or more than 366 days.
    """
    allowed = "must be a number with a unit, s, m, h or d, such as 10m"
    found = _FORM.fullmatch(text.strip())
    if found is None or found[2] not in _UNITS_S:
        raise refused("--time-limit", text, allowed)
    seconds = float(found[1]) * _UNITS_S[found[2]]
    if not _LEAST_S <= seconds <= _MOST_S:
        raise refused("--time-limit", text, "must be from 0.1s to 366d")
    return seconds


def seconds_text(seconds: float) -> str:
    """Return `seconds` as text, such as ``91s``, ``10m`` or ``1.5h``.

    The unit is the largest in which the number is at least 1 and has at most one decimal; if there
    is none, the unit is s.
    """
    for unit, size in reversed(_UNITS_S.items()):
        if seconds >= size and (seconds / size * 10).is_integer():
            return f"{seconds / size:g}{unit}"
    return f"{seconds:g}s"
