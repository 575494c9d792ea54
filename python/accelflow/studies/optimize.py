"""Find the cheapest design of several axes that meets all limits, with Optuna.

Optuna is an extra, ``pip install accelflow[optimize]``. Its multi-objective TPE sampler proposes
designs with a lower cost and more distance to the limits. Each is simulated as in
:mod:`accelflow.studies.find`, with its rows in the study's folder. Proposals depend only on the
seed and the results. A stopped search therefore makes the same proposals again, finds their rows in
the folder, and resumes. At the end, whole numbers of the best design are lowered one by one while
the limits hold.
"""

from __future__ import annotations

import importlib
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Final

from accelflow import chip
from accelflow.errors import AccelflowError, file_path, instance_of, refused
from accelflow.files import write_whole
from accelflow.parameters import configured
from accelflow.scenario import loaded
from accelflow.studies.look import Look, look_until_clear
from accelflow.studies.points import Points, check_point
from accelflow.studies.question import Goal, Question
from accelflow.studies.sweep import Runner, runner_of
from accelflow.time_limit import TimeLimit, TimeUpError

__all__ = ["Design", "Front", "optimize"]

#: The ratio of a measure to its limit that the optimiser receives for a saturated design.
_SATURATED: Final = 1e6

#: A value for each axis, by the axis's name.
Point = Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Design(Look):
    """A simulated design: its `values` by axis, its `cost`, and whether it meets the limits.

    The cost is a number of elements or an area in mm2, whichever the search minimises.
    """

    values: Point
    cost: float

    def to_dict(self) -> dict[str, Any]:
        """Return the design and its measures as an object for JSON."""
        return {"values": dict(self.values), "cost": self.cost} | super().to_dict()


@dataclass(frozen=True, kw_only=True)
class Front:
    """The results of :func:`optimize`, a search for the cheapest design.

    `best` is the cheapest design that meets the limits, or None. `front` is the Pareto front,
    cheapest first: the designs whose worst ratio of a measure to its limit is smaller than that of
    every other design that costs as much or less. Saturated designs are left out. `tried` has all
    designs in the order of their trial. `ended` is False if the time limit expired before the
    search was complete.
    """

    best: Design | None
    front: tuple[Design, ...]
    tried: tuple[Design, ...]
    ended: bool = True


def optimize(  # noqa: PLR0913 (options, by name)
    goal: Goal,
    place: str | PathLike[str],
    *,
    workers: int | None = None,
    runner: Runner | None = None,
    time_limit_s: float | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Front:
    """Search for the cheapest design that meets `goal`; simulations are kept in the folder `place`.

    `front.parquet` in the folder has a row for each design tried. `workers`, `runner` and
    `time_limit_s` are as in :func:`accelflow.studies.find`. `progress` is called with the number of
    trials and the expected number. Raises InputError for axes that do not change the cost, and for
    a design that cannot be simulated. Raises AccelflowError for a folder in use, if Optuna is not
    installed, and if the time limit expires before the first design is simulated.
    """
    if isinstance(goal, Question):
        raise refused("goal", "Question", "must be a Goal; studies.find takes a Question")
    instance_of("goal", goal, (Goal,), "a Goal")
    place = file_path("place", place)
    optuna = _imported()
    limit, run = TimeLimit(time_limit_s), runner_of(workers, runner)
    for corner in ("low", "high"):
        ends = {name: _given(getattr(axis, corner), axis) for name, axis in goal.ranges.items()}
        check_point(goal.simulated, ends)
    _check_cost(goal)
    with Points.of(goal.simulated, place, run, limit) as points:
        search = _Search(goal, points, limit, progress)
        try:
            _propose(optuna, goal, search)
            search.descend()
            ended = True
        except TimeUpError:
            if not search.tried:
                raise
            ended = False
        found = search.front(ended=ended)
        _write(found, place)
    return found


def _propose(optuna: Any, goal: Goal, search: _Search) -> None:
    """Have Optuna propose designs, and try them."""
    with _quiet(optuna):
        study = _study(optuna, goal)
        for _ in range(goal.trials):
            trial = study.ask()
            values = {name: _suggested(trial, name, axis) for name, axis in goal.ranges.items()}
            design = search.at(values)
            ratio = _SATURATED if design.worst_ratio is None else design.worst_ratio
            trial.set_constraint("worst measure over its limit", ratio - 1.0)
            study.tell(trial, [design.cost, ratio])


def _check_cost(goal: Goal) -> None:
    """Raise InputError if the cheapest corner costs as much as the dearest."""
    ranges, custom = goal.ranges, _custom_accelerators(goal)
    if goal.minimize == "area_mm2" and (unknown := [name for name in ranges if _is_own(name)]):
        allowed = f"must be elements with the axis {unknown[0]}, whose area is not known"
        raise refused("find.minimize", goal.minimize, allowed)
    cheap, dear = (
        _cost(goal, {name: axis.at(share) for name, axis in ranges.items()}, custom)
        for share in (0.0, 1.0)
    )
    if cheap == dear:
        axes = ", ".join(ranges)
        allowed = f"must be a cost that at least one of the axes changes; the axes are {axes}"
        raise refused("find.minimize", goal.minimize, allowed)


class _Search:
    """The designs that were tried, and the means to try others."""

    def __init__(
        self,
        goal: Goal,
        points: Points,
        limit: TimeLimit,
        progress: Callable[[int, int], object] | None,
    ) -> None:
        self._goal, self._points, self._limit = goal, points, limit
        self._custom = _custom_accelerators(goal)
        self._progress = progress
        self.tried: dict[tuple[float, ...], Design] = {}
        self._asked = 0

    def at(self, values: Point) -> Design:
        """Return the design `values` with its measures; each design is simulated once."""
        self._asked += 1
        key = tuple(values.values())
        if key not in self.tried:
            self._limit.check()
            look = look_until_clear(self._goal, partial(self._points.rows, values))
            cost = self._cost(values)
            self.tried[key] = Design(values=values, cost=cost, **look.to_dict())
        if self._progress is not None:
            self._progress(self._asked, max(self._asked + 1, self._goal.trials))
        return self.tried[key]

    def descend(self) -> None:
        """Lower whole numbers of the best design one by one, as long as the limits hold."""
        steps = [name for name, axis in self._goal.ranges.items() if axis.whole]
        lowered = True
        while lowered and (best := self._best()) is not None:
            lowered = False
            for name in steps:
                values = {**best.values, name: best.values[name] - 1}
                in_range = values[name] >= self._goal.ranges[name].low
                if in_range and self._cost(values) < best.cost and self.at(values).holds:
                    lowered = True
                    break

    def front(self, *, ended: bool) -> Front:
        """Return the results: all designs that were tried, the best one, and the Pareto front."""
        tried = tuple(self.tried.values())
        ordered = sorted(
            (design for design in tried if design.worst_ratio is not None),
            key=lambda design: (design.cost, design.worst_ratio),
        )
        front: list[Design] = []
        for design in ordered:
            if not front or _ratio(design) < _ratio(front[-1]):
                front.append(design)
        return Front(best=self._best(), front=tuple(front), tried=tried, ended=ended)

    def _best(self) -> Design | None:
        holding = [design for design in self.tried.values() if design.holds]
        return min(holding, key=lambda design: (design.cost, _ratio(design)), default=None)

    def _cost(self, values: Point) -> float:
        return _cost(self._goal, values, self._custom)


def _cost(goal: Goal, values: Point, custom: int) -> float:
    """Return the cost of a design for a workload with `custom` custom accelerators."""
    config = configured(goal.simulated.at(values, 1).config)
    if goal.minimize == "elements":
        return float(chip.elements(config, custom))
    return float(chip.area(chip.sizes(config))["total_mm2"])


def _custom_accelerators(goal: Goal) -> int:
    """Return how many custom accelerators the goal's workload has."""
    ends = {name: axis.at(0.0) for name, axis in goal.ranges.items()}
    workload = loaded(goal.simulated.at(ends, 1)).workload
    return len(workload.get("kinds", {})) if isinstance(workload, Mapping) else 0


def _is_own(axis: str) -> bool:
    """Return whether an axis is a parameter of custom accelerators."""
    return axis.endswith(".own")


def _ratio(design: Design) -> float:
    return math.inf if design.worst_ratio is None else design.worst_ratio


def _imported() -> Any:
    try:
        return importlib.import_module("optuna")
    except ImportError as error:
        raise AccelflowError(
            "optuna is not installed: run pip install 'accelflow[optimize]'"
        ) from error


@contextmanager
def _quiet(optuna: Any) -> Iterator[None]:
    """Suppress Optuna's log and its warnings of experimental options."""
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(level)


def _study(optuna: Any, goal: Goal) -> Any:
    sampler = optuna.samplers.TPESampler(seed=goal.seed, multivariate=True)
    study = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler)
    # The most expensive design is tried first: if it does not keep the limits, likely none does.
    study.enqueue_trial({name: _given(axis.high, axis) for name, axis in goal.ranges.items()})
    return study


def _suggested(trial: Any, name: str, axis: Any) -> float:
    log = axis.scale == "log"
    if axis.whole:
        low, high = math.ceil(axis.low), math.floor(axis.high)
        return int(trial.suggest_int(name, low, high, log=log))
    return float(trial.suggest_float(name, axis.low, axis.high, log=log))


def _given(value: float, axis: Any) -> float:
    return math.floor(value) if axis.whole else value


def _write(found: Front, place: Path) -> None:
    import pyarrow as pa  # noqa: PLC0415 (slow to load)
    import pyarrow.parquet as pq  # noqa: PLC0415 (slow to load)

    on_front = set(map(id, found.front))
    columns: dict[str, Sequence[Any]] = {
        f"axis.{name}": [float(design.values[name]) for design in found.tried]
        for name in found.tried[0].values
    }
    columns["cost"] = [design.cost for design in found.tried]
    for name in Look.__dataclass_fields__:
        columns[name] = [getattr(design, name) for design in found.tried]
    columns["on_front"] = [id(design) in on_front for design in found.tried]
    table = pa.table(columns)
    write_whole(
        place / "front.parquet", lambda scratch: pq.write_table(table, scratch, compression="zstd")
    )
