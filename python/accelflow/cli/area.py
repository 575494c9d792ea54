"""`accelflow area`: the area of a processor with accelerators."""

import json
from typing import Any

import click

from accelflow import chip
from accelflow.cli import offered
from accelflow.cli.chosen import sized
from accelflow.cli.naming import left_out


@click.command("area")
@click.option(
    "--chip",
    "place",
    metavar="FILE",
    help="The chip: a file, or a name that `accelflow chip list` shows.",
    shell_complete=offered.chips,
)
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="NAME=NUMBER",
    help="Change an input of the area model, or a parameter of the chip; repeatable.",
)
@click.option(
    "--inputs", "show_inputs", is_flag=True, help="List the model's inputs and their origins."
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print the results as one JSON object, not as text."
)
def area(place: str | None, changes: tuple[str, ...], show_inputs: bool, as_json: bool) -> None:
    """Print the area of cores, accelerators and orchestration hardware.

    Areas are at 7 nm; those of the paper's chip are compared with section VI. --set changes sizes
    and parameters of the chip: --set pes=4, or --set accelerator.pes=4, halves the number of
    processing elements.
    """
    if as_json:
        context = click.get_current_context()
        allowed = {*context.params} - {"show_inputs"}
        left_out(context, " with --json, which prints them, too", allowed)
    asked = sized(place, changes)
    given = asked.inputs
    result = chip.area(given)
    if as_json:
        click.echo(json.dumps(result, indent=2))
        return
    if show_inputs:
        for row in result["inputs"]:
            click.echo(f"{row['name']:28}{row['value']:>9g}  {row['provenance']:11}{row['source']}")
        return
    click.echo(f"{'':22}{'mm2':>7}{'share':>8}  proportional to")
    for part in result["parts"]:
        click.echo(
            f"{part['part']:22}{part['area_mm2']:7.2f}{part['share_ratio']:8.1%}  {part['scaling']}"
        )
    click.echo(f"{'all':22}{result['total_mm2']:7.1f}")
    paper = {} if given else chip.paper_area()
    for key, name in (("accelerators", "accelerators"), ("orchestration", "orchestration")):
        mm2, share = result[f"{key}_mm2"], result[f"{key}_share_ratio"]
        printed = (
            f" (paper {paper[f'{key}_mm2']:.1f} mm2, {paper[f'{key}_share_ratio']:.1%})"
            if paper
            else ""
        )
        click.echo(f"{name}: {mm2:.1f} mm2, {share:.2%} of the processor{printed}")
    printed = f" (paper {paper['queue_bytes'] / 1e6:.1f})" if paper else ""
    click.echo(f"queues: {result['queue_bytes'] / 1e6:.1f} MB{printed}")
    click.echo()
    _print_places(result)
    if asked.note:
        click.echo(asked.note)


def _print_places(result: dict[str, Any]) -> None:
    """Print the area of an RPC accelerator by its place (Cerebros, sections 3.3 and 6.1)."""
    click.echo(f"{'an RPC accelerator':22}{'mm2':>7}{'times':>8}")
    for row in result["rpc_accelerators"]:
        times = row["over_shared_ratio"]
        click.echo(
            f"{row['place']:22}{row['area_mm2']:7.3f}"
            + (f"{'-':>8}" if times is None else f"{times:8.2f}")
        )
