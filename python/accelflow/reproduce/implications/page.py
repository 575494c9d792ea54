"""The Markdown page of the proofs from the paper's printed figures."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Final

from accelflow.errors import file_path, unwritable
from accelflow.files import write_whole
from accelflow.findings.page import markdown_table
from accelflow.reproduce.implications.accelerators import BESIDE_TCP
from accelflow.reproduce.implications.proof import CONTRADICTION, IMPLIED, READING, Found, Proof
from accelflow.reproduce.implications.ranges import Range
from accelflow.reproduce.implications.statements import Statement, statements

__all__ = ["COMMAND", "page", "write_page"]

#: The command that writes the page in docs/results.
COMMAND: Final = "accelflow reproduce --implications docs/results/what-the-paper-implies.md"

_KINDS: Final = {
    CONTRADICTION: (
        "Contradictions",
        "Printed figures that exclude each other by every definition of them that was considered.",
    ),
    READING: (
        "Readings that are ruled out",
        "Printed figures that exclude each other if they are read as it says; at least one part "
        "of the reading, or one of the figures, has to give.",
    ),
    IMPLIED: (
        "Values that follow",
        "What has to be so for a printed figure to hold, although the paper does not say it.",
    ),
}


def write_page(path: str | PathLike[str], proofs: Sequence[Proof]) -> None:
    """Write the page of `proofs` to `path`. Raises InputError if the file cannot be written."""
    path = file_path("path", path)
    text = page(proofs)
    try:
        write_whole(path, lambda scratch: scratch.write_text(text, encoding="utf-8"))
    except OSError as error:
        raise unwritable("--implications", path, error) from error


def page(proofs: Sequence[Proof]) -> str:
    """Return the page of `proofs` as Markdown; equal proofs and printed figures give equal text."""
    lines = [*_introduction(proofs), *_glance(proofs), *_utilization(proofs)]
    for kind, (heading, about) in _KINDS.items():
        lines += [f"## {heading}", "", about, ""]
        for proof in proofs:
            if proof.kind == kind:
                lines += _proof(proof)
    lines += _statements(proofs)
    return "\n".join(lines).rstrip() + "\n"


def _introduction(proofs: Sequence[Proof]) -> list[str]:
    count = {kind: sum(proof.kind == kind for proof in proofs) for kind in _KINDS}
    return [
        "# What the paper's figures imply",
        "",
        f"Written by `{COMMAND}`; not edited by hand. Each entry is a proof in "
        "`python/accelflow/reproduce/implications`: figures that the AccelFlow paper (HPCA 2026) "
        "prints, and an inequality that is computed from them. No simulation takes part. "
        f"{count[CONTRADICTION]} are contradictions, {count[READING]} rule a reading out, and "
        f"{count[IMPLIED]} say what must be so.",
        "",
        "A printed figure stands for all numbers that are rounded to it: 92 % is 91.5 to 92.5 %. "
        "Bounds are ranges for that reason (in brackets), and something is ruled out only if it is "
        "for all of them. An entry says what it takes from the paper beside the figures; who "
        "doubts that has found what gives.",
        "",
    ]


def _glance(proofs: Sequence[Proof]) -> list[str]:
    rows = []
    for proof in sorted(proofs, key=lambda proof: list(_KINDS).index(proof.kind)):
        found = proof.found()
        relation = f"{proof.relation} " if proof.figure is not None else ""
        printed = "" if found.figure is None else _number(found.figure.value, proof.percent)
        follows = f"{relation}{_number(found.bound.value, proof.percent)}"
        rows.append((f"[{proof.title}](#{_anchor(proof)})", proof.kind, follows, printed))
    return markdown_table(("proof", "kind", "follows", "printed"), rows)


def _utilization(proofs: Sequence[Proof]) -> list[str]:
    """Return a table of printed utilisations beside the possible shares of the elements' time."""
    bounds = {proof.name: proof.found().bound.value for proof in proofs}
    if not all(f"{kind.key}_elements_beside_tcp" in bounds for kind in BESIDE_TCP):
        return []
    figure = {key: statement.figure.value for key, statement in statements().items()}
    lines = [
        "## Utilisations as shares of the elements' time",
        "",
        "With the printed shares and speedups, and TCP's elements 92 % busy: if elements are busy "
        "for their computation C/S alone, and with the most that loading and saving can take. What "
        "is printed is above both for every accelerator, so that it is no share of the elements' "
        "time. The share of time with any element busy remains (of LdB only if its elements handle "
        "data), and is what the "
        "simulator compares (`any_busy_*`).",
        "",
    ]
    rows = []
    tcp = figure["tcp_share"] / figure["tcp_speedup"]
    for kind in BESIDE_TCP:
        ratio = figure[f"{kind.key}_share"] / figure[kind.speedup()] / tcp / kind.accelerators
        most = bounds[f"{kind.key}_elements_beside_tcp"]
        cells = (figure[f"{kind.key}_used"], figure["tcp_used"] * ratio, most)
        rows.append((kind.name, *(_number(cell, True) for cell in cells)))
    columns = ("accelerator", "printed", "computation alone", "with the most loading")
    return [*lines, *markdown_table(columns, rows)]


def _proof(proof: Proof) -> list[str]:
    found = proof.found()
    lines = [f"### {proof.title}", "", f"`{proof.name}`", ""]
    if proof.reading:
        lines += [f"Reading: {proof.reading}.", ""]
    lines += ["From the paper:", ""]
    lines += [f"- {_input(statements()[key])}" for key in proof.inputs]
    lines += ["", proof.steps, "", f"    {proof.formula}", "", _outcome(proof, found.bound)]
    if found.figure is not None:
        lines[-1] += " " + _verdict(proof, found)
    lines.append("")
    for heading, items in (
        ("It rests on", proof.rests_on),
        ("What would have to give", proof.gives),
    ):
        if items:
            lines += [f"{heading}:", "", *(f"- {item}" for item in items), ""]
    if proof.rows:
        lines += ["Rows: " + ", ".join(f"`{row}`" for row in proof.rows) + ".", ""]
    return lines


def _input(statement: Statement) -> str:
    return f"{statement.says}: {_printed(statement)} ({statement.section})"


def _outcome(proof: Proof, bound: Range) -> str:
    relation = f" is {proof.relation} " if proof.figure is not None else ": "
    text = _number(bound.value, proof.percent)
    low, high = (_number(end, proof.percent) for end in (bound.low, bound.high))
    between = "" if low == high else f" ({low} to {high} by the precision of its inputs)"
    said = proof.quantity[0].upper() + proof.quantity[1:]
    return f"{said}{relation}**{text}**{between}."


def value_text(proof: Proof) -> str:
    """Return as text the quantity that a proof bounds, and its value: ``the load is 27.0``."""
    return f"{proof.quantity} is {_number(proof.found().bound.value, proof.percent)}"


def _verdict(proof: Proof, found: Found) -> str:
    """Return a text on the printed figure, and by how much it is beyond the bound."""
    if found.figure is None:
        return ""
    what = (
        f"The printed figure ({proof.figure_says})" if proof.figure_says else "The printed figure"
    )
    text = f"{what} is **{_number(found.figure.value, proof.percent)}**"
    if not found.rules_out:
        return f"{text}, which it allows."
    ends = (found.figure.low, found.bound.high), (found.bound.low, found.figure.high)
    beyond, limit = ends[0] if proof.relation == "at most" else ends[1]
    return (
        f"{text}, which is ruled out: where the ranges of the two are nearest, the larger is "
        f"{beyond / limit:.2f} times the smaller."
    )


def _printed(statement: Statement) -> str:
    """Return the statement's figure as text with the paper's digits; shares are in per cent."""
    if statement.row and abs(statement.printed) < 1:
        digits = max(0, -int(statement.printed.as_tuple().exponent) - 2)
        return f"{100 * statement.printed:.{digits}f} %"
    return f"{statement.printed:f}"


def _number(value: float, percent: bool) -> str:
    if percent:
        return f"{100 * value:.1f} %"
    return f"{value:.1f}" if abs(value) >= 20 else f"{value:.3g}"


def _anchor(proof: Proof) -> str:
    kept = (sign for sign in proof.title.lower() if sign.isalnum() or sign in " -_")
    return "".join(kept).replace(" ", "-")


def _statements(proofs: Sequence[Proof]) -> list[str]:
    """Return a table of the paper's sentences with the figures that are taken from each."""
    used = {key for proof in proofs for key in proof.inputs}
    taken: dict[tuple[str, str], list[str]] = {}
    for key, statement in statements().items():
        if key in used:
            figures = taken.setdefault((statement.section, statement.quote), [])
            figures.append(f"{statement.says}: {_printed(statement)}")
    rows = [
        (section, f'"{quote}"', "; ".join(figures)) for (section, quote), figures in taken.items()
    ]
    columns = ("section", "sentence", "figures")
    return ["## The sentences", "", *markdown_table(columns, rows)]
