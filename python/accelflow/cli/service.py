"""`accelflow service`: services and the accelerators that they invoke."""

import json

import click

from accelflow import simulation
from accelflow.cli import offered
from accelflow.errors import InputError

AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")


@click.group("service", no_args_is_help=True)
def service() -> None:
    """Show services: their paths through traces and CPU phases."""


@service.command("list")
@click.option(
    "--workload",
    default="socialnetwork",
    show_default=True,
    metavar="NAME",
    help=f"Workload to list: {', '.join(simulation.WORKLOADS)}.",
    shell_complete=offered.names(simulation.WORKLOADS),
)
@AS_JSON
def list_services(workload: str, as_json: bool) -> None:
    """List the services with the number of accelerator calls of one invocation (Table IV)."""
    rows = [simulation.service(name) for name in simulation.services(workload)]
    if as_json:
        click.echo(json.dumps({"schema": "accelflow.services/1", "services": rows}, indent=2))
        return
    width = max(len(row["service"]) for row in rows)
    for row in rows:
        click.echo(f"{row['service']:{width}}  {row['accelerators']:3}  {row['path']}")


@service.command("show")
@click.argument("name", shell_complete=offered.services)
@AS_JSON
def show(name: str, as_json: bool) -> None:
    """Show the most common path of the service NAME."""
    known = [each for workload in simulation.WORKLOADS for each in simulation.services(workload)]
    if name not in known:
        raise InputError(f"unknown service '{name}'; known are {', '.join(known)}")
    walked = simulation.service(name)
    if as_json:
        click.echo(json.dumps(walked, indent=2))
        return
    click.echo(f"{walked['service']} ({walked['method']})")
    click.echo(f"path          {walked['path']}")
    click.echo(f"traces        {' '.join(walked['traces'])}")
    sequences = walked["conditionals_by_sequence"]
    branching = sum(count > 0 for count in sequences)
    click.echo(
        f"sequences     {len(sequences)}, {branching} with conditionals (at most {max(sequences)})"
    )
    click.echo(f"accelerators  {walked['accelerators']} an invocation:")
    for accelerator, count in walked["by_accelerator"].items():
        if count:
            click.echo(f"  {accelerator:5} {count:3}")
