"""`accelflow arcus`: traffic shaping for tenants who share an accelerator."""

import json
from collections.abc import Callable
from typing import Any, TypeVar

import click

from accelflow import arcus as shaping

AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")


@click.group("arcus", no_args_is_help=True)
def arcus() -> None:
    """Shape the traffic of tenants who share an accelerator, as ARCUS does.

    Here is the mechanism: the token bucket and its registers. Not there yet are the simulated
    platform (PCIe, DMA engines, accelerators, SSD), the control plane that chooses registers
    (profiling, admission, capacity planning), and the baselines and experiments of the paper.
    """


@arcus.command("table2")
@AS_JSON
def table2(as_json: bool) -> None:
    """Print the paper's Table 2: the registers for 1 to 1,000 Gbit/s, and the rates they give."""
    result = shaping.table2()
    if as_json:
        click.echo(json.dumps(result, indent=2))
        return
    click.echo(f"{'paper':>10}{'ours':>10}{'ratio':>7}{'refill':>9}{'bucket':>11}{'interval':>10}")
    click.echo(f"{'Gbit/s':>10}{'Gbit/s':>10}{'':7}{'bytes':>9}{'bytes':>11}{'cycles':>10}")
    for row in result["rows"]:
        paper, ours = row["paper_gbit_per_s"], row["gbit_per_s"]
        capped = row["bytes_per_interval"] < row["refill_bytes"]
        line = (
            f"{paper:10,.0f}{ours:10,.2f}{ours / paper:7.3f}{row['refill_bytes']:9,}"
            f"{row['bucket_bytes']:11,}{row['interval_cycles']:10,}"
        )
        click.echo(line + ("  the bucket caps the refill" if capped else ""))


_Command = TypeVar("_Command", bound=Callable[..., Any])


def _number(name: str, what: str) -> Callable[[_Command], _Command]:
    return click.option(name, type=int, required=True, metavar="N", help=what)


@arcus.command("shape")
@_number("--refill", "Tokens that an interval adds.")
@_number("--bucket", "Tokens that the bucket holds at most.")
@_number("--interval", "Cycles from one refill to the next.")
@click.option(
    "--clock-mhz", type=float, default=shaping.CLOCK_MHZ, show_default=True, help="The clock."
)
@click.option(
    "--unit",
    type=click.Choice(shaping.UNITS),
    default="bytes",
    show_default=True,
    help="What a token stands for.",
)
@AS_JSON
def shape(as_json: bool, **registers: Any) -> None:
    """Print the rate and the burst that these registers allow."""
    limiter = shaping.RateLimiter(**registers)
    result = shaping.shape(limiter)
    if as_json:
        click.echo(json.dumps(result, indent=2))
        return
    unit, each = result["unit"], result["tokens_per_interval"]
    if unit == "bytes":
        rate = f"{result['gbit_per_s']:,.6g} Gbit/s"
    else:
        rate = f"{result['tokens_per_s']:,.6g} operations/s"
    click.echo(f"rate   {rate}: {each:,} {unit} every {result['interval_ns']:,.6g} ns")
    if each < limiter.refill:
        click.echo(f"       the bucket caps the refill of {limiter.refill:,}")
    most = result["most_tokens_within_an_interval"]
    click.echo(
        f"burst  {limiter.bucket:,} {unit} at once, at most {most:,} within any "
        f"{limiter.interval:,} cycles"
    )


@arcus.command("parameters")
@AS_JSON
def parameters(as_json: bool) -> None:
    """List the numbers that the shaper rests on, and where they come from."""
    table = shaping.parameters()
    if as_json:
        click.echo(json.dumps(table, indent=2))
        return
    for row in table:
        value = f"{row['value']:g} {row['unit']}".rstrip()
        click.echo(f"{row['key']:25} {value:12} {row['provenance']:8} {row['source']}")
