"""The notebooks run, show what is committed, and have nothing of the machine that ran them."""

import re
import sys
from pathlib import Path

import nbformat
import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "scripts"))

from notebooks import executed, is_picture, texts

NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


def test_there_are_three() -> None:
    assert [path.stem for path in NOTEBOOKS] == [
        "accelerometer-to-decision",
        "first-comparison",
        "own-service",
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_it_computes(path: Path) -> None:
    found = texts(executed(path))
    assert found == texts(nbformat.read(path, as_version=4)), (
        f"{path.name} is out of date: run .venv/bin/python scripts/notebooks.py"
    )


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_small_and_from_no_machine(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert path.stat().st_size < 200_000
    assert notebook.metadata["language_info"] == {"name": "python"}
    assert not any(cell.metadata for cell in notebook.cells)
    shown = "".join(text for _, cell in texts(notebook) for text in cell)
    assert re.findall(r"/(?:home|root|tmp|work|usr)\b|0x[0-9a-f]{6,}|Traceback", shown) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_links_of_a_notebook_lead_to_files(path: Path) -> None:
    cells = nbformat.read(path, as_version=4).cells
    prose = "".join(cell.source for cell in cells if cell.cell_type == "markdown")
    links = re.findall(r"\]\((?!https?:)([^)#]+)", prose)
    assert links
    assert [link for link in links if not (path.parent / link).exists()] == []


def test_a_cell_that_fails_or_warns_is_found(tmp_path: Path) -> None:
    for source, error in {
        "1 / 0": "ZeroDivisionError",
        "import sys; sys.stderr.write('x')": "x",
    }.items():
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
        path = tmp_path / "made-up.ipynb"
        nbformat.write(notebook, path)
        with pytest.raises(Exception, match=error):
            executed(path)


def test_a_picture_is_compared_as_one() -> None:
    picture = nbformat.v4.new_output("display_data", data={"image/png": "x", "text/plain": "y"})
    assert is_picture(picture)
    cell = nbformat.v4.new_code_cell("1", outputs=[picture], id="one")
    assert texts(nbformat.v4.new_notebook(cells=[cell])) == [("one", ["picture"])]
