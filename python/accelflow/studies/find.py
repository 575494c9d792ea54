"""Answers a question by bisection that knows about noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from accelflow import _native
from accelflow.errors import AccelflowError
from accelflow.studies.question import Question
from accelflow.studies.study import Study
from accelflow.studies.sweep import Outcome, Runner, sweep

__all__ = ["Answer", "Tried", "find"]

#: Seeds of the first look at a value; each further look doubles them.
_FIRST_SEEDS: Final = 4
#: A range of real numbers is cut until its ends differ by this share.
_PRECISION: Final = 0.02


@dataclass(frozen=True, kw_only=True)
class Tried:
    """One value and how it fared.

    `worst_ratio` is the mean over seeds of the largest measure as a share of its limit, `low_ratio`
    and `high_ratio` the ends of its 95 % interval, and `binding` names the measure and service. The
    limits hold if the mean is at most 1; `clear` says that the whole interval is on one side.
    `worst_ratio` is None if a resource is saturated, which `binding` then names.
    """

    value: float
    holds: bool
    clear: bool
    worst_ratio: float | None
    low_ratio: float | None
    high_ratio: float | None
    binding: str
    seeds: int

    def to_dict(self) -> dict[str, Any]:
        """As an object of JSON."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


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
        return _simulated(sweep(one, place, workers=workers, runner=runner, strict=True))

    def at(value: float) -> Tried:
        if value not in tried:
            tried[value] = _try(question, value, rows)
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


def _try(
    question: Question, value: float, rows: Callable[[float, int], list[dict[str, Any]]]
) -> Tried:
    seeds = _FIRST_SEEDS
    while True:
        tried = _look(question, value, rows(value, seeds), seeds)
        if tried.clear or seeds >= question.most_seeds:
            return tried
        seeds = min(seeds * 2, question.most_seeds)


def _one_point(question: Question, value: float, seeds: int) -> Study:
    given = int(value) if question.values.whole else value
    point = {question.name: given}
    return replace(question.study, kind="list", points=(point,), seeds=range(1, seeds + 1))


def _simulated(outcome: Outcome) -> list[dict[str, Any]]:
    import pyarrow.parquet as pq  # noqa: PLC0415 (slow to load)

    if outcome.results is None:
        raise AccelflowError("no simulation has results")
    found: list[dict[str, Any]] = pq.read_table(outcome.results).to_pylist()
    return found


def _look(question: Question, value: float, rows: Sequence[Mapping[str, Any]], seeds: int) -> Tried:
    """How `value` fared with the seeds whose rows are given."""
    saturated = [row for row in rows if row["saturated_queue"] is not None]
    if 2 * len({row["seed"] for row in saturated}) > seeds:
        return Tried(
            value=value,
            holds=False,
            clear=True,
            worst_ratio=None,
            low_ratio=None,
            high_ratio=None,
            binding=f"{saturated[0]['saturated_queue']} saturated",
            seeds=seeds,
        )
    ratios: dict[str, list[float]] = {}
    for row in rows:
        for name, ratio in _ratios(question, row).items():
            ratios.setdefault(name, []).append(ratio)
    means = {name: math.fsum(found) / len(found) for name, found in ratios.items()}
    worst = max(means, key=lambda name: means[name])
    interval = _native.confidence_interval(ratios[worst])
    half = interval[1] if interval is not None else math.inf
    low, high = means[worst] - half, means[worst] + half
    return Tried(
        value=value,
        holds=means[worst] <= 1.0,
        clear=not low <= 1.0 < high,
        worst_ratio=means[worst],
        low_ratio=low,
        high_ratio=high,
        binding=worst,
        seeds=seeds,
    )


def _ratios(question: Question, row: Mapping[str, Any]) -> dict[str, float]:
    """Each limited measure of a service as a share of its limit, by its name in words."""
    service = row["service"]
    found = {}
    for name, limit in question.limits.items():
        if name == "slo_missed_ratio":
            late, all_of_them = row["slo_missed_count"], row["slo_requests_count"]
            measured = late / all_of_them if all_of_them else None
        else:
            measured = row[name]
        if measured is not None:
            found[f"{name} of {service}"] = measured / limit
    if question.slo and row["slo_us"] is not None and row["p99_us"] is not None:
        found[f"P99 of {service}"] = row["p99_us"] / row["slo_us"]
    if not found:
        raise AccelflowError(
            f"service {service}: has none of the limited measures: it has no responses or no SLO"
        )
    return found
