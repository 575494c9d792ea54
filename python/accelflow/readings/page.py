"""The page ``readings.md``: how far each reading of each choice moves each result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from accelflow.findings.page import markdown_table
from accelflow.findings.text import estimate_text, paper_text
from accelflow.readings.choices import BASES, Choice, Reading, choices
from accelflow.readings.rule_page import rule_section
from accelflow.readings.runs import Figure, Readings, Tried
from accelflow.reproduce import Scenario
from accelflow.reproduce.budgets import MIN_DWELLS

__all__ = ["Swing", "drawn_rows", "markdown", "name_of", "short", "swings"]

#: The number of choices that a row's summary names, from the one that moves the row most.
_MOST: Final = 3
#: The least width of a swing that counts, as a log ratio: about a fiftieth of a latency.
_LEAST: Final = 0.02


def markdown(found: Readings) -> str:
    """Return the text of ``readings.md`` for the results `found`.

    The page shows how our results depend on how the paper is read. Equal results give equal text.
    """
    lines = [
        *_heading(found),
        *rule_section(found),
        *_deciding(found),
        *_summary(found),
        *(line for index in range(len(found.definitions)) for line in _experiment(found, index)),
        *_choices(found),
    ]
    return "\n".join(lines).rstrip() + "\n"


def name_of(tried: Tried) -> str:
    """Return a reading's name in ``readings.md``, such as ``placement = isolated``."""
    return f"{tried.choice.name} = {tried.reading.label}"


def short(figure: Figure) -> str:
    """Return the key of the result without the name of the paper."""
    return figure.finding.short_key


@dataclass(frozen=True)
class Swing:
    """How far one result moves under the other readings of a choice that the paper leaves open.

    All values are log ratios: the logarithm of our result divided by the paper's, 0 if both are
    equal. `default` is the log ratio under the default scenario. `others` are the log ratios under
    the other readings of `choice`, except those under which a system is saturated. The log ratios
    of readings with a saturated system are in `saturated`, since they depend on the length of the
    run. `sure` is true if a reading's result differs from the default's by more than the half
    widths of both confidence intervals together, or could not be computed.
    """

    choice: Choice
    default: float
    others: tuple[float, ...]
    saturated: tuple[float, ...]
    sure: bool

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest log ratio, leaving out readings with a saturated system."""
        every = (self.default, *self.others)
        return min(every), max(every)

    @property
    def width(self) -> float:
        """The highest log ratio minus the lowest, including readings with a saturated system."""
        every = (self.default, *self.others, *self.saturated)
        return max(every) - min(every)


def swings(found: Readings, experiment: int, row: int) -> list[Swing]:
    """Return the choices that move one result, each with how far; the largest effect comes first.

    `experiment` and `row` are the indices of the result in `found.default`. Choices that move its
    log ratio by less than 0.02 are left out. Empty if the result has no log ratio under the default
    scenario.
    """
    default = found.default[experiment][row].log_ratio
    if default is None:
        return []
    moves = [_swing(found, experiment, row, choice, default) for choice in found.choices]
    moves = [swing for swing in moves if swing.width >= _LEAST]
    return sorted(moves, key=lambda swing: (-swing.width, swing.choice.name))


def _swing(found: Readings, experiment: int, row: int, choice: Choice, default: float) -> Swing:
    its = [figure for tried, figure in found.of_row(experiment, row) if tried.choice is choice]
    known = [(figure.log_ratio, figure.saturated) for figure in its if figure.log_ratio is not None]
    return Swing(
        choice,
        default,
        tuple(value for value, stuck in known if not stuck),
        tuple(value for value, stuck in known if stuck),
        any(figure.differs(found.default[experiment][row]) for figure in its),
    )


def _heading(found: Readings) -> list[str]:
    budget = found.budget
    names = " ".join(definition.name for definition in found.definitions)
    if found.choices != choices():
        names += "".join(f" --choice {choice.name}" for choice in found.choices)
    if found.scenario != Scenario():
        names += " --config FILE"
    scenario = ", ".join(
        f"{choice.name} = {choice.default_text(found.scenario)}"
        for choice in found.choices
        if not choice.combined
    )
    return [
        "# Which rows depend on which reading",
        "",
        f"Written by `accelflow readings {names} --budget {budget.name}`; not edited by hand. The "
        "choices below are what the paper leaves open. Each row of a table changes one choice; "
        "all others keep their defaults: "
        f"{scenario}. Simulations of {budget.requests:,} requests of each service, seeds 1 to "
        f"{budget.replications}; ± is half of the 95 % confidence interval.",
        "",
        "A row *agrees* within a quarter of the paper's figure and is *off* beyond; it is "
        "*undecided* if its interval is wider, or if bursty arrivals have drawn fewer than "
        f"{MIN_DWELLS} rates. Runs are shorter than those of the comparison "
        "(docs/results/reproduction/comparison.md): percentiles may have fewer than 100 responses "
        "beyond them, and their intervals say how well they are known. The measure of a move is "
        "the logarithm of ours over the paper's (of a reduction: of the latency ratio that it "
        "stands for): 0 is the paper's figure, ±0.1 a tenth, 0.69 twice and -0.69 half of it.",
        "",
    ]


def _deciding(found: Readings) -> list[str]:
    """Return the lines on rows whose verdict another reading changes."""
    lines = []
    for experiment, figures in enumerate(found.default):
        for row, default in enumerate(figures):
            changed = [
                f"{name_of(tried)} ({_turned(figure, default)})"
                for tried, figure in found.of_row(experiment, row)
                if _turns(figure, default)
            ]
            if changed:
                paper = paper_text(default.finding)
                lines.append(
                    f"- `{short(default)}` (paper {paper}): {_figure(default)} {default.verdict} "
                    f"by default; with {'; '.join(changed)}"
                )
    none = ["No choice alone turns a row."]
    return ["## Rows that one choice decides", "", *(lines or none), ""]


def _turns(figure: Figure, default: Figure) -> bool:
    """Return whether one result agrees and the other is off; undecided results give False."""
    return {figure.verdict, default.verdict} == {"agrees", "off"}


def _turned(figure: Figure, default: Figure) -> str:
    doubt = "" if figure.differs(default) else ", but the intervals overlap"
    return f"{_figure(figure)} {figure.verdict}{doubt}"


def _summary(found: Readings) -> list[str]:
    head = [
        "## What moves each row most",
        "",
        "Log ratio by default, and its range over the readings of the choices that move it most; "
        "\\* has a saturated system, and a move marked ~ is within the intervals.",
        "",
    ]
    rows = []
    for experiment, figures in enumerate(found.default):
        for row, figure in enumerate(figures):
            moved = [_moves(swing) for swing in swings(found, experiment, row)[:_MOST]]
            cells = (
                f"`{short(figure)}`",
                found.definitions[experiment].name,
                paper_text(figure.finding),
                _figure(figure),
                figure.verdict,
                "none" if figure.log_ratio is None else f"{figure.log_ratio:+.2f}",
                ", ".join(moved) or "nothing",
            )
            rows.append(cells)
    columns = ("row", "experiment", "paper", "default", "verdict", "log ratio", "moved most by")
    return [*head, *markdown_table(columns, rows)]


def _moves(swing: Swing) -> str:
    """Return a choice as text with the ends of its swing, then its saturated results."""
    low, high = (f"{end:+.2f}" for end in swing.ends)
    ends = [] if low == high else [f"{low} to {high}"]
    doubt = [] if swing.sure else ["~"]
    return " ".join(
        [swing.choice.name, *doubt, *ends, *(f"{value:+.2f} \\*" for value in swing.saturated)]
    )


def drawn_rows(found: Readings, experiment: int) -> list[int]:
    """Return the indices of an experiment's results that can be drawn as log ratios to the paper's.

    A result can be drawn if it has a log ratio under the default scenario. `experiment` is the
    experiment's index in `found`.
    """
    return [
        row for row, figure in enumerate(found.default[experiment]) if figure.log_ratio is not None
    ]


def _experiment(found: Readings, index: int) -> list[str]:
    """Return the section of one experiment: its picture, and a table of readings by rows."""
    definition, default = found.definitions[index], found.default[index]
    names = [f"`{short(figure)}`" for figure in default]
    papers = [paper_text(figure.finding) for figure in default]
    rows = [
        ("*the paper*", *papers),
        ("*default*", *(f"{_figure(figure)} {figure.verdict}" for figure in default)),
    ]
    for tried in found.tried:
        figures = zip(tried.figures[index], default, strict=True)
        rows.append((name_of(tried), *(_moved(figure, before) for figure, before in figures)))
    picture = [
        "",
        f"{definition.place}. Each bar is a choice, and each dot is one reading of it: the "
        "logarithm of our figure over the paper's, 0 where they are equal. The bar spans the "
        "readings and is pale if they differ by no more than their intervals. The dashed line is "
        "the default. A hollow dot has a saturated system. Values beyond the picture are "
        "drawn at its edge.",
        "",
        f"![Which choices move which rows of {definition.name}](readings-{definition.name}.png)",
    ]
    return [
        f"## {definition.name}: {definition.title}",
        *(picture if drawn_rows(found, index) else []),
        "",
        *markdown_table(("reading", *names), rows),
        "`=` is equal to the default's figure, bit for bit. A bold figure changes the verdict, "
        "from agreeing to off or back. \\* has a saturated system, whose latency depends on the "
        "length of the run.",
        "",
    ]


def _moved(figure: Figure, default: Figure) -> str:
    if figure.same(default):
        return "="
    text = _figure(figure)
    return f"**{text} {figure.verdict}**" if _turns(figure, default) else text


def _choices(found: Readings) -> list[str]:
    lines = ["## The choices", ""]
    for choice in found.choices:
        default = choice.default(found.scenario)
        lines += [
            f"### {choice.title}: `{choice.name}`",
            "",
            f"> {choice.quote}",
            ">",
            f"> — {choice.place}",
            "",
        ]
        if choice.contrary:
            contrary = f"> {choice.contrary}"
            lines += ["Against it:", "", contrary, ">", f"> — {choice.contrary_place}", ""]
        if default is None and not choice.combined:
            value = choice.default_text(found.scenario)
            lines.append(f"- **{value}**, the default here, is none of the readings below.")
        lines += [_reading(reading, is_default=reading is default) for reading in choice.readings]
        lines.append("")
    return lines


def _reading(reading: Reading, *, is_default: bool) -> str:
    label = f"**{reading.label}**, the default" if is_default else reading.label
    aside = f" Set aside: {reading.set_aside}" if reading.set_aside else ""
    return f"- {label} ({BASES[reading.basis]}): {reading.why}{aside}"


def _figure(figure: Figure) -> str:
    star = " \\*" if figure.saturated else ""
    return estimate_text(figure.finding.ours) + star
