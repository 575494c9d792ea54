"""`accelflow trace`: shows the paper's traces and those in trace files."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from accelflow.cli import offered
from accelflow.cli.listing import Group
from accelflow.cli.places import WRITTEN
from accelflow.cli.watch import watch
from accelflow.errors import AccelflowError, InputError, TraceError, refused, unreadable, unwritable
from accelflow.trace import LIBRARY, Image, Library, templates
from accelflow.trace.store import load_any
from accelflow.trace.text import ASCII, show
from accelflow.trace.view import View, view_registered, view_stored

#: The type of an argument for a trace file.
FILE = click.Path(path_type=Path, dir_okay=False)
#: The option ``--file`` of the commands.
FROM_FILE = click.option(
    "--file",
    "file",
    type=FILE,
    metavar="TRACEFILE",
    help="Trace file, or traces in the language of traces (text), to read. Default: the paper's"
    " traces.",
)
#: The option ``--json`` of the commands.
AS_JSON = click.option(
    "--json", "as_json", is_flag=True, help="Print the results as one JSON object, not as text."
)
#: The file formats of pictures, as endings of their names.
FORMATS = (".png", ".svg")


@click.group("trace", cls=Group, no_args_is_help=True)
def trace() -> None:
    """Show traces: source, graph, words and trace memory, and the path of a request."""


@trace.command("list")
@FROM_FILE
@AS_JSON
def list_traces(file: Path | None, as_json: bool) -> None:
    """List the traces with the address of their first word and their size in words."""
    traces, names = _read(file) if file else (LIBRARY, LIBRARY.names())
    about = {} if file else {template.name: template.about for template in templates()}
    image = _linked(traces, file)
    parts = [name.split(".")[0] for name in image.names]
    rows = [
        {
            "name": name,
            "address": image.entry(name),
            "words": parts.count(name),
            "about": about.get(name),
        }
        for name in names
    ]
    if as_json:
        click.echo(json.dumps({"schema": "accelflow.traces/1", "traces": rows}, indent=2))
        return
    width = max((len(name) for name in names), default=0)
    for row in rows:
        size = "1 word " if row["words"] == 1 else f"{row['words']} words"
        line = f"{row['name']:{width}}  0x{row['address']:03x}  {size}  {row['about'] or ''}"
        click.echo(line.rstrip())


@trace.command("show")
@click.argument("name", shell_complete=offered.names(lambda: LIBRARY.link().traces))
@FROM_FILE
@AS_JSON
@click.option(
    "--out",
    type=WRITTEN,
    metavar="PICTURE",
    help="Also draw the graph to this file; its name ends in .png or .svg.",
)
def show_trace(name: str, file: Path | None, as_json: bool, out: Path | None) -> None:
    """Show the trace NAME: source, graph, words by nibble, and the trace memory it can reach."""
    if out is not None and out.suffix not in FORMATS:
        raise refused("--out", str(out), f"must end in {' or '.join(FORMATS)}")
    view = _view(name, file)
    if out is not None:
        from accelflow.trace.draw import write_picture  # noqa: PLC0415 (matplotlib is slow to load)

        try:
            write_picture(view.pipeline, view.name, out)
        except OSError as error:
            raise unwritable("--out", out, error) from error
    click.echo(
        json.dumps(view.to_dict(), indent=2) if as_json else _printable(show(view)), nl=False
    )
    if as_json:
        click.echo()


trace.add_command(watch)


def _view(name: str, file: Path | None) -> View:
    traces, own = _read(file) if file else (LIBRARY, ())
    try:
        if isinstance(traces, Library):
            return view_registered(traces, name, own)
        return view_stored(traces, name)
    except TraceError as error:
        if error.reason == "unknown_trace":
            place = f"{file}: NAME" if file else "NAME"
            raise InputError(str(error), "trace").at(place) from error
        raise _of_file(error, file) from error


def _read(file: Path) -> tuple[Image | Library, Sequence[str]]:
    """Read a file of traces, and the names of its traces.

    Raises InputError for a file that is neither a trace file nor a text of traces.
    """
    try:
        return load_any(file)
    except OSError as error:
        raise unreadable("--file", file, error) from error
    except AccelflowError as error:
        raise InputError(str(error)) from error


def _linked(traces: Image | Library, file: Path | None) -> Image:
    try:
        return traces.link() if isinstance(traces, Library) else traces
    except TraceError as error:
        raise _of_file(error, file) from error


def _of_file(error: TraceError, file: Path | None) -> AccelflowError:
    """Return `error` with the name of the file whose traces it is about, if there is one."""
    return InputError(f"{file}: {error}") if file else error


def _printable(text: str) -> str:
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return text.translate(ASCII)
    return text
