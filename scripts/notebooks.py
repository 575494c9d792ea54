"""Executes the notebooks of examples/notebooks and stores their outputs in them.

Run it from the root of the repository after changing a notebook: .venv/bin/python
scripts/notebooks.py [FILE ...]. tests/test_notebooks.py executes the notebooks, too, and compares
the outputs with the stored ones.
"""

import re
import sys
from pathlib import Path
from typing import Any, Final

import nbformat
from nbclient import NotebookClient

NOTEBOOKS: Final = Path("examples/notebooks")
#: The time limit of a cell in seconds. A cell takes seconds, but the machine may be busy.
TIMEOUT_S: Final = 300


def executed(path: Path) -> Any:
    """Return the notebook at `path` with new outputs, without times and paths of this machine.

    Raises nbclient's CellExecutionError for a cell that fails, and ValueError for one that writes
    to standard error.
    """
    notebook = nbformat.read(path, as_version=4)
    folder = {"metadata": {"path": str(path.parent)}}
    # All text that a cell prints is one output, even if it was flushed in between.
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=TIMEOUT_S,
        resources=folder,
        coalesce_streams=True,
    )
    client.execute()
    notebook.metadata["language_info"] = {"name": "python"}
    for cell in notebook.cells:
        cell.metadata = {}
        for output in cell.get("outputs", ()):
            if output.get("name") == "stderr":
                raise ValueError(f"{path}: {cell.id}: {output.text}")
            if is_picture(output):
                del output.data["text/plain"]
            if "metadata" in output:
                output.metadata = {}
    return notebook


def is_picture(output: Any) -> bool:
    """Return whether an output is a picture."""
    return "image/png" in output.get("data", {})


def texts(notebook: Any) -> list[tuple[str, list[str]]]:
    """Return the ID of each code cell with its outputs: texts, and a word for each picture."""
    return [
        (cell.id, [_shown(output) for output in cell.outputs])
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def _shown(output: Any) -> str:
    if is_picture(output):
        return "picture"
    data = output.get("data", {})
    text = output.get("text") or data.get("text/html") or data.get("text/plain") or ""
    return re.sub(r"\s+\n", "\n", "".join(text))


def main() -> None:
    """Execute the notebooks named on the command line, or all, and write them."""
    for path in [Path(name) for name in sys.argv[1:]] or sorted(NOTEBOOKS.glob("*.ipynb")):
        nbformat.write(executed(path), path)
        print(f"{path}: {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
