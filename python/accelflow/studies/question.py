"""Searches of a study: for the least or greatest value of one axis, or the cheapest design."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, Final

from accelflow.errors import LEFT_OUT, InputError, instance_of, reading, refused, whole_number
from accelflow.files import parse_toml, read_text
from accelflow.simulation import systems
from accelflow.studies.study import (
    MOST_SEEDS,
    Axis,
    Range,
    Study,
    axes_by_name,
    axis_name,
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
class _Search:
    """What both kinds of search have: a scenario, its system, and limits with their seeds."""

    study: Study
    system: str
    limits: Mapping[str, float] = field(default_factory=dict)
    slo: bool = False
    most_seeds: int = 16

    def __post_init__(self) -> None:
        """Raise InputError for values that a search would misread."""
        instance_of("study", self.study, (Study,), "a Study")
        for name in ("axes", "points"):
            if given := getattr(self.study, name):
                raise refused(f"study.{name}", given, "must be left out in a search")
        _check_system(self.study, self.system)
        _check_limits(self.limits, slo=self.slo)
        whole_number("most_seeds", self.most_seeds, LEAST_SEEDS, MOST_SEEDS)

    @property
    def simulated(self) -> Study:
        """The study with `system` as the only system of its scenario."""
        scenario = {**self.study.scenario, "orchestrators": (self.system,)}
        return replace(self.study, scenario=scenario)


@dataclass(frozen=True, kw_only=True)
class Question(_Search):
    """A search for the least value of an axis that meets all limits; with `most`, the greatest.

    An example is the greatest rate with a P99 of at most 1 ms. `name` is the name of the axis (a
    field or parameter), and `values` its range. `study` has the scenario, without axes and points,
    and `system` is the identifier of the system that is simulated. `limits` maps measures
    (:data:`LIMITS`) to the largest value allowed for any service. With `slo`, the P99 of each
    service must also be within its SLO. The limits must become harder to meet from one end of the
    range to the other. Each value is simulated with up to `most_seeds` seeds, at least 4, until the
    decision is clear. Raises InputError for a value that is not allowed, and for a scenario with
    systems other than `system`.
    """

    name: str
    most: bool
    values: Range

    def __post_init__(self) -> None:
        """Raise InputError for values that a search would misread."""
        super().__post_init__()
        object.__setattr__(self, "name", axis_name(self.name))
        _check_searched("name", self.name)
        instance_of(
            "most", self.most, (bool,), "True to search the greatest value, False the least"
        )
        _check_values("values", self.name, self.values)


@dataclass(frozen=True, kw_only=True)
class Goal(_Search):
    """A search for the cheapest design (a value of each of `axes`) that meets all limits.

    `minimize` is the cost, one of :data:`COSTS`. The values of each of `axes` are a range. `study`,
    `system`, `limits`, `slo` and `most_seeds` are as in :class:`Question`. An optimiser with the
    seed `seed` proposes `trials` designs; then the whole numbers of the best design, such as its
    numbers of elements, are lowered one by one. Raises InputError for a value that is not allowed.
    """

    minimize: str
    axes: Sequence[Axis]
    trials: int = 50
    seed: int = 1

    def __post_init__(self) -> None:
        """Raise InputError for values that a search would misread."""
        if self.minimize not in COSTS:
            raise refused("minimize", self.minimize, known=COSTS)
        super().__post_init__()
        listed = isinstance(self.axes, list | tuple) and len(self.axes) > 0
        if not listed or not all(isinstance(axis, Axis) for axis in self.axes):
            raise refused("axes", self.axes, "must be a list of at least one Axis")
        for axis in self.axes:
            _check_searched("axes key", axis.name)
            _check_values(f"axes.{axis.name}", axis.name, axis.values)
        check_once("axes key", [axis.name for axis in self.axes])
        whole_number("trials", self.trials, 1, MOST_TRIALS)
        whole_number("seed", self.seed, 0, 2**32 - 1)

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
    wanted = "most" if "most" in tree else "least"
    name = axis_name(tree[wanted])
    _check_searched(f"find.{wanted}", name)
    with _named_as_in_file({"name": wanted, "values": "range"}):
        return Question(
            study=study,
            name=name,
            most=wanted == "most",
            values=_range("find.range", tree.get("range", LEFT_OUT), name),
            **_common(tree),
        )


def _goal(study: Study, tree: Mapping[str, Any]) -> Goal:
    for key in tree:
        if key not in GOAL_KEYS:
            raise refused("find key", key, known=GOAL_KEYS)
    with _named_as_in_file({}):
        return Goal(
            study=study,
            minimize=tree["minimize"],
            axes=_goal_axes(tree.get("axes", LEFT_OUT)),
            **{key: tree[key] for key in ("trials", "seed") if key in tree},
            **_common(tree),
        )


def _common(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that both kinds of search have, from the table ``[find]``."""
    given = tree.get("limits", LEFT_OUT)
    limits = {**given} if isinstance(given, Mapping) else given
    slo = limits.pop("slo", False) if isinstance(limits, dict) else False
    seeds = {"most_seeds": tree["most_seeds"]} if "most_seeds" in tree else {}
    return {"system": tree.get("system", "accelflow"), "limits": limits, "slo": slo, **seeds}


@contextmanager
def _named_as_in_file(keys: Mapping[str, str]) -> Iterator[None]:
    """Name fields of a search in errors of the block as in a file; `keys` has other keys."""
    try:
        yield
    except InputError as error:
        place = str(error.place)
        if place.startswith(("find", "scenario")):
            raise
        raise error.at(f"find.{keys.get(place, place)}") from error


def _goal_axes(tree: object) -> tuple[Axis, ...]:
    if not isinstance(tree, Mapping) or not tree:
        raise refused("find.axes", tree, "must be a table with a range for each axis")
    axes = []
    for name, values in axes_by_name(tree):
        _check_searched("find.axes key", name)
        axes.append(Axis(name=name, values=_range(f"find.axes.{name}", values, name)))
    return tuple(axes)


def _check_searched(place: str, name: object) -> None:
    """Raise InputError unless `name` is an axis with numbers."""
    if not isinstance(name, str):
        allowed = "must be the name of an axis, as a string, such as 'rate_rps'"
        raise refused(place, name, allowed)
    check_axis(place, name)
    if name not in number_axes():
        allowed = "must be an axis whose values are numbers, such as rate_rps or config.pes.TCP"
        raise refused(place, name, allowed)


def _range(place: str, tree: object, name: str) -> Range:
    """Return the range of the axis `name` in a file."""
    found = read_range(place, tree)
    given = tree.get("whole", LEFT_OUT) if isinstance(tree, Mapping) else LEFT_OUT
    _check_values(place, name, found, given)
    return found


def _check_values(place: str, name: str, values: object, given: object = False) -> None:
    """Raise InputError unless `values` is a range that the axis `name` can have.

    It must be whole if the axis is; `given` is what the message shows as the value of that.
    """
    instance_of(place, values, (Range,), "a Range")
    if isinstance(values, Range) and number_axes()[name] and not values.whole:
        raise refused(
            f"{place}.whole", given, f"must be true, since {name} takes only whole numbers"
        )


def _check_system(study: Study, system: object) -> None:
    names = dict(systems())
    if not isinstance(system, str) or system not in names:
        raise refused("system", system, known=names)
    given = study.scenario.get("orchestrators", [system])
    if not isinstance(given, list | tuple) or [*given] not in ([system], [names[system]]):
        allowed = f"must be left out, since the search's own system is {system}"
        raise refused("scenario.orchestrators", given, allowed)


def _check_limits(limits: object, *, slo: object) -> None:
    # The value false is no limit; slo = 0 is refused below.
    if not isinstance(limits, Mapping) or not (limits or slo is not False):
        allowed = "must set a limit, such as p99_us = 900 or slo = true"
        shown = {**limits, "slo": slo} if isinstance(limits, Mapping) else limits
        raise refused("limits", shown, allowed)
    if not isinstance(slo, bool):
        raise refused("limits.slo", slo, "must be true or false")
    for name, value in limits.items():
        if name not in LIMITS:
            raise refused("limits key", name, known=[*LIMITS, "slo"])
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if name == "slo_missed_ratio" and (not number or not 0 < value < 1):
            raise refused(f"limits.{name}", value, "must be a number above 0 and below 1")
        if not number or not 0 < value <= MOST_LIMIT:
            raise refused(f"limits.{name}", value, "must be a number above 0, at most 1e12")
