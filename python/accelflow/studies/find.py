"""The search for the last value of an axis that meets all goals, by a bisection despite noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import Any, Final

from accelflow.errors import file_path, instance_of, refused
from accelflow.studies.look import Look, look_until_clear
from accelflow.studies.points import Points, check_point
from accelflow.studies.question import Goal, Question
from accelflow.studies.sweep import Runner, runner_of
from accelflow.time_limit import TimeLimit, TimeUpError

__all__ = ["Answer", "Tried", "find"]

#: The relative difference of the ends at which a range of real numbers is no longer halved.
_PRECISION: Final = 0.02

#: The share of the range that stands for all smaller values, so that a search near 0 ends.
_SMALL: Final = 1e-3


@dataclass(frozen=True, kw_only=True)
class Tried(Look):
    """One simulated value of the axis that a search varies, and whether it meets the limits."""

    value: float

    def to_dict(self) -> dict[str, Any]:
        """Return the value and its measures as an object for JSON."""
        return {"value": self.value} | super().to_dict()


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The result of :func:`find`: the best value that meets all limits, and the next that does not.

    `best` is None if no value in the range meets the limits; `beyond` is then the end of the range
    at which they are easiest to meet. `beyond` is None if all values meet them. `tried` has all
    simulated values in ascending order. `ended` is False if the time limit expired first: the value
    sought is then between `best` and `beyond`, and one of the two may be None since the search did
    not reach it.
    """

    best: Tried | None
    beyond: Tried | None
    tried: tuple[Tried, ...]
    ended: bool = True

    @property
    def clear(self) -> bool | None:
        """Whether the confidence intervals leave no doubt about `best` and `beyond`.

        None if there is no answer to judge, since `best` is None or the search has not ended.
        """
        if self.best is None or not self.ended:
            return None
        return all(side.clear for side in (self.best, self.beyond) if side is not None)


def find(  # noqa: PLR0913 (options, by name)
    question: Question,
    place: str | PathLike[str],
    *,
    workers: int | None = None,
    runner: Runner | None = None,
    time_limit_s: float | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Answer:
    """Search for the value that `question` asks for; simulations are kept in the folder `place`.

    The question is for the smallest or largest value of one axis that meets all limits. The axis's
    range is halved until its ends are adjacent whole numbers, or numbers within 2 % of each other
    (near 0: within 2 % of a thousandth of the range). A value is simulated with four seeds. Their
    number is doubled while the confidence interval of the worst measure contains the limit, up to
    the question's `most_seeds`. `workers` threads simulate (default: one per core), or `runner`
    (:mod:`accelflow.studies.cluster`); the choice does not change the result. `progress` is called
    with the number of values tried and the expected number. After `time_limit_s` seconds, running
    simulations are abandoned, and the result has the state of the search.

    Raises InputError for a value that cannot be simulated, and for a :class:`Goal`, which
    :func:`accelflow.studies.optimize` takes. Raises AccelflowError for a folder in use, or if the
    time limit expires before the first value is simulated.
    """
    if isinstance(question, Goal):
        raise refused("question", "Goal", "must be a Question; studies.optimize takes a Goal")
    instance_of("question", question, (Question,), "a Question")
    place, limit = file_path("place", place), TimeLimit(time_limit_s)
    for end in (question.values.low, question.values.high):
        check_point(question.simulated, _point(question, end))
    tried: dict[float, Tried] = {}

    with Points.of(question.simulated, place, runner_of(workers, runner), limit) as points:

        def at(value: float) -> Tried:
            if value not in tried:
                limit.check()
                rows = partial(points.rows, _point(question, value))
                tried[value] = Tried(value=value, **look_until_clear(question, rows).to_dict())
                if progress is not None:
                    progress(len(tried), max(len(tried) + 1, _expected(question)))
            return tried[value]

        search = _Bisection(question, at)
        try:
            search.run()
            ended = True
        except TimeUpError:
            if not tried:
                raise
            ended = False
    in_order = tuple(tried[value] for value in sorted(tried))
    return Answer(best=search.best, beyond=search.beyond, tried=in_order, ended=ended)


class _Bisection:
    """A search for two neighbouring values: `best` keeps the limits, and `beyond` does not."""

    def __init__(self, question: Question, at: Callable[[float], Tried]) -> None:
        self._question, self._at = question, at
        self.best: Tried | None = None
        self.beyond: Tried | None = None

    def run(self) -> None:
        """Halve the range until `best` and `beyond` are neighbours, or one of them does not exist.

        An exception of the function that simulates a value ends the search.
        """
        low, high = self._question.values.low, self._question.values.high
        easy, hard = (low, high) if self._question.most else (high, low)
        self._try(easy)
        if self.best is None:
            return
        self._try(hard)
        while self.beyond is not None and not _close(
            self._question, self.best.value, self.beyond.value
        ):
            self._try(_middle(self._question, self.best.value, self.beyond.value))

    def _try(self, value: float) -> None:
        found = self._at(value)
        if found.holds:
            self.best = found
        else:
            self.beyond = found


def _point(question: Question, value: float) -> dict[str, float]:
    return {question.name: int(value) if question.values.whole else value}


def _close(question: Question, first: float, second: float) -> bool:
    if question.values.whole:
        return abs(first - second) <= 1
    # Near 0, no two numbers are within 2 % of each other.
    least = _SMALL * (question.values.high - question.values.low)
    return abs(first - second) <= _PRECISION * max(abs(first), abs(second), least)


def _middle(question: Question, first: float, second: float) -> float:
    logarithmic = question.values.scale == "log"
    middle = math.sqrt(first * second) if logarithmic else (first + second) / 2
    if not question.values.whole:
        return middle
    return float(min(max(round(middle), min(first, second) + 1), max(first, second) - 1))


def _expected(question: Question) -> int:
    """Return about how many values a search tries."""
    low, high = question.values.low, question.values.high
    steps = high - low
    if not question.values.whole:
        steps /= _PRECISION * max(abs(low), abs(high))
    return 2 + math.ceil(math.log2(max(steps, 2.0)))
