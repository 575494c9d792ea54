"""Answers a question by bisection that knows about noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from accelflow.studies.look import Look, look_until_clear, rows_of
from accelflow.studies.question import Question
from accelflow.studies.study import Study
from accelflow.studies.sweep import Runner, sweep

__all__ = ["Answer", "Tried", "find"]

#: A range of real numbers is cut until its ends differ by this share.
_PRECISION: Final = 0.02


@dataclass(frozen=True, kw_only=True)
class Tried(Look):
    """One value and how it fared."""

    value: float

    def to_dict(self) -> dict[str, Any]:
        """As an object of JSON."""
        return {"value": self.value} | super().to_dict()


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The best value that keeps the limits, and the next one that does not.

    `best` is None if no value of the range holds, and `beyond` if all hold. `clear` says that both
    are clear of noise. `tried` are all values in order.
    """

    best: Tried | None
    beyond: Tried | None
    tried: tuple[Tried, ...]

    @property
    def clear(self) -> bool:
        """Whether the values on both sides of the answer are clear of noise."""
        return all(one.clear for one in (self.best, self.beyond) if one is not None)


def find(
    question: Question,
    place: Path,
    *,
    workers: int | None = None,
    runner: Runner | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Answer:
    """Answer `question`, with the simulations in the folder at `place`, where they are kept.

    The range is halved until neighbouring whole numbers, or numbers within 2 % of each other, are
    on both sides. A value is simulated with four seeds, and with twice as many as long as the
    interval of its worst measure has the limit inside, up to the question's `most_seeds`.

    Raises InputError for a value that cannot be simulated, AccelflowError for a folder in use.
    """
    tried: dict[float, Tried] = {}

    def rows(value: float, seeds: int) -> list[dict[str, Any]]:
        one = _one_point(question, value, seeds)
        return rows_of(sweep(one, place, workers=workers, runner=runner, strict=True))

    def at(value: float) -> Tried:
        if value not in tried:
            found = look_until_clear(question, partial(rows, value))
            tried[value] = Tried(value=value, **found.to_dict())
            if progress is not None:
                progress(len(tried), max(len(tried) + 1, _expected(question)))
        return tried[value]

    best, beyond = _bisect(question, at)
    return Answer(best=best, beyond=beyond, tried=tuple(tried[value] for value in sorted(tried)))


def _bisect(question: Question, at: Callable[[float], Tried]) -> tuple[Tried | None, Tried | None]:
    """The best value that holds, and the neighbour that does not."""
    low, high = question.values.low, question.values.high
    easy, hard = (low, high) if question.most else (high, low)
    if not at(easy).holds:
        return None, at(easy)
    if at(hard).holds:
        return at(hard), None
    while not _close(question, easy, hard):
        middle = _middle(question, easy, hard)
        if at(middle).holds:
            easy = middle
        else:
            hard = middle
    return at(easy), at(hard)


def _close(question: Question, one: float, other: float) -> bool:
    if question.values.whole:
        return abs(one - other) <= 1
    return abs(one - other) <= _PRECISION * max(abs(one), abs(other))


def _middle(question: Question, one: float, other: float) -> float:
    logarithmic = question.values.scale == "log"
    middle = math.sqrt(one * other) if logarithmic else (one + other) / 2
    if not question.values.whole:
        return middle
    return float(min(max(round(middle), min(one, other) + 1), max(one, other) - 1))


def _expected(question: Question) -> int:
    """About how many values a search tries."""
    low, high = question.values.low, question.values.high
    steps = high - low
    if not question.values.whole:
        steps /= _PRECISION * max(abs(low), abs(high))
    return 2 + math.ceil(math.log2(max(steps, 2.0)))


def _one_point(question: Question, value: float, seeds: int) -> Study:
    given = int(value) if question.values.whole else value
    point = {question.name: given}
    return replace(question.study, kind="list", points=(point,), seeds=range(1, seeds + 1))
