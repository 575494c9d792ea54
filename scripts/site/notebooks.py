"""The notebooks of examples/notebooks as pages, with the output that they are kept with."""

import base64
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

FOLDER: Final = "examples/notebooks"


def notebooks(root: Path) -> dict[str, str]:
    """Return where each notebook stands on the site, by its path; with the folder itself."""
    found = sorted((root / FOLDER).glob("*.ipynb"))
    pages = {f"{FOLDER}/{file.name}": f"notebooks/{file.stem}.md" for file in found}
    return {FOLDER: "notebooks.md", **pages} if pages else {}


def notebook_list(root: Path) -> str:
    """Return the page that lists the notebooks."""
    names = [file.stem for file in sorted((root / FOLDER).glob("*.ipynb"))]
    tree = "\n".join(f"notebooks/{name}" for name in names)
    return (
        "# Notebooks\n\nExecuted notebooks, as they are in `examples/notebooks`; tests execute them"
        f" anew and compare what they show.\n\n```{{toctree}}\n:maxdepth: 1\n{tree}\n```\n"
    )


def notebook_page(file: Path, place: Path) -> str:
    """Return a notebook as Markdown; its pictures are written beside the page at `place`."""
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    lines: list[str] = []
    for number, cell in enumerate(cells):
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            lines += [text, ""]
            continue
        lines += ["```python", text, "```", ""]
        for output in cell["outputs"]:
            lines += shown(output, place.with_name(f"{file.stem}-{number}.png"))
    return "\n".join(lines)


def shown(output: Mapping[str, Any], picture: Path) -> Iterator[str]:
    """Yield the lines of an output: a picture, or its text."""
    data = output.get("data", {})
    if "image/png" in data:
        picture.parent.mkdir(parents=True, exist_ok=True)
        picture.write_bytes(base64.b64decode("".join(data["image/png"])))
        yield from (f"![Output of the cell above]({picture.name})", "")
    else:
        text = "".join(output.get("text", data.get("text/plain", "")))
        yield from ("```text", text.rstrip("\n"), "```", "")
