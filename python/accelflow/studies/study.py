"""The study: a scenario, the axes along which it changes, and the seeds of each point."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any, Final

from accelflow._native import scenario_rates
from accelflow.chips import find_chip
from accelflow.errors import (
    GIVEN,
    LEFT_OUT,
    InputError,
    file_path,
    finite_number,
    reading,
    refused,
    whole_number,
)
from accelflow.files import parse_toml, read_text
from accelflow.parameters import canonical, flattened, parameters
from accelflow.scenario import (
    Scenario,
    check_plain,
    document,
    fields_schema,
    recording_text,
    resolved,
)
from accelflow.workload import has_rates, is_file, load_workload, warn_of_rates

__all__ = [
    "KINDS",
    "SCHEMA",
    "Axis",
    "Range",
    "Study",
    "axes_by_name",
    "axis_name",
    "axis_spellings",
    "check_axis",
    "read_range",
    "read_study",
    "read_tree",
]

#: The schema of a study's file.
SCHEMA: Final = "accelflow.study/1"
#: The kinds of designs. ``grid``: every combination of the values of all axes. ``latin_hypercube``:
#: points that cover the ranges of all axes evenly, each axis cut into as many strips as there are
#: points (McKay, Beckman and Conover, Technometrics 1979). ``list``: the points that the study
#: lists.
KINDS: Final = ("grid", "latin_hypercube", "list")

#: The fields of a scenario that cannot be axes, each with what to do instead.
_SET_OTHERWISE: Final = {
    "seed": "design.seeds sets the seeds of each point",
    "config": "config.KEY, such as config.core.count, varies a parameter of the server",
    "chips": "the axis chip has the chips' files or names",
    "orchestrators": "each point is simulated with all orchestrators of the scenario",
    "recording": "all points have the recording of the scenario",
}
_SCENARIO: Final = tuple(attribute.name for attribute in fields(Scenario))
#: The fields of a scenario that a study's file may set for all points, without seed and chips.
OF_SCENARIO: Final = tuple(name for name in _SCENARIO if name not in ("seed", "chips"))
#: The keys of a study's file without [find], of its designs, and of ranges.
KEYS: Final = ("schema", "scenario", "design", "axes", "points")
DESIGN_KEYS: Final = ("kind", "points", "seeds", "seed")
RANGE_KEYS: Final = ("from", "to", "points", "scale", "whole")
#: The fields of a study for the keys of its design in a file, except the kind.
DESIGN_FIELDS: Final = {"points": "count", "seeds": "seeds", "seed": "draw"}
_NO_COUNT: Final = "must be left out unless the kind of design is latin_hypercube"
#: The fields of a range's ends, by their keys in a file.
ENDS: Final = {"from": "low", "to": "high"}
SCALES: Final = ("linear", "log")
#: The largest number of points times seeds, and of seeds that are a number.
MOST_POINTS: Final = 10_000_000
MOST_SEEDS: Final = 1_000
#: Larger whole numbers are not exact as floating-point numbers.
_MOST_WHOLE: Final = 2**53
#: The types of JSON that are numbers.
_NUMBER: Final = re.compile("integer|number")


@dataclass(frozen=True, kw_only=True)
class Range:
    """A range of values of an axis: numbers from `low` to `high`, both included.

    A grid takes `points` of them, equally spaced on the `scale`, ``linear`` or ``log``. With
    `whole`, values are whole numbers. Raises InputError for a field that is not allowed.
    """

    low: float
    high: float
    points: int = 5
    scale: str = "linear"
    whole: bool = False

    def __post_init__(self) -> None:
        """Raise InputError for fields that are no range."""
        for name in ("low", "high"):
            number = float(finite_number(name, getattr(self, name)))
            object.__setattr__(self, name, number)
        if not self.low < self.high:
            allowed = f"must be more than {self.low:g}, where the range begins"
            raise refused("high", self.high, allowed)
        if self.scale not in SCALES:
            raise refused("scale", self.scale, known=SCALES)
        if self.scale == "log" and self.low <= 0:
            raise refused("low", self.low, "must be more than 0 on a logarithmic scale")
        if not isinstance(self.whole, bool):
            raise refused("whole", self.whole, "must be true or false")
        if not math.isfinite(self.high - self.low):
            most = f"{sys.float_info.max:g}"
            allowed = f"must be less than {most} above {self.low:g}, where the range begins"
            raise refused("high", self.high, allowed)
        for name in ("low", "high") if self.whole else ():
            value = getattr(self, name)
            if not value.is_integer():
                raise refused(name, value, "must be a whole number, since whole is true")
            if abs(value) > _MOST_WHOLE:
                allowed = f"must be from {-_MOST_WHOLE} to {_MOST_WHOLE}, since whole is true"
                raise refused(name, value, allowed)
        whole_number("points", self.points, 2, MOST_POINTS)

    def at(self, share: float) -> float:
        """Return the number at the position `share` between `low` (0) and `high` (1)."""
        if self.scale == "log":
            value = self.low * (self.high / self.low) ** share
        else:
            value = self.low + (self.high - self.low) * share
        value = float(min(max(value, self.low), self.high))
        return round(value) if self.whole else value


@dataclass(frozen=True, kw_only=True)
class Axis:
    """An axis of a study: a field or parameter that the study varies, and the values to try.

    `name` is a field of a scenario, ``config.KEY`` for a parameter of the server, or ``chip``. A
    parameter may be spelt as a chip's file spells it, such as ``accelerator.TCP.pes``; `name` is
    then ``config.pes.TCP``. `values` is a list or a range. Raises InputError for an unknown name,
    for an empty list, and for a value that is not finite or is given twice.
    """

    name: str
    values: Range | tuple[Any, ...]

    def __post_init__(self) -> None:
        """Refuse names and values that a run would misread."""
        object.__setattr__(self, "name", axis_name(self.name))
        check_axis("axis", self.name)
        if isinstance(self.values, Range):
            _check_whole(self.name, self.name, self.values, given=False)
            return
        if not isinstance(self.values, list | tuple) or not self.values:
            raise refused(self.name, self.values, "must be a Range, or a list with values")
        for number, value in enumerate(self.values):
            _check_finite(f"{self.name}[{number}]", value)
        if any(self.values.count(value) > 1 for value in self.values):
            raise refused(self.name, self.values, "must have each value only once")

    @property
    def count(self) -> int:
        """The number of values that this axis has in a grid.

        A range counts all of its `points`, even if some coincide when rounded to whole numbers.
        """
        return self.values.points if isinstance(self.values, Range) else len(self.values)


@dataclass(frozen=True, kw_only=True)
class Study:
    """A study: many simulations of a scenario in which some fields and parameters vary.

    A point is one combination of values. `scenario` has the fields that stay the same, by name as
    in :class:`accelflow.Scenario`. `kind`, one of :data:`KINDS`, states how points are chosen. A
    grid has all combinations of the values of `axes`. A Latin hypercube has `count` points, drawn
    along `axes` with the seed `draw`; each value of an axis that is a list occurs about equally
    often. A ``list`` has the points in `points`, each a mapping from the axis's name to a value.
    The value of the axis ``chip`` is a chip's file or the name of a packaged chip. Each point is
    simulated once with each of `seeds`, a list of seeds or their number. Names of files are
    relative to `folder`. Raises InputError for a value that is not allowed, and for `axes`,
    `points` or a `count` that the kind of design does not use.
    """

    scenario: Mapping[str, Any] = field(default_factory=dict)
    kind: str = "grid"
    axes: Sequence[Axis] = ()
    points: Sequence[Mapping[str, Any]] = ()
    count: int = 0
    draw: int = 1
    seeds: Sequence[int] | int = (1,)
    folder: Path = Path()

    def __post_init__(self) -> None:
        """Refuse values that a run would misread."""
        if self.kind not in KINDS:
            raise refused("kind", self.kind, known=KINDS)
        self._check_types()
        check_once("axes", [axis.name for axis in self.axes])
        self._check_kind()
        _check_keys("scenario key", self.scenario, OF_SCENARIO)
        for name, value in self.scenario.items():
            _check_finite(f"scenario.{name}", value)
        for number, point in enumerate(self.points):
            for name, value in point.items():
                check_axis(f"points[{number}] key", name)
                _check_finite(f"points[{number}].{name}", value)
        whole_number("draw", self.draw, 0, 2**32 - 1)
        _check_seeds(self.seeds)
        if self.most_simulations > MOST_POINTS:
            allowed = f"must be at most {MOST_POINTS:,}"
            raise refused("points times seeds", self.most_simulations, allowed)

    def _check_types(self) -> None:
        """Raise InputError for fields of another type; make names of axes and `folder` uniform."""
        if not isinstance(self.scenario, Mapping):
            raise refused("scenario", self.scenario, "must map fields of a scenario to values")
        listed = isinstance(self.axes, list | tuple)
        if not listed or not all(isinstance(axis, Axis) for axis in self.axes):
            raise refused("axes", self.axes, "must be a list with an Axis for each axis")
        listed = isinstance(self.points, list | tuple)
        if not listed or not all(isinstance(point, Mapping) for point in self.points):
            raise refused("points", self.points, "must be a list of mappings from axes to values")
        spelt = []
        for number, point in enumerate(self.points):
            names = [axis_name(name) for name in point]
            check_once(f"points[{number}]", names)
            spelt.append(dict(zip(names, point.values(), strict=True)))
        object.__setattr__(self, "points", tuple(spelt))
        object.__setattr__(self, "folder", file_path("folder", self.folder))

    def _check_kind(self) -> None:
        """Raise InputError for fields that the kind of design does not use, or that it lacks."""
        if self.kind == "list":
            if self.axes:
                names = [axis.name for axis in self.axes]
                raise refused(
                    "axes",
                    names,
                    "must be left out, since the kind of design is list, which has points",
                )
            if not self.points:
                allowed = "must have a point, since the kind of design is list"
                raise refused("points", list(self.points), allowed)
        elif self.points:
            allowed = f"must be left out, since the kind of design is {self.kind}, which has axes"
            raise refused("points", list(self.points), allowed)
        if self.kind == "latin_hypercube":
            if self.count == 0:
                allowed = f"must be the number of points, from 2 to {MOST_POINTS}"
                raise refused("count", LEFT_OUT, allowed)
            whole_number("count", self.count, 2, MOST_POINTS)
        elif self.count != 0:
            raise refused("count", self.count, _NO_COUNT)

    @property
    def each_seed(self) -> Sequence[int]:
        """The list of seeds of each point: `seeds`, or if that is a number, 1, 2, ... up to it."""
        return range(1, self.seeds + 1) if isinstance(self.seeds, int) else self.seeds

    @property
    def names(self) -> list[str]:
        """The names of the axes, in the order of the study."""
        if self.kind == "list":
            return list(dict.fromkeys(name for point in self.points for name in point))
        return [axis.name for axis in self.axes]

    @property
    def most_simulations(self) -> int:
        """The number of points times the number of seeds; fewer simulations if points coincide."""
        counts = {
            "list": len(self.points),
            "latin_hypercube": self.count,
            "grid": math.prod(axis.count for axis in self.axes),
        }
        return counts[self.kind] * len(self.each_seed)

    def at(self, point: Mapping[str, Any], seed: int) -> Scenario:
        """Return the scenario of one point of the study, to be simulated with `seed`.

        `point` has the value of each axis, by the axis's name. Raises InputError if the point names
        a file, such as a chip's, that cannot be read.
        """
        values = {**self.scenario, "seed": seed}
        config = canonical(values.get("config", {}))
        if "chip" in point:
            config |= find_chip(_place(point["chip"], self.folder)).config
        for name, value in point.items():
            if name.startswith("config."):
                config[name.removeprefix("config.")] = value
            elif name != "chip":
                values[name] = value
        values["config"] = config
        if not is_file(values.get("workload")):
            return Scenario(**values)
        path = self.folder / values["workload"]
        values["workload"] = load_workload(path)
        scenario = Scenario(**values)
        if scenario.arrivals is None and has_rates(values["workload"]):
            _warn_of_rates(path, values["workload"], scenario)
        return scenario


def _warn_of_rates(path: Path, workload: Mapping[str, Any], scenario: Scenario) -> None:
    """Emit a WorkloadWarning for each table of rates that is longer than the simulation."""
    found = resolved(scenario)

    def requests_at(rate_rps: float) -> float:
        return float(found["requests"] * (rate_rps / found["rate_rps"] if found["by_rate"] else 1))

    rates_rps = dict(scenario_rates(document(scenario), scenario.recording))
    warn_of_rates(path, workload, rates_rps, requests_at)


def _place(chip: object, folder: Path) -> str:
    """Return the path of the chip file `chip`, relative to `folder`, or the name of a chip."""
    if not isinstance(chip, str):
        allowed = (
            "must be text: the path of a chip's file, or a name listed by `accelflow chip list`"
        )
        raise refused("chip", chip, allowed)
    beside = folder / chip
    return str(beside) if Path(chip).suffix or beside.is_file() else chip


def read_study(path: str | PathLike[str]) -> Study:
    """Read the study in the TOML file at `path` (docs/studies.md).

    Raises InputError for a file that cannot be read, and for the first value that is not allowed.
    """
    path = Path(path)
    with reading("study", path):
        tree = parse_toml(read_text(path))
        check_schema(tree)
        asked = tree.pop("find", None)  # the question of another command
        if asked is not None and not {"axes", "points"} & set(tree):
            allowed = "must be a table with values for each axis; `accelflow find` reads [find]"
            raise refused("axes", LEFT_OUT, allowed)
        return read_tree(tree, path.parent)


def check_schema(tree: Mapping[str, Any]) -> None:
    """Raise InputError if `tree`, the parsed content of a file, is no study."""
    if tree.get("schema") != SCHEMA:
        raise refused("schema", tree.get("schema", LEFT_OUT), f"must be {SCHEMA}")


def read_tree(tree: Mapping[str, Any], folder: Path, *, axes: bool = True) -> Study:
    """Return the study in `tree`, the parsed content of its file.

    If `axes` is False, the file must have no design, axes or points. Paths of files are relative to
    `folder`. Raises InputError for the first value that is not allowed.
    """
    check_schema(tree)
    _check_keys("key", tree, KEYS)
    for key in () if axes else ("design", "axes", "points"):
        if key in tree:
            raise refused(key, GIVEN, "must be left out with [find]")
    scenario = _scenario(tree.get("scenario", {}), folder)
    design = _table("design", tree.get("design", {}))
    _check_keys("design key", design, DESIGN_KEYS)
    kind = design.get("kind", "list" if "points" in tree else "grid")
    if kind not in KINDS:
        raise refused("design.kind", kind, known=KINDS)
    found = _axes(tree.get("axes", {}), kind)
    points = _points(tree.get("points", []))
    if axes and kind == "list" and not (found or points):
        allowed = "must be given as [[points]], since the kind of design is list"
        raise refused("points", LEFT_OUT, allowed)
    if axes and kind != "list" and not (found or points):
        allowed = "must be a table with values for each axis, such as rate_rps = [5000, 9000]"
        raise refused("axes", LEFT_OUT, allowed)
    given = {DESIGN_FIELDS[key]: design[key] for key in design if key != "kind"}
    if axes and kind == "latin_hypercube":
        given = {"count": LEFT_OUT, **given}
    elif given.get("count") == 0:
        raise refused("design.points", 0, _NO_COUNT)
    try:
        return Study(
            scenario=scenario, kind=kind, axes=found, points=points, folder=folder, **given
        )
    except InputError as error:
        keys = {name: f"design.{key}" for key, name in DESIGN_FIELDS.items()}
        place = str(error.place)
        raise error.at(keys.get(place, place)) from error


def _scenario(tree: object, folder: Path) -> dict[str, Any]:
    values = dict(_table("scenario", tree))
    _check_keys("scenario key", values, OF_SCENARIO)
    check_plain("scenario", values)
    if "config" in values:
        values["config"] = flattened(_table("scenario.config", values["config"]))
    if "recording" in values:
        values["recording"] = recording_text("scenario.recording", values["recording"], folder)
    return values


def _axes(tree: object, kind: str) -> tuple[Axis, ...]:
    found = []
    for name, value in axes_by_name(_table("axes", tree)):
        check_axis("axis", name)
        values = _values(f"axes.{name}", value, kind)
        if isinstance(value, Mapping) and isinstance(values, Range):
            _check_whole(f"axes.{name}", name, values, value.get("whole", LEFT_OUT))
        try:
            found.append(Axis(name=name, values=values))
        except InputError as error:
            raise error.at(f"axes.{error.place}") from error
    return tuple(found)


def axes_by_name(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the name and the values of each axis in `tree`, the nested tables of a study's file.

    Names of nested tables are joined with dots: ``config``, ``accelerator`` and ``pes`` give
    ``config.accelerator.pes``, and spelt by :func:`axis_name`. `prefix` comes before the name. A
    table with ``from`` or ``to`` is the range of values of an axis.
    """
    for key, value in tree.items():
        if isinstance(value, Mapping) and not {"from", "to"} & set(value):
            yield from axes_by_name(value, f"{prefix}{key}.")
        else:
            yield axis_name(f"{prefix}{key}"), value


def axis_name(name: str) -> str:
    """Return the name of the axis that is spelt `name`, such as ``config.pes.TCP``.

    The prefix ``config.`` may be left out, and the key of a parameter may be spelt as in a chip's
    file: ``accelerator.TCP.pes``. Another text, which names no parameter, is returned unchanged.
    """
    return _spellings().get(name, name) if isinstance(name, str) else name


@cache
def _spellings() -> dict[str, str]:
    """Return the names of axes for parameters by their other spellings."""
    return {
        f"{prefix}{key}": f"config.{each.key}"
        for each in parameters()
        for key in (each.key, each.also)
        for prefix in ("config.", "")
        if key and f"{prefix}{key}" not in _SCENARIO
    }


def axis_names() -> list[str]:
    """Return the names that an axis may have."""
    return list(_axis_names())


@cache
def _axis_names() -> tuple[str, ...]:
    keys = (f"config.{parameter.key}" for parameter in parameters())
    return (*(each for each in _SCENARIO if each not in _SET_OTHERWISE), "chip", *keys)


def axis_spellings(names: Iterable[str]) -> list[str]:
    """Return all spellings of the axes called `names`; of each axis, its name comes first."""
    also: dict[str, list[str]] = {}
    for spelling, name in _spellings().items():
        also.setdefault(name, [name]).append(spelling)
    return list(dict.fromkeys(spelling for name in names for spelling in also.get(name, [name])))


def number_axes() -> dict[str, bool]:
    """Return, by name, for each axis with numbers whether its values are whole numbers."""
    table, _ = fields_schema(name for name in _SCENARIO if name not in _SET_OTHERWISE)
    kinds = {name: str(each.get("type")) for name, each in table["properties"].items()}
    found = {name: "integer" in kind for name, kind in kinds.items() if _NUMBER.search(kind)}
    return found | {f"config.{parameter.key}": parameter.whole for parameter in parameters()}


def check_axis(what: str, name: str) -> None:
    """Raise InputError unless `name` can be an axis; the message names the setting `what`."""
    known = _axis_names()
    if name in _SET_OTHERWISE:
        allowed = f"must be an axis other than {name}: {_SET_OTHERWISE[name]}"
        raise refused(what, name, allowed)
    if name not in known:
        allowed = "must be chip, a scenario's field such as rate_rps, or config.KEY"
        raise refused(what, name, allowed, axis_spellings(known))


def _check_whole(place: str, name: str, values: Range, given: object) -> None:
    """Raise InputError unless the range of a scenario's whole number is whole, too.

    A parameter of the server takes 4.0 for 4, and so any range. `given` is what the message shows
    as the value of ``whole``.
    """
    if name in _SCENARIO and number_axes().get(name) and not values.whole:
        raise refused(
            f"{place}.whole", given, f"must be true, since {name} takes only whole numbers"
        )


def _values(place: str, value: object, kind: str) -> Range | tuple[Any, ...]:
    if isinstance(value, Mapping):
        return read_range(place, value, kind)
    if not isinstance(value, list) or not value:
        raise refused(place, value, "must be a list with values, or a table with from and to")
    check_plain(place, value)
    return tuple(value)


def read_range(place: str, tree: object, kind: str = "") -> Range:
    """Return the range of values that the table `tree` of a study's file describes.

    Raises InputError for the first value that is not allowed; the message names `place`, the place
    of the table in the file.
    """
    if not isinstance(tree, Mapping):
        raise refused(place, tree, "must be a table with from and to")
    _check_keys(f"{place} key", tree, RANGE_KEYS)
    if kind != "grid" and "points" in tree:
        raise refused(
            f"{place}.points", tree["points"], "must be left out unless design.kind is grid"
        )
    given: dict[str, Any] = {str(ENDS.get(key, key)): value for key, value in tree.items()}
    try:
        return Range(**{"low": LEFT_OUT, "high": LEFT_OUT, **given})
    except InputError as error:
        name = {end: key for key, end in ENDS.items()}.get(str(error.place), error.place)
        raise error.at(f"{place}.{name}") from error


def check_once(place: str, names: Sequence[str]) -> None:
    """Raise InputError if one of the axes' `names` is repeated.

    A file may name an axis twice in different ways, by a nested table and by a name with dots.
    """
    for name in names:
        if names.count(name) > 1:
            raise refused(place, name, "must be given only once")


def _points(tree: object) -> tuple[Mapping[str, Any], ...]:
    if not isinstance(tree, list) or not all(isinstance(point, Mapping) for point in tree):
        raise refused("points", tree, "must be a list of tables, [[points]]")
    found = []
    for number, given in enumerate(tree):
        values = list(axes_by_name(given))
        check_once(f"points[{number}]", [name for name, _ in values])
        found.append(dict(values))
    for number, point in enumerate(found):
        for name, value in point.items():
            check_axis(f"points[{number}] key", name)
            check_plain(f"points[{number}].{name}", value)
            if isinstance(value, Mapping | list) and name.startswith("config."):
                raise refused(f"points[{number}].{name}", value, "must be a number or a name")
    return tuple(found)


def _check_seeds(value: object) -> None:
    """Raise InputError unless `value` is a number of seeds, or a sequence with each seed once."""
    if isinstance(value, int) and not isinstance(value, bool):
        whole_number("seeds", value, 1, MOST_SEEDS)
        return
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        raise refused("seeds", value, "must be the number of seeds, or a list of seeds")
    for number, seed in enumerate(() if isinstance(value, range) else value):
        whole_number(f"seeds[{number}]", seed, 0, 2**64 - 1)
    if not value:
        raise refused("seeds", list(value), "must have at least one seed")
    if len(set(value)) < len(value):
        raise refused("seeds", list(value), "must have each seed only once")


def _check_finite(place: str, value: object) -> None:
    """Raise InputError for a number that is not finite, even inside a table."""
    if isinstance(value, Mapping):
        for key, member in value.items():
            _check_finite(f"{place}.{key}", member)
    elif isinstance(value, float) and not math.isfinite(value):
        raise refused(place, value, "must be a finite number")


def _table(place: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise refused(place, value, "must be a table")
    return value


def _check_keys(place: str, tree: Mapping[str, Any], known: Iterable[str]) -> None:
    known = list(known)
    for key in tree:
        if key not in known:
            raise refused(place, key, known=known)
