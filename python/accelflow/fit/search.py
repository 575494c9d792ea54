"""The search: generations of points, and a final comparison of the best points."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from accelflow.errors import InputError
from accelflow.fit.objective import Evaluation, Judge, Lengths
from accelflow.fit.space import Optimiser, Value, free_bounds, scenario_of, values_of
from accelflow.reproduce import Runner

__all__ = ["Fit", "fit"]

#: The number of best points that run again, and the factor for their seeds: the lowest of many
#: noisy distances is low by chance.
_FINALISTS: Final = 3
_LONGER: Final = 4

#: Replaces a distance that does not exist; larger than any other.
_NO_DISTANCE: Final = 100.0


@dataclass(frozen=True)
class Fit:
    """The outcome of a search.

    `default` is the default scenario with the `fixed` values, the start of the search.
    `evaluations` are all points in order. `finalists` are the best points with more seeds, and
    `best` is the best finalist.
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
    """Search with at most `evaluations` points; the result depends on `seed`, not on threads.

    `fixed` holds values that are not searched, such as ``{"placement": "isolated"}``. Raises
    InputError for fewer than two evaluations, invalid lengths, and values that cannot be fixed.
    Raises AccelflowError if the optimiser's package is not installed.
    """
    if not 2 <= evaluations <= 100_000:
        raise InputError(f"evaluations = {evaluations}: must be from 2 to 100000")
    lengths, fixed = lengths or Lengths(), dict(fixed or {})
    lengths.check()
    free, start = free_bounds(fixed), scenario_of(fixed)
    values = values_of(start, free)
    optimiser = Optimiser(free, values, seed)
    judge = Judge(runner, lengths)
    default = judge.of(start, "default")
    # The default is the first of all points, if it is one.
    allowed = [default] if all(bound.has(values[bound.name]) for bound in free) else []
    found: list[Evaluation] = []
    generation = 0
    while len(found) < evaluations:
        generation += 1
        places = optimiser.ask()
        steady = [evaluation.distance for evaluation in (*allowed, *found) if evaluation.steady]
        best = min(steady, default=math.inf)
        # The last generation may be cut short: the optimiser does not learn from it.
        news = [
            judge.of(scenario_of({**place.values, **fixed}), f"generation {generation}", best=best)
            for place in places[: evaluations - len(found)]
        ]
        found += news
        if len(news) == len(places):
            optimiser.tell(
                [
                    (place, min(evaluation.distance, _NO_DISTANCE))
                    for place, evaluation in zip(places, news, strict=True)
                ]
            )
    finalists = [
        judge.with_seeds(evaluation.scenario, "finalist", evaluation.seeds * _LONGER)
        for evaluation in _nearest((*allowed, *found))[:_FINALISTS]
    ]
    return Fit(
        evaluations=tuple(found),
        default=default,
        finalists=tuple(finalists),
        best=_nearest(finalists)[0],
        lengths=lengths,
        asked=evaluations,
        seed=seed,
        fixed=fixed,
    )


def _nearest(found: Iterable[Evaluation]) -> Sequence[Evaluation]:
    """Sort the points by distance, with unsteady points last."""
    return sorted(found, key=lambda evaluation: (not evaluation.steady, evaluation.distance))
