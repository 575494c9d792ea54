"""The option ``--report FILE.html`` of several commands, which writes a page of results."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console

from accelflow.cli.places import check_file, written_as
from accelflow.errors import unwritable
from accelflow.page import Page, write_page
from accelflow.simulation import Scenario, loaded, orchestrators, services

__all__ = ["REPORT", "check_report", "page_samples", "written"]

#: The number of requests, over all services and systems, that a page's curves are drawn from.
_MOST_SAMPLES: Final = 1_000_000

#: Adds the option ``--report`` to a command; its value is called `report_file`.
REPORT: Final[Callable[[Callable[..., Any]], Callable[..., Any]]] = click.option(
    "--report",
    "report_file",
    type=written_as(".html", ".htm"),
    metavar="FILE.html",
    help="Write a self-contained page with plots, tables, settings and the command.",
)


def check_report(report_file: Path | None) -> None:
    """Raise InputError if the page of ``--report`` cannot be written to the file `report_file`.

    None, for a command without ``--report``, is never refused.
    """
    if report_file is not None:
        check_file(report_file, "--report")


def page_samples(scenario: Scenario, seeds: int) -> int:
    """Return the largest number of requests to record for the curves of a page.

    This is the number for each combination of service, system, chip and seed, at least 1; all
    combinations together have at most about a million requests.
    """
    known = scenario.services or services(loaded(scenario).workload)  # type: ignore[arg-type]
    systems = max(len(scenario.orchestrators or orchestrators()), 1) * max(len(scenario.chips), 1)
    return max(_MOST_SAMPLES // (len(known) * systems * seeds), 1)


def written(page: Page, file: Path) -> None:
    """Write `page` to `file` atomically, and print the path on standard error.

    Raises InputError if the file cannot be written.
    """
    try:
        write_page(page, file)
    except OSError as error:
        raise unwritable("--report", file, error) from error
    Console(stderr=True).print(f"wrote {file}", highlight=False, markup=False, soft_wrap=True)
