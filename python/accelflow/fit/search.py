"""The search itself: generations of points, and a last look at the best of them."""

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

#: How many of the best points are simulated once more, with so many times the seeds: the lowest of
#: many noisy distances is a lucky one.
_FINALISTS: Final = 3
_LONGER: Final = 4

#: What the optimiser is told of a point that has no distance: worse than any that has one.
_NO_DISTANCE: Final = 100.0


@dataclass(frozen=True)
class Fit:
    """The outcome of a search.

    `default` is the default scenario with what was `fixed`, around which the search began,
    `evaluations` are all its points in their order, `finalists` are the best of all of these once
    more, with more seeds, and `best` is the best of those.
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
    """Search with at most `evaluations` points; deterministic for a `seed` on any threads.

    `fixed` holds what is not searched, such as ``{"placement": "isolated"}``. Raises InputError for
    fewer than two evaluations, lengths that are not allowed, and what cannot be fixed so;
    AccelflowError if the optimiser's package is not installed.
    """
    if not 2 <= evaluations <= 100_000:
        raise InputError(f"evaluations is {evaluations}; must be from 2 to 100000")
    lengths, fixed = lengths or Lengths(), dict(fixed or {})
    lengths.check()
    free, start = free_bounds(fixed), scenario_of(fixed)
    values = values_of(start, free)
    optimiser = Optimiser(free, values, seed)
    judge = Judge(runner, lengths)
    default = judge.of(start, "default")
    # The default is the first of all points, if it is one.
    allowed = [default] if all(one.has(values[one.name]) for one in free) else []
    found: list[Evaluation] = []
    generation = 0
    while len(found) < evaluations:
        generation += 1
        places = optimiser.ask()
        steady = [one.distance for one in (*allowed, *found) if one.steady]
        best = min(steady, default=math.inf)
        # The last generation may be cut short: nobody learns from it.
        news = [
            judge.of(scenario_of({**place.values, **fixed}), f"generation {generation}", best=best)
            for place in places[: evaluations - len(found)]
        ]
        found += news
        if len(news) == len(places):
            optimiser.tell(
                [
                    (place, min(one.distance, _NO_DISTANCE))
                    for place, one in zip(places, news, strict=True)
                ]
            )
    finalists = [
        judge.with_seeds(one.scenario, "finalist", one.seeds * _LONGER)
        for one in _nearest((*allowed, *found))[:_FINALISTS]
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
    """The points by distance; those that are not steady come last."""
    return sorted(found, key=lambda one: (not one.steady, one.distance))
