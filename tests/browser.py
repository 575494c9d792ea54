"""Debian's Chromium, driven by Playwright, for pages that tests open."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

#: CI sets it, so that a missing browser fails there and is skipped elsewhere.
NEEDED = "ACCELFLOW_NEEDS_BROWSER"
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@contextmanager
def chromium() -> Iterator[Any]:
    """Start Chromium; skip the test where it is missing, unless it is needed."""
    program = shutil.which("chromium")
    if program is None:
        why = "Chromium is missing: run scripts/install-browser"
        if os.environ.get(NEEDED):
            pytest.fail(why)
        pytest.skip(why)
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 (slow to load)

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


class Opened:
    """A page in the browser, with what it asked for and what it complained of."""

    def __init__(self, browser: Any, file: Path, *, width: int = 1100, scheme: str = "light"):
        self.page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(file.as_uri())
        self.page.wait_for_selector("html[data-ready]", state="attached")

    def close(self) -> None:
        self.page.close()
