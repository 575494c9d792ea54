"""`accelflow schema`: the JSON Schemas of files that users write."""

from collections.abc import Callable, Mapping
from typing import Final

import click

from accelflow import simulation, sizing, studies
from accelflow.chips import chip_schema
from accelflow.cli import offered
from accelflow.plans import plan_schema
from accelflow.workload import workload_schema

#: The functions that return the schema of each kind of file.
_SCHEMAS: Final[Mapping[str, Callable[[], str]]] = {
    "chip": chip_schema,
    "plan": plan_schema,
    "scenario": simulation.scenario_schema,
    "sizing": sizing.sizing_schema,
    "study": studies.study_schema,
    "workload": workload_schema,
}


@click.command("schema")
@click.argument("name", type=click.Choice(sorted(_SCHEMAS)), shell_complete=offered.names(_SCHEMAS))
def schema(name: str) -> None:
    """Print the JSON Schema of a kind of file.

    The kinds are `chip` (for `--chip`), `plan` (flows, for `accelflow arcus plan`), `scenario` (for
    `accelflow compare --scenario`), `sizing` (a fleet, for `accelflow size`), `study` (for
    `accelflow sweep` and `accelflow find`) and `workload` (services). Editors use the schema to
    complete and check files.
    """
    click.echo(_SCHEMAS[name](), nl=False)
