"""`accelflow report`: the page of an existing file of results."""

import sys
from pathlib import Path

import click

from accelflow.cli.pages import written
from accelflow.cli.places import written_as
from accelflow.errors import AccelflowError, refused, unreadable
from accelflow.files import parse_json, read_text
from accelflow.page import command_line
from accelflow.report import Comparison
from accelflow.report.page import comparison_page


@click.command("report")
@click.argument("results_file", metavar="RESULTS", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--out",
    type=written_as(".html", ".htm"),
    required=True,
    metavar="FILE.html",
    help="File for the page.",
)
def report(results_file: Path, out: Path) -> None:
    """Write the report page of RESULTS, a JSON file of `accelflow compare`.

    The page has no distribution of response times, since the file does not contain it. `accelflow
    compare --report FILE.html` writes a page with it (docs/report.md).
    """
    try:
        comparison = Comparison.from_dict(parse_json(read_text(results_file)))
    except (OSError, ValueError) as error:
        raise unreadable("RESULTS", results_file, error) from error
    except AccelflowError as error:
        raise refused(
            "RESULTS", str(results_file), f"must be results of `accelflow compare`: {error}"
        ) from error
    written(comparison_page(comparison, command_line(sys.argv)), out)
