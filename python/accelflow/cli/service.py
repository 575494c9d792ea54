"""`accelflow service`: services and the accelerators that they invoke."""

import json
import shlex
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from accelflow import simulation
from accelflow.cli import offered
from accelflow.cli.doubts import plain_warnings
from accelflow.cli.listing import Group
from accelflow.cli.places import WRITTEN, check_file
from accelflow.errors import refused, unwritable
from accelflow.files import write_whole
from accelflow.workload import is_file, load_workload, new_workload, read_workload

#: The option ``--json`` of the commands.
AS_JSON = click.option(
    "--json", "as_json", is_flag=True, help="Print the results as one JSON object, not as text."
)

#: The largest number of names that the message for a wrong name proposes.
_PROPOSED = 3
#: The largest number of services that the message for a wrong name lists.
_LISTED = 20

_KNOWN = ", ".join(simulation.WORKLOADS)


@click.group("service", cls=Group, no_args_is_help=True)
def service() -> None:
    """Show services: their paths through traces and CPU phases. Describe services of your own."""


@service.command("list")
@click.option(
    "--workload",
    default="socialnetwork",
    show_default=True,
    metavar="NAME",
    help=f"Workload to list: {_KNOWN}, or a file.",
    shell_complete=offered.workloads,
)
@AS_JSON
def list_services(workload: str, as_json: bool) -> None:
    """List the services with the accelerator calls on their most common path (Table IV)."""
    source = _loaded(workload)
    rows = [simulation.service(name, source) for name in simulation.services(source)]
    if as_json:
        click.echo(json.dumps({"schema": "accelflow.services/1", "services": rows}, indent=2))
        return
    width = max(len(row["service"]) for row in rows)
    for row in rows:
        click.echo(f"{row['service']:{width}}  {row['accelerators']:3}  {row['path']}")


@service.command("show")
@click.argument("name", shell_complete=offered.services)
@click.option(
    "--workload",
    metavar="NAME",
    help=f"Workload of the service: {_KNOWN}, or a file. By default, all suites are searched.",
    shell_complete=offered.workloads,
)
@AS_JSON
def show(name: str, workload: str | None, as_json: bool) -> None:
    """Show the most common path of the service NAME."""
    source = _loaded(workload) if workload is not None else None
    sources = simulation.WORKLOADS if source is None else [source]
    known = [each for searched in sources for each in simulation.services(searched)]
    if name not in known:
        of = "the suites" if workload is None else f"{workload}: {_listed(known)}"
        hint = "" if workload is not None else "; --workload FILE finds it in a file of your own"
        near = get_close_matches(name, known, _PROPOSED)
        raise refused("service", name, f"must be a service of {of}{hint}", near)
    walked = simulation.service(name, source)
    if as_json:
        click.echo(json.dumps(walked, indent=2))
        return
    _print_walk(walked)
    if workload is not None and is_file(workload):
        _print_origin(read_workload(workload).get("origin"))


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


def _loaded(workload: str) -> str | dict[str, Any]:
    """Return the parsed content of a workload's file; for a suite, return its name unchanged."""
    if not is_file(workload):
        return workload
    with plain_warnings():
        return load_workload(workload)


def _print_walk(walked: dict[str, Any]) -> None:
    click.echo(f"{walked['service']} ({walked['method']})")
    click.echo(f"path          {walked['path']}")
    click.echo(f"traces        {' '.join(walked['traces'])}")
    sequences = walked["conditionals_by_sequence"]
    branching = sum(count > 0 for count in sequences)
    click.echo(
        f"sequences     {len(sequences)}, {branching} with conditionals (at most {max(sequences)})"
    )
    click.echo(f"accelerators  {walked['accelerators']} an invocation:")
    counts = {name: count for name, count in walked["by_accelerator"].items() if count}
    width = max(5, *map(len, counts))  # custom accelerators have longer names than the nine
    for accelerator, count in counts.items():
        click.echo(f"  {accelerator:{width}} {count:3}")


def _print_origin(origin: dict[str, Any] | None) -> None:
    """Print how an importer made the workload's file."""
    if origin is None:
        return
    files = ", ".join(file["name"] for file in origin.get("files", ()))
    click.echo(f"imported      {origin['kind']}: {files}")
    for what in ("understood", "guessed", "dropped"):
        for text, count in origin.get(what, {}).items():
            click.echo(f"  {what:10}  {count:6}  {text}")


@service.command("new")
@click.argument("name")
@click.option(
    "--like",
    metavar="SUITE",
    help=f"Copy the services of this suite: {_KNOWN}.",
    shell_complete=offered.names(simulation.WORKLOADS),
)
@click.option(
    "--out",
    type=WRITTEN,
    metavar="FILE.toml",
    show_default="NAME.toml",
    help="File to write, which must not exist yet.",
)
def new(name: str, like: str | None, out: Path | None) -> None:
    """Write a workload called NAME as a commented file, ready to be edited and compared."""
    text = new_workload(name, like)
    place = out if out is not None else Path(f"{name}.toml")
    if place.suffix.lower() != ".toml":
        raise refused("--out", str(place), "must end in .toml")
    check_file(place)
    if place.exists():
        raise refused("--out", str(place), "must not exist yet; choose another file with --out")
    try:
        write_whole(place, lambda scratch: scratch.write_text(text, encoding="utf-8"))
    except OSError as error:
        raise unwritable("--out", place, error) from error
    click.echo(f"wrote {place}; simulate it with: accelflow compare {shlex.quote(str(place))}")
