"""`accelflow cerebros`: the RPC layer under five ways of leaving the core."""

import json
from collections.abc import Callable
from typing import Any, TypeVar

import click

from accelflow import cerebros as model

_Command = TypeVar("_Command", bound=Callable[..., Any])


def _parameter(name: str, what: str) -> Callable[[_Command], _Command]:
    option = "--" + name.replace("_", "-")
    return click.option(option, name, type=float, metavar="NUMBER", help=what)


@click.command("cerebros")
@_parameter("rpc_cycles", "Cycles of the RPC layer for a request, all on the core [4500].")
@_parameter("payload_share_ratio", "Payload manipulation's share of them [0.60].")
@_parameter("dispatch_share_ratio", "Dispatch's share of them [0.0544]; headers are the rest.")
@_parameter("header_tasks", "Header tasks of a request, nested RPCs included [4].")
@_parameter("payload_tasks", "Payload tasks of a request [4].")
@_parameter("accelerator_cycles", "Cycles of the accelerator for all tasks [90].")
@_parameter("traversals", "Traversals of the chip's network for one offload [5].")
@_parameter("traversal_cycles", "Cycles of one traversal [40].")
@_parameter("coalesced_traversals", "Traversals when requests carry their input [3].")
@_parameter("low_diameter_cycles", "Cycles of a traversal in a low-diameter network [19.84].")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")
def cerebros(as_json: bool, **parameters: float | None) -> None:
    """Cycles of the RPC layer for one request under the designs of the Cerebros paper's Fig. 6.

    Without options, for the microservice UniqueId, beside the paper's figures. The values in
    brackets are the defaults.
    """
    given = {name: value for name, value in parameters.items() if value is not None}
    result = model.designs(**given)
    if as_json:
        click.echo(json.dumps(result, indent=2))
        return
    click.echo("cycles of the RPC layer for one request" + ("" if given else ", UniqueId"))
    click.echo(
        f"{'':14}{'software':>9}{'offload':>9}{'accel.':>8}{'all':>7}{'fewer':>8}{'paper':>7}"
    )
    for design in result["designs"]:
        paper = design["paper_speedup_ratio"]
        click.echo(
            f"{design['design']:14}{design['software_cycles']:9.0f}{design['offload_cycles']:9.0f}"
            f"{design['accelerator_cycles']:8.0f}{design['total_cycles']:7.0f}"
            f"{design['speedup_ratio']:7.1f}x" + (f"{paper:6g}x" if paper else f"{'-':>7}")
        )
    over = result["full_over_payload_and_header_ratio"]
    offload, coalesced = result["cycles_per_offload"], result["coalesced_cycles_per_offload"]
    click.echo(f"Full over P+H: {over:.1f}x" + ("" if given else " (paper 21.5x)"))
    saved = f", {offload / coalesced:.2f} times less" if coalesced > 0 else ""
    click.echo(
        f"an offload: {offload:.0f} cycles, coalesced {coalesced:.0f}{saved}"
        + ("" if given else " (paper 200, 60 and 3.36)")
    )
