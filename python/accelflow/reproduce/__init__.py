"""Reproduce the paper's evaluation, experiment by experiment, with one set of parameters.

>>> from accelflow.reproduce import Runner, budget, load, reproduce
>>> outcome, = reproduce([load("table4")], budget=budget("ci"), runner=Runner(1))
>>> all(finding.agrees for finding in outcome.findings)
True
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path

from accelflow.errors import file_path, unwritable
from accelflow.files import alone_in, free_suffix, holds_another, write_whole
from accelflow.findings import Finding, Reason, Target, Verdict, targets, uncovered
from accelflow.findings.results import json_text
from accelflow.reproduce.budgets import BUDGETS, Budget, budget
from accelflow.reproduce.definitions import Definition, load, names, parse
from accelflow.reproduce.figures import Cells
from accelflow.reproduce.kept import PAGE, rewrite_page
from accelflow.reproduce.outcomes import ExperimentResult, of_cells, of_table
from accelflow.reproduce.own import OwnEvaluation, OwnScenario, of_workload
from accelflow.reproduce.own_page import OWN_PAGE, own_markdown
from accelflow.reproduce.own_tables import OWN_TABLES
from accelflow.reproduce.page import markdown
from accelflow.reproduce.plans import plan
from accelflow.reproduce.reasons import reasons
from accelflow.reproduce.results import SCHEMA, to_dict, to_text
from accelflow.reproduce.runs import Plan, Runner, run_plans
from accelflow.reproduce.scenario import Scenario, check_varied, mislabelled, read_scenario
from accelflow.reproduce.tables import TABLES, Inputs
from accelflow.reproduce.terminal import (
    print_counts,
    print_left_out,
    print_outcome,
    print_own_end,
)

__all__ = [
    "BUDGETS",
    "SCHEMA",
    "Budget",
    "Definition",
    "ExperimentResult",
    "Finding",
    "OwnEvaluation",
    "OwnScenario",
    "Reason",
    "Runner",
    "Scenario",
    "Target",
    "Verdict",
    "budget",
    "load",
    "mislabelled",
    "names",
    "of_workload",
    "parse",
    "print_counts",
    "print_left_out",
    "print_outcome",
    "print_own_end",
    "read_scenario",
    "reasons",
    "reproduce",
    "rewrite_page",
    "targets",
    "to_dict",
    "uncovered",
    "write_outcomes",
]


def reproduce(
    definitions: Sequence[Definition],
    *,
    budget: Budget,
    runner: Runner,
    scenario: Scenario | OwnScenario | None = None,
) -> list[ExperimentResult]:
    """Run the experiments `definitions`, and return their results in the same order.

    `budget` sets the number and length of simulations, and `runner` runs them. `scenario` has the
    values that the paper leaves open; the default :class:`Scenario` if None. For a workload of your
    own, :func:`of_workload` makes both the definitions and the scenario. Results depend on
    definitions, scenario and budget, not on the runner's threads or on the other experiments that
    run with them.

    Raises InputError for a scenario that is not allowed or that sets a parameter which an
    experiment varies, and for a budget whose simulations have too few requests for a workload.
    """
    scenario = scenario or Scenario()
    scenario.check()
    for definition in definitions:
        check_varied(definition, scenario.config)
    simulates = any(definition.table is None for definition in definitions)
    if isinstance(scenario, OwnScenario) and simulates:
        scenario.check_lengths(budget)
    plans: dict[str, Plan[Cells]] = {
        definition.name: plan(definition, scenario, budget)
        for definition in definitions
        if definition.table is None
    }
    cells = run_plans(plans, runner, whole=budget.longest_run is not None)
    inputs = Inputs(scenario.inputs)
    tables = OWN_TABLES if isinstance(scenario, OwnScenario) else TABLES
    return [
        of_cells(definition, cells[definition.name], budget)
        if definition.table is None
        else of_table(definition, tables[definition.table](inputs))
        for definition in definitions
    ]


def write_outcomes(
    outcomes: Sequence[ExperimentResult],
    scenario: Scenario | OwnScenario,
    budget: Budget,
    out: str | PathLike[str],
    left_out: Mapping[str, str] | None = None,
) -> list[Path]:
    """Write results, pictures and a page in Markdown to the folder `out`; return their paths.

    If the folder already has results of another scenario or budget, these are kept, and a number is
    added to the new files' names. `left_out` maps the experiments that an :class:`OwnEvaluation`
    omits to the reasons. Equal results give equal bytes. Raises InputError if a file cannot be
    written.
    """
    out = file_path("out", out)
    from accelflow.reproduce.pictures import (  # noqa: PLC0415 (matplotlib is slow to load)
        write_pictures,
    )

    written: list[Path] = []
    page = Path(OWN_PAGE if isinstance(scenario, OwnScenario) else PAGE)
    mine = json.loads(json_text({"budget": budget.name, "scenario": scenario.to_dict()}))

    def is_another(suffix: str) -> bool:
        kept = [path for name in names() if (path := out / f"{name}{suffix}.json").exists()]
        if not kept:
            return (out / f"{page.stem}{suffix}{page.suffix}").exists()
        return any(holds_another(path, mine) for path in kept)

    def write(path: Path, text: str) -> None:
        write_whole(path, lambda scratch: scratch.write_text(text, encoding="utf-8"))
        written.append(path)

    if isinstance(scenario, OwnScenario):
        text = own_markdown(outcomes, scenario, budget, left_out or {})
    else:
        text = markdown(outcomes, scenario, budget)
    try:
        with alone_in(out):
            suffix = free_suffix(is_another)
            for outcome in outcomes:
                name = outcome.definition.name
                stem = out / f"{name}{suffix}"
                write(stem.with_suffix(".json"), to_text(outcome, scenario, budget))
                written += write_pictures(outcome, stem)
                text = text.replace(f"({name}.png)", f"({stem.name}.png)")
            write(out / f"{page.stem}{suffix}{page.suffix}", text)
    except OSError as error:
        raise unwritable("--out", out, error) from error
    return written
