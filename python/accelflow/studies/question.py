"""The question of a study: the least or most of one thing that keeps limits, or a Pareto front."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, Final

from accelflow.errors import AccelflowError, InputError, refused, whole_number
from accelflow.files import parse_toml, read_text, why
from accelflow.simulation import systems
from accelflow.studies.study import Range, Study, check_axis, read_range, read_tree

__all__ = ["LIMITS", "Question", "read_question"]

#: What may be limited: the latencies of every service in us, and the share of requests, 0 to 1,
#: whose response is late.
LIMITS: Final = ("mean_us", "p50_us", "p99_us", "p999_us", "slo_missed_ratio")

_KEYS: Final = ("system", "least", "most", "range", "limits", "most_seeds")
_LEAST_SEEDS: Final = 4


@dataclass(frozen=True, kw_only=True)
class Question:
    """The least (or with `most` the largest) value of an axis that keeps all limits.

    `study` has the scenario; `name` is the axis, `values` its range. `limits` bound measures of
    every service under `system`; with `slo`, the P99 of each service is also within its SLO. The
    limits must be easier to keep on one side of the range. Each value is simulated with up to
    `most_seeds` seeds, until it is clear whether the limits hold.
    """

    study: Study
    system: str
    name: str
    most: bool
    values: Range
    limits: Mapping[str, float] = field(default_factory=dict)
    slo: bool = False
    most_seeds: int = 16


def read_question(path: str | PathLike[str]) -> Question:
    """Read the question in the table ``[find]`` of a study's TOML file (docs/studies.md).

    Raises InputError for a file that cannot be read, and for the first value that is not allowed.
    """
    path = Path(path)
    try:
        tree = parse_toml(read_text(path))
        asked = tree.pop("find", None)
        if not isinstance(asked, Mapping):
            raise refused("find", "left out" if asked is None else asked, "must be a table")
        return _question(read_tree(tree, path.parent, axes=False), asked)
    except (OSError, ValueError, AccelflowError) as error:
        raise InputError(f"{path}: {why(error)}") from error


def _question(study: Study, tree: Mapping[str, Any]) -> Question:
    for key in tree:
        if key not in _KEYS:
            raise refused("find key", key, known=_KEYS)
    if ("least" in tree) == ("most" in tree):
        raise refused("find", sorted(tree), "must have least or most, and not both")
    most = "most" in tree
    name = tree["most" if most else "least"]
    if not isinstance(name, str):
        raise refused("find.most" if most else "find.least", name, "must be the name of an axis")
    check_axis("find.most" if most else "find.least", name)
    identifiers = [identifier for identifier, _ in systems()]
    system = tree.get("system", "accelflow")
    if system not in identifiers:
        raise refused("find.system", system, known=identifiers)
    limits, slo = _limits(tree.get("limits", {}))
    return Question(
        study=replace(study, scenario={**study.scenario, "orchestrators": (system,)}),
        system=system,
        name=name,
        most=most,
        values=read_range("find.range", tree.get("range", "left out")),
        limits=limits,
        slo=slo,
        most_seeds=whole_number("find.most_seeds", tree.get("most_seeds", 16), _LEAST_SEEDS, 1_000),
    )


def _limits(tree: object) -> tuple[dict[str, float], bool]:
    if not isinstance(tree, Mapping) or not tree:
        raise refused("find.limits", tree, "must be a table with a limit, such as p99_us or slo")
    limits = dict(tree)
    slo = limits.pop("slo", False)
    if not isinstance(slo, bool):
        raise refused("find.limits.slo", slo, "must be true or false")
    for name, value in limits.items():
        if name not in LIMITS:
            raise refused("find.limits key", name, known=[*LIMITS, "slo"])
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 < value <= 1e12:
            raise refused(f"find.limits.{name}", value, "must be a number above 0")
    return {name: float(value) for name, value in limits.items()}, slo
