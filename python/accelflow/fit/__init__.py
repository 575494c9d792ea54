"""A search for the few assumed parameters, against the rows that may inform it and no others.

The paper's rows marked ``fit`` (its reductions of P99 and mean latency, Fig. 11) are the target;
rows marked ``check`` are never looked at. A Latin hypercube spreads points over the bounds, then
each parameter in turn is varied around the best with steps that shrink. All points are simulated
with the same seeds, so that two of them differ by their parameters alone.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any, Final

import numpy as np

from accelflow import simulation
from accelflow.errors import InputError
from accelflow.reproduce import Budget, Definition, Runner, Scenario, load, targets
from accelflow.reproduce.outcomes import of_cells
from accelflow.reproduce.plans import plan
from accelflow.reproduce.runs import run_plans

__all__ = ["SCHEMA", "Bound", "Evaluation", "Fit", "bounds", "fit", "to_json", "to_toml"]

SCHEMA: Final = "accelflow.fit/1"

#: The experiment whose rows are fitted.
EXPERIMENT: Final = "fig11"

#: The share of evaluations that spread over the bounds; the others refine the best.
_SPREAD: Final = 0.5
#: Steps of refinement, as shares of a bound's logarithmic width.
_STEPS: Final = (0.2, 0.1, 0.05, 0.025)


@dataclass(frozen=True)
class Bound:
    """What a parameter may be: from `low` to `high`, or one of `choices`; `source` says why."""

    name: str
    low: float
    high: float
    choices: tuple[str, ...]
    source: str

    def at(self, place: float) -> float | str:
        """The value at `place`, from 0 to 1: on a logarithmic scale, or by equal parts."""
        if self.choices:
            return self.choices[min(int(place * len(self.choices)), len(self.choices) - 1)]
        return float(f"{self.low * (self.high / self.low) ** place:.4g}")


@dataclass(frozen=True)
class Evaluation:
    """A point of the search: its scenario, its figures by row, and how far they are off.

    `distance` is the root of the mean squared difference from the paper's figures, which are
    shares; infinite if a figure could not be had.
    """

    scenario: Scenario
    stage: str
    rows: Mapping[str, float | None]
    distance: float


@dataclass(frozen=True)
class Fit:
    """The outcome of a search: every point in its order, and the best of them."""

    evaluations: tuple[Evaluation, ...]
    best: Evaluation
    budget: Budget
    seed: int


@cache
def bounds() -> tuple[Bound, ...]:
    """The parameters that are searched, in the order of the file."""
    text = resources.files("accelflow.fit").joinpath("bounds.toml").read_text(encoding="utf-8")
    return tuple(
        Bound(
            name=name,
            low=one.get("low", 0.0),
            high=one.get("high", 0.0),
            choices=tuple(one.get("choices", ())),
            source=one["source"],
        )
        for name, one in tomllib.loads(text).items()
    )


def fit(
    *,
    runner: Runner,
    budget: Budget,
    evaluations: int = 96,
    seed: int = 1,
    fixed: Mapping[str, str] | None = None,
) -> Fit:
    """Search with at most `evaluations` points; deterministic for a `seed` on any threads.

    `fixed` holds choices that are not searched, such as ``{"placement": "isolated"}``. Raises
    InputError for fewer than two evaluations and for a choice that is not allowed.
    """
    if not 2 <= evaluations <= 100_000:
        raise InputError(f"evaluations is {evaluations}; must be from 2 to 100000")
    fixed = dict(fixed or {})
    free = _free(fixed)
    judge = _Judge(load(EXPERIMENT), runner, budget, fixed)
    spread = max(1, int(evaluations * _SPREAD))
    points = _hypercube(spread, len(free), seed)
    found = judge.of([(point, _named(free, point)) for point in points], "spread")
    place, best = min(zip(points, found, strict=True), key=lambda pair: pair[1].distance)
    for step in _STEPS:
        for index in range(len(free)):
            tries = _around(free[index], place, index, step)[: evaluations - len(found)]
            if not tries:
                break
            news = judge.of(
                [(one, _named(free, one)) for one in tries], f"refine {free[index].name}"
            )
            found += news
            near, new = min(zip(tries, news, strict=True), key=lambda pair: pair[1].distance)
            if new.distance < best.distance:
                place, best = near, new
    return Fit(tuple(found), best, budget, seed)


def _free(fixed: Mapping[str, str]) -> list[Bound]:
    by_name = {one.name: one for one in bounds()}
    for name, value in fixed.items():
        choices = by_name[name].choices if name in by_name else ()
        if value not in choices:
            known = ", ".join(choices) or "none"
            raise InputError(f"{name} cannot be fixed at '{value}'; known are {known}")
    return [one for one in bounds() if one.name not in fixed]


def _hypercube(count: int, dimensions: int, seed: int) -> list[tuple[float, ...]]:
    """A Latin hypercube: in every dimension each of `count` equal parts is taken once."""
    random = np.random.default_rng(seed)
    columns = [
        (random.permutation(count) + random.random(count)) / count for _ in range(dimensions)
    ]
    return [tuple(float(column[row]) for column in columns) for row in range(count)]


def _around(
    bound: Bound, place: tuple[float, ...], index: int, step: float
) -> list[tuple[float, ...]]:
    """Neighbours of `place` in one dimension: a step down and up, or the other choices."""
    if bound.choices:
        parts = len(bound.choices)
        middles = [(part + 0.5) / parts for part in range(parts)]
        others = [one for one in middles if bound.at(one) != bound.at(place[index])]
    else:
        others = [max(0.0, place[index] - step), min(1.0, place[index] + step)]
    return [(*place[:index], one, *place[index + 1 :]) for one in others]


def _named(free: Sequence[Bound], point: Sequence[float]) -> dict[str, float | str]:
    return {bound.name: bound.at(place) for bound, place in zip(free, point, strict=True)}


@dataclass(frozen=True)
class _Judge:
    """Simulates points and says how far each is from the paper."""

    definition: Definition
    runner: Runner
    budget: Budget
    fixed: Mapping[str, str]

    def of(
        self, points: Sequence[tuple[tuple[float, ...], Mapping[str, float | str]]], stage: str
    ) -> list[Evaluation]:
        scenarios = [_scenario({**values, **self.fixed}) for _, values in points]
        plans = {
            str(at): plan(self.definition, one, self.budget) for at, one in enumerate(scenarios)
        }
        cells = run_plans(plans, self.runner)
        return [self._evaluation(one, stage, cells[str(at)]) for at, one in enumerate(scenarios)]

    def _evaluation(self, scenario: Scenario, stage: str, cells: Any) -> Evaluation:
        outcome = of_cells(self.definition, cells, self.budget)
        rows = {
            one.target.row: None if one.ours is None else one.ours.mean
            for one in outcome.compared
            if one.target.use == "fit"
        }
        return Evaluation(scenario, stage, rows, _distance(rows))


def _distance(rows: Mapping[str, float | None]) -> float:
    squares = [
        math.inf if value is None else (value - targets()[row].value) ** 2
        for row, value in rows.items()
    ]
    return math.sqrt(math.fsum(squares) / len(squares))


def _scenario(values: Mapping[str, float | str]) -> Scenario:
    config = {name: float(value) for name, value in values.items() if "." in name}
    rest: dict[str, Any] = {name: value for name, value in values.items() if "." not in name}
    scenario = replace(Scenario(), **rest, config=config)
    scenario.check()
    return scenario


def to_toml(found: Fit) -> str:
    """The best scenario as a file that `accelflow reproduce --config` takes."""
    best = found.best
    lines = [
        "# Chosen by `accelflow fit` against the rows marked `fit` alone: root of the mean squared",
        f"# difference {best.distance:.4f} after {len(found.evaluations)} evaluations, seed "
        f"{found.seed}.",
        "",
        "[scenario]",
    ]
    for name, value in best.scenario.to_dict().items():
        if name != "config":
            lines.append(f"{name} = {json.dumps(value)}")
    sections: dict[str, list[str]] = {}
    for key, value in sorted(best.scenario.config.items()):
        section, _, name = key.partition(".")
        sections.setdefault(section, []).append(f"{name} = {value!r}")
    for section, entries in sections.items():
        lines += ["", f"[{section}]", *entries]
    return "\n".join(lines) + "\n"


def to_json(found: Fit) -> str:
    """The log of the search as text: equal searches are equal bytes."""
    content = {
        "schema": SCHEMA,
        "experiment": EXPERIMENT,
        "seed": found.seed,
        "requests": found.budget.requests,
        "seeds": list(found.budget.seeds),
        "rows": {row: targets()[row].value for row in found.best.rows},
        "bounds": [
            {
                "name": one.name,
                "source": one.source,
                **(
                    {"choices": list(one.choices)}
                    if one.choices
                    else {"low": one.low, "high": one.high, "default": _default(one.name)}
                ),
            }
            for one in bounds()
        ],
        "evaluations": [_logged(one) for one in found.evaluations],
        "best": _logged(found.best),
    }
    return json.dumps(content, sort_keys=True, indent=1, allow_nan=False) + "\n"


def _default(name: str) -> float:
    known = {one.key: one.default for one in simulation.parameters()}
    return known.get(name, simulation.ASSUMED_TCP_COST_NS)


def _logged(one: Evaluation) -> dict[str, Any]:
    return {
        "scenario": one.scenario.to_dict(),
        "stage": one.stage,
        "rows": dict(one.rows),
        "distance": one.distance if math.isfinite(one.distance) else None,
    }
