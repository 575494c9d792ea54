"""Searches of a study: for the least or greatest value of one axis, or the cheapest design."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, Final

from accelflow.errors import LEFT_OUT, reading, refused, whole_number
from accelflow.files import parse_toml, read_text
from accelflow.simulation import systems
from accelflow.studies.study import (
    MOST_SEEDS,
    Axis,
    Range,
    Study,
    axes_by_name,
    check_axis,
    check_once,
    check_schema,
    number_axes,
    read_range,
    read_tree,
)

__all__ = ["COSTS", "LIMITS", "Goal", "Question", "read_find", "read_question"]

#: The measures that may have a limit: the latencies of every service in us, and the share of
#: requests (0 to 1) whose response misses the SLO.
LIMITS: Final = ("mean_us", "p50_us", "p99_us", "p999_us", "slo_missed_ratio")

#: The costs of a design that a search may minimise: the number of processing elements of all
#: accelerators, or the area of the processor in mm2 (`accelflow area`).
COSTS: Final = ("elements", "area_mm2")

#: The keys of a search for a value, and of one for the cheapest design.
QUESTION_KEYS: Final = ("system", "least", "most", "range", "limits", "most_seeds")
GOAL_KEYS: Final = ("system", "minimize", "axes", "limits", "most_seeds", "trials", "seed")
#: The smallest number of seeds after which the mean decides, and the largest number of trials.
LEAST_SEEDS: Final = 4
MOST_TRIALS: Final = 100_000
#: The largest limit of a latency, in us.
MOST_LIMIT: Final = 1e12


@dataclass(frozen=True, kw_only=True)
class Question:
    """A search for the least (with `most`, the greatest) value of an axis that meets all limits.

    `study` has the scenario, `name` is the name of the axis, and `values` its range. `limits` has
    the largest allowed value of measures (:data:`LIMITS`) of every service under `system`. With
    `slo`, the P99 of each service must also be within its SLO. The limits must become harder to
    meet from one end of the range to the other. Each value is simulated with up to `most_seeds`
    seeds, until the decision is clear.
    """

    study: Study
    system: str
    name: str
    most: bool
    values: Range
    limits: Mapping[str, float] = field(default_factory=dict)
    slo: bool = False
    most_seeds: int = 16

    def __post_init__(self) -> None:
        """Refuse limits that a search would misread."""
        _limits({**self.limits, "slo": self.slo}, "limits")


@dataclass(frozen=True, kw_only=True)
class Goal:
    """A search for the cheapest design (a value of each of `axes`) that meets all limits.

    `study` has the scenario, and limits hold under `system`. `minimize` is one of :data:`COSTS`.
    `limits`, `slo` and `most_seeds` are as in :class:`Question`. An optimiser with the seed `seed`
    proposes `trials` designs; then the elements of the best design are lowered one by one.
    """

    study: Study
    system: str
    minimize: str
    axes: tuple[Axis, ...]
    limits: Mapping[str, float] = field(default_factory=dict)
    slo: bool = False
    most_seeds: int = 16
    trials: int = 50
    seed: int = 1

    def __post_init__(self) -> None:
        """Refuse limits that a search would misread."""
        _limits({**self.limits, "slo": self.slo}, "limits")

    @property
    def ranges(self) -> dict[str, Range]:
        """The range of each axis, by the axis's name."""
        return {axis.name: axis.values for axis in self.axes if isinstance(axis.values, Range)}


def read_question(path: str | PathLike[str]) -> Question:
    """Return the search for a value of one axis in the table ``[find]`` of a study's TOML file.

    Raises InputError for a file that cannot be read, for the first value that is not allowed, and
    for a search for the cheapest design (``minimize``).
    """
    found = read_find(path)
    if isinstance(found, Goal):
        allowed = "must be replaced by find.least or find.most; only read_find reads minimize"
        raise refused(f"{path}: find.minimize", found.minimize, allowed)
    return found


def read_find(path: str | PathLike[str]) -> Question | Goal:
    """Return the search in the table ``[find]`` of a study's TOML file (docs/studies.md).

    Raises InputError for a file that cannot be read, and for the first value that is not allowed.
    """
    path = Path(path)
    with reading("study", path):
        tree = parse_toml(read_text(path))
        check_schema(tree)
        asked = tree.pop("find", None)
        if not isinstance(asked, Mapping):
            raise refused("find", LEFT_OUT if asked is None else asked, "must be a table")
        study = read_tree(tree, path.parent, axes=False)
        return _goal(study, asked) if "minimize" in asked else _question(study, asked)


def _question(study: Study, tree: Mapping[str, Any]) -> Question:
    for key in tree:
        if key not in QUESTION_KEYS:
            raise refused("find key", key, known=QUESTION_KEYS)
    if ("least" in tree) == ("most" in tree):
        allowed = "must have exactly one of the keys least, most and minimize"
        raise refused("find", sorted(tree), allowed)
    most = "most" in tree
    name = tree["most" if most else "least"]
    if not isinstance(name, str):
        raise refused(
            "find.most" if most else "find.least",
            name,
            "must be a field of a scenario, config.KEY or chip, as a string",
        )
    _check_searched("find.most" if most else "find.least", name)
    system = _system(tree, study)
    limits, slo = _limits(tree.get("limits", LEFT_OUT))
    return Question(
        study=_of_system(study, system),
        system=system,
        name=name,
        most=most,
        values=_range("find.range", tree.get("range", LEFT_OUT), name),
        limits=limits,
        slo=slo,
        most_seeds=_most_seeds(tree),
    )


def _goal(study: Study, tree: Mapping[str, Any]) -> Goal:
    for key in tree:
        if key not in GOAL_KEYS:
            raise refused("find key", key, known=GOAL_KEYS)
    minimize = tree["minimize"]
    if minimize not in COSTS:
        raise refused("find.minimize", minimize, known=COSTS)
    system = _system(tree, study)
    limits, slo = _limits(tree.get("limits", LEFT_OUT))
    return Goal(
        study=_of_system(study, system),
        system=system,
        minimize=minimize,
        axes=_goal_axes(tree.get("axes", LEFT_OUT)),
        limits=limits,
        slo=slo,
        most_seeds=_most_seeds(tree),
        trials=whole_number("find.trials", tree.get("trials", 50), 1, MOST_TRIALS),
        seed=whole_number("find.seed", tree.get("seed", 1), 0, 2**32 - 1),
    )


def _goal_axes(tree: object) -> tuple[Axis, ...]:
    if not isinstance(tree, Mapping) or not tree:
        raise refused("find.axes", tree, "must be a table with a range for each axis")
    axes = []
    for name, values in axes_by_name(tree):
        _check_searched("find.axes key", name)
        axes.append(Axis(name=name, values=_range(f"find.axes.{name}", values, name)))
    check_once("find.axes key", [axis.name for axis in axes])
    return tuple(axes)


def _check_searched(place: str, name: str) -> None:
    """Raise InputError unless `name` is an axis with numbers."""
    check_axis(place, name)
    if name not in number_axes():
        allowed = "must be an axis with numbers, such as rate_rps or config.pes.TCP"
        raise refused(place, name, allowed)


def _range(place: str, tree: object, name: str) -> Range:
    """Return the range of the axis `name`; it must be whole if the axis is."""
    found = read_range(place, tree)
    if number_axes()[name] and not found.whole:
        given = tree.get("whole", LEFT_OUT) if isinstance(tree, Mapping) else found.whole
        raise refused(f"{place}.whole", given, f"must be true, since {name} is a whole number")
    return found


def _system(tree: Mapping[str, Any], study: Study) -> str:
    names = dict(systems())
    system = tree.get("system", "accelflow")
    if system not in list(names):  # a list, since `system` may be anything
        raise refused("find.system", system, known=names)
    given = study.scenario.get("orchestrators", [system])
    if given not in ([system], [names[system]]):
        raise refused("scenario.orchestrators", given, f"must be left out: find.system is {system}")
    return str(system)


def _of_system(study: Study, system: str) -> Study:
    return replace(study, scenario={**study.scenario, "orchestrators": (system,)})


def _most_seeds(tree: Mapping[str, Any]) -> int:
    return whole_number("find.most_seeds", tree.get("most_seeds", 16), LEAST_SEEDS, MOST_SEEDS)


def _limits(tree: object, place: str = "find.limits") -> tuple[dict[str, float], bool]:
    # The value false is no limit; slo = 0 is refused below.
    if not isinstance(tree, Mapping) or all(value is False for value in tree.values()):
        allowed = "must be a table with a limit, such as p99_us = 900 or slo = true"
        raise refused(place, tree, allowed)
    limits = dict(tree)
    slo = limits.pop("slo", False)
    if not isinstance(slo, bool):
        raise refused(f"{place}.slo", slo, "must be true or false")
    for name, value in limits.items():
        if name not in LIMITS:
            raise refused(f"{place} key", name, known=[*LIMITS, "slo"])
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if name == "slo_missed_ratio" and (not number or not 0 < value < 1):
            raise refused(f"{place}.{name}", value, "must be a number above 0 and below 1")
        if not number or not 0 < value <= MOST_LIMIT:
            raise refused(f"{place}.{name}", value, "must be a number above 0, at most 1e12")
    return {name: float(value) for name, value in limits.items()}, slo
