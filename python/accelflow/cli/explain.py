"""`accelflow explain`: where a parameter's value comes from."""

import json
import textwrap
from dataclasses import asdict

import click

from accelflow import simulation
from accelflow.cli import offered
from accelflow.errors import InputError, did_you_mean

PROFILE = "profile"
LIST_ALL = "; `accelflow explain` lists them all"


@click.command("explain")
@click.argument("key", required=False, shell_complete=offered.parameter_keys)
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
        hint = did_you_mean(str(key), (p.key for p in table))
        raise InputError(f"unknown parameter '{key}'{hint or LIST_ALL}")
    if as_json:
        click.echo(json.dumps([asdict(p) for p in found], indent=2))
        return
    if len(found) > 1:
        width = max(len(p.key) for p in found)
        for p in found:
            named = next((it.name for it in p.choices if it.value == p.default and it.name), None)
            value = named or f"{p.default:g}"
            click.echo(f"{p.key:{width}}  {value:>15} {p.unit:24} {p.provenance}".rstrip())
        return
    (p,) = found
    click.echo(f"{p.key} = {p.text(p.default)} {p.unit}".rstrip())
    click.echo(f"allowed     {p.allowed}")
    click.echo(f"provenance  {p.provenance}")
    click.echo(f"source      {p.source}")
    if p.why:
        lead = "why         "
        click.echo(textwrap.fill(p.why, 96, initial_indent=lead, subsequent_indent=" " * len(lead)))


def _explain_profile(name: str, *, as_json: bool) -> None:
    rows = simulation.profile_parameters()
    found = [row for row in rows if name in {"", row["name"]}]
    if not found:
        hint = did_you_mean(f"{PROFILE}.{name}", (f"{PROFILE}.{row['name']}" for row in rows))
        hint = hint or f"; `accelflow explain {PROFILE}` lists them all"
        raise InputError(f"unknown parameter '{PROFILE}.{name}'{hint}")
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    for row in found:
        click.echo(f"{PROFILE}.{row['name']} = {row['value']:g}  {row['provenance']}")
        click.echo(textwrap.indent(textwrap.fill(row["note"], 92), "    "))
