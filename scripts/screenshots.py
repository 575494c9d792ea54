"""Makes pictures of docs/images: a report (light, dark, on a phone, on paper) and a timeline.

Needs Chromium (scripts/install-browser) and the packages of `scripts/bootstrap dev`. Run it from
the root of the repository: .venv/bin/python scripts/screenshots.py
"""

import io
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from PIL import Image
from playwright.sync_api import sync_playwright
from timeline_picture import draw

import accelflow
from accelflow.comparing import REPORT_LOADS
from accelflow.watching import Shown, write_timeline

FLAGS: Final = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
IMAGES: Final = Path("docs/images")
#: For each picture: width of the window, colour scheme, medium, and part of the page from the top.
SHOTS: Final = {
    "report-light": (1060, "light", "screen", 0, 1180),
    "report-latency": (1060, "light", "screen", 1190, 1010),
    "report-dark": (1060, "dark", "screen", 0, 1180),
    "report-phone": (360, "light", "screen", 0, 1180),
    "report-print": (794, "light", "print", 0, 1123),
}
#: The index of the request in the timeline, and the systems that serve it.
WATCHED: Final = ("UniqId", 117)
SYSTEMS: Final = {
    "relief": "A request under RELIEF",
    "accelflow": "The same request under AccelFlow",
}
#: The parts of the light page that have a picture of their own: their kind, and their title.
PARTS: Final = {
    "report-load": ("section", "Throughput and latency against load"),
    "report-use": ("figure", "How busy a resource is over time"),
}


def main() -> None:
    """Simulate, open the page, and write the pictures."""
    program = shutil.which("chromium")
    if program is None:
        sys.exit("screenshots: error: chromium is missing: run scripts/install-browser")
    IMAGES.mkdir(parents=True, exist_ok=True)
    found = accelflow.compare(
        "socialnetwork",
        profile="paper",
        requests=5_000,
        samples=True,
        use_over_time=True,
        loads=REPORT_LOADS,
    )
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        page = Path(folder) / "report.html"
        found.write_page(page)
        browser = driver.chromium.launch(executable_path=program, args=FLAGS)
        for name in SHOTS:
            shoot(browser, page, name)
        for name in PARTS:
            shoot_part(browser, page, name)
        browser.close()
        watch(Path(folder) / "timeline.pftrace")


def watch(file: Path) -> None:
    """Write a timeline to `file`, and the picture of the timeline."""
    service, number = WATCHED
    asked = accelflow.Scenario(
        workload="socialnetwork", profile="paper", requests=500, orchestrators=list(SYSTEMS)
    )
    write_timeline(asked, file, Shown(services=(service,), requests=(number,)))
    drawn = io.BytesIO()
    draw(file, SYSTEMS, number).savefig(drawn, format="png", dpi=130)
    write(Image.open(drawn), "timeline")


def shoot(browser: Any, file: Path, name: str) -> None:
    """Write the picture called `name` of the page in `file`, from a height on."""
    width, scheme, medium, top, height = SHOTS[name]
    page = opened(browser, file, width, height, scheme)
    page.emulate_media(media=medium, color_scheme=scheme)
    part = {"x": 0, "y": top, "width": width, "height": height}
    write(Image.open(io.BytesIO(page.screenshot(full_page=True, clip=part))), name)
    page.close()


def shoot_part(browser: Any, file: Path, name: str) -> None:
    """Write the picture called `name` of a part of the page in `file`."""
    kind, title = PARTS[name]
    page = opened(browser, file, 1060, 1180, "light")
    write(Image.open(io.BytesIO(page.locator(kind, has_text=title).screenshot())), name)
    page.close()


def opened(browser: Any, file: Path, width: int, height: int, scheme: str) -> Any:
    """Return the page in `file`, opened in a window, after its plots are drawn."""
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-ready]", state="attached")
    return page


def write(picture: Image.Image, name: str) -> None:
    """Write a picture with a palette of its most frequent and its most different colours."""
    few = picture.convert("RGB").quantize(256, method=Image.Quantize.MAXCOVERAGE)
    few.save(IMAGES / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
