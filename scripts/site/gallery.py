"""The gallery: every experiment with its command, its picture and its results."""

from collections.abc import Iterator
from pathlib import Path

from accelflow.reproduce import definitions

COMPANIONS = {
    "accelerometer": "Accelerometer (ASPLOS 2020)",
    "cerebros": "Cerebros (MICRO 2021)",
    "arcus": "ARCUS",
}


def gallery_page(root: Path) -> dict[str, str]:
    """Make the page of all experiments."""
    lines = [
        "# Gallery of experiments",
        "",
        "Every experiment of the papers' evaluations as it is kept in the repository, with the"
        " command that repeats it. `--quick` shortens those of AccelFlow to minutes.",
        "[Reproducing the evaluation](reproduce.md) explains measures and intervals;",
        "[all rows](results/reproduction/comparison.md) are beside the paper's figures.",
        "",
        "## AccelFlow (HPCA 2026)",
        "",
    ]
    for name in definitions.names():
        lines += experiment(root, name)
    for name, paper in COMPANIONS.items():
        lines += companion(root, name, paper)
    return {"gallery.md": "\n".join(lines)}


def experiment(root: Path, name: str) -> Iterator[str]:
    """Yield the section of one experiment."""
    found = definitions.load(name)
    yield from (f"### {name}: {found.title}", "", f"{found.place}. {found.note or ''}".strip(), "")
    yield from ("```sh", f"accelflow reproduce {name}", "```", "")
    if (root / f"docs/results/reproduction/{name}.png").is_file():
        yield from (f"![{found.title}](results/reproduction/{name}.png)", "")


def companion(root: Path, name: str, paper: str) -> Iterator[str]:
    """Yield the section of a companion paper."""
    yield from (f"## {paper}", "", f"[All rows](results/{name}/comparison.md).", "")
    yield from ("```sh", f"accelflow companions {name}", "```", "")
    for picture in sorted((root / f"docs/results/{name}").glob("*.png")):
        yield from (f"![{picture.stem} of {paper}](results/{name}/{picture.name})", "")
