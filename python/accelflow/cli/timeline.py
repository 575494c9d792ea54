"""`accelflow timeline`, and the timeline options of other commands."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console

from accelflow import watching
from accelflow.cli import offered
from accelflow.cli.listing import Group
from accelflow.cli.output import bar
from accelflow.cli.places import written_as
from accelflow.errors import InputError, refused
from accelflow.simulation import Scenario
from accelflow.watching import KINDS_OF_SPANS, Shown

__all__ = ["check_timeline", "timeline", "timeline_options", "write_timeline"]

_FILE: Final = click.Path(path_type=Path, dir_okay=False)
#: The extensions of timelines for Perfetto.
_TIMELINE: Final = written_as(".pftrace", ".perfetto-trace")

#: The option's name after ``--timeline-``, by the field of `Shown` that the option sets.
_OPTIONS: Final = {"from_us": "from", "for_us": "for", "requests": "request", "slowest": "slowest"}

#: The function of a command.
Command = Callable[..., None]


def timeline_options(command: Command) -> Command:
    """Add to `command` the option ``--timeline``, and those that select the timeline's requests."""
    options = (
        click.option(
            "--timeline",
            "timeline_file",
            type=_TIMELINE,
            metavar="FILE.pftrace",
            help="Write a timeline of the first seed, for https://ui.perfetto.dev. More than "
            "10,000 requests, of all systems together, are refused.",
        ),
        click.option(
            "--timeline-from",
            type=float,
            metavar="US",
            help="Show requests that arrive from this simulated time on, in us. Default: 0.",
        ),
        click.option(
            "--timeline-for",
            type=float,
            metavar="US",
            help="Show requests that arrive within this many us after --timeline-from. Default: "
            "until the end of the run.",
        ),
        click.option(
            "--timeline-service",
            multiple=True,
            metavar="NAME",
            help="Show requests to this service; repeatable.",
            shell_complete=offered.services,
        ),
        click.option(
            "--timeline-request",
            multiple=True,
            type=int,
            metavar="N",
            help="Show this request of each service: its index by arrival, from 0; repeatable.",
        ),
        click.option(
            "--timeline-slowest",
            type=int,
            metavar="NUMBER",
            help="Show this many of the slowest requests of each service.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def check_timeline(options: dict[str, Any]) -> None:
    """Raise InputError for timeline options that are not allowed, before any simulation."""
    file = options["timeline_file"]
    narrowed = [
        name
        for name in ("from", "for", "service", "request", "slowest")
        if options[f"timeline_{name}"] not in (None, ())
    ]
    if file is None:
        if narrowed:
            raise refused(
                f"--timeline-{narrowed[0]}",
                _first(options[f"timeline_{narrowed[0]}"]),
                "must be given together with --timeline FILE",
            )
        return
    _check_shown(_shown(options))


def write_timeline(scenario: Scenario, options: dict[str, Any]) -> Path | None:
    """Simulate `scenario` and write the timeline that `options` ask for; return its path.

    None if no option asks for a timeline. Raises InputError for a timeline that is not allowed or
    cannot be written.
    """
    file: Path | None = options["timeline_file"]
    if file is None:
        return None
    shown = _shown(options)
    # The scenario's services were checked before, so that --timeline-service is at fault.
    options_of = {"path": "--timeline", "service": "--timeline-service"}
    try:
        with bar(Console(stderr=True), "simulating") as advance:
            watching.write_timeline(scenario, file, shown, progress=advance)
    except InputError as error:
        option = options_of.get(error.place or "")
        raise (error.at(option) if option else error) from error
    return file


def _first(value: Any) -> Any:
    """Return an option's value, or the first value of a repeatable option."""
    return value[0] if isinstance(value, tuple) else value


def _shown(options: dict[str, Any]) -> Shown:
    return Shown(
        from_us=options["timeline_from"] or 0.0,
        for_us=options["timeline_for"],
        services=options["timeline_service"],
        requests=options["timeline_request"],
        slowest=options["timeline_slowest"],
    )


def _check_shown(shown: Shown) -> None:
    """Check `shown`; errors name the option ``--timeline-...`` that set the field at fault."""
    try:
        shown.check()
    except InputError as error:
        if error.place not in _OPTIONS:
            raise
        raise error.at(f"--timeline-{_OPTIONS[error.place]}") from error


@click.group("timeline", cls=Group, no_args_is_help=True)
def timeline() -> None:
    """Draw recorded requests as timelines for Perfetto."""


@timeline.command("spans")
@click.argument("files", nargs=-1, required=True, type=_FILE, metavar="FILE...")
@click.option(
    "--kind",
    type=click.Choice(KINDS_OF_SPANS),
    default=KINDS_OF_SPANS[0],
    show_default=True,
    help="Format of the files, as for `accelflow import`.",
)
@click.option(
    "--out", type=_TIMELINE, required=True, metavar="FILE.pftrace", help="Write the timeline here."
)
@click.option(
    "--from",
    "from_us",
    type=float,
    default=0.0,
    metavar="US",
    help="Show requests that begin at least this long after the first request of the files, in us. "
    "Default: 0.",
)
@click.option(
    "--for",
    "for_us",
    type=float,
    metavar="US",
    help="Show requests that begin in the interval of this length that starts at --from, in us. "
    "Default: to the end.",
)
@click.option(
    "--service",
    "services",
    multiple=True,
    metavar="NAME",
    help="Show requests that begin at this service; repeatable.",
)
@click.option(
    "--slowest",
    type=int,
    metavar="NUMBER",
    help="Show this many of the slowest requests of each service.",
)
def draw_spans(files: tuple[Path, ...], kind: str, out: Path, **shown_options: Any) -> None:
    """Draw spans of a live server, or of `accelflow compare --spans`.

    The first request shown begins at 0; in a timeline of a simulation, 0 is the simulation's start.
    To compare both, join them with `cat simulated.pftrace measured.pftrace`.
    """
    shown = Shown(**shown_options)
    shown.check()
    try:
        requests, spans = watching.write_spans_timeline(kind, files, out, shown)
    except InputError as error:
        raise (error.at("--out") if error.place == "path" else error) from error
    click.echo(f"wrote {out}: {requests:,} requests, {spans:,} spans", err=True)
