"""`accelflow find`: the least or most of one thing, or the cheapest design, that keeps limits."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console

from accelflow import studies
from accelflow.cli.output import bar
from accelflow.errors import AccelflowError


@click.command("find")
@click.argument("study_file", metavar="STUDY", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder of the simulations. Default: out/studies/NAME for NAME.toml.",
)
@click.option("--workers", type=click.IntRange(1, 4_096), help="Threads. Default: one a core.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")
def find(study_file: Path, out: Path | None, workers: int | None, as_json: bool) -> None:
    """Find the least or most of one thing that keeps limits, or the cheapest design.

    STUDY is a TOML file with a scenario and a table [find] (docs/studies.md). For one thing its
    range is halved; for a design of several, Optuna searches. Each value or design is simulated
    with as many seeds as it takes to tell.
    """
    question = studies.read_find(study_file)
    place = out or Path("out/studies") / study_file.stem
    if isinstance(question, studies.Goal):
        _design(question, study_file, place, workers, as_json=as_json)
        return
    with bar(Console(stderr=True), "searching") as advance:
        answer = studies.find(question, place, workers=workers, progress=advance)
    if as_json:
        click.echo(json.dumps(_object(question, answer), indent=2, allow_nan=False))
    else:
        click.echo(_text(question, answer))
    if answer.best is None:
        raise AccelflowError(f"{study_file}: no value of {question.name} keeps the limits")


def _design(
    goal: studies.Goal, study_file: Path, place: Path, workers: int | None, *, as_json: bool
) -> None:
    with bar(Console(stderr=True), "searching") as advance:
        found = studies.optimize(goal, place, workers=workers, progress=advance)
    if as_json:
        click.echo(json.dumps(_front_object(goal, found), indent=2, allow_nan=False))
    else:
        click.echo(_front_text(goal, found))
        click.echo(f"All designs: {place / 'front.parquet'}")
    if found.best is None:
        raise AccelflowError(f"{study_file}: no design that was tried keeps the limits")


def _front_object(goal: studies.Goal, found: studies.Front) -> dict[str, object]:
    return {
        "schema": "accelflow.front/1",
        "axes": [axis.name for axis in goal.axes],
        "system": goal.system,
        "minimize": goal.minimize,
        "best": None if found.best is None else found.best.to_dict(),
        "front": [one.to_dict() for one in found.front],
        "tried": [one.to_dict() for one in found.tried],
    }


def _front_text(goal: studies.Goal, found: studies.Front) -> str:
    names = [axis.name.rpartition(".")[2] for axis in goal.axes]
    widths = [max(len(name), 6) for name in names]
    heads = "".join(f"  {name:>{width}}" for name, width in zip(names, widths, strict=True))
    lines = [f"{goal.minimize:>10}{heads}  seeds  worst measure / limit"]
    for one in found.front:
        values = "".join(
            f"  {value:{width}g}" for value, width in zip(one.values.values(), widths, strict=True)
        )
        lines.append(f"{one.cost:10g}{values}  {one.seeds:5}  {_fared(one)}")
    lines.append("")
    lines.append(
        f"{len(found.tried)} designs were simulated; none beats those above in both "
        f"{goal.minimize} and distance to the limits."
    )
    if found.best is not None:
        chosen = ", ".join(f"{name} = {value:g}" for name, value in found.best.values.items())
        unclear = "" if found.best.clear else " Its interval has the limit inside."
        lines.append(
            f"Least {goal.minimize} under {goal.system}: {found.best.cost:g}, with {chosen}."
            + unclear
        )
    return "\n".join(lines)


def _object(question: studies.Question, answer: studies.Answer) -> dict[str, object]:
    return {
        "schema": "accelflow.find/1",
        "axis": question.name,
        "system": question.system,
        "wanted": "most" if question.most else "least",
        "best": None if answer.best is None else answer.best.to_dict(),
        "beyond": None if answer.beyond is None else answer.beyond.to_dict(),
        "clear": answer.clear,
        "tried": [one.to_dict() for one in answer.tried],
    }


def _text(question: studies.Question, answer: studies.Answer) -> str:
    lines = [f"{question.name:>24}  seeds  worst measure / limit"]
    for one in answer.tried:
        lines.append(f"{one.value:24g}  {one.seeds:5}  {_fared(one)}")
    wanted = "Most" if question.most else "Least"
    if answer.best is not None:
        said = f"{wanted} {question.name} under {question.system}: {answer.best.value:g}."
        if answer.beyond is None:
            said += " The end of the range keeps the limits too."
        elif not answer.clear:
            said += " Its interval or that of the next value has the limit inside: take more seeds"
            said += " (most_seeds), or longer runs."
        lines += ["", said]
    return "\n".join(lines)


def _fared(one: studies.Tried | studies.Design) -> str:
    verdict = "holds" if one.holds else "fails"
    if one.worst_ratio is None or one.low_ratio is None:
        return f"{verdict}: {one.binding}"
    half = one.worst_ratio - one.low_ratio
    unclear = "" if one.clear else " (not clear)"
    return f"{verdict}: {one.worst_ratio:.3f} ±{half:.3f}, {one.binding}{unclear}"
