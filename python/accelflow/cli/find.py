"""`accelflow find`: the least or greatest value, or the cheapest design, that keeps limits."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypedDict

import click
from rich.console import Console

from accelflow import studies
from accelflow.cli.doubts import cost_doubts
from accelflow.cli.output import bar
from accelflow.cli.places import WRITTEN_FOLDER
from accelflow.cli.running import TIME_LIMIT, runner_at, worker_options
from accelflow.errors import AccelflowError
from accelflow.report.answered import names_text
from accelflow.studies.sweep import Runner
from accelflow.time_limit import TimeUpError, seconds_text

#: The responses of a simulation of which ten are beyond a percentile.
_RESPONSES: Final = {"P99.9": 10_000, "P99": 1_000}


@click.command("find")
@click.argument("study_file", metavar="STUDY", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--out",
    type=WRITTEN_FOLDER,
    metavar="DIRECTORY",
    help="Folder of the simulations. Default: out/studies/NAME for NAME.toml.",
)
@worker_options
@TIME_LIMIT
@click.option(
    "--json", "as_json", is_flag=True, help="Print the results as one JSON object, not as text."
)
def find(  # noqa: PLR0913, PLR0917 (options)
    study_file: Path,
    out: Path | None,
    workers: int | None,
    cluster: str | None,
    time_limit_s: float | None,
    as_json: bool,
) -> None:
    """Find a parameter's least or greatest value that meets limits, or the cheapest design.

    STUDY is a TOML file with a scenario and a table [find] (docs/studies.md). A single value is
    found by bisection; Optuna searches designs of several values. Each value or design is simulated
    with more seeds until it clearly meets or breaks the limits, or until the study's most_seeds
    have run. A stopped search resumes where it was.
    """
    question = studies.read_find(study_file)
    place = out or Path("out/studies") / study_file.stem
    with (
        cost_doubts(),
        bar(Console(stderr=True), "searching") as advance,
        runner_at(cluster, workers) as runner,
    ):
        how = _How(workers=workers, runner=runner, time_limit_s=time_limit_s, progress=advance)
        found: studies.Answer | studies.Front
        try:
            if isinstance(question, studies.Goal):
                found = studies.optimize(question, place, **how)
            else:
                found = studies.find(question, place, **how)
        except TimeUpError:
            if as_json:
                _say(question, _nothing(question), place, as_json=True)
            raise
    _say(question, found, place, as_json=as_json)
    if not found.ended:
        raise AccelflowError(
            f"--time-limit {seconds_text(time_limit_s or 0.0)}: the search did not end in this"
            " time; the same command resumes it"
        )
    if found.best is None:
        what = "design that was tried keeps"
        if isinstance(question, studies.Question):
            what = f"value of {question.name} keeps"
        raise AccelflowError(f"{study_file}: no {what} the limits")


def _nothing(question: studies.Question | studies.Goal) -> studies.Answer | studies.Front:
    """Return the result of a search that has ended before the first simulation."""
    if isinstance(question, studies.Goal):
        return studies.Front(best=None, front=(), tried=(), ended=False)
    return studies.Answer(best=None, beyond=None, tried=(), ended=False)


class _How(TypedDict):
    """The keyword arguments of a search that say where and how long it simulates."""

    workers: int | None
    runner: Runner | None
    time_limit_s: float | None
    progress: Callable[[int, int], None]


def _say(
    question: studies.Question | studies.Goal,
    found: studies.Answer | studies.Front,
    place: Path,
    *,
    as_json: bool,
) -> None:
    """Print the result of a search, as text or as JSON."""
    if isinstance(question, studies.Goal) and isinstance(found, studies.Front):
        value, text = _front_object(question, found), _front_text(question, found)
        text += f"\nAll designs: {place / 'front.parquet'}"
    elif isinstance(question, studies.Question) and isinstance(found, studies.Answer):
        value, text = _object(question, found), _text(question, found)
    text = "\n".join([text, *_of_rare(question, place)])
    click.echo(json.dumps(value, indent=2, allow_nan=False) if as_json else text)


def _of_rare(question: studies.Question | studies.Goal, place: Path) -> list[str]:
    """Return a note on services with too few responses for a limited percentile, if any.

    The mean over seeds does not help: it is that of the slowest responses of short runs.
    """
    import pyarrow.parquet as pq  # noqa: PLC0415 (slow to load)

    results = place / "results.parquet"
    limited = {"P99.9": "p999_us" in question.limits}
    limited["P99"] = question.slo or "p99_us" in question.limits
    percentile = next((name for name, given in limited.items() if given), None)
    if percentile is None or not results.exists():
        return []
    fewest: dict[str, int] = {}
    for row in pq.read_table(results, columns=["service", "completed_count"]).to_pylist():
        if 0 < row["completed_count"] < _RESPONSES[percentile]:
            least = fewest.get(row["service"], row["completed_count"])
            fewest[row["service"]] = min(least, row["completed_count"])
    if not fewest:
        return []
    few = names_text([f"{name} ({count:,} responses)" for name, count in fewest.items()])
    return [
        f"The {percentile} of {few} is not precise: fewer than 10 responses of a simulation are"
        " beyond it. Give more requests."
    ]


def _front_object(goal: studies.Goal, found: studies.Front) -> dict[str, object]:
    return {
        "schema": "accelflow.front/1",
        "axes": [axis.name for axis in goal.axes],
        "system": goal.system,
        "minimize": goal.minimize,
        "best": None if found.best is None else found.best.to_dict(),
        "ended": found.ended,
        "front": [design.to_dict() for design in found.front],
        "tried": [design.to_dict() for design in found.tried],
    }


def _front_text(goal: studies.Goal, found: studies.Front) -> str:
    names = _short([axis.name for axis in goal.axes])
    widths = [max(len(name), 6) for name in names]
    heads = "".join(f"  {name:>{width}}" for name, width in zip(names, widths, strict=True))
    lines = [f"{goal.minimize:>10}{heads}  seeds  worst measure / limit"]
    for design in found.front:
        values = "".join(
            f"  {value:{width}g}"
            for value, width in zip(design.values.values(), widths, strict=True)
        )
        lines.append(f"{design.cost:10g}{values}  {design.seeds:5}  {_fared(design)}")
    lines.append("")
    lines.append(
        f"{len(found.tried)} designs were simulated; none is better than one above in both"
        f" {goal.minimize} and distance to the limits."
    )
    if found.best is not None:
        chosen = ", ".join(f"{name} = {value:g}" for name, value in found.best.values.items())
        unclear = "" if found.best.clear else " Its worst measure's interval contains the limit."
        lines.append(
            f"Least {goal.minimize} under {goal.system}: {found.best.cost:g}, with {chosen}."
            + unclear
        )
    return "\n".join(lines)


def _short(names: Sequence[str]) -> list[str]:
    """Return the last parts of dotted `names`, as few as tell all of them apart."""
    parts = [name.split(".") for name in names]
    shown = list(names)
    for count in reversed(range(1, max(map(len, parts), default=1))):
        shorter = [".".join(of_name[-count:]) for of_name in parts]
        if len(set(shorter)) < len(names):
            break
        shown = shorter
    return shown


def _object(question: studies.Question, answer: studies.Answer) -> dict[str, object]:
    return {
        "schema": "accelflow.find/1",
        "axis": question.name,
        "system": question.system,
        "wanted": "most" if question.most else "least",
        "best": None if answer.best is None else answer.best.to_dict(),
        "beyond": None if answer.beyond is None else answer.beyond.to_dict(),
        "clear": answer.clear,
        "ended": answer.ended,
        "tried": [tried.to_dict() for tried in answer.tried],
    }


def _text(question: studies.Question, answer: studies.Answer) -> str:
    lines = [f"{question.name:>24}  seeds  worst measure / limit"]
    for tried in answer.tried:
        lines.append(f"{tried.value:24g}  {tried.seeds:5}  {_fared(tried)}")
    wanted = "Most" if question.most else "Least"
    if not answer.ended:
        lines += ["", f"{wanted} {question.name} under {question.system}: {_reached(answer)}"]
    elif answer.best is not None:
        said = f"{wanted} {question.name} under {question.system}: {answer.best.value:g}."
        if answer.beyond is None:
            said += " The end of the range keeps the limits too."
        elif not answer.clear:
            said += " The interval of this value or the next contains the limit: use more seeds"
            said += " (most_seeds), or longer runs."
        lines += ["", said]
    return "\n".join(lines)


def _reached(answer: studies.Answer) -> str:
    """Return a text on how far a search came before the time limit ended it."""
    if answer.best is None or answer.beyond is None:
        return "not narrowed down yet."
    return f"{answer.best.value:g} keeps the limits, {answer.beyond.value:g} does not."


def _fared(tried: studies.Tried | studies.Design) -> str:
    verdict = "holds" if tried.holds else "fails"
    if tried.worst_ratio is None or tried.low_ratio is None:
        return f"{verdict}: {tried.binding}"
    half = tried.worst_ratio - tried.low_ratio
    unclear = "" if tried.clear else " (not clear)"
    return f"{verdict}: {tried.worst_ratio:.3f} ±{half:.3f}, {tried.binding}{unclear}"
