"""The site of the documentation: built strictly, complete, and asking nothing of any network."""

import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe

from accelflow.cli import COMMANDS
from browser import chromium
from conftest import ROOT

SITE = ROOT / "scripts/site"
#: What a page loads by itself, by element and attribute. Links are not loaded.
LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("source", "src"), ("iframe", "src")}

#: The rules of WCAG 2.2, levels A and AA.
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site, made as `scripts/docs build` makes it: a warning fails."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, SITE / "build.py", folder], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder / "html"


class Reader(HTMLParser):
    """The anchors of a page, the links on it, and what it loads."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take what an element says."""
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            if (tag, name) == ("a", "href") and value:
                self.links.append(value)
            if (tag, name) in LOADED and value and not value.startswith("data:"):
                self.loaded.append(value)


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Reader]:
    return {page: Reader(page) for page in sorted(site.rglob("*.html"))}


def test_every_document_and_command_has_a_page(site: Path) -> None:
    documents = {path.relative_to(ROOT / "docs") for path in ROOT.glob("docs/**/*.md")}
    documents -= {Path("README.md")}  # it is index.html
    assert documents
    missing = [d for d in documents if not (site / d.with_suffix(".html")).is_file()]
    assert missing == []
    for command in COMMANDS:
        page = site / f"reference/commands/{command.name}.html"
        assert f"accelflow {command.name}" in page.read_text(encoding="utf-8")


def test_every_link_and_anchor_leads_somewhere(site: Path, pages: dict[Path, Reader]) -> None:
    broken = []
    for page, reader in pages.items():
        for link in [*reader.links, *reader.loaded]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            there = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            anchors = pages[there].anchors if there in pages else set()
            anchor = unquote(parts.fragment)
            if not there.exists() or (anchor and there in pages and anchor not in anchors):
                broken.append((str(page.relative_to(site)), link))
    assert broken == []


def test_pages_load_no_foreign_resource(site: Path, pages: dict[Path, Reader]) -> None:
    foreign = [(p, each) for p, r in pages.items() for each in r.loaded if urlsplit(each).netloc]
    assert foreign == []
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        assert not re.search(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", text), sheet


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started


def test_the_search_finds_a_page_without_a_network(site: Path, browser: Any) -> None:
    page = browser.new_page(offline=True)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{(site / 'search.html').as_uri()}?q=overflow+area")
    # Results appear one after another.
    page.wait_for_selector("ul.search li a[href*='accelflow.html']")
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["index", "tutorial", "parameters", "reference/commands/compare"])
def test_a_page_fits_a_phone(site: Path, browser: Any, name: str, scheme: str) -> None:
    page = browser.new_page(viewport={"width": 360, "height": 800}, color_scheme=scheme)
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto((site / f"{name}.html").as_uri())
    widths = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert widths[0] <= widths[1]
    assert complaints == []
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["tutorial", "reference/python/comparing"])
def test_a_page_can_be_used_by_all(site: Path, browser: Any, name: str, scheme: str) -> None:
    page = browser.new_page(viewport={"width": 360, "height": 800}, color_scheme=scheme)
    page.goto((site / f"{name}.html").as_uri())
    options = {"runOnly": RULES, "resultTypes": ["violations"]}
    found = Axe().run(page, options=options).response["violations"]
    assert [(row["id"], row["nodes"][0]["html"]) for row in found] == []
    page.close()


def test_diagrams_are_those_of_the_script(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "scripts/diagrams.py", tmp_path], check=True)
    drawn = sorted(tmp_path.glob("*.svg"))
    assert drawn
    for file in drawn:
        kept = ROOT / "docs/images" / file.name
        assert file.read_bytes() == kept.read_bytes(), f"run scripts/diagrams.py: {file.name}"


def test_a_broken_link_stops_the_build(tmp_path: Path) -> None:
    (tmp_path / "index.md").write_text("# A page\n\n[lost](nowhere.md#at-all)\n")
    strict = ["-W", "--quiet", "-c", str(SITE)]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *strict, tmp_path, tmp_path / "html"],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": f"{SITE}:{':'.join(sys.path)}", "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode != 0
    assert "nowhere.md" in done.stderr
