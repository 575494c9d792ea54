"""`accelflow explain`: the meaning and origin of parameters."""

import json
import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from difflib import get_close_matches
from pathlib import Path

import click

from accelflow import simulation
from accelflow.cli import offered
from accelflow.cli.naming import left_out
from accelflow.cli.parameter_page import markdown
from accelflow.cli.places import written_as
from accelflow.errors import refused
from accelflow.files import write_whole
from accelflow.parameters import CUSTOM, Engine, Parameter, accelerators, engines

#: The line width of explanations.
_WIDTH = 96


@click.command("explain")
@click.argument("key", required=False, shell_complete=offered.parameter_keys)
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON, not as text.")
@click.option(
    "--markdown",
    "page",
    type=written_as(".md", ".markdown"),
    metavar="FILE",
    help="Write all parameters to FILE, as docs/parameters.md has them.",
)
def explain(key: str | None, as_json: bool, page: Path | None) -> None:
    """Explain the parameter KEY, or list all: default, allowed values, origin.

    KEY may also be the beginning of several keys, such as `relief`. Keys of the simulated server
    have no prefix. Those of other models begin with `area`, `power`, `accelerometer`, `cerebros`,
    `cerebros.analytic`, `arcus`, `relief_suite` or `profile`; those of servers and clients that
    handle real messages begin with `server` and `client`.
    """
    known = engines(simulation.ASSUMED_TCP_COST_NS)
    group = None if key is None else key.removesuffix(".")
    if group == "":
        raise refused("KEY", key, "must be a key, such as core.count, or be left out to list all")
    if page is not None:
        left_out(click.get_current_context(), " with --markdown, which writes all", ("page",))
        text = markdown(known)
        write_whole(page, lambda place: place.write_text(text, encoding="utf-8"))
        return
    found = [
        parameter
        for engine in known
        for parameter in engine.parameters
        if group is None or any(_begins(name, group) for name in (parameter.key, parameter.also))
    ]
    if key is not None and not found:
        allowed = f"must be a key that `accelflow explain` lists{_of_custom(known, key)}"
        raise refused("parameter", key, allowed, _keys(known, key))
    if as_json:
        click.echo(json.dumps([asdict(parameter) for parameter in found], indent=2))
    elif len(found) == 1:
        _explain(found[0])
    else:
        _list(found)


def _keys(known: Sequence[Engine], key: str) -> list[str]:
    """Return the keys that a wrong `key` may have meant, with second spellings for long ones."""
    rows = [parameter for engine in known for parameter in engine.parameters]
    spelt = [row.also for row in rows if row.also] if key.count(".") > 1 else []
    return [*(row.key for row in rows), *spelt]


def _of_custom(known: Sequence[Engine], key: str) -> str:
    """Return a hint at the key of all custom accelerators, if `key` may name one of theirs."""
    what, _, name = key.partition(".")
    shared = f"{what}.{CUSTOM}"
    keys = [parameter.key for engine in known for parameter in engine.parameters]
    if not name or shared not in keys or get_close_matches(name, accelerators()):
        return ""
    return f"; {shared} is that of custom accelerators"


def _begins(name: str, key: str) -> bool:
    return name == key or name.startswith(f"{key}.")


def _list(parameters: Sequence[Parameter]) -> None:
    width = max(len(parameter.key) for parameter in parameters)
    for parameter in parameters:
        value = parameter.text(parameter.default)
        unit = parameter.unit_of(parameter.default)
        line = f"{parameter.key:{width}}  {value:>15} {unit:24} {parameter.provenance}"
        click.echo(line.rstrip())


def _explain(parameter: Parameter) -> None:
    default = parameter.text(parameter.default)
    click.echo(f"{parameter.key} = {default} {parameter.unit_of(parameter.default)}".rstrip())
    if parameter.also:
        _line("also", parameter.also)
    _line("allowed", parameter.allowed)
    width = max((len(choice.label) for choice in parameter.choices), default=0)
    for choice in parameter.choices:
        if choice.meaning:
            _line("", f"{choice.label:{width}}  {choice.meaning}", width + 2)
    _line("provenance", parameter.provenance)
    _line("source", parameter.source)
    if parameter.why:
        _line("why", parameter.why)


def _line(name: str, text: str, indent: int = 0) -> None:
    lead = f"{name:12}"
    further = " " * (len(lead) + indent)
    click.echo(textwrap.fill(text, _WIDTH, initial_indent=lead, subsequent_indent=further))
