"""Read files with experiments' results, and rewrite them, the comparison page and the pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, Final

from accelflow.errors import (
    LEFT_OUT,
    InputError,
    file_path,
    refused,
    unreadable,
    unwritable,
    whole_number,
    with_schema,
)
from accelflow.files import parse_json, read_text, write_whole
from accelflow.findings import Finding, targets
from accelflow.findings.estimate import Estimate
from accelflow.findings.results import from_dict
from accelflow.reproduce.budgets import Budget, budget
from accelflow.reproduce.definitions import Check, Definition, load, names
from accelflow.reproduce.outcomes import ExperimentResult, Shown, Statement
from accelflow.reproduce.page import markdown
from accelflow.reproduce.reasons import reasons
from accelflow.reproduce.results import SCHEMA, setup_of, to_text
from accelflow.reproduce.scenario import Scenario
from accelflow.reproduce.tables import Table
from accelflow.reproduce.words import steps_of

__all__ = ["PAGE", "Kept", "read_kept", "rewrite_page"]

#: The file name of the page that compares our figures with the paper's.
PAGE: Final = "comparison.md"

#: The schemas of results that this version can read, with the member that has the findings.
_FINDINGS: Final = {SCHEMA: "findings", "accelflow.reproduce/2": "rows"}


@dataclass(frozen=True)
class Kept:
    """Results of experiments, read from the files in a folder.

    `outcomes` maps the path of each results file to its content. All have the same `scenario` and
    `budget`.
    """

    outcomes: Mapping[Path, ExperimentResult]
    scenario: Scenario
    budget: Budget

    @property
    def page(self) -> str:
        """The content of the page ``comparison.md`` for these results."""
        return markdown(list(self.outcomes.values()), self.scenario, self.budget)

    @property
    def results(self) -> dict[Path, str]:
        """The new content of each results file, by path; reasons for differences are current."""
        return {
            path: to_text(outcome, self.scenario, self.budget)
            for path, outcome in self.outcomes.items()
        }


def rewrite_page(folder: str | PathLike[str]) -> Path:
    """Rewrite ``comparison.md``, the pictures and the results' files in `folder`.

    Nothing is simulated: our numbers stay those of the results' files. The paper's numbers, and the
    reasons why ours differ from them, become those of this version of accelflow. Returns the path
    of the page.

    Raises InputError for a folder without results, for results of a user's workload or of different
    budgets or scenarios, for files that do not fit this version's experiments, and if a file cannot
    be written.
    """
    folder = file_path("folder", folder)
    from accelflow.reproduce.pictures import (  # noqa: PLC0415 (matplotlib is slow to load)
        write_pictures,
    )

    kept = read_kept(folder)
    page = folder / PAGE
    try:
        texts = {page: kept.page, **kept.results}
        for path, text in texts.items():
            _write(path, text)
        for outcome in kept.outcomes.values():
            write_pictures(outcome, folder / outcome.definition.name)
    except OSError as error:
        raise unwritable("--page", folder, error) from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # All members are present, but one has a wrong type.
        raise InputError(
            f"{folder}: a value in the results cannot be used ({error}); run the experiments again"
        ) from error
    return page


def read_kept(folder: Path) -> Kept:
    """Return the results of experiments that are saved in `folder`.

    Raises InputError for a folder without results, for results of a user's workload or of different
    budgets or scenarios, and for files that do not fit this version's experiments.
    """
    found = [folder / f"{name}.json" for name in names()]
    trees = {path: _tree(path) for path in found if path.is_file()}
    if not trees:
        raise refused("folder", folder, "must be a folder with results of `accelflow reproduce`")
    _check_together(trees)
    first = next(iter(trees))
    try:
        chosen, scenario = _shared(trees[first])
    except (KeyError, TypeError) as error:
        raise InputError(f"{first}: budget or scenario cannot be read ({error})") from error
    return Kept({path: _outcome(path, tree) for path, tree in trees.items()}, scenario, chosen)


def _write(path: Path, text: str) -> None:
    write_whole(path, lambda scratch: scratch.write_text(text, encoding="utf-8"))


def _check_together(trees: Mapping[Path, Mapping[str, Any]]) -> None:
    """Raise InputError for results that do not belong on the same page ``comparison.md``."""
    for path, tree in trees.items():
        scenario_of = tree.get("scenario")
        if isinstance(scenario_of, Mapping) and "workload" in scenario_of:
            workload = scenario_of["workload"]
            raise refused(
                f"{path}: scenario.workload",
                workload,
                "must be left out, since the page compares with the paper's services; run the"
                " experiments again without --workload",
            )
    first, *others = trees
    for path in others:
        for key in ("budget", "scenario"):
            if trees[path].get(key) != trees[first].get(key):
                wanted = trees[first].get(key, LEFT_OUT)
                raise refused(
                    f"{path}: {key}",
                    trees[path].get(key, LEFT_OUT),
                    f"must be {wanted!r}, as in {first.name}: all results of a page must have the"
                    f" same {key}",
                )


def _tree(path: Path) -> dict[str, Any]:
    try:
        tree = parse_json(read_text(path))
    except (OSError, ValueError) as error:
        raise unreadable("results", path, error) from error
    return with_schema(path, tree, _FINDINGS)


def _shared(tree: Mapping[str, Any]) -> tuple[Budget, Scenario]:
    return budget(tree["budget"]), Scenario(**tree["scenario"])


def _outcome(path: Path, tree: Mapping[str, Any]) -> ExperimentResult:
    definition = load(path.stem)
    if tree.get("setup") != setup_of(definition):
        raise InputError(
            f"{path}: has results of a different setup of the experiment; run the experiment again"
        )
    try:
        shown = [_shown(cell) for cell in tree["cells"]]
        return ExperimentResult(
            definition=definition,
            requests=_count(path, tree, "requests"),
            most_requests=_count(path, tree, "most_requests"),
            warmup_requests=_count(path, tree, "warmup_requests"),
            seeds=_seeds(path, tree["seeds"]),
            longest_run=_count(path, tree, "longest_run") if "longest_run" in tree else None,
            findings=tuple(_finding(definition, row) for row in tree[_FINDINGS[tree["schema"]]]),
            statements=tuple(_statement(definition, check, shown) for check in tree["checks"]),
            shown=tuple(shown),
            table=_table(tree["table"]),
            by_cell={(cell.point, cell.system, cell.service, cell.measure): cell for cell in shown},
        )
    except KeyError as error:
        raise InputError(
            f"{path}: key {error} is missing or unknown to this version; run the experiment again"
        ) from error
    except (TypeError, AttributeError) as error:
        raise InputError(
            f"{path}: does not fit this version's experiment ({error}); run the experiment again"
        ) from error


def _count(path: Path, tree: Mapping[str, Any], key: str) -> int:
    """Return the number of requests that the results state as `key`."""
    return whole_number(f"{path}: {key}", tree[key], 0, 10**9)


def _seeds(path: Path, found: Any) -> tuple[int, ...]:
    """Return the seeds of the results; tables have none."""
    if not isinstance(found, list):
        raise refused(f"{path}: seeds", found, "must be a list of whole numbers")
    return tuple(
        whole_number(f"{path}: seeds[{place}]", seed, 0, 2**64 - 1)
        for place, seed in enumerate(found)
    )


def _finding(definition: Definition, row: Mapping[str, Any]) -> Finding:
    """Return a finding from `row`, in which the two schemas name the key differently."""
    key = row["row"] if "row" in row else row["key"]
    found = from_dict(row, targets()[key], reasons().get(key), definition.name)
    label = next((known.label for known in definition.rows if known.target == key), "")
    return replace(found, label=label)


def _shown(cell: Mapping[str, Any]) -> Shown:
    return Shown(
        point=cell["point"],
        system=cell["system"],
        service=cell["service"],
        measure=cell["measure"],
        value=Estimate.from_json(cell),
        saturated=cell["saturated"],
    )


def _table(found: Mapping[str, Any] | None) -> Table | None:
    """Return the table in `found`, its series in the order of the table's rows and columns."""
    if found is None:
        return None
    rows, columns = tuple(tuple(row) for row in found["rows"]), tuple(found["columns"])
    places: dict[str, int] = {row[0]: at for at, row in reversed([*enumerate(rows)])}
    places |= {"\n".join(row[:2]): place for place, row in enumerate(rows)}

    def of_row(name: str) -> int:
        return places.get(name, places.get(name.partition("\n")[0], len(rows)))

    def of_column(name: str) -> int:
        return next(
            (at for at, column in enumerate(columns) if column.startswith(name)), len(columns)
        )

    series = {
        group: {name: found["series"][group][name] for name in sorted(own, key=of_column)}
        for group, own in sorted(found["series"].items(), key=lambda item: of_row(item[0]))
    }
    return Table(columns=columns, rows=rows, series=series)


def _statement(
    definition: Definition, found: Mapping[str, Any], shown: Sequence[Shown]
) -> Statement:
    says, holds = found["says"], found["holds"]
    check = {known.says: known for known in definition.checks}[says]
    if holds is None and _tied(check, shown):
        holds = False  # results from before ties were decided
    also = tuple(
        Statement(other["says"], other["holds"], other["found"])
        for other in found.get("also", ())  # missing in older results
    )
    return Statement(says, holds, found["found"], check.why_not, also)


def _tied(check: Check, shown: Sequence[Shown]) -> bool:
    """Return whether two figures that `check` compares are equal for every service and seed."""
    figures: dict[tuple[str, str, str], list[tuple[str, Estimate]]] = {}
    for cell in shown:
        if cell.value is not None:
            place = cell.point, cell.system, cell.measure
            figures.setdefault(place, []).append((cell.service, cell.value))
    return any(
        all(place in figures for place in (*before, *after))
        and [figures[place] for place in before] == [figures[place] for place in after]
        for before, after in steps_of(check)
    )
