"""Markdown pages with findings: the parts that the pages of all papers share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from accelflow.findings.finding import TOLERANCE, Finding, Verdict
from accelflow.findings.text import (
    COLUMNS,
    OWN_COLUMNS,
    cells,
    counts_text,
    difference_text,
    estimate_text,
    notes_text,
    ours_text,
    own_cells,
    paper_text,
    reasons_text,
)

__all__ = [
    "LEGEND",
    "REASONS_LEGEND",
    "definitions",
    "largest",
    "markdown_table",
    "own_table",
    "page",
    "saturated_note",
    "table",
    "whys",
]

#: The explanation of kinds of rows and of verdicts, for every page.
LEGEND: Final = (
    "`exact` rows follow from stated inputs and are *as printed* if they have the paper's digits."
    " `input` rows are inputs of the models. `fit` rows may have served to choose parameters;"
    f" `check` rows have not. A row *agrees* if it differs by at most {TOLERANCE:.0%} of the"
    " paper's figure, and is *off* beyond. It is *undecided* if our figure is too uncertain: its"
    f" interval is wider than ± {TOLERANCE:.0%} of the paper's figure or unknown (one seed), or its"
    f" sample is too small. A range has {TOLERANCE:.0%} beyond its ends; a bound (*at least*, *at"
    " most*, *above*) has none."
    " Beside both, a row is undecided only if its interval crosses an end, and the difference"
    " counts from the nearer end. Where the paper has 0, it is absolute;"
    " *of the change*, it is relative to the difference of the paper's ratio from 1."
    " The interval is that of the mean over the seeds. Units are those of the table; without one"
    " a figure is a share of 1."
)

#: The explanation of the classes of reasons, for every page that has reasons.
REASONS_LEGEND: Final = (
    "*contradiction*: the paper's other figures exclude this one; "
    "docs/results/what-the-paper-implies.md has the proofs and their assumptions. *definition*: "
    "the paper does not define the figure; ours by other definitions is shown too. *not printed*: "
    "it depends on an input that the paper does not give. *open*: the cause is not known."
)

#: The number of differences that the section of the largest differences lists.
_LARGEST: Final = 10


def page(title: str, findings: Sequence[Finding], about: Sequence[str], body: list[str]) -> str:
    """Return a page in Markdown that compares our values with a paper's.

    The page has `title`, the counts of verdicts over `findings`, the paragraphs of `about`, the
    legend of verdicts, and the lines of `body`.
    """
    lines = [f"# {title}", "", f"**{counts_text(findings)}.**", ""]
    for paragraph in (*about, LEGEND):
        lines += [paragraph, ""]
    return "\n".join([*lines, *body]).rstrip() + "\n"


def table(findings: Sequence[Finding]) -> list[str]:
    """Return the lines of a table of `findings` in Markdown, followed by an empty line."""
    return markdown_table(COLUMNS, [_cells(finding) for finding in findings])


def own_table(findings: Sequence[Finding]) -> list[str]:
    """Return the lines of a Markdown table of our values only, without columns for the paper.

    An empty line follows the table.
    """
    rows = [[text.replace("*", "\\*") for text in own_cells(finding)] for finding in findings]
    return markdown_table(OWN_COLUMNS, [[f"`{key}`", *others] for key, *others in rows])


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table, followed by an empty line.

    `columns` has the headings, and each of `rows` a cell for each column.
    """
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    return [*lines, *(f"| {' | '.join(row)} |" for row in rows), ""]


def _cells(finding: Finding) -> list[str]:
    key, *others = (text.replace("*", "\\*") for text in cells(finding))
    label = f" {finding.label}" if finding.label else ""
    return [f"`{key}`{label}", *others]


def largest(findings: Sequence[Finding]) -> list[str]:
    """Return the lines of a section with the ten largest differences from the paper."""
    known = [finding for finding in findings if finding.difference]
    known.sort(key=lambda finding: (-abs(finding.difference or 0.0), finding.key))
    lines = []
    for finding in known[:_LARGEST]:
        doubt = ", undecided" if finding.verdict is Verdict.UNDECIDED else ""
        lines.append(
            f"- {finding.short_key}: {ours_text(finding)} here, {paper_text(finding)} in the paper "
            f"({difference_text(finding)}{doubt})"
        )
    return ["## The largest differences", "", *lines, ""] if lines else []


def saturated_note(findings: Sequence[Finding]) -> list[str]:
    """Return the lines of a note that explains the star after values of saturated systems.

    A saturated system could not keep up with the load. The list is empty if no finding has a star.
    """
    if not any(finding.saturated for finding in findings):
        return []
    return [
        "\\* A system was saturated in at least one run: requests arrived faster than they ended,"
        " so its latency depends on the run length.",
        "",
    ]


def definitions(findings: Sequence[Finding]) -> list[str]:
    """Return the lines of a section with our values by other definitions of the same numbers.

    The list is empty if no finding has such values.
    """
    rows: list[tuple[str, ...]] = [
        (f"`{finding.short_key}`", says, estimate_text(estimate), paper_text(finding))
        for finding in findings
        if finding.also
        for says, estimate in (("as above", finding.ours), *finding.also)
    ]
    if not rows:
        return []
    columns: tuple[str, ...] = ("row", "definition", "ours", "paper")
    if all(finding.paper is None for finding in findings):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    return ["## By other definitions", "", *markdown_table(columns, rows)]


def whys(findings: Sequence[Finding]) -> list[str]:
    """Return the lines of two sections: why values are off, and notes on values that are not.

    Findings with the same reason or note share one entry.
    """
    lines = []
    if reasons := reasons_text(findings):
        lines += ["## Why rows are off", "", REASONS_LEGEND, "", *_listed(reasons), ""]
    if notes := notes_text(findings):
        lines += ["## Notes", "", *_listed(notes), ""]
    return lines


def _listed(keys_by_text: Mapping[str, Sequence[str]]) -> list[str]:
    return [
        f"- {', '.join(f'`{key}`' for key in keys)}: {text}" for text, keys in keys_by_text.items()
    ]
