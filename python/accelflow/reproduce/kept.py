"""Results that were kept: outcomes as their files tell them, for the page alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from accelflow.errors import InputError
from accelflow.files import parse_json, read_text, why, write_whole
from accelflow.reproduce.budgets import Budget, budget
from accelflow.reproduce.definitions import Definition, load, names
from accelflow.reproduce.outcomes import Compared, Outcome
from accelflow.reproduce.page import markdown
from accelflow.reproduce.results import SCHEMA
from accelflow.reproduce.scenario import Scenario
from accelflow.reproduce.statistics import Estimate
from accelflow.reproduce.targets import targets
from accelflow.reproduce.words import Told

__all__ = ["PAGE", "rewrite_page"]

#: The name of the page in the folder of the results.
PAGE: Final = "comparison.md"


def rewrite_page(folder: Path) -> Path:
    """Write the page of the results in `folder` anew, and return its path.

    Figures are those of the files; reasons and what the paper reports are today's. Raises
    InputError for a folder without results, for results of different budgets or scenarios, and for
    files that do not fit the experiments of today.
    """
    found = [folder / f"{name}.json" for name in names()]
    trees = {path: _tree(path) for path in found if path.is_file()}
    if not trees:
        raise InputError(f"{folder}: there are no results of experiments")
    first, *others = trees
    for path in others:
        for key in ("budget", "scenario"):
            if trees[path].get(key) != trees[first].get(key):
                raise InputError(
                    f"{path}: {key} is {trees[path].get(key)!r}, but in {first.name} "
                    f"{trees[first].get(key)!r}; one page has one"
                )
    try:
        chosen, scenario = _shared(trees[first])
    except (KeyError, TypeError) as error:
        raise InputError(f"{first}: budget or scenario cannot be read ({error})") from error
    outcomes = [_outcome(path, tree) for path, tree in trees.items()]
    try:
        text = markdown(outcomes, scenario, chosen)
    except (ArithmeticError, AttributeError, TypeError, ValueError) as error:
        # Members are there, and one is of a kind that no experiment writes.
        raise InputError(
            f"{folder}: a value in the results is of no use ({error}); run them again"
        ) from error
    page = folder / PAGE
    try:
        write_whole(page, lambda scratch: scratch.write_text(text, encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{page}: {why(error)}") from error
    return page


def _tree(path: Path) -> dict[str, Any]:
    try:
        tree = parse_json(read_text(path))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {why(error)}") from error
    schema = tree.get("schema") if isinstance(tree, dict) else None
    if schema != SCHEMA:
        raise InputError(f"{path}: schema is {schema!r}; must be {SCHEMA!r}")
    return dict(tree)


def _shared(tree: Mapping[str, Any]) -> tuple[Budget, Scenario]:
    return budget(tree["budget"]), Scenario(**tree["scenario"])


def _outcome(path: Path, tree: Mapping[str, Any]) -> Outcome:
    definition = load(path.stem)
    try:
        return Outcome(
            definition=definition,
            requests=tree["requests"],
            most_requests=tree["most_requests"],
            warmup_requests=tree["warmup_requests"],
            seeds=tuple(tree["seeds"]),
            compared=tuple(_compared(definition, row) for row in tree["rows"]),
            told=tuple(_told(definition, check) for check in tree["checks"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path}: does not fit the experiment of today ({error}); run it again"
        ) from error


def _compared(definition: Definition, row: Mapping[str, Any]) -> Compared:
    target = targets()[row["row"]]
    return Compared(
        target,
        definition.name,
        _estimate(row),
        saturated=tuple(row["saturated"]),
        requests=row["requests"],
        lacking=row["lacking"],
        also=tuple((one["says"], _estimate(one)) for one in row["also"]),
    )


def _estimate(found: Mapping[str, Any]) -> Estimate | None:
    if found["mean"] is None:
        return None
    return Estimate(found["mean"], found["half_width"], tuple(found["values"]))


def _told(definition: Definition, check: Mapping[str, Any]) -> Told:
    reasons = {one.says: one.why_not for one in definition.checks}
    return Told(check["says"], check["holds"], check["found"], reasons[check["says"]])
