"""The search of `accelflow fit`: generations of points, a refinement, and a final comparison."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from accelflow.errors import whole_number
from accelflow.fit.objective import Evaluation, Judge, Lengths
from accelflow.fit.space import Bound, Optimiser, Value, free_bounds, scenario_of, values_of
from accelflow.reproduce import Runner

__all__ = ["Fit", "fit"]

#: The share of the points that the optimiser proposes; the others refine the best of them.
_GLOBAL_SHARE: Final = 0.5
#: The number of successive generations without a new point after which the optimiser is given up.
_MOST_IN_VAIN: Final = 20

#: The first and the last step of a refinement, as shares of a parameter's range.
_FIRST_STEP: Final = 0.16
_LAST_STEP: Final = 0.02

#: The number of best points that are simulated again beside the default, and the factor for their
#: number of seeds. The lowest of many noisy distances is low by chance.
_FINALISTS: Final = 3
_LONGER: Final = 4

#: The distance of a point that has none, larger than any other.
_NO_DISTANCE: Final = 100.0


@dataclass(frozen=True)
class Fit:
    """The outcome of :func:`fit`, a search for parameters that give the paper's results.

    A point is a set of parameter values. `default` is the first point: the default scenario with
    the `fixed` values. `evaluations` are all other points in the order of their trial. `finalists`
    are the best points, simulated again with more seeds; the default is a finalist if its values
    are within the bounds. `best` is the finalist nearest to the paper. `lengths`, `asked` (the
    largest number of points), `seed` and `fixed` are the inputs of the search.
    """

    evaluations: tuple[Evaluation, ...]
    default: Evaluation
    finalists: tuple[Evaluation, ...]
    best: Evaluation
    lengths: Lengths
    asked: int
    seed: int
    fixed: Mapping[str, Value]


def fit(
    *,
    runner: Runner,
    lengths: Lengths | None = None,
    evaluations: int = 120,
    seed: int = 1,
    fixed: Mapping[str, Value] | None = None,
) -> Fit:
    """Search for parameter values with which the simulator's results are nearest to the paper's.

    At most `evaluations` points (sets of values) are tried, in addition to the default. An
    optimiser proposes half of them. The others change the best point by one parameter at a time;
    the search ends early if no such change comes nearer to the paper. `runner` runs the
    simulations, whose lengths are `lengths`. The result depends on `seed`, not on the number of
    threads. `fixed` has values of parameters that are not searched, by name, such as
    ``{"placement": "isolated"}``. Raises InputError for `evaluations` outside 2 to 100,000, invalid
    `lengths`, and values that cannot be fixed. Raises AccelflowError if the optimiser's package is
    not installed.
    """
    whole_number("evaluations", evaluations, 2, 100_000)
    lengths, fixed = lengths or Lengths(), dict(fixed or {})
    lengths.check()
    free, start = free_bounds(fixed), scenario_of(fixed)
    values = values_of(start, free)
    optimiser = Optimiser(free, values, seed)
    default = Judge(runner, lengths).of(start, "default")
    search = _Search(Judge(runner, lengths), fixed, evaluations)
    # The default is the first of all points, if its values are within the bounds.
    if all(bound.has(values[bound.name]) for bound in free):
        search.known[_key(values)] = (values, default)
    _generations(search, optimiser, math.ceil(evaluations * _GLOBAL_SHARE))
    _refine(search, free)
    points = [point for _, point in search.known.values()]
    nearest = _nearest(points)[:_FINALISTS]
    last = [point for point in points if point is default or any(point is near for near in nearest)]
    finalists = [
        search.judge.with_seeds(point.scenario, "finalist", point.seeds * _LONGER) for point in last
    ]
    return Fit(
        evaluations=tuple(point for point in points if point is not default),
        default=default,
        finalists=tuple(finalists),
        best=_nearest(finalists)[0],
        lengths=lengths,
        asked=evaluations,
        seed=seed,
        fixed=fixed,
    )


@dataclass
class _Search:
    """The points of a search, each evaluated once."""

    judge: Judge
    fixed: Mapping[str, Value]
    most: int
    known: dict[str, tuple[Mapping[str, Value], Evaluation]] = field(default_factory=dict)
    spent: int = 0

    def is_over(self) -> bool:
        return self.spent >= self.most

    @property
    def best(self) -> tuple[Mapping[str, Value], Evaluation]:
        return min(self.known.values(), key=lambda known: _rank(known[1]))

    def look(self, values: Mapping[str, Value], stage: str, best: float) -> Evaluation:
        """Return the evaluation of the point with `values`; simulate it unless it is known."""
        key = _key(values)
        if key not in self.known:
            self.spent += 1
            scenario = scenario_of({**values, **self.fixed})
            self.known[key] = values, self.judge.of(scenario, stage, best=best)
        return self.known[key][1]


def _key(values: Mapping[str, Value]) -> str:
    return repr(sorted(values.items()))


def _generations(search: _Search, optimiser: Optimiser, most: int) -> None:
    """Evaluate the optimiser's points by generations, until `most` new points are evaluated.

    Ends earlier if the optimiser finds no new points: choices alone may have few combinations.
    """
    generation, in_vain = 0, 0
    while search.spent < most and in_vain < _MOST_IN_VAIN:
        generation += 1
        spent = search.spent
        places = optimiser.ask()
        steady = [point.distance for _, point in search.known.values() if point.steady]
        best = min(steady, default=math.inf)
        # The optimiser does not learn from the last generation if that is cut short.
        news = [
            (place, search.look(place.values, f"generation {generation}", best))
            for place in places
            if search.spent < most
        ]
        in_vain = in_vain + 1 if search.spent == spent else 0
        if len(news) == len(places):
            optimiser.tell([(place, min(point.distance, _NO_DISTANCE)) for place, point in news])


def _refine(search: _Search, free: Sequence[Bound]) -> None:
    """Change the best point by one parameter at a time, as long as the distance decreases."""
    step = _FIRST_STEP
    while step >= _LAST_STEP and not search.is_over():
        before = search.best[1]
        for bound in free:
            for value in _others(bound, search.best[0][bound.name], step):
                if search.is_over():
                    return
                values, best = search.best
                search.look({**values, bound.name: value}, f"refinement {step:g}", best.distance)
        if search.best[1] is before:
            step /= 2.0


def _others(bound: Bound, value: Value, step: float) -> Iterator[Value]:
    """Yield a parameter's values next to `value`: the other choices, or numbers a step away."""
    if bound.choices:
        yield from (choice for choice in bound.choices if choice != value)
        return
    place = bound.place(float(value))
    yield from {bound.at(other): None for other in (place - step, place + step)}


def _rank(point: Evaluation) -> tuple[bool, float]:
    return not point.steady, point.distance


def _nearest(found: Iterable[Evaluation]) -> Sequence[Evaluation]:
    """Sort the points by distance, with unsteady points last."""
    return sorted(found, key=_rank)
