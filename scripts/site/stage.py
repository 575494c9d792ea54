"""Lays out the sources of the site: the repository's pages, and those that are made of the code.

The pages of docs/ are read on the site and as plain Markdown in the repository, so they have no
directives. Their order is that of docs/README.md: each of its sections becomes a page of the site
that leads to the pages it links. Links to files that are no pages become downloads.
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import Final

from gallery import gallery_page
from notebooks import FOLDER, notebook_list, notebook_page, notebooks
from reference import command_pages, module_pages, schema_pages
from residuals import residuals_page

ROOT: Final = Path(__file__).resolve().parents[2]
#: Pages outside of docs/, by where they stand on the site.
OUTSIDE: Final = {
    "README.md": "project/readme.md",
    "ARCHITECTURE.md": "project/architecture.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "fuzz/README.md": "project/fuzzing.md",
    "benches/README.md": "project/benchmarks.md",
}
INDEX: Final = "docs/README.md"
#: Pages that are made of the code, by the section of the index that they follow: title, page, and
#: what it has.
GENERATED: Final = {
    "How-to guides": [
        ("Notebooks", "notebooks", "three studies from question to answer, executed")
    ],
    "Reference": [
        ("Commands", "reference/commands", "every command with its options"),
        ("Python", "reference/python", "every public module, of its docstrings"),
        (
            "Schemas",
            "reference/schemas",
            "the files of chips, scenarios and workloads, field by field",
        ),
    ],
    "Results and validation": [
        ("Residuals", "residuals", "ours over the papers' figures, all rows in one picture"),
        ("Gallery", "gallery", "every experiment with its command and its picture"),
    ],
}
FENCED: Final = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
LINK: Final = re.compile(r"\]\((?!\w+:|#)([^)\s#]+)(#[^)\s]*)?\)")
SECTION: Final = re.compile(r"^## (.*)$", re.MULTILINE)


def stage(target: Path) -> None:
    """Write the sources into a folder, anew."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    places = {**places_of_pages(), **notebooks(ROOT)}
    for page, place in places.items():
        if page == FOLDER:
            text = notebook_list(ROOT)
        elif page.startswith(FOLDER):
            text = notebook_page(ROOT / page, target / place)
        else:
            text = (ROOT / page).read_text(encoding="utf-8")
        write(target / place, with_links(text, page, place, places, target))
    split_index(target)
    made = {
        **command_pages(),
        **module_pages(),
        **schema_pages(ROOT),
        **residuals_page(ROOT, target),
        **gallery_page(ROOT),
    }
    for place, text in made.items():
        write(target / place, text)
    for picture in (ROOT / "docs/results").glob("*/*.png"):
        keep(picture, target / picture.relative_to(ROOT / "docs"))


def places_of_pages() -> dict[str, str]:
    """Where each page of the repository stands on the site."""
    found = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")}
    inside = {page: page.removeprefix("docs/") for page in sorted(found)}
    return {**inside, INDEX: "index.md", **OUTSIDE}


def with_links(text: str, page: str, place: str, places: dict[str, str], target: Path) -> str:
    """Return the page with its links as they are on the site."""

    def lead(match: re.Match[str]) -> str:
        name, anchor = match[1], match[2] or ""
        meant = normpath((PurePosixPath(page).parent / name).as_posix())
        if meant in places:
            there = places[meant]
        elif (ROOT / meant).is_file():
            there = meant.removeprefix("docs/")
            keep(ROOT / meant, target / there)
        else:
            return f"]({name}{anchor})"  # a folder has no page: the text of the link names it
        return f"]({relpath(there, PurePosixPath(place).parent.as_posix())}{anchor})"

    parts = FENCED.split(text)
    return "".join(
        part if part.startswith("```") else without_folders(LINK.sub(lead, part), page)
        for part in parts
    )


def without_folders(text: str, page: str) -> str:
    """Return the text with links to folders as plain text."""

    def plain(match: re.Match[str]) -> str:
        folder = ROOT / normpath((PurePosixPath(page).parent / match[2]).as_posix())
        return match[1] if folder.is_dir() else match[0]

    return re.sub(r"\[([^\]]*)\]\((?!\w+:|#)([^)\s#]+)\)", plain, text)


def split_index(target: Path) -> None:
    """Make a page of each section of the index, and the page at the top of what is before them."""
    index = target / "index.md"
    parts = SECTION.split(index.read_text(encoding="utf-8"))
    names = []
    for title, text in zip(parts[1::2], parts[2::2], strict=True):
        made = [row for row in GENERATED.get(title, []) if is_made(row[1])]
        pages = [*linked_pages(text), *(f"{name} <{page}>" for name, page, _ in made)]
        if len(pages) == 1:  # a section of one page is that page
            names += pages
            continue
        file = slug(title)
        rows = "".join(f"| [{name}]({page}.md) | {has} |\n" for name, page, has in made)
        write(target / f"{file}.md", f"# {title}\n\n{text.strip()}\n{rows}\n{contents(pages)}")
        names.append(file)
    write(index, f"{parts[0]}\n{contents(names)}")


def is_made(page: str) -> bool:
    """Whether a page of the code exists: there may be no notebooks."""
    return page != "notebooks" or bool(notebooks(ROOT))


def linked_pages(text: str) -> Iterator[str]:
    """Yield the pages that a section of the index has in its tables, each as the index calls it."""
    for title, page in re.findall(r"^\| \[([^\]]+)\]\(([^)#]+)\.md\) \|", text, re.MULTILINE):
        yield f"{title} <{page}>"


def contents(pages: list[str]) -> str:
    """Return the directive that puts pages into the tree of the site."""
    return "```{toctree}\n:hidden:\n" + "\n".join(pages) + "\n```\n"


def slug(title: str) -> str:
    """Return the name of a section's file."""
    return re.sub(r"\W+", "-", title.lower())


def keep(file: Path, place: Path) -> None:
    """Copy a file that pages show or offer."""
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, place)


def write(place: Path, text: str) -> None:
    """Write a page."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")
