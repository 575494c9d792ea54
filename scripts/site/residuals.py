"""The residuals: by how much our figures differ from the papers', for all rows at once."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from matplotlib.figure import Figure

from accelflow.pictures import save

#: Results with findings, by paper.
RESULTS: Final = {
    "AccelFlow": "reproduction/*.json",
    "Accelerometer": "accelerometer/results.json",
    "Cerebros": "cerebros/results.json",
    "ARCUS": "arcus/results.json",
}
AGREES: Final = 0.25


@dataclass(frozen=True)
class Residual:
    """A row: the paper, what may have informed it, and ours over the paper's less 1."""

    paper: str
    key: str
    use: str
    difference: float
    verdict: str


def residuals(root: Path) -> list[Residual]:
    """Read all rows that have a figure of a paper."""
    found = []
    for paper, pattern in RESULTS.items():
        for file in sorted((root / "docs/results").glob(pattern)):
            for row in json.loads(file.read_text(encoding="utf-8")).get("findings", []):
                found += residual(paper, row)
    return found


def residual(paper: str, row: dict[str, Any]) -> Iterator[Residual]:
    """Yield the row, unless the paper reports no figure or the row was an input."""
    if row["difference"] is not None and row["verdict"] is not None and row["use"] != "input":
        key = row["key"].split(".", 1)[1]
        yield Residual(paper, key, row["use"], row["difference"], row["verdict"])


def residuals_page(root: Path, target: Path) -> dict[str, str]:
    """Make the page, and its picture in the folder `target`."""
    found = residuals(root)
    draw(found, target / "residuals.svg")
    lines = [
        "# Residuals",
        "",
        f"Ours over the paper's figure, less 1, for all {len(found)} rows of four papers that a"
        " model computes, made of the results in `docs/results`. Inputs are left out. The band is"
        " what counts as agreement: a quarter.",
        "",
        "![Residuals of all rows, by paper, sorted](residuals.svg)",
        "",
        "| paper | rows | agree | median residual | of `check` rows | worst |",
        "|---|---|---|---|---|---|",
    ]
    for paper in RESULTS:
        rows = [each for each in found if each.paper == paper]
        checks = [abs(row.difference) for row in rows if row.use == "check"]
        worst = max(rows, key=lambda each: abs(each.difference))
        agree = sum(row.verdict in {"agrees", "as printed"} for row in rows)
        middle = median(abs(row.difference) for row in rows)
        of_checks = f"{median(checks):.1%}" if checks else ""
        lines.append(
            f"| {paper} | {len(rows)} | {agree} | {middle:.1%} | {of_checks} "
            f"| `{worst.key}` {worst.difference:+.0%} |"
        )
    return {"residuals.md": "\n".join([*lines, ""])}


def draw(found: list[Residual], file: Path) -> None:
    """Draw the residuals of each paper, the smallest first."""
    figure = Figure(figsize=(7.6, 3.4), layout="constrained")
    axes = figure.subplots(1, len(RESULTS), sharey=True)
    for at, paper in zip(axes, RESULTS, strict=True):
        rows = sorted(each.difference for each in found if each.paper == paper)
        at.axhspan(-AGREES, AGREES, color="#d6eed6", linewidth=0)
        at.axhline(0, color="#5b6570", linewidth=0.8)
        at.plot(range(len(rows)), rows, "o", markersize=2.6, color="#0b5cad")
        at.set_title(paper, fontsize=9)
        at.set_xlabel(f"{len(rows)} rows", fontsize=8)
        at.set_yscale("symlog", linthresh=0.25)
        at.set_yticks([-1, -0.5, -0.25, 0, 0.25, 0.5, 1, 3], labels=[
            "-100 %", "-50 %", "-25 %", "0", "+25 %", "+50 %", "+100 %", "+300 %"])  # fmt: skip
        at.tick_params(labelsize=8)
        at.set_xticks([])
    axes[0].set_ylabel("ours over the paper's, less 1", fontsize=8)
    save(figure, file)
