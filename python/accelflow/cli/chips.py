"""`accelflow chip`: packaged chips and the user's chip files."""

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from accelflow import chip as models
from accelflow.chips import Chip, chip_text, find_chip, packaged
from accelflow.cli import offered
from accelflow.cli.listing import Group
from accelflow.cli.places import WRITTEN, check_file
from accelflow.errors import GIVEN, refused, unwritable
from accelflow.files import write_whole
from accelflow.parameters import Parameter, configured, parameters

_AS_JSON = click.option(
    "--json", "as_json", is_flag=True, help="Print the results as one JSON object, not as text."
)


@click.group("chip", cls=Group)
def chip_command() -> None:
    """List, show and write chips.

    A chip is a file with parameters of the simulated server, for --chip (docs/chips.md).
    """


@chip_command.command("list")
@_AS_JSON
def list_chips(as_json: bool) -> None:
    """List the chips that come with accelflow."""
    if as_json:
        rows = [{"name": chip.name, "description": chip.description} for chip in packaged()]
        click.echo(json.dumps(rows, indent=2))
        return
    width = max(len(chip.name) for chip in packaged())
    for chip in packaged():
        click.echo(f"{chip.name:{width}}  {chip.description}")


@chip_command.command("show")
@click.argument("chip", shell_complete=offered.chips)
@click.option("--file", "as_file", is_flag=True, help="Print the text of the chip's file instead.")
@_AS_JSON
def show(chip: str, as_file: bool, as_json: bool) -> None:
    """Show area and power of CHIP, a file or a name, and how it differs from the paper's chip."""
    found = find_chip(chip)
    if as_file and as_json:
        raise refused("--json", GIVEN, "must be left out with --file")
    if as_file:
        click.echo(chip_text(found), nl=False)
        return
    config = configured(found.config)
    if as_json:
        click.echo(json.dumps(_as_object(found, config), indent=2))
        return
    click.echo(f"{found.name}: {found.description}" if found.description else found.name)
    changed = [
        parameter
        for parameter in parameters()
        if config.get(parameter.key, parameter.default) != parameter.default
    ]
    width = max((len(parameter.also or parameter.key) for parameter in changed), default=0)
    for parameter in changed:
        now, was = parameter.text(config[parameter.key]), _default(parameter, config)
        name = parameter.also or parameter.key
        unit = parameter.unit_of(config[parameter.key])
        click.echo(f"  {name:{width}}  {now:>8} {unit:8} {was}".rstrip())
    if not changed:
        click.echo("  every parameter has its default: the server of the paper's Table III")
    _print_costs(models.sizes(config))


def _as_object(chip: Chip, config: dict[str, float]) -> dict[str, Any]:
    """Return the chip's settings with its area and power, for JSON."""
    sizes = models.sizes(config)
    return {
        "name": chip.name,
        "description": chip.description,
        "config": config,
        "area": models.area(sizes),
        "power": models.power(sizes=sizes),
    }


def _default(parameter: Parameter, config: dict[str, float]) -> str:
    """Return a parameter's value on the paper's chip, or the value for all accelerators."""
    what, _, _ = parameter.key.partition(".")
    common = {other.key: other for other in parameters()}.get(f"accelerator.{what}")
    if parameter.also and common is not None:
        number = config.get(common.key, common.default)
        return f"(all accelerators: {common.text(number)})"
    return f"(default {parameter.text(parameter.default)})"


def _print_costs(sizes: dict[str, float]) -> None:
    area, power = models.area(sizes), models.power(sizes=sizes)
    click.echo(
        f"area {area['total_mm2']:.1f} mm2, of it accelerators {area['accelerators_mm2']:.1f} and"
        f" orchestration {area['orchestration_mm2']:.1f}; maximum power of these two"
        f" {power['accelerators_max_w']:.1f} W and {power['orchestration_max_w']:.1f} W"
    )


@chip_command.command("new")
@click.argument("name")
@click.option(
    "--like",
    default="paper",
    show_default=True,
    metavar="CHIP",
    help="Begin with this chip: a file, or a name that `accelflow chip list` shows.",
    shell_complete=offered.chips,
)
@click.option(
    "--out",
    type=WRITTEN,
    metavar="FILE.toml",
    show_default="NAME.toml",
    help="File to write; it must not exist yet.",
)
def new(name: str, like: str, out: Path | None) -> None:
    """Write a chip called NAME as a commented file, ready to be edited and used."""
    if name in {chip.name for chip in packaged()}:
        allowed = "must differ from the names of `accelflow chip list`"
        raise refused("name", name, allowed)
    if not name or "/" in name:
        raise refused("name", name, "must be a name without '/'; --out FILE.toml sets the folder")
    if name.encode(errors="replace").decode() != name:
        raise refused("name", name, "must be a name in UTF-8")
    out = out or Path(f"{name}.toml")
    if out.suffix.lower() != ".toml":
        raise refused("--out", str(out), "must end in .toml")
    check_file(out)
    if out.exists():
        raise refused("--out", str(out), "must not exist yet; choose another file with --out")
    base = find_chip(like)
    about = f"Like {base.name}." if base.description else ""
    text = chip_text(replace(base, name=name, description=about))
    try:
        write_whole(out, lambda place: place.write_text(text, encoding="utf-8"))
    except OSError as error:
        raise unwritable("--out", out, error) from error
    quoted = shlex.quote(str(out))
    click.echo(f"wrote {out}; try: accelflow compare socialnetwork --chip paper --chip {quoted}")
