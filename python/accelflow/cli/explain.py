"""`accelflow explain`: where a parameter's value comes from."""

import json
import textwrap
from dataclasses import asdict

import click

from accelflow import simulation
from accelflow.errors import InputError

PROFILE = "profile"


@click.command("explain")
@click.argument("key", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead.")
def explain(key: str | None, as_json: bool) -> None:
    """Say where the parameter KEY comes from; without KEY, list all parameters.

    KEY may also be the beginning of several keys, such as `relief`. `profile` lists what the costs
    of the profile `paper` rest on.
    """
    if key is not None and (key == PROFILE or key.startswith(f"{PROFILE}.")):
        _explain_profile(key.removeprefix(PROFILE).removeprefix("."), as_json=as_json)
        return
    table = simulation.parameters()
    found = [p for p in table if key is None or p.key == key or p.key.startswith(f"{key}.")]
    if not found:
        names = ", ".join(p.key for p in table)
        raise InputError(f"unknown parameter '{key}'; known are {names}")
    if as_json:
        click.echo(json.dumps([asdict(p) for p in found], indent=2))
        return
    if len(found) > 1:
        width = max(len(p.key) for p in found)
        for p in found:
            click.echo(f"{p.key:{width}}  {p.default:>10g} {p.unit:24} {p.provenance}".rstrip())
        return
    (p,) = found
    click.echo(f"{p.key} = {p.default:g} {p.unit}".rstrip())
    click.echo(f"allowed     {p.min:g} to {p.max:g}{', whole numbers' if p.whole else ''}")
    click.echo(f"provenance  {p.provenance}")
    click.echo(f"source      {p.source}")
    if p.why:
        lead = "why         "
        click.echo(textwrap.fill(p.why, 96, initial_indent=lead, subsequent_indent=" " * len(lead)))


def _explain_profile(name: str, *, as_json: bool) -> None:
    rows = simulation.profile_parameters()
    found = [row for row in rows if name in {"", row["name"]}]
    if not found:
        names = ", ".join(f"{PROFILE}.{row['name']}" for row in rows)
        raise InputError(f"unknown parameter '{PROFILE}.{name}'; known are {names}")
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    for row in found:
        click.echo(f"{PROFILE}.{row['name']} = {row['value']:g}  {row['provenance']}")
        click.echo(textwrap.indent(textwrap.fill(row["note"], 92), "    "))
